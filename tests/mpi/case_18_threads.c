/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 18: a collective is called from a thread that never touched the device, then from the main thread, then from a thread
 * that is new each time. On a GPU such a thread has no current context.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/values.h"

struct job {
    struct harness *h;
    struct buffer *send, *recv;
    size_t count;
    int result;
};

static void *reduce(void *argument)
{
    struct job *job = argument;

    job->result = MPI_Allreduce(job->send->data, job->recv->data, (int)job->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return NULL;
}

int main(int argc, char **argv)
{
    static const size_t counts[] = { 2, 5000, 300000 };
    struct harness h;
    const struct test_type *type = test_type_find("MPI_FLOAT");
    const struct test_op *op = test_op_find("MPI_SUM");

    harness_start(&h, argc, argv, MPI_THREAD_SERIALIZED);
    for (int round = 0; round < 9; round++) {
        size_t count = counts[round / 3], bytes = count * type->bytes;
        char *mine = host_alloc(&h, bytes), *expected = host_alloc(&h, bytes);
        struct buffer send, recv;
        struct job job = { &h, &send, &recv, count, MPI_ERR_OTHER };
        pthread_t thread;

        buffer_create(&h, &send, GPUFIFO_MEMORY_DEVICE, bytes, 0);
        buffer_create(&h, &recv, GPUFIFO_MEMORY_DEVICE, bytes, 0);
        values_fill(type, op, h.rank, h.ranks, round, count, mine);
        values_expect(&h, type, op, h.ranks, h.ranks, round, count, expected);
        buffer_write(&send, mine);
        if (round % 3 == 1) {
            reduce(&job);
        } else {
            harness_need(&h, pthread_create(&thread, NULL, reduce, &job), "pthread_create");
            pthread_join(thread, NULL);
        }
        buffer_read(&recv, mine);
        harness_check(&h, job.result == MPI_SUCCESS && values_differ(type, mine, expected, count) == count,
                      "round %d, %zu floats: wrong (result %d)", round, count, job.result);
        buffer_destroy(&send, "threads");
        buffer_destroy(&recv, "threads");
        free(mine);
        free(expected);
    }
    return harness_finish(&h);
}
