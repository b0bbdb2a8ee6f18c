/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One exchange: its plan, and what each rank fetches.
 */
#include "core/exchange.h"

#include <string.h>

#include "core/comm_private.h"

/* What this rank has to move, and by whom: a kernel takes kernel addresses, copies take user addresses. */
struct pieces {
    struct gf_piece list[GF_MAX_RANKS];
    uint32_t count;
};

static size_t bytes_of(const struct gf_registry_block *blocks, int ranks)
{
    size_t bytes = 0;

    for (int r = 0; r < ranks; r++) {
        bytes += blocks[r].bytes;
    }
    return bytes;
}

static int count_of(const struct gf_registry_block *blocks, int ranks)
{
    int count = 0;

    for (int r = 0; r < ranks; r++) {
        count += blocks[r].bytes > 0;
    }
    return count;
}

/* Plans until the plan can be carried out; the same on all ranks. */
static gf_status plan_and_connect(gf_comm *comm, const struct gf_exchange *x, struct gf_reason *why)
{
    for (;;) {
        const struct gf_plan_input input = {
            .ranks = comm->peers.ranks, .blocks = comm->peers.blocks, .unavailable = comm->unavailable,
            .kernels_may_wait = comm->peers.kernels_may_wait,
        };

        gf_plan_exchange(&comm->config, &input, x->in_place, count_of(x->take, input.ranks), bytes_of(x->take, input.ranks),
                         &comm->exchange);
        gf_status status = gf_comm_call_connect(comm, &comm->exchange, why);

        if (status != GF_ERR_UNSUPPORTED) {
            return status;
        }
    }
}

/* Of a pair that swaps, the lower rank does the first half, which is whole lines. */
static void take_half(struct gf_piece *piece, bool lower)
{
    uint64_t half = (piece->bytes / 2 + GF_LINE - 1) / GF_LINE * GF_LINE;
    uint64_t first = half < piece->bytes ? half : piece->bytes;

    if (lower) {
        piece->bytes = first;
    } else {
        piece->to = (char *)piece->to + first;
        piece->from = (const char *)piece->from + first;
        piece->bytes -= first;
    }
}

/* Where that rank's block for this one begins. */
static const char *place_of(const gf_comm *comm, const struct gf_exchange *x, int rank, bool by_kernel)
{
    const struct gf_registry *registry = &comm->mapped.registry;

    if (comm->peers.ranks == 1) {
        return x->send.address + x->give[rank].offset;
    }
    return (by_kernel ? gf_registry_address(registry, rank, GF_MAPPED_SEND)
                      : gf_registry_user_address(registry, rank, GF_MAPPED_SEND))
        + gf_registry_block(registry, rank).offset;
}

/* Each rank begins with another peer. `to`: the receive buffer. */
static gf_status list_pieces(const gf_comm *comm, const struct gf_exchange *x, char *to, bool by_kernel, struct pieces *pieces,
                             struct gf_reason *why)
{
    int me = comm->peers.rank, ranks = comm->peers.ranks;

    pieces->count = 0;
    for (int i = 0; i < ranks; i++) {
        int r = (me + i) % ranks;
        uint64_t bytes = x->take[r].bytes;
        uint64_t sent = ranks == 1 ? x->give[r].bytes : gf_registry_block(&comm->mapped.registry, r).bytes;

        if (sent != bytes) {
            gf_reason_set(why, "rank %d sends %llu bytes to rank %d, which expects %llu: pass counts and datatypes that agree", r,
                          (unsigned long long)sent, me, (unsigned long long)bytes);
            return GF_ERR_PEER;
        }
        if (bytes == 0 || (x->in_place && r == me)) {
            continue;
        }
        struct gf_piece *piece = &pieces->list[pieces->count];

        *piece = (struct gf_piece){ to + x->take[r].offset, place_of(comm, x, r, by_kernel), bytes };
        if (x->in_place) {
            take_half(piece, me < r);
        }
        pieces->count += piece->bytes > 0;
    }
    return GF_OK;
}

/* Bytes of each block of the launch, so that these cover all pieces, each filled up to whole lines. */
static uint64_t share_of(const struct pieces *pieces, int blocks)
{
    uint64_t lines = 0;

    for (uint32_t i = 0; i < pieces->count; i++) {
        lines += (pieces->list[i].bytes + GF_LINE - 1) / GF_LINE;
    }
    return (lines + (uint64_t)blocks - 1) / (uint64_t)blocks * GF_LINE;
}

