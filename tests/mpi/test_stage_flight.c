/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Staged requests beside one another: many in flight, results that interleave in memory, requests freed while active, errors,
 * and how many copies and kernels a call takes.
 *
 * Usage: test_stage_flight [seed=N]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/stage_case.h"

enum { FLIGHTS = 12, INTS = 6 };      /* ints of a column */

static const struct stage_place on_device = {.send = GPUFIFO_MEMORY_DEVICE, .recv = GPUFIFO_MEMORY_DEVICE};

/* Non-blocking calls of all kinds, completed in the order that `how` gives. */
static void check_many(struct harness *h, const struct stage_types *types, uint64_t seed, int how)
{
    struct stage_case cases[FLIGHTS];
    MPI_Request requests[FLIGHTS];

    for (int i = 0; i < FLIGHTS; i++) {
        struct stage_choice choice = {
            .collective = &stage_collectives[stage_draw(seed, i, 1, 16)], .comm = MPI_COMM_WORLD,
            .root = stage_draw(seed, i, 2, h->ranks), .most = STAGE_COLUMNS, .seed = seed + (uint64_t)i,
        };
        stage_case_create(h, types, &choice, &on_device, &cases[i]);
        choice.collective->blocking(&cases[i].reference);
    }
    for (int i = 0; i < FLIGHTS; i++) {
        cases[i].choice.collective->nonblocking(&cases[i].tested, &requests[i]);
    }
    harness_need(h, gpufifo_synchronize(h->device), "synchronise between start and wait");
    stage_complete(FLIGHTS, requests, how);
    for (int i = 0; i < FLIGHTS; i++) {
        harness_check(h, requests[i] == MPI_REQUEST_NULL, "request %d of %d is still there", i, FLIGHTS);
        stage_case_check(&cases[i], "one of many");
        stage_case_free(&cases[i]);
    }
}

/* Each column of a matrix is reduced in place by a request of its own. All have loaded what is between their elements before any
 * ends; none may write it back over the results of another. */
static void check_columns(struct harness *h, const struct stage_types *types, uint64_t seed)
{
    MPI_Datatype column = types->type[STAGE_COLUMN].type;
    MPI_Request requests[STAGE_COLUMNS];
    int matrix[INTS * STAGE_COLUMNS], got[INTS * STAGE_COLUMNS];
    struct buffer buffer;

    for (int i = 0; i < INTS * STAGE_COLUMNS; i++) {
        matrix[i] = stage_draw(seed, h->rank, i, 100);
    }
    buffer_create(h, &buffer, GPUFIFO_MEMORY_DEVICE, sizeof matrix, 0);
    buffer_write(&buffer, matrix);
    for (int c = 0; c < STAGE_COLUMNS; c++) {
        MPI_Iallreduce(MPI_IN_PLACE, (int *)buffer.data + c, 1, column, types->multiply, MPI_COMM_WORLD, &requests[c]);
    }
    for (int c = STAGE_COLUMNS - 1; c >= 0; c--) {
        MPI_Wait(&requests[c], MPI_STATUS_IGNORE);
        MPI_Allreduce(MPI_IN_PLACE, matrix + c, 1, column, types->multiply, MPI_COMM_WORLD);
    }
    buffer_read(&buffer, got);
    harness_check(h, memcmp(got, matrix, sizeof matrix) == 0, "seed %llu: interleaved columns overwrite one another",
                  (unsigned long long)seed);
    buffer_destroy(&buffer, "columns");
}

