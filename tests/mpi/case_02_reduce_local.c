/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 2: MPI_Reduce_local with device memory on either side or both, every type with every operation.
 */
#include <mpi.h>
#include <stdlib.h>

#include "tests/mpi/values.h"

static void check_pair(struct harness *h, const struct test_type *type, const struct test_op *op, size_t count,
                       enum gpufifo_memory in_kind, enum gpufifo_memory inout_kind)
{
    size_t bytes = count * type->bytes;
    char *in = host_alloc(h, bytes), *inout = host_alloc(h, bytes), *expected = host_alloc(h, bytes);
    struct buffer from, to;

    values_fill(type, op, 1, 2, count, count, in);
    values_fill(type, op, 0, 2, count, count, inout);
    values_expect(h, type, op, 2, 2, count, count, expected);
    buffer_create(h, &from, in_kind, bytes, 0);
    buffer_create(h, &to, inout_kind, bytes, 0);
    buffer_write(&from, in);
    buffer_write(&to, inout);
    int result = MPI_Reduce_local(from.data, to.data, (int)count, type->type, op->op);
    buffer_read(&to, inout);
    size_t at = values_differ(type, inout, expected, count);
    harness_check(h, result == MPI_SUCCESS && at == count, "%s %s x %zu, memory kinds %d and %d: result %d, element %zu is wrong",
                  op->name, type->name, count, in_kind, inout_kind, result, at);
    buffer_destroy(&from, "reduce_local");
    buffer_destroy(&to, "reduce_local");
    free(in);
    free(inout);
    free(expected);
}

int main(int argc, char **argv)
{
    static const size_t counts[] = { 0, 1, 1001 };
    struct harness h;
    const struct test_type *types;
    const struct test_op *ops;
    size_t type_count = test_types(&types), op_count = test_ops(&ops);

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    for (size_t t = 0; t < type_count; t++) {
        for (size_t o = 0; o < op_count; o++) {
            for (size_t c = 0; c < sizeof counts / sizeof *counts && test_allowed(&types[t], &ops[o]); c++) {
                check_pair(&h, &types[t], &ops[o], counts[c], GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_DEVICE);
                check_pair(&h, &types[t], &ops[o], counts[c], GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_HOST);
                check_pair(&h, &types[t], &ops[o], counts[c], GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_DEVICE);
            }
        }
    }
    return harness_finish(&h);
}
