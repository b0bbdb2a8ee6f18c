/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases 1 and 30: reductions in every form but the blocking allreduce (non-blocking, persistent, to a root, prefix) on device
 * memory. None may reach host code with a device pointer; on the emulated device that would crash.
 *
 * Usage: case_01_30_nonblocking [limit=BYTES]
 */
#include <mpi.h>
#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/values.h"

struct call {
    const void *send;
    void *recv;
    int count;
    const struct test_type *type;
    const struct test_op *op;
    int root;
    int starts;                /* of a persistent request; 1 in place, where a second start would reduce twice */
};

static void wait_by_test(MPI_Request *request)
{
    int done = 0;
    while (!done) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
}

static void iallreduce(const struct call *c)
{
    MPI_Request request;
    MPI_Iallreduce(c->send, c->recv, c->count, c->type->type, c->op->op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void iallreduce_test(const struct call *c)
{
    MPI_Request request;
    MPI_Iallreduce(c->send, c->recv, c->count, c->type->type, c->op->op, MPI_COMM_WORLD, &request);
    wait_by_test(&request);
}

static void reduce(const struct call *c)
{
    MPI_Reduce(c->send, c->recv, c->count, c->type->type, c->op->op, c->root, MPI_COMM_WORLD);
}

static void ireduce(const struct call *c)
{
    MPI_Request request;
    MPI_Ireduce(c->send, c->recv, c->count, c->type->type, c->op->op, c->root, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void scan(const struct call *c)
{
    MPI_Scan(c->send, c->recv, c->count, c->type->type, c->op->op, MPI_COMM_WORLD);
}

static void iscan(const struct call *c)
{
    MPI_Request request;
    MPI_Iscan(c->send, c->recv, c->count, c->type->type, c->op->op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
static void allreduce_init(const struct call *c)
{
    MPI_Request request;
    MPIX_Allreduce_init(c->send, c->recv, c->count, c->type->type, c->op->op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round < c->starts; round++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

static void reduce_init(const struct call *c)
{
    MPI_Request request;
    MPIX_Reduce_init(c->send, c->recv, c->count, c->type->type, c->op->op, c->root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round < c->starts; round++) {
        MPI_Start(&request);
        wait_by_test(&request);
    }
    MPI_Request_free(&request);
}
#endif

enum result { RESULT_ALL, RESULT_ROOT, RESULT_PREFIX };

static const struct form {
    const char *name;
    void (*run)(const struct call *c);
    enum result result;
} forms[] = {
    { "Iallreduce + Wait", iallreduce, RESULT_ALL }, { "Iallreduce + Test", iallreduce_test, RESULT_ALL },
    { "Reduce", reduce, RESULT_ROOT }, { "Ireduce", ireduce, RESULT_ROOT },
    { "Scan", scan, RESULT_PREFIX }, { "Iscan", iscan, RESULT_PREFIX },
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
    { "Allreduce_init", allreduce_init, RESULT_ALL }, { "Reduce_init", reduce_init, RESULT_ROOT },
#endif
};

static void check_form(struct harness *h, const struct form *form, const struct test_type *type, const struct test_op *op,
                       size_t count, bool in_place)
{
    size_t bytes = count * type->bytes;
    int root = h->ranks - 1;
    bool has_result = form->result != RESULT_ROOT || h->rank == root;
    int starts = in_place ? 1 : 2;
    char *mine = host_alloc(h, bytes), *expected = host_alloc(h, bytes), *got = host_alloc(h, bytes);
    struct buffer send, recv;

    in_place = in_place && has_result;      /* MPI_Reduce: at the root only */
    values_fill(type, op, h->rank, h->ranks, count, count, mine);
    values_expect(h, type, op, h->ranks, form->result == RESULT_PREFIX ? h->rank + 1 : h->ranks, count, count, expected);
    buffer_create(h, &send, GPUFIFO_MEMORY_DEVICE, bytes, 0);
    buffer_create(h, &recv, GPUFIFO_MEMORY_DEVICE, bytes, 0);
    buffer_write(in_place ? &recv : &send, mine);
    form->run(&(struct call){ in_place ? MPI_IN_PLACE : send.data, recv.data, (int)count, type, op, root, starts });
    buffer_read(&recv, got);
    if (has_result) {
        size_t at = values_differ(type, got, expected, count);
        harness_check(h, at == count, "%s %s %s x %zu%s: element %zu is wrong", form->name, op->name, type->name, count,
                      in_place ? " in place" : "", at);
    }
    buffer_destroy(&send, form->name);
    buffer_destroy(&recv, form->name);
    free(mine);
    free(expected);
    free(got);
}

/* Several at once, completed in another order than started. */
static void check_many(struct harness *h)
{
    enum { MANY = 6, COUNT = 1000 };
    const struct test_type *type = test_type_find("MPI_DOUBLE");
    const struct test_op *op = test_op_find("MPI_SUM");
    double mine[COUNT], expected[COUNT], got[COUNT];
    struct buffer send[MANY], recv[MANY];
    MPI_Request request[MANY];

    for (int i = 0; i < MANY; i++) {
        values_fill(type, op, h->rank, h->ranks, i, COUNT, mine);
        buffer_create(h, &send[i], GPUFIFO_MEMORY_DEVICE, sizeof mine, 0);
        buffer_create(h, &recv[i], GPUFIFO_MEMORY_DEVICE, sizeof mine, 0);
        buffer_write(&send[i], mine);
        MPI_Iallreduce(send[i].data, recv[i].data, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request[i]);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        harness_need(h, gpufifo_synchronize(h->device), "synchronise between the start and the wait");
        MPI_Wait(&request[i], MPI_STATUS_IGNORE);
        values_expect(h, type, op, h->ranks, h->ranks, i, COUNT, expected);
        buffer_read(&recv[i], got);
        harness_check(h, values_differ(type, got, expected, COUNT) == COUNT, "Iallreduce %d of %d at once is wrong", i, MANY);
        buffer_destroy(&send[i], "many");
        buffer_destroy(&recv[i], "many");
    }
}

int main(int argc, char **argv)
{
    struct harness h;
    const struct test_type *types;
    const struct test_op *ops;
    size_t type_count = test_types(&types), op_count = test_ops(&ops), limit = 1 << 20;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    if (argc > 1 && strncmp(argv[1], "limit=", 6) == 0) {
        limit = strtoull(argv[1] + 6, NULL, 10);
    }
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        for (size_t t = 0; t < type_count; t++) {
            for (size_t o = 0; o < op_count; o++) {
                if (test_allowed(&types[t], &ops[o])) {
                    check_form(&h, &forms[f], &types[t], &ops[o], 9, (t + o) % 2);
                }
            }
        }
        for (size_t bytes = 0; bytes <= limit; bytes = bytes ? bytes * 64 : 4) {
            check_form(&h, &forms[f], test_type_find("MPI_FLOAT"), test_op_find("MPI_SUM"), bytes / 4, false);
        }
    }
    check_many(&h);
    return harness_finish(&h);
}
