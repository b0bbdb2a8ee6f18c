/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each kernel as the library launches it.
 */
#include "tests/gpu/kernel_ranks.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/agent.h"
#include "core/host_ordered.h"
#include "core/pack_plan.h"
#include "kernels/reduce.h"
#include "kernels/ring_work.h"

enum { WORD = 8, STRIDE = 16 };

static struct gf_reduction make_reduction(struct kr *t, int r, enum gf_type type, enum gf_op op)
{
    return (struct gf_reduction){ .send = kr_address(t, t->rank[r].send), .recv = kr_address(t, t->rank[r].recv),
                                  .count = t->count, .type = type, .op = op };
}

/* half: of each rank's lines; LL lines have the first, LL128 lines the second. */
static struct gf_one_shot_work lines_work(struct kr *t, int r, int half)
{
    size_t all = 2 * (size_t)t->shape.ranks * t->shape.line_slot;
    struct gf_one_shot_work work = { .task = kr_task(t, r), .slot_bytes = t->shape.line_slot, .epoch = t->epoch, .pieces = 1 };

    for (int q = 0; q < t->shape.ranks; q++) {
        work.peers[q].to = (char *)kr_address(t, t->rank[q].lines) + half * all + r * 2 * t->shape.line_slot;
        work.peers[q].from = (char *)kr_address(t, t->rank[r].lines) + half * all + q * 2 * t->shape.line_slot;
    }
    return work;
}

/* few: with the short table. */
static void run_lines(struct kr *t, enum gf_type type, enum gf_op op, enum gf_kernel kernel, bool few, bool ll128)
{
    size_t piece = ll128 ? t->shape.line_slot / 16 * 15 : t->shape.line_slot / 2, bytes = t->count * gf_type_size(type);
    uint32_t pieces = (uint32_t)((bytes + piece - 1) / piece);

    for (int r = 0; r < t->shape.ranks; r++) {
        struct gf_one_shot_work work = lines_work(t, r, ll128);

        work.data = make_reduction(t, r, type, op);
        work.pieces = pieces;
        kr_launch(t, r, kernel, t->shape.channels, &work, few ? sizeof(struct gf_one_shot_few_work) : sizeof work);
    }
    t->epoch += pieces;
}

void kr_one_shot(struct kr *t, enum gf_type type, enum gf_op op)
{
    run_lines(t, type, op, GF_KERNEL_ALLREDUCE_ONE_SHOT, false, false);
}

void kr_one_shot_few(struct kr *t, enum gf_type type, enum gf_op op)
{
    run_lines(t, type, op, GF_KERNEL_ALLREDUCE_ONE_SHOT_FEW, true, false);
}

void kr_ll128(struct kr *t, enum gf_type type, enum gf_op op)
{
    run_lines(t, type, op, GF_KERNEL_ALLREDUCE_LL128, false, true);
}

void kr_ll128_few(struct kr *t, enum gf_type type, enum gf_op op)
{
    run_lines(t, type, op, GF_KERNEL_ALLREDUCE_LL128_FEW, true, true);
}

static struct gf_ring_work ring_work(struct kr *t, int r, enum gf_type type, enum gf_op op)
{
    struct gf_conn *conns = kr_address(t, t->rank[r].conns);

    return (struct gf_ring_work){ .task = kr_task(t, r), .data = make_reduction(t, r, type, op), .send = conns,
                                  .recv = conns + t->shape.channels, .channels = (uint32_t)t->shape.channels,
                                  .place = (uint32_t)r };
}

static void run_ring(struct kr *t, enum gf_type type, enum gf_op op, enum gf_kernel kernel, uint32_t lends)
{
    for (int r = 0; r < t->shape.ranks; r++) {
        struct gf_ring_work work = ring_work(t, r, type, op);

        work.lends = lends;
        kr_launch(t, r, kernel, t->shape.channels, &work, sizeof work);
    }
}

void kr_ring(struct kr *t, enum gf_type type, enum gf_op op)
{
    run_ring(t, type, op, GF_KERNEL_ALLREDUCE_RING, 0);
}

/* Data may come into the buffers that are lent; but here no host brings them there, so all come by the slots. */
void kr_ring_lent(struct kr *t, enum gf_type type, enum gf_op op)
{
    run_ring(t, type, op, GF_KERNEL_ALLREDUCE_RING_LENT, GF_RING_RECV_LENT);
}

