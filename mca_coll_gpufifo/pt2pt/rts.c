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

_Static_assert(GF_OFFERS <= 1 << 10, "an offer's index has ten bits of the id");

/* The segment's descriptor tells the boards of one process apart, and an index is used again under the next generation. */
static uint64_t id_of_offer(const struct gf_offer_name *name)
{
    uint64_t board = (uint64_t)name->board.fd & ((1u << 20) - 1);

    return GF_CHUNKS_OWN_IDS | board << 42 | (uint64_t)name->generation << 10 | name->index;
}

/* Offers leave this bit out. */
static uint64_t id_of_link(const struct gf_link_name *name)
{
    return GF_CHUNKS_OWN_IDS | (uint64_t)1 << 62 | name->id;
}

struct gf_rts gf_rts_in_chunks(const struct gf_rts *rts, int sender)
{
    struct gf_offer_name offer = rts->offer;
    struct gf_link_name link = rts->link;
    struct gf_rts again = *rts;

    again.kind = GF_RTS_CHUNKS;
    again.chunks = (struct gf_chunks_name){
        .rank = sender, .id = rts->kind == GF_RTS_WIRE ? id_of_link(&link) : id_of_offer(&offer),
        .chunk_bytes = gf_pipe_chunk_choose(&mca_coll_gpufifo_component.pipe, rts->bytes),
    };
    return again;
}
