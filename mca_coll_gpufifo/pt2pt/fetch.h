/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a receiver does with an RTS: fetches the data, by the way that the RTS names.
 *
 * Threads: as the rendezvous.
 */
#ifndef GF_MCA_PT2PT_FETCH_H
#define GF_MCA_PT2PT_FETCH_H

#include "mca_coll_gpufifo/pt2pt/rendezvous.h"
#include "mca_coll_gpufifo/pt2pt/rts.h"

/* One message on its way in. Part of a request, which stays where it is until poll has said the end. */
struct gf_fetch {
    enum gf_rts_kind kind;
    void *to;                          /* where the data go */
    gf_pull_engine *engine;            /* GF_RTS_OFFER */
    struct gf_pipes *pipes;            /* GF_RTS_PIPE */
    gf_pipe_sink *sink;
    struct gf_chunks *chunks;          /* GF_RTS_CHUNKS */
    struct gf_links *links;            /* GF_RTS_WIRE */
    struct gf_carrier_lane *lane;
    int ordinal;                       /* of the device that stores them */
    union {
        struct gf_pull pull;
        struct gf_pipe_take take;
        struct gf_chunks_in message;
        struct gf_carrier_in carried;
    };
};

/* Finds what fetches this message by the device of that ordinal. */
gf_status gf_fetch_open(struct gf_fetch *fetch, struct gf_rendezvous *rendezvous, const struct gf_rts *rts, int ordinal,
                        struct gf_reason *why);

/* Starts to fetch the first `bytes`, as gf_pull_start. GF_OK of GF_RTS_WIRE: *why says how they come. GF_ERR_UNSUPPORTED of that
 * or GF_RTS_OFFER: the sender waits to send them in chunks instead. */
gf_status gf_fetch_start(struct gf_fetch *fetch, const struct gf_rts *rts, void *to, const struct gf_pointer *where, size_t bytes,
                         struct gf_reason *why);

/* In place of start: tells the sender that nobody will come. */
void gf_fetch_refuse(struct gf_fetch *fetch, const struct gf_rts *rts);

/* How a message that has started is counted. */
enum gf_path gf_fetch_path(const struct gf_fetch *fetch);

/* As gf_pull_poll. */
gf_status gf_fetch_poll(struct gf_fetch *fetch, struct gf_reason *why);

#endif