/* Each rank's buffers are two allocations, at places of their own. */
static void run_ring_direct(struct kr *t, enum gf_type type, enum gf_op op, bool reads)
{
    int ranks = t->shape.ranks;

    for (int r = 0; r < ranks; r++) {
        int neighbour = (reads ? r + ranks - 1 : r + 1) % ranks;
        struct gf_ring_direct_work work = { .ring = ring_work(t, r, type, op), .reads = reads };

        for (int i = 0; i < 2; i++) {
            work.mine[i] = (uint64_t)(2 * r + i) << GF_ADDRESS_OFFSET_BITS;
            work.places[2 * neighbour + i] = kr_address(t, i == 0 ? t->rank[neighbour].send : t->rank[neighbour].recv);
        }
        kr_launch(t, r, GF_KERNEL_ALLREDUCE_RING_DIRECT, t->shape.channels, &work, sizeof work);
    }
}

void kr_ring_writes(struct kr *t, enum gf_type type, enum gf_op op)
{
    run_ring_direct(t, type, op, false);
}

void kr_ring_reads(struct kr *t, enum gf_type type, enum gf_op op)
{
    run_ring_direct(t, type, op, true);
}

static void run_two_shot(struct kr *t, enum gf_type type, enum gf_op op, enum gf_kernel kernel, size_t bytes)
{
    int ranks = t->shape.ranks;

    for (int r = 0; r < ranks; r++) {
        struct gf_two_shot_work work = { .task = kr_task(t, r), .data = make_reduction(t, r, type, op), .epoch = t->ticket };

        for (int q = 0; q < ranks; q++) {
            work.addresses[q] = kr_address(t, t->rank[q].send);
            work.addresses[ranks + q] = kr_address(t, t->rank[q].recv);
            work.addresses[2 * ranks + q] = kr_address(t, t->rank[q].flags);
        }
        kr_launch(t, r, kernel, t->shape.channels, &work, bytes);
    }
}

void kr_two_shot(struct kr *t, enum gf_type type, enum gf_op op)
{
    run_two_shot(t, type, op, GF_KERNEL_ALLREDUCE_TWO_SHOT, sizeof(struct gf_two_shot_work));
}

void kr_two_shot_few(struct kr *t, enum gf_type type, enum gf_op op)
{
    run_two_shot(t, type, op, GF_KERNEL_ALLREDUCE_TWO_SHOT_FEW, sizeof(struct gf_two_shot_few_work));
}

void kr_local_at(struct kr *t, int r, enum gf_type type, enum gf_op op, int blocks)
{
    struct gf_local_work work = { .task = kr_task(t, r), .recv = kr_address(t, t->rank[r].recv), .count = t->count, .type = type,
                                  .op = op, .input_count = (uint32_t)t->shape.ranks };

    for (int q = 0; q < t->shape.ranks; q++) {
        work.inputs[q] = kr_address(t, t->rank[q].send);
    }
    kr_launch(t, r, GF_KERNEL_REDUCE_LOCAL, blocks, &work, sizeof work);
}

void kr_local(struct kr *t, enum gf_type type, enum gf_op op)
{
    for (int r = 0; r < t->shape.ranks; r++) {
        kr_local_at(t, r, type, op, t->shape.channels);
    }
}

size_t kr_piece_bytes(const struct kr *t)
{
    return t->shape.line_slot / 2;
}

/* One rank's agent, from its launch until it has left: two commands, of which the second may find it there. */
struct agent_call {
    struct kr *t;
    pthread_t thread;
    int rank;
    enum gf_type type;
    enum gf_op op;
};

/* Two blocks, which share what is worth it. */
static gf_agent *agent_create(struct kr *t)
{
    const struct gf_config settings = { .agent = GF_AGENT_FIXED, .agent_us = 100, .agent_blocks = 2, .agent_start_us = 60000000 };
    struct gf_reason why = { "" };
    gf_agent *agent;

    kr_need(t, gf_agent_create(t->device, &settings, &agent, &why), "agent", &why);
    return agent;
}

static void *agent_call(void *argument)
{
    const struct agent_call *call = argument;
    struct kr *t = call->t;
    struct gf_one_shot_work work = lines_work(t, call->rank, 0);
    struct gf_reduction data = make_reduction(t, call->rank, call->type, call->op);
    struct gf_reason why = { "" };
    gf_agent *agent = agent_create(t);
    int table;

    kr_need(t, gf_agent_introduce(agent, t->rank[call->rank].stream, &work, &table, &why), "agent's table", &why);
    for (uint32_t i = 0; i < 2; i++) {
        struct gf_command command = { .kind = GF_COMMAND_ALLREDUCE, .type = (uint8_t)gf_canonical_type(call->type, call->op),
                                      .op = (uint8_t)call->op, .blocks = (uint8_t)t->shape.channels, .send = data.send,
                                      .recv = data.recv, .bytes = (uint32_t)(data.count * gf_type_size(call->type)),
                                      .epoch = t->epoch + i };
        gf_status status = GF_NO_RESOURCE;

        while (status == GF_NO_RESOURCE) {      /* it may leave before it has seen the command */
            status = gf_agent_claim(agent) ? gf_agent_run(agent, table, &command, NULL, &why) : GF_NO_RESOURCE;
        }
        kr_need(t, status, "agent's command", &why);
    }
    gf_agent_forget(agent, table);
    gf_agent_destroy(agent);
    return NULL;
}

