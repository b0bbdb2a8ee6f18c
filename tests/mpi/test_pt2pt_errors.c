/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Point-to-point with device buffers: errors, what may go away while a message is under way, and intercommunicators.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/mpi/pt2pt_buffers.h"

enum { TAG = 11 };

static int handled;                    /* calls of note_error; error handlers have no argument of ours */
static MPI_Comm handled_comm;

static void note_error(MPI_Comm *comm, int *code, ...)
{
    int class;

    MPI_Error_class(*code, &class);
    handled += class == MPI_ERR_TRUNCATE;
    handled_comm = *comm;
}

/* The error goes to the handler of the communicator, and the call returns it. Nothing is written behind the buffer. Between two
 * ranks: 4.1's ob1 truncates a message to the own rank without an error, on host memory too. */
static void truncation(const struct ends *e)
{
    MPI_Comm comm;
    MPI_Errhandler handler;

    if (e->h->ranks == 1) {
        return;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(note_error, &handler);
    for (int how = 0; how < 4; how++) {
        struct buffer from, to;
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status status;
        int class, code;

        MPI_Comm_set_errhandler(comm, how % 2 ? handler : MPI_ERRORS_RETURN);
        handled = 0;
        message_create(e, &from, 100, 3);
        landing_create(e, &to, 60);
        if (how < 2) {
            MPI_Irecv(to.data, 60, MPI_BYTE, e->previous, TAG, comm, &requests[0]);
            MPI_Isend(from.data, 100, MPI_BYTE, e->next, TAG, comm, &requests[1]);
            code = MPI_Wait(&requests[0], &status);
        } else {
            MPI_Isend(from.data, 100, MPI_BYTE, e->next, TAG, comm, &requests[1]);
            code = MPI_Recv(to.data, 60, MPI_BYTE, e->previous, TAG, comm, &status);
        }
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Error_class(code, &class);
        harness_check(e->h, how % 2 ? handled == 1 && handled_comm == comm : class == MPI_ERR_TRUNCATE,
                      "%s: way %d: class %d, handler called %d times", e->name, how, class, handled);
        harness_check(e->h, requests[0] == MPI_REQUEST_NULL, "%s: way %d: request left", e->name, how);
        buffer_destroy(&to, e->name);
        buffer_destroy(&from, e->name);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
}

/* Of a long message that is truncated, Open MPI 4.1 writes all: not to what lies behind the memory in which the receive waits.
 * The kernel maps new memory right below what was mapped before. On the emulated device pinned memory has nothing behind it, and
 * Open MPI says that it cannot write there. */
static void overrun_behind(const struct ends *e, size_t room)
{
    enum { SENT = 8 << 20 };
    struct buffer from, to;
    MPI_Request requests[2];
    unsigned char *above;
    size_t wrong = 0;
    int class;

    message_create(e, &from, SENT, 1);
    landing_create(e, &to, room);
    above = mmap(NULL, SENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    harness_check(e->h, above != MAP_FAILED, "%s: no memory", e->name);
    MPI_Irecv(to.data, (int)room, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from.data, SENT, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Error_class(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), &class);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    for (size_t i = 0; i < SENT; i++) {
        wrong += above[i] != 0;
    }
    harness_check(e->h, class == MPI_ERR_TRUNCATE && wrong == 0, "%s: room for %zu bytes: class %d, %zu bytes of others written",
                  e->name, room, class, wrong);
    munmap(above, SENT);
    landing_check(e, &to, 0, 0, 0);
    buffer_destroy(&from, e->name);
}

static void overrun(const struct ends *e)
{
    static const size_t rooms[] = {8, 5000, 200000, 600000};

    if (e->h->ranks == 1 || e->from != GPUFIFO_MEMORY_HOST || e->to != GPUFIFO_MEMORY_DEVICE) {
        return;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        overrun_behind(e, rooms[i]);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* A freed buffer is an error of the call, not a crash. */
static void freed_buffer(const struct ends *e)
{
    struct buffer gone;
    char *data;
    int class;

    if (e->from != GPUFIFO_MEMORY_DEVICE) {
        return;
    }
    message_create(e, &gone, 1000, 1);
    data = gone.data;
    buffer_destroy(&gone, e->name);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Send(data, 1000, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD), &class);
    harness_check(e->h, class == MPI_ERR_BUFFER, "%s: class %d", e->name, class);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* MPI_Buffer_attach takes no device memory; host memory it does, also for messages from device memory. */
static void attached_buffer(const struct ends *e)
{
    enum { ROOM = 5000, SENT = 1000 };
    struct buffer from, to;
    MPI_Request request;
    char *room, *detached;
    int class, size;

    message_create(e, &from, SENT, 2);
    landing_create(e, &to, SENT);
    room = malloc(ROOM);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (e->from == GPUFIFO_MEMORY_DEVICE) {
        MPI_Error_class(MPI_Buffer_attach(from.data, SENT), &class);
        harness_check(e->h, class == MPI_ERR_BUFFER, "%s: class %d", e->name, class);
    }
    MPI_Error_class(MPI_Buffer_attach(NULL, ROOM), &class);
    harness_check(e->h, class == MPI_ERR_ARG, "%s: none: class %d", e->name, class);
    MPI_Error_class(MPI_Buffer_attach(room, ROOM), &class);
    harness_check(e->h, class == MPI_SUCCESS, "%s: host memory: class %d", e->name, class);
    harness_check(e->h, MPI_Buffer_attach(room, ROOM) != MPI_SUCCESS, "%s: twice", e->name);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Irecv(to.data, SENT, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &request);
    MPI_Bsend(from.data, SENT, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&detached, &size);
    harness_check(e->h, detached == room && size == ROOM, "%s: %d bytes were detached", e->name, size);
    landing_check(e, &to, SENT, e->previous, 2);
    buffer_destroy(&from, e->name);
    free(room);
}

/* An allocation that ends before the message does: the receive has an error, and nothing is written behind it. The sender may or
 * may not learn of it. */
static void short_buffer(const struct ends *e)
{
    enum { ROOM = 4096, SENT = 500000 };
    struct buffer from, to;
    MPI_Request requests[2];
    int class;

    if (e->to != GPUFIFO_MEMORY_DEVICE) {
        return;
    }
    message_create(e, &from, SENT, 5);
    landing_create(e, &to, ROOM);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Irecv(to.data, SENT, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from.data, SENT, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Error_class(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), &class);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    harness_check(e->h, class == MPI_ERR_BUFFER, "%s: class %d", e->name, class);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    buffer_destroy(&to, e->name);
    buffer_destroy(&from, e->name);
}

/* The communicator is freed before its messages are complete. */
static void freed_communicator(const struct ends *e)
{
    MPI_Comm comm;
    struct buffer from, to;
    MPI_Request requests[2];

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    message_create(e, &from, 50000, 4);
    landing_create(e, &to, 50000);
    MPI_Irecv(to.data, 50000, MPI_BYTE, e->previous, TAG, comm, &requests[0]);
    MPI_Isend(from.data, 50000, MPI_BYTE, e->next, TAG, comm, &requests[1]);
    MPI_Comm_free(&comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    landing_check(e, &to, 50000, e->previous, 4);
    buffer_destroy(&from, e->name);
}

/* Even ranks with odd ranks, each in a group of its own; the last one is alone where ranks are odd in number. */
static void intercommunicator(const struct ends *e)
{
    MPI_Comm half, inter;
    struct buffer from, to;
    int color = e->h->rank % 2, rank, remote;
    MPI_Status status;

    if (e->h->ranks == 1) {
        return;
    }
    MPI_Comm_split(MPI_COMM_WORLD, color, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - color, TAG, &inter);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &remote);
    if (rank < remote) {
        message_create(e, &from, 6000, 6);
        landing_create(e, &to, 6000);
        MPI_Sendrecv(from.data, 6000, MPI_BYTE, rank, TAG, to.data, 6000, MPI_BYTE, MPI_ANY_SOURCE, TAG, inter, &status);
        status_check(e, &status, rank, TAG, 6000);
        landing_check(e, &to, 6000, e->h->rank ^ 1, 6);
        buffer_destroy(&from, e->name);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static const struct ends_test tests[] = {
    {"truncation", truncation},         {"overrun", overrun},
    {"freed buffer", freed_buffer},     {"short buffer", short_buffer},
    {"attached buffer", attached_buffer},
    {"freed communicator", freed_communicator}, {"intercommunicator", intercommunicator},
};

int main(int argc, char **argv)
{
    struct harness h;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    ends_run(&h, tests, sizeof tests / sizeof tests[0], ends_device_host, ENDS_DEVICE_HOST);
    return harness_finish(&h);
}
