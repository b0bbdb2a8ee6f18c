/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that go through host memory in pieces: sizes round the ends of pieces, many under way, truncation, and ranks that
 * leave MPI in the middle. Every rank sends to the next and receives from the previous one.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/paths.h"
#include "tests/mpi/pt2pt_buffers.h"

/* The runs set coll_gpufifo_pipe_chunk_bytes to this, and coll_gpufifo_pipe_bytes to less than the shortest message here. */
enum { CHUNK = 65536, TAG = 3, WINDOW = 16, LONG = 40 };

static void one(const struct ends *e, size_t bytes, size_t room, bool blocking)
{
    struct buffer from, to;
    MPI_Request receive = MPI_REQUEST_NULL, send;
    MPI_Status status;
    size_t fits = bytes < room ? bytes : room;
    int result, class;

    message_create(e, &from, bytes, (unsigned)room);
    landing_create(e, &to, room);
    if (!blocking) {
        MPI_Irecv(to.data, (int)room, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &receive);
    }
    MPI_Isend(from.data, (int)bytes, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &send);
    if (blocking) {
        result = MPI_Recv(to.data, (int)room, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    } else {
        result = MPI_Wait(&receive, &status);
    }
    harness_check(e->h, MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS, "%s: the send of %zu bytes failed", e->name, bytes);
    MPI_Error_class(result, &class);
    harness_check(e->h, class == (bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "%s: %zu bytes into %zu gave error class %d",
                  e->name,
                  bytes, room, class);
    if (bytes <= room) {
        status_check(e, &status, e->previous, TAG, bytes);
    }
    landing_check(e, &to, fits, e->previous, (unsigned)room);
    buffer_destroy(&from, e->name);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void sizes(const struct ends *e, int count)
{
    static const int chunks[] = {1, 2, 3, 4, 8, 16, 17};

    for (int i = 0; i < count; i++) {
        for (int more = -1; more <= 1; more++) {
            size_t bytes = (size_t)(chunks[i] * CHUNK + more);

            one(e, bytes, bytes + 100, (i + more) % 2 != 0);
        }
    }
}

static void all_sizes(const struct ends *e) { sizes(e, 7); }
static void few_sizes(const struct ends *e) { sizes(e, 2); }

static void truncation(const struct ends *e)
{
    const size_t rooms[] = {0, 1, 66, 67, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 5 * CHUNK + 2};

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 9; i++) {
        one(e, 5 * CHUNK + 3, rooms[i], i % 2 != 0);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* More at a time than there is room for, received in the reverse order; some to the rank itself. */
static void many(const struct ends *e)
{
    struct buffer from[WINDOW], to[WINDOW], own_from, own_to;
    MPI_Request requests[2 * WINDOW + 2];

    for (int i = 0; i < WINDOW; i++) {
        message_create(e, &from[i], (size_t)(CHUNK * (1 + i * 5 % 11) + i), (unsigned)i);
        landing_create(e, &to[i], from[i].bytes);
        MPI_Isend(from[i].data, (int)from[i].bytes, MPI_BYTE, e->next, i, MPI_COMM_WORLD, &requests[i]);
    }
    message_create(e, &own_from, 3 * CHUNK, 99);
    landing_create(e, &own_to, 3 * CHUNK);
    MPI_Isend(own_from.data, 3 * CHUNK, MPI_BYTE, e->h->rank, WINDOW, MPI_COMM_WORLD, &requests[2 * WINDOW]);
    MPI_Irecv(own_to.data, 3 * CHUNK, MPI_BYTE, e->h->rank, WINDOW, MPI_COMM_WORLD, &requests[2 * WINDOW + 1]);
    for (int i = WINDOW - 1; i >= 0; i--) {
        MPI_Irecv(to[i].data, (int)to[i].bytes, MPI_BYTE, e->previous, i, MPI_COMM_WORLD, &requests[WINDOW + i]);
    }
    MPI_Waitall(2 * WINDOW + 2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < WINDOW; i++) {
        landing_check(e, &to[i], from[i].bytes, e->previous, (unsigned)i);
        buffer_destroy(&from[i], e->name);
    }
    landing_check(e, &own_to, 3 * CHUNK, e->h->rank, 99);
    buffer_destroy(&own_from, e->name);
}

/* A word that goes from rank to rank outside of MPI. */
static void leave_word(const char *path)
{
    FILE *file = fopen(path, "w");

    if (file) {
        fclose(file);
    }
}

static void await_word(const char *path)
{
    while (access(path, F_OK) != 0) {
        usleep(1000);
    }
}

/* One of ranks 0 (the sender) and 1 stays outside of MPI from when the message has been matched until the other one has
   finished. */
static void outside(const struct ends *e, int absent)
{
    enum { SENDER = 0, RECEIVER = 1, BYTES = LONG * CHUNK };
    char path[] = "/tmp/gpufifo-test-XXXXXX";
    struct buffer buffer;
    MPI_Request request;
    int matched = 0, word = 1;

    if (e->h->rank == 0) {
        close(mkstemp(path));
        unlink(path);
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (e->h->rank == SENDER) {
        message_create(e, &buffer, BYTES, 1);
        MPI_Isend(buffer.data, BYTES, MPI_BYTE, RECEIVER, TAG, MPI_COMM_WORLD, &request);
        MPI_Send(&word, 1, MPI_INT, RECEIVER, TAG + 1, MPI_COMM_WORLD);
    } else if (e->h->rank == RECEIVER) {
        landing_create(e, &buffer, BYTES);
        MPI_Irecv(buffer.data, BYTES, MPI_BYTE, SENDER, TAG, MPI_COMM_WORLD, &request);
        MPI_Recv(&word, 1, MPI_INT, SENDER, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 100; i++) {
            MPI_Iprobe(MPI_ANY_SOURCE, TAG + 2, MPI_COMM_WORLD, &matched, MPI_STATUS_IGNORE);
        }
    }
    if (e->h->rank == absent) {
        await_word(path);
    }
    if (e->h->rank == SENDER || e->h->rank == RECEIVER) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (e->h->rank == (absent == SENDER ? RECEIVER : SENDER)) {
        leave_word(path);
    }
    if (e->h->rank == RECEIVER) {
        landing_check(e, &buffer, BYTES, SENDER, 1);
    } else if (e->h->rank == SENDER) {
        buffer_destroy(&buffer, e->name);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (e->h->rank == 0) {
        unlink(path);
    }
}

/* Buffers that the network knows, of which no message asks any more once the program has freed them: the looks that are due every
 * 10 ms in MPI find that, and say so. */
static void freed(const struct ends *e)
{
    enum { ROUNDS = 3, LOOKS = 200, PAUSE_US = 1000 };
    struct buffer from, to;
    MPI_Request requests[2];
    int there;

    message_create(e, &from, LONG * CHUNK, 1);
    landing_create(e, &to, LONG * CHUNK);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Irecv(to.data, LONG * CHUNK, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(from.data, LONG * CHUNK, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    landing_check(e, &to, LONG * CHUNK, e->previous, 1);
    buffer_destroy(&from, e->name);
    for (int i = 0; i < LOOKS; i++) {
        usleep(PAUSE_US);
        MPI_Iprobe(MPI_ANY_SOURCE, TAG + 2, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    }
}

static void sender_outside(const struct ends *e) { outside(e, 0); }
static void receiver_outside(const struct ends *e) { outside(e, 1); }

static const struct {
    const char *name;
    void (*run)(const struct ends *);
    bool alone;                        /* needs no progress of MPI: shared memory only */
    const char *named;                 /* run only where it is asked for, and then no other */
} tests[] = {
    {"all sizes", all_sizes, false, NULL},     {"truncation", truncation, false, NULL},
    {"many", many, false, NULL},               {"sender outside", sender_outside, true, NULL},
    {"receiver outside", receiver_outside, true, NULL}, {"freed", freed, false, "freed"},
    {"few sizes", few_sizes, false, "few"},
};

/* Messages that went so. */
static unsigned long long count(const struct paths_counters *counters, const char *way)
{
    struct paths paths;

    paths_read(counters, &paths);
    for (int i = 0; i < paths.count; i++) {
        if (strcmp(paths.path[i].name, way) == 0) {
            return paths.path[i].calls;
        }
    }
    return 0;
}

static bool is_wanted(const char *name, const char *named)
{
    return name && named ? strcmp(name, named) == 0 : name == named;
}

/* Usage: test_pt2pt_pipe [threads] [wire | net] [freed | few]. wire: the pieces are messages of MPI, which need its progress at
 * both ends. net: the network carries them, after the first one. freed, few: nothing but that; few is for a slow machine. */
int main(int argc, char **argv)
{
    static const enum gpufifo_memory kinds[][2] = {
        {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_DEVICE}, {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_HOST},
        {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_PINNED},
    };
    const char *way = "pt2pt_piped", *named = NULL;
    bool threads = false, wire = false;
    struct paths_counters counters;
    struct harness h;

    for (int i = 1; i < argc; i++) {
        threads |= strcmp(argv[i], "threads") == 0;
        wire |= strcmp(argv[i], "wire") == 0;
        named = strcmp(argv[i], "freed") == 0 || strcmp(argv[i], "few") == 0 ? argv[i] : named;
        way = strcmp(argv[i], "net") == 0 ? "pt2pt_net" : way;
    }
    harness_start(&h, argc, argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    paths_open(&counters);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t t = 0; t < sizeof tests / sizeof tests[0]; t++) {
            struct ends ends = {.h = &h, .from = kinds[k][0], .to = kinds[k][1], .next = (h.rank + 1) % h.ranks,
                                .previous = (h.rank + h.ranks - 1) % h.ranks, .name = tests[t].name};
            unsigned long long before = count(&counters, way);

            if ((tests[t].alone && wire) || !is_wanted(tests[t].named, named)) {
                continue;
            }
            tests[t].run(&ends);
            harness_check(&h, h.rank > 1 || count(&counters, way) > before, "%s: no message is among %s",
                          tests[t].name, way);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    paths_close(&counters);
    return harness_finish(&h);
}