void kr_agent(struct kr *t, enum gf_type type, enum gf_op op)
{
    struct agent_call calls[KR_RANKS_MOST];

    t->launched[GF_KERNEL_AGENT] = true;
    for (int r = 0; r < t->shape.ranks; r++) {
        calls[r] = (struct agent_call){ .t = t, .rank = r, .type = type, .op = op };
        kr_need(t, pthread_create(&calls[r].thread, NULL, agent_call, &calls[r]) ? GF_NO_RESOURCE : GF_OK, "thread", NULL);
    }
    for (int r = 0; r < t->shape.ranks; r++) {
        pthread_join(calls[r].thread, NULL);
        t->rank[r].done[0] = t->ticket;      /* the agent has other words for its ends, and they were waited for */
    }
    t->epoch += 2;
}

/* Given until it has been moved, however often the agent leaves before. */
static void agent_move(struct kr *t, gf_agent *agent, const struct gf_pull_command *pull, uint64_t *end)
{
    uint32_t returned = 0;
    bool given = false;

    *end = 0;
    while (gf_host_observe(end) != GF_PULL_END) {
        if (!given || gf_host_observe_flag(&returned)) {
            union gf_command_line line = { .pull = *pull };

            gf_agent_invite(agent);
            given = gf_agent_post(agent, &line.command, &returned);
        }
        kr_need(t, gf_agent_collect(agent), "agent", NULL);
    }
}

void kr_agent_pull(struct kr *t, char *to, const char *from, size_t bytes)
{
    uint64_t *end = &t->rank[0].done[KR_END];
    gf_agent *agent = agent_create(t);

    for (size_t at = 0; at < bytes; at += GF_PULL_COMMAND_MOST) {
        size_t part = bytes - at < GF_PULL_COMMAND_MOST ? bytes - at : GF_PULL_COMMAND_MOST;
        struct gf_pull_command pull = { .kind = GF_COMMAND_PULL, .last = (uint16_t)(part - 1), .from = from + at, .to = to + at,
                                        .end = kr_address(t, end) };

        agent_move(t, agent, &pull, end);
    }
    gf_agent_destroy(agent);
}

void kr_pull(struct kr *t, void *to, const void *from, size_t bytes, int blocks)
{
    uint64_t *end = &t->rank[0].done[KR_END], share = (bytes / (size_t)blocks / GF_LINE + 1) * GF_LINE;
    struct gf_pull_work work = {
        .launch = { .gate = kr_address(t, t->rank[0].gate), .ticket = t->ticket, .share = share, .count = 1 },
        .item = { .to = to, .from = from, .bytes = bytes, .end = kr_address(t, end),
                  .blocks = (uint32_t)((bytes - 1) / share + 1) },
    };

    *end = 0;
    kr_launch(t, 0, GF_KERNEL_PULL, (int)work.item.blocks, &work, sizeof work);
}

static struct gf_pack_part pack_part(const struct kr *t, char *to, const char *from, size_t words)
{
    struct gf_pack_copy copy = { .to = to, .from = from, .to_packed = true, .count = words, .bytes = words * WORD };
    struct gf_flat_builder builder;
    struct gf_flat flat;

    gf_flat_begin(&builder, STRIDE);
    kr_need(t, gf_flat_add(&builder, 0, WORD, NULL), "flat", NULL);
    kr_need(t, gf_flat_finish(&builder, &flat, NULL), "flat", NULL);
    struct gf_pack_part part = gf_pack_plan_part(&flat, &copy);

    gf_flat_free(&flat);
    return part;
}

void kr_pack(struct kr *t, void *to, const void *from, size_t words, int blocks)
{
    struct gf_pack_work work = { .task = kr_task(t, 0), .part = pack_part(t, to, from, words) };

    kr_launch(t, 0, GF_KERNEL_PACK, blocks, &work, sizeof work);
}

void kr_pack_list(struct kr *t, void *to, const void *from, size_t words, int blocks)
{
    struct gf_pack_list_work work = { .task = kr_task(t, 0), .parts = kr_address(t, t->rank[0].parts), .count = 2 };
    struct gf_pack_part *parts = t->rank[0].parts;
    size_t half = words / 2;

    parts[0] = pack_part(t, to, from, half);
    parts[1] = pack_part(t, (char *)to + half * WORD, (const char *)from + half * STRIDE, words - half);
    parts[1].first_tile = gf_pack_part_tiles(&parts[0]);
    work.tiles = parts[1].first_tile + gf_pack_part_tiles(&parts[1]);
    kr_launch(t, 0, GF_KERNEL_PACK_LIST, blocks, &work, sizeof work);
}
