/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways of fetching.
 */
#include "mca_coll_gpufifo/pt2pt/fetch.h"

gf_status gf_fetch_open(struct gf_fetch *fetch, struct gf_rendezvous *rendezvous, const struct gf_rts *rts, int ordinal,
                        struct gf_reason *why)
{
    *fetch = (struct gf_fetch){.kind = (enum gf_rts_kind)rts->kind, .ordinal = ordinal};
    fetch->links = gf_rendezvous_links(rendezvous);
    switch (fetch->kind) {
    case GF_RTS_OFFER:
        return gf_rendezvous_engine(rendezvous, ordinal, &fetch->engine, why);
    case GF_RTS_PIPE:
        fetch->pipes = gf_rendezvous_pipes(rendezvous);
        return gf_pipes_sink(fetch->pipes, ordinal, &fetch->sink, why);
    case GF_RTS_CHUNKS:
        fetch->chunks = gf_rendezvous_chunks(rendezvous);
        if (rts->greets) {
            gf_links_expect(fetch->links, rts->chunks.rank, ordinal);
        }
        return GF_OK;
    case GF_RTS_WIRE:
        fetch->lane = gf_links_from(fetch->links, rts->link.rank);
        if (fetch->lane) {
            return GF_OK;
        }
        gf_reason_set(why, "rank %d of MPI_COMM_WORLD sends by a network of which it has told nothing", (int)rts->link.rank);
        return GF_ERR_PEER;
    }
    gf_reason_set(why, "the sender offers a message in an unknown way: use one version of gpufifo in all ranks");
    return GF_ERR_PEER;
}

static gf_status start_take(struct gf_fetch *fetch, const struct gf_rts *rts, void *to, size_t bytes, struct gf_reason *why)
{
    struct gf_offer_name name = rts->offer;
    gf_status status = gf_pipe_take_start(fetch->sink, &name, to, bytes, &fetch->take, why);

    gf_pipes_expect(fetch->pipes);
    return status;
}

static gf_status start_chunks(struct gf_fetch *fetch, const struct gf_rts *rts, void *to, size_t bytes, struct gf_reason *why)
{
    struct gf_chunks_name name = rts->chunks;
    gf_status status = gf_chunks_take(fetch->chunks, &name, fetch->ordinal, to, bytes, &fetch->message, why);

    if (status != GF_OK) {
        gf_chunks_refuse(fetch->chunks, &name);
    }
    return status;
}

gf_status gf_fetch_start(struct gf_fetch *fetch, const struct gf_rts *rts, void *to, const struct gf_pointer *where, size_t bytes,
                         struct gf_reason *why)
{
    struct gf_offer_name name = rts->offer;

    fetch->to = to;
    if (fetch->lane) {
        return gf_links_take(fetch->links, fetch->lane, rts->link.id, fetch->ordinal, to, bytes, &fetch->carried, why);
    }
    if (fetch->chunks) {
        return start_chunks(fetch, rts, to, bytes, why);
    }
    return fetch->engine ? gf_pull_start(fetch->engine, &name, to, where, bytes, &fetch->pull, why)
                         : start_take(fetch, rts, to, bytes, why);
}

void gf_fetch_refuse(struct gf_fetch *fetch, const struct gf_rts *rts)
{
    struct gf_offer_name name = rts->offer;
    struct gf_chunks_name chunks = rts->chunks;
    struct gf_reason ignored;

    if (fetch->engine) {
        gf_pull_refuse(fetch->engine, &name, &ignored);
    } else if (fetch->sink) {
        gf_pipe_refuse(fetch->sink, &name, &ignored);
    } else if (fetch->chunks) {
        gf_chunks_refuse(fetch->chunks, &chunks);
    } else if (fetch->lane) {
        gf_carrier_refuse(fetch->lane, rts->link.id, false);
    }
}

enum gf_path gf_fetch_path(const struct gf_fetch *fetch)
{
    return fetch->engine && fetch->pull.posted ? GF_PATH_PT2PT_AGENT : gf_rts_path(fetch->kind);
}

gf_status gf_fetch_poll(struct gf_fetch *fetch, struct gf_reason *why)
{
    if (fetch->lane) {
        return gf_carrier_receive_poll(&fetch->carried, why);
    }
    if (fetch->chunks) {
        return gf_chunks_take_poll(fetch->chunks, &fetch->message, why);
    }
    return fetch->engine ? gf_pull_poll(fetch->engine, &fetch->pull, why) : gf_pipe_take_poll(fetch->sink, &fetch->take, why);
}
