/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writing and recognising an RTS.
 */
#include "mca_coll_gpufifo/pt2pt/rts.h"

#include "mca_coll_gpufifo/module.h"

void gf_rts_begin(struct gf_rts *rts, size_t bytes)
{
    *rts = (struct gf_rts){.bytes = bytes};
    memcpy(rts->cookie, gf_card_mine(mca_coll_gpufifo_component.pt2pt.cards)->cookie, sizeof rts->cookie);
}

bool gf_rts_read(const void *bytes, size_t size, ompi_communicator_t *comm, int source, struct gf_rts *rts)
{
    const struct gf_card *card;

    if (size != GF_RTS_BYTES || !mca_coll_gpufifo_component.pt2pt.cards) {
        return false;
    }
    card = gf_card_of(mca_coll_gpufifo_component.pt2pt.cards, comm, source);
    if (!card || memcmp(bytes, card->cookie, sizeof card->cookie) != 0) {
        return false;
    }
    memcpy(rts, bytes, sizeof *rts);
    return true;
}
