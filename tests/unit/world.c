/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The world: memory of all ranks, and the host threads that play their blocks.
 */
#include "tests/unit/world.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/emulated_table.h"
#include "kernels/ring_work.h"
#include "tests/unit/scalar.h"

/* What one FIFO has beside its slots; words of different writers lie on lines of their own. */
struct fifo_memory {
    _Alignas(GF_LINE) uint64_t head;
    uint64_t address[GF_ADDRESS_WORDS];
    _Alignas(GF_LINE) uint64_t tail;
    uint32_t size[GF_FIFO_DEPTH];
};

/* The slots of one kind of lines. */
struct lines {
    char *slots;                              /* ranks × 2 × slot_bytes */
    uint64_t slot_bytes, slot_data;
    struct gf_peer_slots peers[GF_MAX_RANKS];
    uint32_t epoch;                           /* of the next piece */
};
enum { LL, LL128, KINDS };

/* Everything that belongs to one rank. Its FIFOs are those into which it receives. */
struct rank_memory {
    struct lines lines[KINDS];
    char *slots;                              /* blocks × depth × slot_bytes */
    struct fifo_memory fifo[WORLD_MAX_BLOCKS];
    struct gf_conn send[WORLD_MAX_BLOCKS], recv[WORLD_MAX_BLOCKS];
    struct gf_block *block[WORLD_MAX_BLOCKS];
    uint32_t blocks_done, error;
    uint64_t done, ticket;
    char *flags;                              /* ranks × GF_MAX_CHANNELS lines */
    uint64_t calls;                           /* by two-shot, so far */
    struct gf_reduction data[2];              /* of the last of these, by turns */
    uint64_t entered;                         /* how many it has entered */
    bool lost_ticket;
};

struct world {
    struct world_shape shape;
    uint32_t abort;
    pthread_barrier_t sweep;
    struct rank_memory *rank[WORLD_MAX_RANKS];
    uint32_t ring[WORLD_MAX_RANKS];           /* the ranks as they follow one another round the ring */
    uint32_t place[WORLD_MAX_RANKS];          /* by rank, where it is there */
};

static void *zeroed(size_t bytes)
{
    void *memory = aligned_alloc(GF_LINE, (bytes + GF_LINE - 1) / GF_LINE * GF_LINE);
    if (!memory)
        abort();
    return memset(memory, 0, bytes);
}

static void make_rank(struct world *w, uint32_t r)
{
    const struct world_shape *shape = &w->shape;
    struct rank_memory *m = w->rank[r] = zeroed(sizeof *m);
    uint64_t step = GF_LL128_SLOT_STEP, ll128_bytes = (shape->ll_slot_bytes + step - 1) / step * step;
    m->lines[LL] = (struct lines){ .slot_bytes = shape->ll_slot_bytes, .slot_data = shape->ll_slot_bytes / 2, .epoch = 1 };
    m->lines[LL128] = (struct lines){ .slot_bytes = ll128_bytes, .slot_data = ll128_bytes / 16 * 15, .epoch = 1 };
    for (int kind = 0; kind < KINDS; kind++)
        m->lines[kind].slots = zeroed(shape->ranks * 2 * m->lines[kind].slot_bytes);
    m->slots = zeroed(shape->blocks * GF_FIFO_DEPTH * shape->slot_bytes);
    m->flags = zeroed((size_t)shape->ranks * GF_MAX_CHANNELS * GF_LINE);
    for (uint32_t b = 0; b < shape->blocks; b++) {
        m->block[b] = gf_block_create(shape->threads, shape->weak, shape->seed + 100 * r + b);
        if (!m->block[b])
            abort();
    }
}

static void order_ring(struct world *w)
{
    uint64_t random = w->shape.seed;
    for (uint32_t p = 0; p < w->shape.ranks; p++) {
        uint32_t other = w->shape.shuffled ? (uint32_t)(scalar_random(&random) % (p + 1)) : p;
        w->ring[p] = w->ring[other];
        w->ring[other] = p;
    }
    for (uint32_t p = 0; p < w->shape.ranks; p++)
        w->place[w->ring[p]] = p;
}

static struct rank_memory *next_of(const struct world *w, uint32_t r)
{
    return w->rank[w->ring[(w->place[r] + 1) % w->shape.ranks]];
}

