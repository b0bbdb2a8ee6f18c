/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The board on which the ranks of one communicator tell whether their call number s has device buffers. Shared memory, one line a
 * rank, written by that rank only. Plain functions that never wait; agree.h has the meaning and the proof.
 */
#ifndef GF_MCA_AGREE_BOARD_H
#define GF_MCA_AGREE_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GF_AGREE_LINE = 128,
    GF_AGREE_RING = 8            /* a rank may be this many device calls ahead of the slowest one that looks */
};

/* Calls are numbered from 1. */
struct gf_agree_line {
    _Alignas(GF_AGREE_LINE)
    _Atomic uint64_t entered;                        /* this rank has entered the calls up to here */
    _Atomic uint64_t settled;                        /* this rank has no question any more about the calls up to here */
    _Atomic uint64_t device_calls[GF_AGREE_RING];    /* numbers of its latest calls with device buffers; 0: none */
};

enum gf_agree_failure {
    GF_AGREE_UNSEEN = 1,         /* there can be none, or a rank cannot see its board */
    GF_AGREE_FREED               /* a rank has freed the communicator before it saw its board */
};

struct gf_agree_board {
    _Alignas(GF_AGREE_LINE)
    _Atomic uint32_t failed;                         /* enum gf_agree_failure: stage for ever. Written by the leader */
    _Atomic uint64_t decided;                        /* between nodes: the latest verdict: the call's number twice, plus 1 if
                                                        native. Written by the leader */
    struct gf_agree_line lines[];                    /* one a rank of this node; the leader's is the first */
};

static inline size_t gf_agree_board_bytes(int ranks)
{
    return sizeof(struct gf_agree_board) + (size_t)ranks * sizeof(struct gf_agree_line);
}

/* This rank enters call `call`, with host buffers if the call is not in its ring. */
static inline void gf_agree_line_enter(struct gf_agree_line *mine, uint64_t call)
{
    atomic_store_explicit(&mine->entered, call, memory_order_release);
}

/* This rank enters call `call` with host buffers, and has no question about it or any before. */
static inline void gf_agree_line_host(struct gf_agree_line *mine, uint64_t call)
{
    atomic_store_explicit(&mine->settled, call, memory_order_release);
    gf_agree_line_enter(mine, call);
}

/* A rank that just came to see the board: its calls so far had host buffers. Any thread; never takes back what the
 * thread that makes the calls has written meanwhile. */
void gf_agree_line_history(struct gf_agree_line *mine, uint64_t calls);

/* May the rank `me` announce its device_call-th call with device buffers (from 0)? It overwrites an older one, which every
 * rank, itself too, must have settled. */
bool gf_agree_board_has_room(const struct gf_agree_board *board, int ranks, int me, uint64_t device_call);

/* This rank enters call `call` with device buffers; there is room. */
void gf_agree_line_device(struct gf_agree_line *mine, uint64_t device_call, uint64_t call);

/* This rank knows the verdict on call `call`. */
static inline void gf_agree_line_settle(struct gf_agree_line *mine, uint64_t call)
{
    atomic_store_explicit(&mine->settled, call, memory_order_release);
}

enum gf_agree_verdict {
    GF_AGREE_UNKNOWN,            /* somebody has not entered yet: ask again */
    GF_AGREE_NATIVE,             /* all ranks have device buffers */
    GF_AGREE_STAGE               /* a rank has host buffers, or the board failed */
};

/* What is known about call `call`, asked by a rank that has entered and not settled it. */
enum gf_agree_verdict gf_agree_board_verdict(const struct gf_agree_board *board, int ranks, uint64_t call);

/* Between nodes: the leader tells its node the verdict on `call`, which all ranks of the node have entered with device
 * buffers. */
void gf_agree_board_decide(struct gf_agree_board *board, uint64_t call, enum gf_agree_verdict verdict);

/* What the leader has told about `call`, asked by a rank of its node that has entered and not settled it: so no later one has
 * been told yet. */
enum gf_agree_verdict gf_agree_board_decided(const struct gf_agree_board *board, uint64_t call);

#endif
