/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that the receiver fetches from the sender's buffer: what differs from those that the PML carries. Every rank sends to
 * the next and receives from the previous one.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/pt2pt_buffers.h"

enum { TAG = 3, FEW = 20, WINDOW = 40, LONG = 600, TRUNCATIONS = 2 };

/* Below, at and above the size of an RTS, of what may be set aside, and of what fits into which kind of host memory. */
static const size_t sizes[] = {0, 1, 66, 67, 68, 4097, 8192, 8193, 1 << 20, (1 << 20) + 1, (9 << 20) + 3};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* The buffer is longer than the message, and nothing behind the message may change, whatever went through it meanwhile. */
static void all_sizes(const struct ends *e)
{
    for (int i = 0; i < SIZES; i++) {
        for (int blocking = 0; blocking < 2; blocking++) {
            struct buffer from, to;
            MPI_Request receive = MPI_REQUEST_NULL, send;
            MPI_Status status;

            message_create(e, &from, sizes[i], i);
            landing_create(e, &to, sizes[i] + 300);
            if (!blocking) {
                MPI_Irecv(to.data, (int)to.bytes, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &receive);
            }
            MPI_Isend(from.data, (int)sizes[i], MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &send);
            if (blocking) {
                MPI_Recv(to.data, (int)to.bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            } else {
                MPI_Wait(&receive, &status);
            }
            MPI_Wait(&send, MPI_STATUS_IGNORE);
            status_check(e, &status, e->previous, TAG, sizes[i]);
            landing_check(e, &to, sizes[i], e->previous, i);
            buffer_destroy(&from, e->name);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
}

/* Every third element of twice as many, so the message has gaps at this end. */
static void strided_receive(const struct ends *e)
{
    const int counts[] = {3, 200, 100000};

    for (int i = 0; i < 3; i++) {
        size_t bytes = (size_t)counts[i] * 4;
        unsigned char *data = host_alloc(e->h, bytes * 2);
        struct buffer from, to;
        MPI_Datatype strided;
        MPI_Request send;
        size_t wrong = 0;

        MPI_Type_vector(counts[i], 4, 8, MPI_BYTE, &strided);
        MPI_Type_commit(&strided);
        message_create(e, &from, bytes, i);
        landing_create(e, &to, bytes * 2);
        MPI_Isend(from.data, (int)bytes, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &send);
        MPI_Recv(to.data, 1, strided, e->previous, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        buffer_read(&to, data);
        for (size_t j = 0; j < bytes * 2; j++) {
            wrong += data[j] != (j % 8 < 4 ? message_byte(e->previous, i, j / 8 * 4 + j % 8) : 0xEE);
        }
        harness_check(e->h, wrong == 0, "%s: %zu bytes of %zu are wrong", e->name, wrong, bytes * 2);
        MPI_Type_free(&strided);
        buffer_destroy(&from, e->name);
        buffer_destroy(&to, e->name);
        free(data);
    }
}

/* A message that is too long: the error, and nothing else changed than the first bytes; the sender hears nothing of it.
 * (Longer ones than these Open MPI itself writes past the end of host buffers.) */
static void truncate(const struct ends *e, bool fetches)
{
    const size_t rooms[] = {0, 5, 67, 500};

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 8; i++) {
        size_t room = rooms[i / 2];
        struct buffer from, to;
        MPI_Request send, receive;
        MPI_Status status;
        int result, class;

        message_create(e, &from, LONG, i);
        landing_create(e, &to, room);
        MPI_Isend(from.data, LONG, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &send);
        if (i % 2) {
            MPI_Irecv(to.data, (int)room, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &receive);
            result = MPI_Wait(&receive, &status);
        } else {
            result = MPI_Recv(to.data, (int)room, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &status);
        }
        MPI_Error_class(result, &class);
        harness_check(e->h, class == MPI_ERR_TRUNCATE, "%s: %zu of %d bytes gave error class %d", e->name, room, LONG, class);
        harness_check(e->h, MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS, "%s: the send failed", e->name);
        if (fetches && e->from == GPUFIFO_MEMORY_DEVICE) {
            landing_check(e, &to, room, e->previous, i);
        } else {
            buffer_destroy(&to, e->name);
        }
        buffer_destroy(&from, e->name);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void truncation(const struct ends *e) { truncate(e, true); }
static void truncation_staged(const struct ends *e) { truncate(e, false); }

/* A short MPI_Send returns although nobody receives; what is sent later into the same buffer is another message. */
static void small_sends_return(const struct ends *e)
{
    struct buffer from[FEW], to[FEW];

    for (int i = 0; i < FEW; i++) {
        message_create(e, &from[i], 100 + (size_t)i, i);
        MPI_Send(from[i].data, 100 + i, MPI_BYTE, e->next, i % 2, MPI_COMM_WORLD);
        buffer_destroy(&from[i], e->name);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < FEW; i++) {
        int tag = i < FEW / 2 ? 1 : 0, j = 2 * (i % (FEW / 2)) + tag;     /* the odd ones first; each kind in its order */
        MPI_Status status;

        landing_create(e, &to[i], 100 + (size_t)j);
        MPI_Recv(to[i].data, 100 + j, MPI_BYTE, e->previous, tag, MPI_COMM_WORLD, &status);
        status_check(e, &status, e->previous, tag, 100 + (size_t)j);
        landing_check(e, &to[i], 100 + (size_t)j, e->previous, (unsigned)j);
    }
}

/* MPI_Ssend must not return before the receive has begun. */
static void synchronous(const struct ends *e)
{
    for (int i = 0; i < 3; i++) {
        size_t bytes = sizes[1 + 4 * (size_t)i];
        struct buffer from, to;
        MPI_Request send, word;
        int done = 0, one = 1, heard = 0;

        message_create(e, &from, bytes, i);
        landing_create(e, &to, bytes);
        MPI_Issend(from.data, (int)bytes, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &send);
        MPI_Isend(&one, 1, MPI_INT, e->next, TAG + 1, MPI_COMM_WORLD, &word);
        for (int j = 0; j < 2000 && !done; j++) {
            MPI_Test(&send, &done, MPI_STATUS_IGNORE);
        }
        harness_check(e->h, !done, "%s: %zu bytes were sent before they were received", e->name, bytes);
        MPI_Recv(&heard, 1, MPI_INT, e->previous, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(to.data, (int)bytes, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Wait(&word, MPI_STATUS_IGNORE);
        landing_check(e, &to, bytes, e->previous, i);
        buffer_destroy(&from, e->name);
    }
}

/* Many under one envelope: they match in the order of the sends, whatever their sizes. */
static void order(const struct ends *e)
{
    MPI_Request requests[2 * WINDOW];
    MPI_Status statuses[2 * WINDOW];
    struct buffer from[WINDOW], to[WINDOW];

    for (int i = 0; i < WINDOW; i++) {
        landing_create(e, &to[i], 70000);
        MPI_Irecv(to[i].data, 70000, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : e->previous, i % 3 ? TAG : MPI_ANY_TAG, MPI_COMM_WORLD,
                  &requests[i]);
    }
    for (int i = 0; i < WINDOW; i++) {
        message_create(e, &from[i], (size_t)(i * 7919) % 70001, i);
        MPI_Isend(from[i].data, (int)from[i].bytes, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &requests[WINDOW + i]);
    }
    MPI_Waitall(2 * WINDOW, requests, statuses);
    for (int i = 0; i < WINDOW; i++) {
        status_check(e, &statuses[i], e->previous, TAG, from[i].bytes);
        landing_check(e, &to[i], from[i].bytes, e->previous, i);
    }
    for (int i = 0; i < WINDOW; i++) {
        buffer_destroy(&from[i], e->name);
    }
}

/* The same buffers again and again, and what is in them changes. */
static void persistent(const struct ends *e)
{
    struct buffer from, to;
    MPI_Request requests[2];
    unsigned char *data = host_alloc(e->h, 5000);
    size_t wrong = 0;

    message_create(e, &from, 5000, 0);
    landing_create(e, &to, 5000);
    MPI_Recv_init(to.data, 5000, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(from.data, 5000, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < FEW; round++) {
        memset(data, round, 5000);
        buffer_write(&from, data);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        buffer_read(&to, data);
        for (int i = 0; i < 5000; i++) {
            wrong += data[i] != round;
        }
    }
    harness_check(e->h, wrong == 0, "%s: %zu bytes are wrong", e->name, wrong);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    free(data);
    buffer_destroy(&from, e->name);
    buffer_destroy(&to, e->name);
}

static const struct {
    const char *name;
    void (*run)(const struct ends *);
} tests[] = {                          /* the first TRUNCATIONS are about messages that are too long */
    {"truncation", truncation},         {"truncation", truncation_staged},    {"all sizes", all_sizes},
    {"strided receive", strided_receive}, {"small sends return", small_sends_return}, {"synchronous", synchronous},
    {"order", order},                   {"persistent", persistent},
};

/* Usage: test_pt2pt_pull [threads] [staged] [device]. staged: messages between these ranks are not fetched, but all else must
 * hold. device: only between device buffers, and none too long: for a PML that has its own trouble with the rest. */
int main(int argc, char **argv)
{
    static const enum gpufifo_memory kinds[][2] = {
        {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_DEVICE}, {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_HOST},
        {GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_DEVICE},   {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_PINNED},
        {GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_HOST},
    };
    bool threads = false, staged = false, device = false;
    struct harness h;

    for (int i = 1; i < argc; i++) {
        threads |= strcmp(argv[i], "threads") == 0;
        staged |= strcmp(argv[i], "staged") == 0;
        device |= strcmp(argv[i], "device") == 0;
    }
    harness_start(&h, argc, argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    for (size_t k = 0; k < (device ? 1 : sizeof kinds / sizeof kinds[0]); k++) {
        for (size_t t = device ? TRUNCATIONS : 0; t < sizeof tests / sizeof tests[0]; t++) {
            struct ends ends = {.h = &h, .from = kinds[k][0], .to = kinds[k][1], .next = (h.rank + 1) % h.ranks,
                                .previous = (h.rank + h.ranks - 1) % h.ranks, .name = tests[t].name};
            if (tests[t].run != (staged || h.ranks == 1 ? truncation : truncation_staged)) {
                tests[t].run(&ends);
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    return harness_finish(&h);
}
