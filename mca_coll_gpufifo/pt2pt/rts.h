/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The RTS (request to send): the message that travels in place of the data of a device buffer which the receiver fetches itself.
 * It has the envelope of that message, so the PML matches it; only its receiver knows it from ordinary data, by its size and the
 * cookie.
 */
#ifndef GF_MCA_PT2PT_RTS_H
#define GF_MCA_PT2PT_RTS_H

#include "core/offer_board.h"
#include "mca_coll_gpufifo/card.h"
#include "mca_coll_gpufifo/pt2pt/chunks.h"
#include "mca_coll_gpufifo/pt2pt/links.h"
#include "mca_coll_gpufifo/pvars.h"

/* How the data reach the receiver. */
enum gf_rts_kind {
    GF_RTS_OFFER,                            /* it fetches them from the sender's memory (core/pull.h) */
    GF_RTS_PIPE,                             /* it takes them out of slots of shared host memory (core/pipe.h) */
    GF_RTS_CHUNKS,                           /* they come in messages of the PML (chunks.h) */
    GF_RTS_WIRE                              /* the network puts them into the receiver's memory (links.h) */
};
enum { GF_RTS_KINDS = GF_RTS_WIRE + 1 };

/* Plain bytes. The size is an odd one, that programs hardly ever send. */
struct gf_rts {
    unsigned char cookie[GF_COOKIE_BYTES];   /* of the sender's card */
    uint64_t bytes;                          /* of the message */
    union {
        struct gf_offer_name offer;          /* OFFER, PIPE */
        struct gf_chunks_name chunks;        /* CHUNKS */
        struct gf_link_name link;            /* WIRE */
    };
    unsigned char kind;                      /* enum gf_rts_kind */
    unsigned char greets;                    /* 1: a greeting follows (links.h) */
    unsigned char odd;                       /* 0 */
} __attribute__((packed));

enum { GF_RTS_BYTES = sizeof(struct gf_rts) };
_Static_assert(GF_RTS_BYTES == 67, "an RTS has no padding");

/* Of a message of this process. What it is and its name are the caller's to write. */
void gf_rts_begin(struct gf_rts *rts, size_t bytes);

/* Are these `size` bytes, received on comm from that rank, an RTS? Then *rts is it; it need not be aligned. */
bool gf_rts_read(const void *bytes, size_t size, ompi_communicator_t *comm, int source, struct gf_rts *rts);

/* Of an OFFER that its receiver cannot map, or a message that it cannot take from the network: both ends go on with these chunks
 * instead, whose name follows from that of the offer or the message. sender: its rank in MPI_COMM_WORLD. */
struct gf_rts gf_rts_in_chunks(const struct gf_rts *rts, int sender);

/* How its message is counted. */
static inline enum gf_path gf_rts_path(enum gf_rts_kind kind)
{
    return kind == GF_RTS_OFFER ? GF_PATH_PT2PT_PULLED : kind == GF_RTS_WIRE ? GF_PATH_PT2PT_NET : GF_PATH_PT2PT_PIPED;
}

#endif
