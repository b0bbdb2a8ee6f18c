/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Probes: they report the size that was sent, leave the message where it is, and the order of messages is kept whatever was
 * probed before. Many messages have 67 bytes: so long is the note with which a large one is announced, and what looks like a
 * note must not be taken for one.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/pt2pt_buffers.h"

enum { CROWD = 9, NOTE = 67 };

static const size_t sizes[CROWD] = {NOTE, 1, NOTE, 5000, NOTE, 100001, 0, NOTE, NOTE};

/* The messages of one rank to the next one: tag i has sizes[i] bytes. */
struct crowd {
    const struct ends *e;
    MPI_Comm comm;
    unsigned seed;
    struct buffer from[CROWD];
    MPI_Request requests[CROWD];
};

/* All are sent before anybody looks; how much has arrived by then is up to the network. */
static void crowd_send(struct crowd *crowd, const struct ends *e, MPI_Comm comm, unsigned seed)
{
    *crowd = (struct crowd){.e = e, .comm = comm, .seed = seed};
    for (int i = 0; i < CROWD; i++) {
        message_create(e, &crowd->from[i], sizes[i], seed + (unsigned)i);
        MPI_Isend(crowd->from[i].data, (int)sizes[i], MPI_BYTE, e->next, i, comm, &crowd->requests[i]);
    }
}

