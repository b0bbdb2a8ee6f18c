/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The stream: two teams of host threads that call the FIFO's functions as kernels do.
 */
#include "tests/unit/stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/fifo.h"
#include "kernels/simple.h"
#include "tests/unit/scalar.h"

enum { SLOT = 256, MOST_THREADS = 4 };

struct fifo_memory {
    _Alignas(GF_LINE) uint64_t head;
    _Alignas(GF_LINE) uint64_t tail;
    uint32_t size[GF_FIFO_DEPTH];
    _Alignas(GF_LINE) char slots[GF_FIFO_DEPTH * SLOT];
};

/* Both ends' view of the run. in and out hold steps × SLOT bytes. */
struct run {
    const struct stream *stream;
    struct fifo_memory *fifo;
    const uint32_t *bytes;        /* of each step */
    char *in, *out;
    uint32_t abort, error;
};

struct member {
    pthread_t thread;
    struct run *run;
    struct gf_team team;
    bool sends;
};

static void *act(void *argument)
{
    struct member *m = argument;
    struct run *r = m->run;
    struct gf_task task = { .abort = &r->abort, .deadline_ns = r->stream->deadline_ns, .error = &r->error };
    struct gf_conn conn = { .head = &r->fifo->head, .tail = &r->fifo->tail, .size = r->fifo->size, .slots = r->fifo->slots,
                            .slot_bytes = SLOT, .step = r->stream->first };
    struct gf_conn *recv = m->sends ? NULL : &conn, *send = m->sends ? &conn : NULL;
    for (uint64_t step = 0; step < r->stream->steps; step++) {
        if (!gf_fifo_begin(&m->team, &task, recv, send, r->bytes[step]))
            break;
        char *slot = gf_fifo_slot(&conn);
        if (m->sends)
            gf_copy_bytes(&m->team, slot, r->in + step * SLOT, r->bytes[step]);
        else
            gf_copy_bytes(&m->team, r->out + step * SLOT, slot, r->bytes[step]);
        gf_fifo_end(&m->team, recv, send, r->bytes[step]);
    }
    gf_block_complete(m->team.shared, m->team.thread);
    return NULL;
}

static void start_team(struct member *members, struct run *run, struct gf_block *block, bool sends)
{
    for (uint32_t t = 0; t < run->stream->threads; t++) {
        members[t] = (struct member){ .run = run, .sends = sends };
        members[t].team = (struct gf_team){ .blocks = 1, .thread = t, .threads = run->stream->threads, .shared = block,
                                            .weak = run->stream->weak };
        if (pthread_create(&members[t].thread, NULL, act, &members[t]) != 0)
            abort();
    }
}

static bool all_arrived(const struct run *run)
{
    uint64_t end = run->stream->first + run->stream->steps;
    bool right = run->error == 0 && run->fifo->head == end && run->fifo->tail == end;
    for (uint64_t step = 0; step < run->stream->steps; step++)
        right &= memcmp(run->in + step * SLOT, run->out + step * SLOT, run->bytes[step]) == 0;
    return right;
}

bool stream_is_right(const struct stream *stream)
{
    uint64_t random = stream->seed;
    struct fifo_memory *fifo = aligned_alloc(GF_LINE, sizeof *fifo);
    uint32_t *bytes = calloc(stream->steps, sizeof *bytes);
    struct run run = { .stream = stream, .fifo = memset(fifo, 0, sizeof *fifo), .bytes = bytes, .in = calloc(stream->steps, SLOT),
                       .out = calloc(stream->steps, SLOT) };
    fifo->head = fifo->tail = stream->first;
    for (uint64_t step = 0; step < stream->steps; step++) {
        bytes[step] = (uint32_t)(scalar_random(&random) % (SLOT + 1));
        memset(run.in + step * SLOT, (int)(step % 251) + 1, SLOT);
    }
    struct gf_block *block[2];
    struct member member[2][MOST_THREADS];
    for (int sends = 0; sends < 2; sends++) {
        block[sends] = gf_block_create(stream->threads, stream->weak, stream->seed + sends);
        start_team(member[sends], &run, block[sends], sends);
    }
    for (int sends = 0; sends < 2; sends++)
        for (uint32_t t = 0; t < stream->threads; t++)
            pthread_join(member[sends][t].thread, NULL);
    bool right = all_arrived(&run);
    for (int sends = 0; sends < 2; sends++)
        gf_block_destroy(block[sends]);
    free(run.in);
    free(run.out);
    free(bytes);
    free(fifo);
    return right;
}
