/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Allreduce on device buffers: every type with every operation, every size, in place, unaligned, every kind of memory,
 * and equal bits everywhere. The runner forces transports and algorithms; `path=` checks that it is really that path that was
 * taken (or one of several).
 *
 * Usage: test_allreduce [path=NAME[,NAME]] [limit=BYTES] PART...   with the parts types, sizes, kinds, bits
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/parts.h"
#include "tests/mpi/values.h"

struct call {
    const struct test_type *type;
    const struct test_op *op;
    size_t count;
    enum gpufifo_memory send_kind, recv_kind;
    size_t offset;             /* in elements */
    bool in_place;
    uint64_t seed;
};

static const char *const kind_names[] = { "host", "pinned", "managed", "device" };

static void check_call(struct harness *h, const struct call *c)
{
    size_t bytes = c->count * c->type->bytes, shift = c->offset * c->type->bytes;
    char *mine = host_alloc(h, bytes), *expected = host_alloc(h, bytes), *got = host_alloc(h, bytes);
    struct buffer send = { 0 }, recv;
    char what[200];

    snprintf(what, sizeof what, "%s %s x %zu, %s to %s%s", c->op->name, c->type->name, c->count, kind_names[c->send_kind],
             kind_names[c->recv_kind], c->in_place ? ", in place" : "");
    values_fill(c->type, c->op, h->rank, h->ranks, c->seed, c->count, mine);
    values_expect(h, c->type, c->op, h->ranks, h->ranks, c->seed, c->count, expected);
    buffer_create(h, &recv, c->recv_kind, bytes, shift);
    if (c->in_place) {
        buffer_write(&recv, mine);
    } else {
        buffer_create(h, &send, c->send_kind, bytes, shift);
        buffer_write(&send, mine);
    }
    int result = MPI_Allreduce(c->in_place ? MPI_IN_PLACE : send.data, recv.data, (int)c->count, c->type->type, c->op->op,
                               MPI_COMM_WORLD);
    harness_check(h, result == MPI_SUCCESS, "%s: error %d", what, result);
    buffer_read(&recv, got);
    size_t at = values_differ(c->type, got, expected, c->count);
    harness_check(h, at == c->count, "%s: element %zu is wrong", what, at);
    if (!c->in_place) {
        buffer_read(&send, got);
        harness_check(h, memcmp(got, mine, bytes) == 0, "%s: the send buffer changed", what);
        buffer_destroy(&send, what);
    }
    buffer_destroy(&recv, what);
    free(mine);
    free(expected);
    free(got);
}

static void check_types(struct harness *h)
{
    static const size_t counts[] = { 1, 5, 257 };
    const struct test_type *types;
    const struct test_op *ops;
    size_t type_count = test_types(&types), op_count = test_ops(&ops);

    for (size_t t = 0; t < type_count; t++) {
        for (size_t o = 0; o < op_count; o++) {
            for (size_t c = 0; c < sizeof counts / sizeof *counts && test_allowed(&types[t], &ops[o]); c++) {
                check_call(h, &(struct call){ &types[t], &ops[o], counts[c], GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_DEVICE,
                                              .offset = c, .in_place = c == 1, .seed = t * 1000 + o * 10 + c });
            }
        }
    }
}

static void check_sizes(struct harness *h, size_t limit)
{
    const struct test_type *type = test_type_find("MPI_FLOAT");
    const struct test_op *op = test_op_find("MPI_SUM");

    for (size_t bytes = 0; bytes <= limit; bytes = bytes ? 2 * bytes : 4) {
        size_t count = bytes / type->bytes;
        for (size_t more = 0; more < (count > 1 ? 3 : 1); more++) {      /* 2^k - 1, 2^k and 2^k + 1 elements */
            struct call call = { type, op, count > 1 ? count - 1 + more : count, GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_DEVICE,
                                 .offset = more, .in_place = false, .seed = bytes + more };
            check_call(h, &call);
            call.in_place = true;
            check_call(h, &call);
        }
    }
}

static void check_kinds(struct harness *h)
{
    const struct test_type *type = test_type_find("MPI_DOUBLE");
    const struct test_op *op = test_op_find("MPI_SUM");

    for (int send = GPUFIFO_MEMORY_HOST; send <= GPUFIFO_MEMORY_DEVICE; send++) {
        for (int recv = GPUFIFO_MEMORY_HOST; recv <= GPUFIFO_MEMORY_DEVICE; recv++) {
            for (size_t count = 1; count <= 10000; count *= 100) {
                check_call(h, &(struct call){ type, op, count, send, recv, .offset = 1, .in_place = false, .seed = count });
            }
        }
    }
}

/* Numbers that round: the order of the reduction shows in the bits. All ranks must get the same, and again when repeated. */
static void check_bits(struct harness *h)
{
    for (size_t count = 1; count <= 100000; count *= 10) {
        size_t bytes = count * sizeof(double);
        double *mine = host_alloc(h, bytes), *first = host_alloc(h, bytes), *again = host_alloc(h, bytes);
        uint64_t state = 77 + h->rank;
        struct buffer send, recv;

        for (size_t i = 0; i < count; i++) {
            mine[i] = (double)random_next(&state) / (double)(random_next(&state) | 1);
        }
        buffer_create(h, &send, GPUFIFO_MEMORY_DEVICE, bytes, 0);
        buffer_create(h, &recv, GPUFIFO_MEMORY_DEVICE, bytes, 0);
        buffer_write(&send, mine);
        for (int round = 0; round < 3; round++) {
            MPI_Allreduce(send.data, recv.data, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            buffer_read(&recv, round ? again : first);
            harness_check(h, !round || memcmp(first, again, bytes) == 0, "%zu doubles: other bits in round %d", count, round);
        }
        memcpy(again, first, bytes);
        MPI_Bcast(again, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        harness_check(h, memcmp(first, again, bytes) == 0, "%zu doubles: other bits than rank 0", count);
        buffer_destroy(&send, "bits");
        buffer_destroy(&recv, "bits");
        free(mine);
        free(first);
        free(again);
    }
}

struct test {
    struct harness *h;
    size_t limit;              /* of a message, in bytes */
};

static bool set(void *ctx, const char *name, uint64_t value)
{
    struct test *t = ctx;

    if (strcmp(name, "limit") != 0) {
        return false;
    }
    t->limit = value;
    return true;
}

static void run_part(void *ctx, const char *part, const struct parts *parts)
{
    const struct test *t = ctx;
    struct harness *h = t->h;

    (void)parts;
    if (strcmp(part, "types") == 0) {
        check_types(h);
    } else if (strcmp(part, "sizes") == 0) {
        check_sizes(h, t->limit);
    } else if (strcmp(part, "kinds") == 0) {
        check_kinds(h);
    } else if (strcmp(part, "bits") == 0) {
        check_bits(h);
    } else {
        harness_check(h, false, "there is no part \"%s\": types, sizes, kinds, bits", part);
    }
}

int main(int argc, char **argv)
{
    struct harness h;
    struct test t = { .h = &h, .limit = 1 << 20 };
    struct parts parts = { .ctx = &t, .run = run_part, .set = set };

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    parts_run(&h, argc, argv, &parts);
    return harness_finish(&h);
}
