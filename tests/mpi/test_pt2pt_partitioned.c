/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Partitioned communication of MPI-4, where this Open MPI has it: its messages pass the PML like others, and so may have either
 * end in device memory. Sender and receiver cut them differently.
 */
#include <mpi.h>

#include "tests/mpi/pt2pt_buffers.h"

#if OMPI_MAJOR_VERSION >= 5
enum { TAG = 3, PARTS = 8, ROUNDS = 3 };

static void partitioned(const struct ends *e, size_t bytes)
{
    struct buffer from, to;
    MPI_Request requests[2];
    int arrived = 0;

    message_create(e, &from, bytes * PARTS, 1);
    landing_create(e, &to, bytes * PARTS);
    MPI_Psend_init(from.data, PARTS, (MPI_Count)bytes, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(to.data, PARTS / 2, (MPI_Count)bytes * 2, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Startall(2, requests);
        for (int part = PARTS - 1; part >= 0; part--) {
            MPI_Pready(part, requests[0]);
        }
        for (arrived = 0; !arrived;) {
            MPI_Parrived(requests[1], 1, &arrived);
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    landing_check(e, &to, bytes * PARTS, e->previous, 1);
    buffer_destroy(&from, e->name);
}
#else
static void partitioned(const struct ends *e, size_t bytes)
{
    (void)bytes;
    harness_check(e->h, true, "%s", e->name);     /* the script runs nothing then */
}
#endif

int main(int argc, char **argv)
{
    static const size_t sizes[] = {16, 67, 5000, 200000};
    static const enum gpufifo_memory kinds[] = {GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_DEVICE};
    struct harness h;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    for (int i = 0; i < 16; i++) {
        struct ends ends = {.h = &h, .from = kinds[i % 2], .to = kinds[i / 2 % 2], .next = (h.rank + 1) % h.ranks,
                            .previous = (h.rank + h.ranks - 1) % h.ranks, .name = "partitioned"};
        partitioned(&ends, sizes[i / 4]);
    }
    return harness_finish(&h);
}
