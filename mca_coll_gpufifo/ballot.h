/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the nodes of one communicator find out whether call number s has device buffers on all of them. Each node has a leader,
 * that of node 0 decides. A struct and plain functions that never wait; agree.h has the meaning and the proof, mailbox.h says how
 * the words travel.
 *
 *   YES    node → decider    all ranks of this node have device buffers in call s; what is decided?
 *   ASK    decider → node    what have your ranks in call s? Answered by NO once that is known, or by the YES that comes anyway
 *   NO     node → decider    one of them has host buffers
 *   ALL    decider → node    decided: all have device buffers
 *   STAGE  decider → node    decided: one has not
 *   NEVER  decider → node    decided, for all calls of this communicator
 *
 * So a call that all ranks make with device buffers costs a node two messages, and the decider as many a node: for communicators
 * of many nodes a tree would be better.
 */
#ifndef GF_MCA_BALLOT_H
#define GF_MCA_BALLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/work.h"
#include "mca_coll_gpufifo/agree_board.h"

enum gf_ballot_word { GF_BALLOT_YES = 1, GF_BALLOT_ASK, GF_BALLOT_NO, GF_BALLOT_ALL, GF_BALLOT_STAGE, GF_BALLOT_NEVER };

/* Sends a word about a call to the leader of a node. Words from one leader to another arrive in order. */
typedef void (*gf_ballot_send)(void *ctx, int node, enum gf_ballot_word word, uint64_t call);

/* A leader's part. Owned by who made it, which lets one thread at a time use it. Calls are numbered from 1. */
struct gf_ballot {
    gf_ballot_send send;
    void *ctx;
    int nodes, node;                     /* how many, and which one this is; 0 decides */
    uint64_t said;                       /* the call to which this node said YES last; at the decider: that it decides, or did */
    enum gf_agree_verdict verdict;       /* on that */
    bool never;                          /* decided for all calls: stage */
    uint64_t asked;                      /* not the decider's: the call about which it was asked and has not answered; 0: none */
    uint64_t waits[GF_MAX_RANKS];        /* the decider's, by node: the call to which it said YES and waits; 0: none */
};

void gf_ballot_init(struct gf_ballot *ballot, int nodes, int node, gf_ballot_send send, void *ctx);

/* This node's ranks all have device buffers in `call`, which no earlier call of this function was about. */
void gf_ballot_enter(struct gf_ballot *ballot, uint64_t call);

/* The verdict on the call entered last; if it is "native", the decider tells the others. GF_AGREE_UNKNOWN: not yet, go on
 * receiving. Once known it stays. A node must not leave the call before it is known. */
enum gf_agree_verdict gf_ballot_verdict(struct gf_ballot *ballot);

/* A word came from the leader of a node. */
void gf_ballot_hear(struct gf_ballot *ballot, int node, enum gf_ballot_word word, uint64_t call);

/* Answers what can be answered, at the decider by STAGE: this leader itself has passed, or has entered with host buffers, the
 * calls up to `passed`. Returns whether something is left that has to wait. */
bool gf_ballot_answer(struct gf_ballot *ballot, uint64_t passed);

/* At the decider: from now on all calls are staged. There was no other verdict before. */
void gf_ballot_end(struct gf_ballot *ballot);

#endif