/* Rank r's ends: LL slots of all its peers, the FIFOs from the rank before it in the ring and to the next one. */
static void connect_rank(struct world *w, uint32_t r)
{
    const struct world_shape *shape = &w->shape;
    struct rank_memory *m = w->rank[r], *next = next_of(w, r);
    for (uint32_t q = 0; q < shape->ranks; q++)
        for (int kind = 0; kind < KINDS; kind++) {
            struct lines *lines = &m->lines[kind];
            lines->peers[q].from = lines->slots + q * 2 * lines->slot_bytes;
            lines->peers[q].to = w->rank[q]->lines[kind].slots + r * 2 * lines->slot_bytes;
        }
    for (uint32_t c = 0; c < shape->blocks; c++) {
        size_t offset = c * GF_FIFO_DEPTH * shape->slot_bytes;
        struct fifo_memory *mine = &m->fifo[c], *theirs = &next->fifo[c];
        m->recv[c] = (struct gf_conn){ .head = &mine->head, .tail = &mine->tail, .size = mine->size, .slots = m->slots + offset,
                                       .slot_bytes = shape->slot_bytes, .address = mine->address };
        m->send[c] = (struct gf_conn){ .head = &theirs->head, .tail = &theirs->tail, .size = theirs->size,
                                       .slots = next->slots + offset, .slot_bytes = shape->slot_bytes,
                                       .address = theirs->address };
    }
}

struct world *world_create(const struct world_shape *shape)
{
    struct world *w = zeroed(sizeof *w);
    w->shape = *shape;
    pthread_barrier_init(&w->sweep, NULL, shape->ranks);
    order_ring(w);
    for (uint32_t r = 0; r < shape->ranks; r++)
        make_rank(w, r);
    for (uint32_t r = 0; r < shape->ranks; r++)
        connect_rank(w, r);
    return w;
}

void world_destroy(struct world *w)
{
    for (uint32_t r = 0; r < w->shape.ranks; r++) {
        for (uint32_t b = 0; b < w->shape.blocks; b++)
            gf_block_destroy(w->rank[r]->block[b]);
        for (int kind = 0; kind < KINDS; kind++)
            free(w->rank[r]->lines[kind].slots);
        free(w->rank[r]->slots);
        free(w->rank[r]->flags);
        free(w->rank[r]);
    }
    pthread_barrier_destroy(&w->sweep);
    free(w);
}

/* A host thread of a launch. */
struct runner {
    pthread_t thread;
    struct gf_block *block;
    enum gf_kernel kernel;
    uint32_t number, blocks, index;
    const void *work;
};

static void *run(void *argument)
{
    const struct runner *r = argument;
    gf_block_run(r->block, r->kernel, r->number, r->blocks, r->index, r->work);
    return NULL;
}

static void run_kernel(struct world *w, struct rank_memory *m, enum gf_kernel kernel, uint32_t blocks, const void *work)
{
    struct runner runner[WORLD_MAX_BLOCKS * 8];
    uint32_t count = 0;
    for (uint32_t b = 0; b < blocks; b++)
        for (uint32_t t = 0; t < w->shape.threads; t++) {
            struct runner *r = &runner[count++];
            *r = (struct runner){ .block = m->block[b], .kernel = kernel, .number = b, .blocks = blocks, .index = t,
                                  .work = work };
            if (pthread_create(&r->thread, NULL, run, r) != 0)
                abort();
        }
    for (uint32_t i = 0; i < count; i++)
        pthread_join(runner[i].thread, NULL);
}

/* All ranks come here together: the next pieces would pass the last epoch. */
static void sweep(struct world *w, struct lines *lines)
{
    pthread_barrier_wait(&w->sweep);
    memset(lines->slots, 0, w->shape.ranks * 2 * lines->slot_bytes);
    lines->epoch = 1;
    pthread_barrier_wait(&w->sweep);
}

static void launch_one_shot(struct world *w, struct rank_memory *m, const struct gf_task *task, const struct world_call *call)
{
    struct lines *lines = &m->lines[call->algorithm == WORLD_LL128 ? LL128 : LL];
    uint64_t bytes = call->data.count * gf_type_size(call->data.type);
    struct gf_one_shot_work work = {
        .task = *task, .data = call->data, .slot_bytes = lines->slot_bytes,
        .pieces = (uint32_t)((bytes + lines->slot_data - 1) / lines->slot_data),
    };
    memcpy(work.peers, lines->peers, sizeof lines->peers);
    if (work.pieces > GF_LL_EPOCH_LAST - lines->epoch)
        sweep(w, lines);
    work.epoch = lines->epoch;
    lines->epoch += work.pieces;
    run_kernel(w, m, lines == &m->lines[LL128] ? GF_KERNEL_ALLREDUCE_LL128 : GF_KERNEL_ALLREDUCE_ONE_SHOT, call->blocks, &work);
}

