/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks without MPI and without a second process, for programs about the kernels: each is a stream with memory of its own, its
 * connections are made by hand. So all of it runs with and without MPS, under compute-sanitizer and under ncu.
 */
#ifndef GF_TESTS_GPU_KERNEL_RANKS_H
#define GF_TESTS_GPU_KERNEL_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/types.h"
#include "device/device.h"
#include "kernels/work.h"

enum { KR_RANKS_MOST = 3 };

/* bytes: of a rank's send and receive buffer. channels: FIFOs to the next rank, and blocks of a launch that communicates. */
struct kr_shape {
    int ranks, channels, threads;
    size_t bytes, line_slot, fifo_slot;
};

/* One rank's memory on the device; user addresses. Its FIFOs are those into which it receives. */
struct kr_rank {
    gf_stream *stream;
    char *send, *recv;
    char *lines;                   /* slots of LL lines, then of LL128 lines, as many */
    char *fifo;                    /* channels × GF_FIFO_DEPTH × fifo_slot, then a line of tails and sizes a channel */
    char *heads;                   /* a line a channel */
    char *flags;                   /* ranks × GF_MAX_CHANNELS lines */
    struct gf_conn *conns;         /* channels to send, channels to receive */
    char *gate;                    /* struct gf_pull_gate */
    uint32_t *blocks_done;
    struct gf_pack_part *parts;    /* pinned; of a list */
    uint64_t *done;                /* pinned; then the error, then the end of a pull: KR_ERROR, KR_END */
};

enum { KR_ERROR = 1, KR_END = 2 };     /* as indices of done */

/* Owned by main. */
struct kr {
    const char *program;           /* for what is said */
    struct kr_shape shape;
    gf_device *device;
    struct kr_rank rank[KR_RANKS_MOST];
    uint32_t *abort;               /* pinned */
    uint64_t ticket;               /* of the next launches */
    uint32_t epoch;
    size_t count;                  /* elements of a reduction */
    bool launched[GF_KERNEL_COUNT];
    long checks, failures;
};

/* Opens the device and makes the ranks; ends the program with a sentence where it cannot. */
void kr_create(struct kr *t, const char *program, const char *driver, const struct kr_shape *shape);

void kr_need(const struct kr *t, gf_status status, const char *what, const struct gf_reason *why);
void *kr_address(const struct kr *t, const void *user);
void *kr_device(struct kr *t, size_t bytes);       /* zeroed */
void *kr_pinned(struct kr *t, size_t bytes);
/* Waited for. */
void kr_copy(struct kr *t, void *to, const void *from, size_t bytes);

/* Counts, and says what is wrong. */
bool kr_check(struct kr *t, bool right, const char *kernel, const char *what, int rank);

/* Waits for rank r's kernel and checks its ticket and error. */
void kr_ended(struct kr *t, int r, const char *kernel, const char *what);

struct gf_task kr_task(struct kr *t, int r);
void kr_launch(struct kr *t, int r, enum gf_kernel kernel, int blocks, const void *work, size_t bytes);

/* ---- kernel_runs.c: launches on all ranks, for t->count elements of `send`, all of the next ticket ---- */
typedef void kr_run(struct kr *t, enum gf_type type, enum gf_op op);

kr_run kr_one_shot, kr_one_shot_few, kr_ll128, kr_ll128_few, kr_ring, kr_ring_lent, kr_ring_writes, kr_ring_reads, kr_two_shot,
    kr_two_shot_few, kr_local;
/* On one rank: what waits for nobody need not run on all. */
void kr_local_at(struct kr *t, int r, enum gf_type type, enum gf_op op, int blocks);
/* By a gf_agent a rank, which leaves at the end; waits for it. One piece only: see kr_piece_bytes. */
kr_run kr_agent;
size_t kr_piece_bytes(const struct kr *t);
/* By an agent of rank 0, in messages of the size that it takes; waits for them. Kernel addresses. */
void kr_agent_pull(struct kr *t, char *to, const char *from, size_t bytes);

/* Of rank 0: `bytes` bytes, from `from` to `to` (kernel addresses), in one piece. */
void kr_pull(struct kr *t, void *to, const void *from, size_t bytes, int blocks);
/* Packs words of 8 bytes, which lie 16 bytes apart: as one part, or as two. */
void kr_pack(struct kr *t, void *to, const void *from, size_t words, int blocks);
void kr_pack_list(struct kr *t, void *to, const void *from, size_t words, int blocks);

#endif
