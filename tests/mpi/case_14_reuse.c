/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 14: allocate, reduce, free, and again, often at the same address: nobody may remember the old memory.
 *
 * Usage: case_14_reuse [ROUNDS] [SEED]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/values.h"

enum { MOST = 20000, REMEMBERED = 8 };

int main(int argc, char **argv)
{
    struct harness h;
    long rounds = argc > 1 ? atol(argv[1]) : 1000, reused = 0;
    uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const struct test_type *type = test_type_find("MPI_INT");
    const struct test_op *op = test_op_find("MPI_SUM");
    static int mine[MOST], expected[MOST], got[MOST];
    void *seen[REMEMBERED] = { NULL };

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    for (long round = 0; round < rounds; round++) {
        uint64_t bits = random_next(&state);        /* the same on all ranks */
        size_t count = 1 + bits % (round % 16 ? 100 : MOST), bytes = count * sizeof *mine;
        void *send, *recv;

        harness_need(&h, gpufifo_alloc(h.device, GPUFIFO_MEMORY_DEVICE, bytes, &send), "alloc");
        harness_need(&h, gpufifo_alloc(h.device, GPUFIFO_MEMORY_DEVICE, bytes, &recv), "alloc");
        for (int i = 0; i < REMEMBERED; i++) {
            reused += seen[i] == send || seen[i] == recv;
        }
        seen[round % REMEMBERED] = round & 1 ? send : recv;
        values_fill(type, op, h.rank, h.ranks, bits, count, mine);
        values_expect(&h, type, op, h.ranks, h.ranks, bits, count, expected);
        harness_need(&h, gpufifo_copy(h.device, send, mine, bytes), "copy");
        MPI_Allreduce(send, recv, (int)count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        harness_need(&h, gpufifo_copy(h.device, got, recv, bytes), "copy");
        harness_check(&h, memcmp(got, expected, bytes) == 0, "round %ld, %zu numbers: wrong", round, count);
        harness_need(&h, gpufifo_free(h.device, recv), "free");       /* so that the next round's send gets this address */
        harness_need(&h, gpufifo_free(h.device, send), "free");
    }
    harness_check(&h, reused > 0, "no address was ever used again in %ld rounds: the test shows nothing", rounds);
    if (h.rank == 0) {
        printf("case_14_reuse: %ld rounds, an address came back %ld times\n", rounds, reused);
    }
    return harness_finish(&h);
}