static gf_status start_kernel(gf_comm *comm, const struct gf_exchange *x, const struct pieces *pieces, struct gf_reason *why)
{
    const struct gf_plan *plan = &comm->exchange;
    bool few = pieces->count <= GF_FEW_RANKS;
    struct gf_exchange_work work = { .share = share_of(pieces, plan->blocks), .count = pieces->count, .swap = x->in_place };

    if (pieces->count == 0) {
        return GF_OK;
    }
    memcpy(work.pieces, pieces->list, pieces->count * sizeof *pieces->list);
    return gf_execution_start(&comm->execution, few ? GF_KERNEL_EXCHANGE_FEW : GF_KERNEL_EXCHANGE, plan->blocks, plan->threads,
                              &work.task, few ? sizeof(struct gf_exchange_few_work) : sizeof work, why);
}

static gf_status start_copies(gf_comm *comm, const struct pieces *pieces, struct gf_reason *why)
{
    gf_status status = GF_OK;

    for (uint32_t i = 0; i < pieces->count && status == GF_OK; i++) {
        const struct gf_piece *piece = &pieces->list[i];

        status = gf_execution_start_copy(&comm->execution, piece->to, piece->from, piece->bytes, why);
    }
    return status;
}

/* Fetches what is for this rank. */
static gf_status fetch(gf_comm *comm, const struct gf_mapped_call *call, struct gf_reason *why)
{
    const struct gf_exchange *x = call->ctx;
    bool by_kernel = comm->exchange.algorithm == GF_PLAN_EXCHANGE;
    char *to = by_kernel && x->recv.address && !x->recv.where.direct ? gf_device_kernel_address(comm->device, x->recv.address)
                                                                     : x->recv.address;
    struct pieces pieces;

    if (!to && x->recv.address) {
        gf_reason_set(why, "kernels cannot reach the receive buffer at %p: pass memory of the device, allocated and not freed",
                      (void *)x->recv.address);
        return GF_ERR_INVALID;
    }
    gf_status status = list_pieces(comm, x, to, by_kernel, &pieces, why);

    if (status != GF_OK) {
        return status;
    }
    return by_kernel ? start_kernel(comm, x, &pieces, why) : start_copies(comm, &pieces, why);
}

gf_status gf_exchange_start(gf_comm *comm, const struct gf_exchange *x, struct gf_mapped_call *call, struct gf_reason *why)
{
    gf_status status = gf_comm_call_begin(comm, why);

    if (status == GF_OK) {
        status = plan_and_connect(comm, x, why);
    }
    if (status != GF_OK) {
        return gf_comm_call_end(comm, status, why);
    }
    gf_log(comm->log, GF_LOG_CALL, "%s: %s, %zu bytes to fetch: %s", comm->name, x->name, bytes_of(x->take, comm->peers.ranks),
           comm->exchange.reason);
    if (comm->exchange.algorithm == GF_PLAN_STAGE) {
        gf_reason_set(why, "%s", comm->exchange.reason);
        return GF_ERR_UNSUPPORTED;
    }
    *call = (struct gf_mapped_call){ .name = x->name, .what = { x->what[0], x->what[1] }, .send = &x->send, .give = x->give,
                                     .start = fetch, .ctx = x };
    gf_mapped_call_start(comm, call);
    return GF_OK;
}

gf_status gf_comm_exchange(gf_comm *comm, const struct gf_exchange *x, struct gf_reason *why)
{
    struct gf_reason local = { "" };
    struct gf_mapped_call call;
    gf_status status = gf_exchange_start(comm, x, &call, &local);

    if (status == GF_OK) {
        status = gf_mapped_call_finish(comm, &call, &local);
    }
    if (status != GF_OK) {
        gf_reason_set(why, "%s", local.text);
    }
    return status;
}

/* The first exchange connects: one of nothing. */
gf_status gf_comm_connect_mapped(gf_comm *comm, struct gf_reason *why)
{
    static const struct gf_exchange nothing = { .name = "setting up mapped buffers" };

    return gf_comm_exchange(comm, &nothing, why);
}

const struct gf_plan *gf_comm_last_exchange(const gf_comm *comm)
{
    return &comm->exchange;
}
