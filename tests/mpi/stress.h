/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random point-to-point traffic: what its parts share. A thread is one worker. In each round all workers of the same index draw
 * the same plan from the same seed: who sends what to whom, from and to which memory, by which calls. Which message a receive
 * gets is known only afterwards where it names no source or no tag; then it must be the one that MPI's order asks for.
 */
#ifndef TESTS_MPI_STRESS_H
#define TESTS_MPI_STRESS_H

#include <stdint.h>

#include "tests/mpi/harness.h"
#include "tests/mpi/stress_placed.h"

enum {
    MESSAGES = 24,             /* a round, of all ranks together */
    TAGS = 3,                  /* different ones, so that messages have the same */
    NOTE = 67,                 /* bytes of the note that announces a large message: probes must tell one from data */
    BUFFERED = 8000            /* bytes of a buffered send at most: many share the attached buffer */
};

/* A worker's communicators for its messages. */
enum channel {
    SHARED,                    /* MPI_COMM_WORLD, of all workers: each has tags of its own */
    OWN,                       /* this worker's: receives need not name their tags */
    INTER,                     /* between the ranks of even and of odd numbers */
    CHANNELS
};

/* What a receive of this round does not name: bits, one set a channel. */
enum { ANY_SOURCE = 1, ANY_TAG = 2 };

enum sending {
    ISEND, ISSEND, IBSEND, BSEND, SEND_INIT, SSEND_INIT, BSEND_INIT,
    ANY_TIME,                  /* those above; the others need a receive that is posted, the last ones for certain */
    SEND = ANY_TIME, SSEND,
    WHEN_POSTED,
    IRSEND = WHEN_POSTED, RSEND, RSEND_INIT,
    SENDINGS
};

enum receiving {
    IRECV, RECV_INIT,
    POSTED,                    /* those above are posted before anything is sent */
    RECV = POSTED, PROBE, IPROBE, MRECV, IMRECV, IMPROBE,
    RECEIVINGS
};

struct message {
    int source, target, tag;   /* ranks of MPI_COMM_WORLD; the tag without the worker's share */
    enum channel channel;
    size_t bytes;
    uint64_t type;             /* of the sender's layout */
    unsigned seed;
    enum gpufifo_memory from;
    enum sending sending;
    bool freed;                /* the request is, as soon as it is there */
    bool cancelled;            /* or this is tried */
    /* At its ends: */
    bool taken;                /* a receive of this rank got it */
    struct placed placed;
    MPI_Request request;
};

/* One a message, though it may get another one. */
struct receive {
    int source, target, tag;
    enum channel channel;
    size_t room;
    uint64_t type;
    enum gpufifo_memory to;
    enum receiving receiving;
    bool freed;                /* the request is, as soon as it is there: of its end nothing tells but the data */
    /* At the target: */
    struct placed placed;
    MPI_Request request;
    MPI_Status status;
    int code;                  /* what MPI said */
};

struct worker {
    struct harness h;          /* of this thread: the counts of checks are its own */
    int index, rounds;
    uint64_t random;           /* the same on all ranks */
    bool cuts_long;            /* messages are truncated however long they are */
    bool frees;                /* receives whose requests are freed; then no message is empty */
    MPI_Comm comms[CHANNELS], pairs;      /* pairs: for exchanges */

    /* This round: */
    int round, wildcards[CHANNELS];
    enum channel crowded;                 /* all messages of the round go there, unless it is CHANNELS */
    bool posted, fenced, truncating;      /* all receives are posted before the sends; all ranks have done so; some are short */
    struct message messages[MESSAGES];
    struct receive receives[MESSAGES], *in_order[MESSAGES];      /* in_order: this rank's, as it posted them */
    int ordered;
};

/* In stress_plan.c. */
unsigned stress_draw(struct worker *worker, unsigned below);
enum gpufifo_memory stress_draw_kind(struct worker *worker);
void stress_plan(struct worker *worker);

/* In stress_calls.c: the calls of one message at one of its ends. */
void stress_send(struct worker *worker, struct message *message);
void stress_post(struct worker *worker, struct receive *receive);
void stress_receive(struct worker *worker, struct receive *receive);
void stress_peek(struct worker *worker);

/* Message `turn` in the order in which this rank starts its own. */
static inline struct message *stress_sent(struct worker *worker, int source, int turn)
{
    return &worker->messages[(turn * 5 + source) % MESSAGES];
}

/* The rank of MPI_COMM_WORLD in the channel's communicator, as its peers name it; and back. */
static inline int stress_peer(enum channel channel, int world)
{
    return channel == INTER ? world / 2 : world;
}

static inline int stress_world(const struct worker *worker, enum channel channel, int peer)
{
    return channel == INTER ? 2 * peer + (worker->h.rank % 2 == 0) : peer;
}

static inline int stress_tag(const struct worker *worker, int tag) { return worker->index * TAGS + tag; }

/* In stress_match.c: every receive must have got the first message that it may, of those that are left. */
void stress_match(struct worker *worker);

/* In stress_exchange.c: a call that sends and receives at once, in a ring drawn anew; and a receive that is cancelled. */
void stress_exchange(struct worker *worker);

/* In stress_complete.c: all requests, by one of MPI's functions; each request's code and status. Only the first ones may find
 * requests with errors: the others of Open MPI 4.1 free all of an array that have some when they tell of one, and MPI_Waitall
 * does not return to a program with threads. */
enum stress_way {
    WAIT, TEST, TESTALL,
    FINDING_ERRORS,
    WAITALL = FINDING_ERRORS, WAITANY, TESTANY, WAITSOME, TESTSOME,
    STRESS_WAYS
};
void stress_complete(enum stress_way way, int count, MPI_Request *requests, MPI_Status *statuses, int *codes);

#endif