static void crowd_finish(struct crowd *crowd)
{
    MPI_Waitall(CROWD, crowd->requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < CROWD; i++) {
        buffer_destroy(&crowd->from[i], crowd->e->name);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Probes for tag i, by one of the functions that leave the message there. */
static void probe(const struct crowd *crowd, int i, bool wait)
{
    MPI_Status status;
    int there = 0;

    if (wait) {
        MPI_Probe(crowd->e->previous, i, crowd->comm, &status);
    } else {
        while (!there) {
            MPI_Iprobe(MPI_ANY_SOURCE, i, crowd->comm, &there, &status);
        }
    }
    status_check(crowd->e, &status, crowd->e->previous, i, sizes[i]);
}

enum receiving { RECV, IRECV, RECV_INIT, MRECV, IMRECV, SENDRECV, RECEIVINGS };

static void receive_matched(const struct crowd *crowd, enum receiving how, int tag, struct buffer *to, MPI_Status *status)
{
    MPI_Message message;
    MPI_Request request;
    int there = 0;

    if (how == MRECV) {
        MPI_Mprobe(crowd->e->previous, tag, crowd->comm, &message, status);
        MPI_Mrecv(to->data, (int)to->bytes, MPI_BYTE, &message, status);
    } else {
        while (!there) {
            MPI_Improbe(MPI_ANY_SOURCE, tag, crowd->comm, &there, &message, status);
        }
        MPI_Imrecv(to->data, (int)to->bytes, MPI_BYTE, &message, &request);
        MPI_Wait(&request, status);
    }
    harness_check(crowd->e->h, message == MPI_MESSAGE_NULL, "%s: message left", crowd->e->name);
}

/* Receives with the tag, or MPI_ANY_TAG, and expects message i. */
static void receive(const struct crowd *crowd, enum receiving how, int tag, int i)
{
    const struct ends *e = crowd->e;
    struct buffer to;
    MPI_Request request;
    MPI_Status status;

    landing_create(e, &to, 100050);
    switch (how) {
    case RECV:
        MPI_Recv(to.data, (int)to.bytes, MPI_BYTE, e->previous, tag, crowd->comm, &status);
        break;
    case IRECV:
        MPI_Irecv(to.data, (int)to.bytes, MPI_BYTE, MPI_ANY_SOURCE, tag, crowd->comm, &request);
        MPI_Wait(&request, &status);
        break;
    case RECV_INIT:
        MPI_Recv_init(to.data, (int)to.bytes, MPI_BYTE, e->previous, tag, crowd->comm, &request);
        MPI_Start(&request);
        MPI_Wait(&request, &status);
        MPI_Request_free(&request);
        break;
    case SENDRECV:
        MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, to.data, (int)to.bytes, MPI_BYTE, e->previous, tag,
                     crowd->comm, &status);
        break;
    default:
        receive_matched(crowd, how, tag, &to, &status);
        break;
    }
    status_check(e, &status, e->previous, i, sizes[i]);
    landing_check(e, &to, sizes[i], e->previous, crowd->seed + (unsigned)i);
}

/* Probed from the last to the first, and twice; then they come in the order in which they were sent. */
static void order(const struct ends *e)
{
    for (enum receiving how = 0; how < RECEIVINGS; how++) {
        struct crowd crowd;

        crowd_send(&crowd, e, MPI_COMM_WORLD, 10);
        for (int i = CROWD - 1; i >= 0; i--) {
            probe(&crowd, i, i % 2);
            probe(&crowd, i, !(i % 2));
        }
        for (int i = 0; i < CROWD; i++) {
            receive(&crowd, how, i % 2 ? MPI_ANY_TAG : i, i);
        }
        crowd_finish(&crowd);
    }
}

/* One is probed, others are received around it, each by another function. */
static void between(const struct ends *e)
{
    for (int probed = 0; probed < CROWD; probed++) {
        struct crowd crowd;

        crowd_send(&crowd, e, MPI_COMM_WORLD, 50);
        probe(&crowd, probed, true);
        for (int i = CROWD - 1; i > probed; i--) {
            receive(&crowd, (enum receiving)((i + probed) % RECEIVINGS), i, i);
        }
        for (int i = 0; i <= probed; i++) {
            receive(&crowd, (enum receiving)((i + probed) % RECEIVINGS), MPI_ANY_TAG, i);
        }
        crowd_finish(&crowd);
    }
}

/* Matched is out of the others' way: messages that were matched first can be received last, through a handle of Fortran, too. */
static void matched_first(const struct ends *e)
{
    struct crowd crowd;
    MPI_Message messages[CROWD];
    MPI_Fint handles[CROWD];
    MPI_Status status;
    int there = 0;

    crowd_send(&crowd, e, MPI_COMM_WORLD, 90);
    probe(&crowd, CROWD - 1, true);
    for (int i = CROWD - 1; i > 0; i -= 2) {
        MPI_Mprobe(e->previous, i, MPI_COMM_WORLD, &messages[i], &status);
        status_check(e, &status, e->previous, i, sizes[i]);
        handles[i] = MPI_Message_c2f(messages[i]);
        messages[i] = MPI_Message_f2c(handles[i]);
    }
    for (int i = 0; i < CROWD; i++) {
        struct buffer to;

        if (i % 2 == (CROWD - 1) % 2 && i > 0) {
            landing_create(e, &to, sizes[i]);
            MPI_Mrecv(to.data, (int)sizes[i], MPI_BYTE, &messages[i], &status);
            harness_check(e->h, MPI_Message_f2c(handles[i]) == NULL, "%s: the handle is left", e->name);
            status_check(e, &status, e->previous, i, sizes[i]);
            landing_check(e, &to, sizes[i], e->previous, 90 + (unsigned)i);
        } else {
            receive(&crowd, RECV, MPI_ANY_TAG, i);
        }
    }
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    harness_check(e->h, !there, "%s: a message is left", e->name);
    crowd_finish(&crowd);
}

/* What was probed on one communicator is nothing to another one. */
static void communicators(const struct ends *e)
{
    struct crowd crowds[2];
    MPI_Comm other;

    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    crowd_send(&crowds[0], e, MPI_COMM_WORLD, 10);
    crowd_send(&crowds[1], e, other, 60);
    probe(&crowds[0], CROWD - 1, true);
    for (int i = 0; i < CROWD; i++) {
        receive(&crowds[1], RECV, MPI_ANY_TAG, i);
        receive(&crowds[0], IRECV, MPI_ANY_TAG, i);
    }
    crowd_finish(&crowds[0]);
    crowd_finish(&crowds[1]);
    MPI_Comm_free(&other);
}

/* A receive that was posted before the probe has its message already. */
static void posted_first(const struct ends *e)
{
    struct crowd crowd;
    struct buffer to;
    MPI_Request request;
    MPI_Status status;

    landing_create(e, &to, sizes[0]);
    MPI_Irecv(to.data, (int)sizes[0], MPI_BYTE, e->previous, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    crowd_send(&crowd, e, MPI_COMM_WORLD, 30);
    MPI_Probe(e->previous, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    status_check(e, &status, e->previous, 1, sizes[1]);
    probe(&crowd, 2, false);
    MPI_Wait(&request, &status);
    status_check(e, &status, e->previous, 0, sizes[0]);
    landing_check(e, &to, sizes[0], e->previous, 30);
    for (int i = 1; i < CROWD; i++) {
        receive(&crowd, MRECV, MPI_ANY_TAG, i);
    }
    crowd_finish(&crowd);
}

/* A synchronous send is not complete because somebody looked. But for one of a note's size from host memory: gpufifo leaves those
 * to Open MPI. */
static void synchronous(const struct ends *e)
{
    for (int i = e->from == GPUFIFO_MEMORY_DEVICE ? 0 : 3; i < CROWD; i += 3) {
        struct buffer from, to;
        MPI_Request request;
        MPI_Status status;
        int done = 0;

        message_create(e, &from, sizes[i], 5);
        landing_create(e, &to, sizes[i]);
        MPI_Issend(from.data, (int)sizes[i], MPI_BYTE, e->next, 3, MPI_COMM_WORLD, &request);
        MPI_Probe(e->previous, 3, MPI_COMM_WORLD, &status);
        status_check(e, &status, e->previous, 3, sizes[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int polls = 0; polls < 1000 && !done; polls++) {
            MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
        }
        harness_check(e->h, !done, "%s: %zu bytes: complete after a probe", e->name, sizes[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(to.data, (int)sizes[i], MPI_BYTE, e->previous, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        landing_check(e, &to, sizes[i], e->previous, 5);
        buffer_destroy(&from, e->name);
    }
}

/* A buffer too small for a matched message. To the own rank 4.1's ob1 truncates without an error, on host memory too. */
static void truncation(const struct ends *e)
{
    MPI_Comm comm;

    if (e->h->ranks == 1) {
        return;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; i++) {
        struct buffer from, to;
        MPI_Message message;
        MPI_Request request;
        size_t bytes = i ? 200 : NOTE;
        int class;

        message_create(e, &from, bytes, 5);
        landing_create(e, &to, 40);
        MPI_Isend(from.data, (int)bytes, MPI_BYTE, e->next, 3, comm, &request);
        MPI_Mprobe(e->previous, 3, comm, &message, MPI_STATUS_IGNORE);
        MPI_Error_class(MPI_Mrecv(to.data, 40, MPI_BYTE, &message, MPI_STATUS_IGNORE), &class);
        harness_check(e->h, class == MPI_ERR_TRUNCATE && message == MPI_MESSAGE_NULL, "%s: class %d", e->name, class);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        buffer_destroy(&to, e->name);
        buffer_destroy(&from, e->name);
    }
    MPI_Comm_free(&comm);
}

/* Messages that nobody receives are lost with their communicator, no more. At the very end: with ucx the next communicator may
 * get them. */
static void lost(const struct ends *e)
{
    struct buffer from[2];
    MPI_Comm comm;
    MPI_Status status;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 2; i++) {
        message_create(e, &from[i], NOTE, 5);
        MPI_Send(from[i].data, NOTE, MPI_BYTE, e->next, i, comm);
    }
    MPI_Probe(e->previous, 1, comm, &status);
    status_check(e, &status, e->previous, 1, NOTE);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    for (int i = 0; i < 2; i++) {
        buffer_destroy(&from[i], e->name);
    }
}

static const struct {
    const char *name;
    void (*run)(const struct ends *);
} tests[] = {
    {"order", order},
    {"between", between},
    {"matched first", matched_first},
    {"communicators", communicators},
    {"posted first", posted_first},
    {"synchronous", synchronous},
    {"truncation", truncation},
};

/* test_pt2pt_probe [threads] [NAME] */
int main(int argc, char **argv)
{
    static const enum gpufifo_memory kinds[][2] = {
        {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_DEVICE}, {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_HOST},
        {GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_DEVICE},   {GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_HOST},
    };
    bool threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    const char *only = argc > 1 + threads ? argv[1 + threads] : NULL;
    struct harness h;

    harness_start(&h, argc, argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t t = 0; t < sizeof tests / sizeof tests[0]; t++) {
            struct ends ends = {.h = &h, .from = kinds[k][0], .to = kinds[k][1], .next = (h.rank + 1) % h.ranks,
                                .previous = (h.rank + h.ranks - 1) % h.ranks, .name = tests[t].name};
            if (!only || strcmp(only, tests[t].name) == 0) {
                tests[t].run(&ends);
                MPI_Barrier(MPI_COMM_WORLD);
            }
        }
    }
    lost(&(struct ends){.h = &h, .from = GPUFIFO_MEMORY_DEVICE, .to = GPUFIFO_MEMORY_DEVICE, .next = (h.rank + 1) % h.ranks,
                        .previous = (h.rank + h.ranks - 1) % h.ranks, .name = "lost"});
    return harness_finish(&h);
}