static void launch_ring(struct world *w, struct rank_memory *m, const struct gf_task *task, const struct world_call *call)
{
    struct gf_ring_work work = { .task = *task, .data = call->data, .send = m->send, .recv = m->recv, .channels = call->blocks,
                                 .place = w->place[task->rank] };
    if (call->algorithm == WORLD_RING) {
        run_kernel(w, m, GF_KERNEL_ALLREDUCE_RING, call->blocks, &work);
        return;
    }
    /* All memory is one allocation, which has another place in each launch. */
    struct gf_ring_direct_work direct = { .ring = work, .reads = call->algorithm == WORLD_RING_READS };
    uint64_t place = task->ticket % GF_RING_PLACES, base = 1 << 12;
    direct.places[place] = (char *)(uintptr_t)base;
    direct.mine[0] = place << GF_ADDRESS_OFFSET_BITS | ((uintptr_t)call->data.send - base);
    direct.mine[1] = place << GF_ADDRESS_OFFSET_BITS | ((uintptr_t)call->data.recv - base);
    run_kernel(w, m, GF_KERNEL_ALLREDUCE_RING_DIRECT, call->blocks, &direct);
}

/* Waits for all ranks' buffers, as core/registry.c does; false: the world is over, or the time is up. */
static bool meet(struct world *w, struct rank_memory *m, const struct gf_reduction *data)
{
    uint64_t call = ++m->calls, began = gf_now_ns();
    m->data[call % 2] = *data;
    __atomic_store_n(&m->entered, call, __ATOMIC_RELEASE);
    for (uint32_t q = 0; q < w->shape.ranks; q++)
        while (__atomic_load_n(&w->rank[q]->entered, __ATOMIC_ACQUIRE) < call) {
            if (__atomic_load_n(&w->abort, __ATOMIC_RELAXED) || gf_now_ns() - began > w->shape.deadline_ns)
                return false;
            sched_yield();
        }
    return true;
}

static void launch_two_shot(struct world *w, struct rank_memory *m, const struct gf_task *task, const struct world_call *call)
{
    struct gf_two_shot_work work = { .task = *task, .data = call->data };
    if (!call->alone && !meet(w, m, &call->data)) {
        m->error = GF_KERNEL_TIMEOUT;
        return;
    }
    work.epoch = call->alone ? 1 : m->calls;
    for (uint32_t q = 0; q < w->shape.ranks; q++) {
        const struct gf_reduction *data = call->alone ? &call->data : &w->rank[q]->data[m->calls % 2];
        work.addresses[q] = (void *)(uintptr_t)data->send;
        work.addresses[w->shape.ranks + q] = data->recv;
        work.addresses[2 * w->shape.ranks + q] = w->rank[q]->flags;
    }
    run_kernel(w, m, GF_KERNEL_ALLREDUCE_TWO_SHOT, call->blocks, &work);
}

enum gf_kernel_error world_launch(struct world *w, uint32_t rank, const struct world_call *call)
{
    struct rank_memory *m = w->rank[rank];
    struct gf_task task = {
        .rank = rank, .ranks = w->shape.ranks, .abort = &w->abort, .deadline_ns = w->shape.deadline_ns,
        .blocks_done = &m->blocks_done, .done = &m->done, .error = &m->error, .ticket = ++m->ticket,
    };
    switch (call->algorithm) {
    case WORLD_ONE_SHOT:
    case WORLD_LL128: launch_one_shot(w, m, &task, call); break;
    case WORLD_TWO_SHOT: launch_two_shot(w, m, &task, call); break;
    default: launch_ring(w, m, &task, call); break;
    }
    m->lost_ticket |= m->done != m->ticket || m->blocks_done != 0;
    return m->error;
}

void world_abort(struct world *w)
{
    __atomic_store_n(&w->abort, 1, __ATOMIC_RELAXED);
}

bool world_is_consistent(const struct world *w)
{
    bool good = true;
    for (uint32_t r = 0; r < w->shape.ranks; r++) {
        const struct rank_memory *m = w->rank[r], *next = next_of(w, r);
        good &= !m->lost_ticket;
        for (uint32_t c = 0; c < w->shape.blocks; c++)
            good &= m->send[c].step == next->recv[c].step && *m->send[c].tail == m->send[c].step &&
                    *m->send[c].head == m->send[c].step;
    }
    return good;
}
