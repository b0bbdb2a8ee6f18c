/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rounds of bytes over shared memory.
 */
#include "core/bulletin.h"

#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/peers.h"

enum {
    YIELDS = 64,                       /* before naps: the others are often a few microseconds behind */
    NAP_NS = 20 * 1000,
    NAPS_PER_LOOK = 10 * 1000          /* at their processes: a few times a second */
};

static void nap(void)
{
    const struct timespec time = { .tv_nsec = NAP_NS };

    nanosleep(&time, NULL);
}

void gf_bulletin_introduce(struct gf_bulletin_line *mine)
{
    mine->pid = (int32_t)getpid();
    mine->start_time = gf_process_start_time(mine->pid);
}

void gf_bulletin_refuse(struct gf_bulletin_line *mine)
{
    atomic_store_explicit(&mine->refused, 1, memory_order_release);
}

/* Until a counter of this line is there. */
static gf_status wait_for(const struct gf_bulletin_line *line, const _Atomic uint64_t *counter, uint64_t round)
{
    for (unsigned turn = 0; atomic_load_explicit(counter, memory_order_acquire) < round; turn++) {
        if (atomic_load_explicit(&line->refused, memory_order_acquire)) {
            return GF_ERR_UNSUPPORTED;
        }
        if (turn < YIELDS) {
            sched_yield();
            continue;
        }
        nap();
        if (turn % NAPS_PER_LOOK == 0 && !gf_process_alive(line->pid, line->start_time)) {
            return GF_ERR_PEER;
        }
    }
    return GF_OK;
}

/* Of all ranks. */
static gf_status wait_for_all(const struct gf_bulletin *b, size_t counter, uint64_t round)
{
    gf_status status = GF_OK;

    for (int r = 0; r < b->ranks && status == GF_OK; r++) {
        const struct gf_bulletin_line *line = &b->lines[r];

        status = wait_for(line, (const _Atomic uint64_t *)((const char *)line + counter), round);
    }
    return status;
}

/* An exchange: of each rank r's blob, `total` bytes long, this rank takes `most` bytes from `skip` on to all + r * most. */
struct part {
    const char *mine;
    size_t total;
    char *all;
    size_t skip, most;
};

/* What of a round's bytes is for this rank. */
static void take(const struct part *part, const struct gf_bulletin_line *line, char *to, size_t offset, size_t bytes)
{
    size_t first = offset > part->skip ? offset : part->skip;
    size_t end = offset + bytes < part->skip + part->most ? offset + bytes : part->skip + part->most;

    if (first < end) {
        memcpy(to + (first - part->skip), line->bytes + (first - offset), end - first);
    }
}

static gf_status run_round(struct gf_bulletin *b, const struct part *part, size_t offset, size_t bytes)
{
    struct gf_bulletin_line *mine = &b->lines[b->rank];
    uint64_t round = ++b->round;
    gf_status status = wait_for_all(b, offsetof(struct gf_bulletin_line, read), round - 1);

    if (status != GF_OK) {
        return status;
    }
    memcpy(mine->bytes, part->mine + offset, bytes);
    atomic_store_explicit(&mine->written, round, memory_order_release);
    status = wait_for_all(b, offsetof(struct gf_bulletin_line, written), round);
    for (int r = 0; r < b->ranks && status == GF_OK; r++) {
        take(part, &b->lines[r], part->all + (size_t)r * part->most, offset, bytes);
    }
    atomic_store_explicit(&mine->read, round, memory_order_release);
    return status;
}

static gf_status run(struct gf_bulletin *b, const struct part *part)
{
    gf_status status = GF_OK;

    for (size_t offset = 0; offset < part->total && status == GF_OK; offset += GF_BULLETIN_BYTES) {
        size_t left = part->total - offset;

        status = run_round(b, part, offset, left < GF_BULLETIN_BYTES ? left : GF_BULLETIN_BYTES);
    }
    return status;
}

static gf_status allgather(void *ctx, const void *mine, void *all, size_t bytes)
{
    return run(ctx, &(struct part){ .mine = mine, .total = bytes, .all = all, .most = bytes });
}

static gf_status alltoall(void *ctx, const void *to, void *from, size_t bytes)
{
    struct gf_bulletin *b = ctx;

    return run(b, &(struct part){ .mine = to, .total = bytes * (size_t)b->ranks, .all = from,
                                  .skip = bytes * (size_t)b->rank, .most = bytes });
}

static void progress(void *ctx)
{
    (void)ctx;
    sched_yield();
}

struct gf_bootstrap gf_bulletin_bootstrap(struct gf_bulletin *b)
{
    return (struct gf_bootstrap){ .ctx = b, .rank = b->rank, .ranks = b->ranks, .allgather = allgather, .alltoall = alltoall,
                                  .progress = progress };
}