/* The operation goes on when its request is freed, and its memory is given back after it. */
static void check_freed(struct harness *h)
{
    int value = h->rank == 0 ? 4711 : 0, flag;
    struct buffer buffer;
    MPI_Request request;

    buffer_create(h, &buffer, GPUFIFO_MEMORY_DEVICE, sizeof value, 0);
    buffer_write(&buffer, &value);
    MPI_Ibcast(buffer.data, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    do {   /* a test that never ends is stopped by the time limit */
        MPI_Iprobe(MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        buffer_read(&buffer, &value);
    } while (value != 4711);
    MPI_Barrier(MPI_COMM_WORLD);
    harness_check(h, request == MPI_REQUEST_NULL, "a freed request is not null");
    buffer_destroy(&buffer, "freed request");
}

/* MPI_BOTTOM: the address is in the datatype. */
static void check_bottom(struct harness *h)
{
    int values[10], length = 10;
    struct buffer buffer;
    MPI_Aint address;
    MPI_Datatype absolute;
    bool right = true;

    for (int i = 0; i < length; i++) {
        values[i] = h->rank == 0 ? i * i : 0;
    }
    buffer_create(h, &buffer, GPUFIFO_MEMORY_DEVICE, sizeof values, 0);
    buffer_write(&buffer, values);
    MPI_Get_address(buffer.data, &address);
    MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_WORLD);
    buffer_read(&buffer, values);
    for (int i = 0; i < length; i++) {
        right = right && values[i] == i * i;
    }
    harness_check(h, right, "broadcast of MPI_BOTTOM and an absolute datatype is wrong");
    MPI_Type_free(&absolute);
    buffer_destroy(&buffer, "MPI_BOTTOM");
}

/* So many blocks of a double, in equal distances or in ever larger ones. */
static MPI_Datatype make_sparse(int blocks, bool regular)
{
    MPI_Datatype sparse;
    int *displacements;

    if (regular) {
        MPI_Type_vector(blocks, 1, 16, MPI_DOUBLE, &sparse);
    } else {
        displacements = malloc((size_t)blocks * sizeof *displacements);
        for (int i = 0; i < blocks; i++) {
            displacements[i] = 15 * i + (int)((long)i * i % 13);
        }
        MPI_Type_create_indexed_block(blocks, 1, displacements, MPI_DOUBLE, &sparse);
        free(displacements);
    }
    MPI_Type_commit(&sparse);
    return sparse;
}

/* One copy or kernel for a broadcast of one block as of ten thousand, in types of each form; and one for the list of those that
 * have one, when it is first needed: a short span is copied with its gaps. */
static void check_driver_calls(struct harness *h)
{
    static const int blocks[] = {1, 2, 100, 10000};
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int level, index, count;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_T_pvar_session_create(&session);
    harness_need(h, MPI_T_pvar_get_index("coll_gpufifo_staging_driver_calls", MPI_T_PVAR_CLASS_AGGREGATE, &index), "no counter");
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    for (size_t i = 0; i < 2 * sizeof blocks / sizeof *blocks; i++) {
        MPI_Datatype sparse = make_sparse(blocks[i / 2], i % 2);
        struct buffer buffer;
        unsigned long long before = 0, after = 0, list = i % 2 == 0 && (h->rank > 0 || blocks[i / 2] > 1000);

        buffer_create(h, &buffer, GPUFIFO_MEMORY_DEVICE, (size_t)blocks[i / 2] * 16 * sizeof(double), 0);
        for (int round = 0; round < 3; round++) {
            unsigned long long expected = 1 + (round == 0 && blocks[i / 2] > 2 && list);

            MPI_T_pvar_read(session, handle, &before);
            MPI_Bcast(buffer.data, 1, sparse, 0, MPI_COMM_WORLD);
            MPI_T_pvar_read(session, handle, &after);
            expected = h->ranks > 1 ? expected : 0;       /* MPI_Bcast to oneself does nothing */
            harness_check(h, after - before == expected, "broadcast %d of %d blocks: %llu copies and kernels instead of %llu",
                          round, blocks[i / 2], after - before, expected);
        }
        buffer_destroy(&buffer, "sparse");
        MPI_Type_free(&sparse);
    }
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
}

/* What the error handler of one communicator saw: handlers get no other argument. */
static struct {
    MPI_Comm comm;
    int class, calls;
} handled;

static void remember_error(MPI_Comm *comm, int *code, ...)
{
    handled.comm = *comm;
    handled.calls++;
    MPI_Error_class(*code, &handled.class);
}

static void expect_error(struct harness *h, MPI_Comm comm, int class, const char *what)
{
    harness_check(h, handled.calls == 1 && handled.comm == comm && handled.class == class,
                  "%s: the communicator's error handler saw %d errors, the last of class %d", what, handled.calls, handled.class);
    handled.calls = 0;
}

static const struct stage_collective *find_collective(const char *name)
{
    size_t i = 0;

    while (strcmp(stage_collectives[i].name, name) != 0) {
        i++;
    }
    return &stage_collectives[i];
}

/* A buffer that is freed too early, and then a freed one in each form. */
static void check_errors(struct harness *h)
{
    const struct stage_collective *allgather = find_collective("Allgather");
    int host[8] = {0};
    void *freed;
    MPI_Comm alone;
    MPI_Errhandler handler;
    MPI_Request request;

    MPI_Comm_dup(MPI_COMM_SELF, &alone);
    MPI_Comm_create_errhandler(remember_error, &handler);
    MPI_Comm_set_errhandler(alone, handler);
    harness_need(h, gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, sizeof host, &freed), "alloc");
    struct stage_arguments into = {.comm = alone, .send = host, .scount = 8, .stype = MPI_INT, .recv = freed, .rcount = 8,
                                   .rtype = MPI_INT};
    struct stage_arguments from = into;
    from.send = freed;
    from.recv = host;

    allgather->nonblocking(&into, &request);
    harness_need(h, gpufifo_free(h->device, freed), "free");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_error(h, alone, MPI_ERR_BUFFER, "freed before the operation was complete");
    harness_check(h, request == MPI_REQUEST_NULL, "a request that failed is still there");

    allgather->blocking(&from);
    expect_error(h, alone, MPI_ERR_BUFFER, "blocking with a freed buffer");
    allgather->nonblocking(&from, &request);
    expect_error(h, alone, MPI_ERR_BUFFER, "non-blocking with a freed buffer");
    if (allgather->persistent) {
        allgather->persistent(&from, &request);
        expect_error(h, alone, MPI_ERR_BUFFER, "persistent with a freed buffer");
    }
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&alone);
}

