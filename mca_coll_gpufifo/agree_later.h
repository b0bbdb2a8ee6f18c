/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls with device buffers that a rank enters without waiting for the verdict; agree.h has the meaning and the proof. Functions
 * that never wait, over a board (agree_board.h).
 */
#ifndef GF_MCA_AGREE_LATER_H
#define GF_MCA_AGREE_LATER_H

#include <pthread.h>

#include "mca_coll_gpufifo/agree_board.h"

/* One such call, until it has a verdict. Owned by the caller, who keeps it where it is until then. */
struct gf_agree_ticket {
    struct gf_agree_ticket *next;
    uint64_t call;
    bool shown;                        /* on the board; else it waits for room there */
};

/* This rank's side of a board, which it may not see yet. One thread makes the calls; any may ask. */
struct gf_agree_later {
    struct gf_agree_board *board;      /* null: not seen yet; outlives it. Atomic: the calling thread looks without the lock */
    int ranks, me;                     /* lines on the board, and this rank's */
    uint64_t device_calls;             /* shown on the board so far; the calling thread's, while there is no ticket */
    pthread_mutex_t lock;              /* guards what follows, and what this rank writes on the board while there are tickets */
    struct gf_agree_ticket *first;     /* in the order of the calls; atomic: the calling thread looks without the lock */
    uint64_t last;                     /* the latest call, of any kind, while there are tickets */
};

void gf_agree_later_init(struct gf_agree_later *later);
void gf_agree_later_destroy(struct gf_agree_later *later);

/* Any thread: the board is there. Of `calls`, the count of the thread that makes them, those before the first ticket had host
 * buffers, or were settled. To be called a second time once that thread cannot miss the board any more: a host call that did is
 * told then. */
void gf_agree_later_see(struct gf_agree_later *later, struct gf_agree_board *board, int ranks, int me, const uint64_t *calls);

/* Enters the next call with device buffers, and counts it in *calls: at once if there is room on the board, else as soon as
 * somebody asks when there is. */
void gf_agree_later_enter(struct gf_agree_later *later, struct gf_agree_ticket *ticket, uint64_t *calls);

/* Enters call `call`, the next one, counted already, with host buffers: behind those that are not on the board yet. */
void gf_agree_later_host(struct gf_agree_later *later, uint64_t call);

/* Any thread. What is known about that call; if it is not GF_AGREE_UNKNOWN the ticket is the caller's again. On a board that has
 * failed it is GF_AGREE_STAGE, shown or not. */
enum gf_agree_verdict gf_agree_later_ask(struct gf_agree_later *later, struct gf_agree_ticket *ticket);

/* Any thread. Nobody will ask about that call any more: the communicator is dead. */
void gf_agree_later_drop(struct gf_agree_later *later, struct gf_agree_ticket *ticket);

#endif
