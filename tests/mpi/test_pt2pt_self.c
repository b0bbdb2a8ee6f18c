/* SPDX-License-Identifier: BSD-3-Clause
 *
 * With threads: a program that has sent to itself knows that the receive has its message, so MPI_Testsome has to say so at once.
 * Each message leaves from a page of its own, which nobody has asked the driver about.
 */
#include <mpi.h>
#include <sys/mman.h>

#include "tests/mpi/harness.h"

enum { ROUNDS = 50, PAGE = 4096, TAG = 3 };

static char *new_page(struct harness *h)
{
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    harness_check(h, page != MAP_FAILED, "no memory for a page");
    return page;
}

static void send_and_look(struct harness *h, int round)
{
    char *page = new_page(h), got = 0;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int found = 0, indices[2];

    page[0] = (char)round;
    MPI_Irecv(&got, 1, MPI_BYTE, h->rank, TAG, MPI_COMM_WORLD, &requests[0]);
    if (round % 2 == 0) {
        MPI_Ssend(page, 1, MPI_BYTE, h->rank, TAG, MPI_COMM_WORLD);
    } else {
        MPI_Issend(page, 1, MPI_BYTE, h->rank, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
    MPI_Testsome(1, requests, &found, indices, MPI_STATUSES_IGNORE);
    harness_check(h, found == 1 && got == (char)round, "round %d: %d found, %d received", round, found, got);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    munmap(page, PAGE);
}

int main(int argc, char **argv)
{
    struct harness h;

    harness_start(&h, argc, argv, MPI_THREAD_MULTIPLE);
    for (int round = 0; round < ROUNDS; round++) {
        send_and_look(&h, round);
    }
    return harness_finish(&h);
}