/* A persistent request that is never started, and one that is waited for twice. */
static void check_persistent(struct harness *h, const struct stage_types *types, uint64_t seed)
{
    const struct stage_collective *bcast = find_collective("Bcast");
    struct stage_choice choice = {.collective = bcast, .comm = MPI_COMM_WORLD, .most = STAGE_COLUMNS, .seed = seed};
    struct stage_case c;
    MPI_Request idle, active;

    if (!bcast->persistent) {
        return;
    }
    stage_case_create(h, types, &choice, &on_device, &c);
    bcast->persistent(&c.tested, &idle);
    bcast->persistent(&c.tested, &active);
    MPI_Request_free(&idle);
    harness_check(h, idle == MPI_REQUEST_NULL, "a persistent request that was never started cannot be freed");
    bcast->blocking(&c.reference);
    MPI_Start(&active);
    MPI_Wait(&active, MPI_STATUS_IGNORE);
    MPI_Wait(&active, MPI_STATUS_IGNORE);   /* inactive: returns at once */
    stage_case_check(&c, "persistent, waited for twice");
    MPI_Request_free(&active);
    stage_case_free(&c);
}

/* Data that lie pages away from the buffer's address, so that the two addresses of the staged call may be one: Open MPI's libnbc
 * would take that for in place, and move nothing. */
static void check_distances(struct harness *h)
{
    enum { PAGE = 4096 / sizeof(double), MOST = 1200 * PAGE };
    struct buffer from, to;
    int one = 1;

    buffer_create(h, &from, GPUFIFO_MEMORY_DEVICE, sizeof(double), 0);
    buffer_create(h, &to, GPUFIFO_MEMORY_DEVICE, sizeof(double), 0);
    for (int distance = -MOST; distance <= MOST; distance += PAGE) {
        double sent = distance + 0.5, got;
        char *origin = (char *)from.data - distance * (ptrdiff_t)sizeof sent;
        MPI_Request request;

        buffer_write(&from, &sent);
        MPI_Iscatterv(origin, &one, &distance, MPI_DOUBLE, to.data, 1, MPI_DOUBLE, 0, MPI_COMM_SELF, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        buffer_read(&to, &got);
        harness_check(h, got == sent, "data %d elements from the address: %g instead of %g", distance, got, sent);
    }
    buffer_destroy(&to, "distances");
    buffer_destroy(&from, "distances");
}

int main(int argc, char **argv)
{
    struct harness h;
    struct stage_types types;
    uint64_t seed = argc > 1 && strncmp(argv[1], "seed=", 5) == 0 ? strtoull(argv[1] + 5, NULL, 10) : 1;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    if (h.rank == 0) {
        printf("%s: seed=%llu\n", h.name, (unsigned long long)seed);
    }
    stage_types_create(&types);
    for (int how = 0; how < STAGE_WAYS; how++) {
        check_many(&h, &types, (seed << 20) + (uint64_t)how * 100, how);
    }
    for (uint64_t i = 0; i < 10; i++) {
        check_columns(&h, &types, seed + i);
    }
    check_freed(&h);
    check_bottom(&h);
    check_driver_calls(&h);
    check_persistent(&h, &types, seed);
    check_errors(&h);
    check_distances(&h);
    stage_types_free(&types);
    return harness_finish(&h);
}
