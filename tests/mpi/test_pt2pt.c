/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Point-to-point with device buffers, contiguous data: every call of MPI-3.1 that moves a message, with device and host memory at
 * either end, in a ring of ranks.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/pt2pt_requests.h"

enum { TAG = 7, ROUNDS = 3, ROOM = 1 << 18 };

static const size_t sizes[] = {1, 83, 4096, 100001};
enum { SIZES = sizeof sizes / sizeof sizes[0], MODES = 4 };

typedef int (*send_function)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*isend_function)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
static const send_function sends[MODES] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
static const isend_function isends[MODES] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
static const isend_function inits[MODES] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};

/* The receive is posted everywhere before anybody sends: ready sends need it. */
static void blocking_sends(const struct ends *e)
{
    for (int i = 0; i < SIZES * MODES; i++) {
        size_t bytes = sizes[i / MODES];
        struct buffer from, to;
        MPI_Request request;
        MPI_Status status;

        message_create(e, &from, bytes, i);
        landing_create(e, &to, bytes);
        MPI_Irecv(to.data, (int)bytes, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        sends[i % MODES](from.data, (int)bytes, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        status_check(e, &status, e->previous, TAG, bytes);
        landing_check(e, &to, bytes, e->previous, i);
        buffer_destroy(&from, e->name);
    }
}

static void non_blocking_sends(const struct ends *e)
{
    for (int i = 0; i < SIZES * MODES; i++) {
        size_t bytes = sizes[i / MODES];
        struct buffer from, to;
        MPI_Request requests[2];
        MPI_Status statuses[2];

        message_create(e, &from, bytes, i);
        landing_create(e, &to, bytes + 5);
        MPI_Irecv(to.data, (int)bytes + 5, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Barrier(MPI_COMM_WORLD);
        isends[i % MODES](from.data, (int)bytes, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        status_check(e, &statuses[0], e->previous, TAG, bytes);
        harness_check(e->h, requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL, "%s: requests left", e->name);
        landing_check(e, &to, bytes, e->previous, i);
        buffer_destroy(&from, e->name);
    }
}

/* A buffered send ends without a receive, however large; a synchronous one does not, however small. */
static void modes(const struct ends *e)
{
    for (int i = 0; i < 4; i++) {
        bool buffered = i % 2, persistent = i / 2;
        size_t bytes = buffered ? 100001 : 8;
        struct buffer from, to;
        MPI_Request request;
        int done = 0;

        message_create(e, &from, bytes, i);
        landing_create(e, &to, bytes);
        if (persistent) {
            (buffered ? MPI_Bsend_init : MPI_Ssend_init)(from.data, (int)bytes, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &request);
            MPI_Start(&request);
        } else {
            (buffered ? MPI_Ibsend : MPI_Issend)(from.data, (int)bytes, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &request);
        }
        if (buffered) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            for (int polls = 0; polls < 1000 && !done; polls++) {
                MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
            }
            harness_check(e->h, !done, "%s: a synchronous send ended without a receive", e->name);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(to.data, (int)bytes, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (persistent) {
            MPI_Request_free(&request);
        }
        landing_check(e, &to, bytes, e->previous, i);
        buffer_destroy(&from, e->name);
    }
}

/* More room than data: what is behind the data stays as it was. */
static void blocking_receives(const struct ends *e)
{
    for (int i = 0; i < SIZES; i++) {
        struct buffer from, to;
        MPI_Request request;
        MPI_Status status;

        message_create(e, &from, sizes[i], i);
        landing_create(e, &to, sizes[i] + 100);
        MPI_Isend(from.data, (int)sizes[i], MPI_BYTE, e->next, TAG + i, MPI_COMM_WORLD, &request);
        MPI_Recv(to.data, (int)to.bytes, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : e->previous, i % 2 ? MPI_ANY_TAG : TAG + i,
                 MPI_COMM_WORLD, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        status_check(e, &status, e->previous, TAG + i, sizes[i]);
        landing_check(e, &to, sizes[i], e->previous, i);
        buffer_destroy(&from, e->name);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void sendrecv(const struct ends *e)
{
    for (int i = 0; i < SIZES; i++) {
        struct buffer from, to;
        MPI_Status status;

        message_create(e, &from, sizes[i], i);
        landing_create(e, &to, sizes[i]);
        MPI_Sendrecv(from.data, (int)sizes[i], MPI_BYTE, e->next, TAG, to.data, (int)sizes[i], MPI_BYTE, e->previous, TAG,
                     MPI_COMM_WORLD, &status);
        status_check(e, &status, e->previous, TAG, sizes[i]);
        landing_check(e, &to, sizes[i], e->previous, i);
        buffer_destroy(&from, e->name);
    }
}

/* What a rank receives takes the place of what it sent. */
static void sendrecv_replace(const struct ends *e)
{
    for (int i = 0; i < SIZES; i++) {
        struct buffer both;
        MPI_Status status;

        message_create(e, &both, sizes[i], i);
        MPI_Sendrecv_replace(both.data, (int)sizes[i], MPI_BYTE, e->next, TAG, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
        status_check(e, &status, e->previous, TAG, sizes[i]);
        landing_check(e, &both, sizes[i], e->previous, i);
    }
}

/* Each start sends what is in the buffer then. From host memory it is Open MPI that starts a buffered send, and 4.1's ob1 sends
 * something else from the second start on. */
static void persistent(const struct ends *e)
{
    for (int i = 0; i < SIZES * MODES; i++) {
        size_t bytes = sizes[i / MODES];
        struct buffer from, to, fresh;
        MPI_Request requests[2];
        unsigned char *data = host_alloc(e->h, bytes);
        unsigned rounds = e->from != GPUFIFO_MEMORY_DEVICE && inits[i % MODES] == MPI_Bsend_init ? 1 : ROUNDS;

        message_create(e, &from, bytes, 0);
        landing_create(e, &to, bytes);
        MPI_Recv_init(to.data, (int)bytes, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &requests[0]);
        inits[i % MODES](from.data, (int)bytes, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &requests[1]);
        for (unsigned round = 0; round < rounds; round++) {
            message_create(e, &fresh, bytes, round);
            buffer_read(&fresh, data);
            buffer_write(&from, data);
            buffer_destroy(&fresh, e->name);
            MPI_Start(&requests[0]);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Startall(1, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            harness_check(e->h, requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL, "%s: request gone", e->name);
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        landing_check(e, &to, bytes, e->previous, rounds - 1);
        buffer_destroy(&from, e->name);
        free(data);
    }
}

static void probe_one(const struct ends *e, struct buffer *to, int how, MPI_Status *probed, MPI_Status *received)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request;
    int there = 0;

    switch (how) {
    case 0: MPI_Probe(e->previous, TAG, MPI_COMM_WORLD, probed); break;
    case 1: while (!there) { MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, probed); } break;
    case 2: MPI_Mprobe(e->previous, TAG, MPI_COMM_WORLD, &message, probed); break;
    default: while (!there) { MPI_Improbe(e->previous, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &message, probed); } break;
    }
    if (message == MPI_MESSAGE_NULL) {
        MPI_Recv(to->data, (int)to->bytes, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, received);
    } else if (how == 2) {
        MPI_Mrecv(to->data, (int)to->bytes, MPI_BYTE, &message, received);
    } else {
        MPI_Imrecv(to->data, (int)to->bytes, MPI_BYTE, &message, &request);
        MPI_Wait(&request, received);
    }
    harness_check(e->h, message == MPI_MESSAGE_NULL, "%s: message left", e->name);
}

static void probes(const struct ends *e)
{
    for (int i = 0; i < SIZES * 4; i++) {
        size_t bytes = sizes[i / 4];
        struct buffer from, to;
        MPI_Request request;
        MPI_Status probed, received;

        message_create(e, &from, bytes, i);
        landing_create(e, &to, bytes + 1);
        MPI_Isend(from.data, (int)bytes, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &request);
        probe_one(e, &to, i % 4, &probed, &received);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        status_check(e, &probed, e->previous, TAG, bytes);
        status_check(e, &received, e->previous, TAG, bytes);
        landing_check(e, &to, bytes, e->previous, i);
        buffer_destroy(&from, e->name);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void nothing_to_move(const struct ends *e)
{
    struct buffer from, to;
    MPI_Request requests[2];
    MPI_Status status;

    message_create(e, &from, 64, 1);
    landing_create(e, &to, 64);
    MPI_Send(from.data, 64, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD);
    MPI_Recv(to.data, 64, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &status);
    status_check(e, &status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Sendrecv_replace(to.data, 64, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &status);
    for (int i = 0; i < 4; i++) {
        void *source = i % 2 ? from.data : NULL, *target = i / 2 ? to.data : NULL;

        MPI_Irecv(target, 0, MPI_DOUBLE, e->previous, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(source, 0, MPI_DOUBLE, e->next, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Wait(&requests[0], &status);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        status_check(e, &status, e->previous, TAG, 0);
    }
    landing_check(e, &to, 0, 0, 0);
    buffer_destroy(&from, e->name);
}

static void self(const struct ends *e)
{
    struct buffer from, to;
    MPI_Request request;

    message_create(e, &from, 70000, 5);
    landing_create(e, &to, 70000);
    MPI_Irecv(to.data, 70000, MPI_BYTE, 0, TAG, MPI_COMM_SELF, &request);
    MPI_Send(from.data, 70000, MPI_BYTE, 0, TAG, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    landing_check(e, &to, 70000, e->h->rank, 5);
    buffer_destroy(&from, e->name);
}

/* Host traffic of collectives between, on the same communicator. */
static void between_collectives(const struct ends *e)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct buffer from, to;
        int one = 1, sum = 0;

        message_create(e, &from, 5000, i);
        landing_create(e, &to, 5000);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Sendrecv(from.data, 5000, MPI_BYTE, e->next, TAG, to.data, 5000, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
        harness_check(e->h, sum == e->h->ranks, "%s: sum is %d", e->name, sum);
        landing_check(e, &to, 5000, e->previous, i);
        buffer_destroy(&from, e->name);
    }
}

static const struct ends_test tests[] = {
    {"blocking sends", blocking_sends},
    {"non-blocking sends", non_blocking_sends},
    {"modes", modes},
    {"blocking receives", blocking_receives},
    {"sendrecv", sendrecv},
    {"sendrecv_replace", sendrecv_replace},
    {"persistent", persistent},
    {"probes", probes},
    {"crowd", pt2pt_crowd},
    {"cancel", pt2pt_cancels},
    {"request_free", pt2pt_freed_requests},
    {"nothing to move", nothing_to_move},
    {"self", self},
    {"between collectives", between_collectives},
};

int main(int argc, char **argv)
{
    static const struct ends_kinds kinds[] = {
        {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_DEVICE}, {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_HOST},
        {GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_DEVICE},   {GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_HOST},
        {GPUFIFO_MEMORY_PINNED, GPUFIFO_MEMORY_DEVICE}, {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_MANAGED},
    };
    struct harness h;
    void *room;
    int bytes;

    harness_start(&h, argc, argv, argc > 1 && strcmp(argv[1], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    room = host_alloc(&h, ROOM);
    MPI_Buffer_attach(room, ROOM);
    ends_run(&h, tests, sizeof tests / sizeof tests[0], kinds, sizeof kinds / sizeof kinds[0]);
    MPI_Buffer_detach(&room, &bytes);
    free(room);
    return harness_finish(&h);
}
