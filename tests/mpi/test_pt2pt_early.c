/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A receiver that cannot map what is offered asks for chunks, and its CTS may reach the sender before that has seen why: kept
 * for it. Two ranks that share a GPU without MPS (where only long messages are offered), of which rank 1 cannot map memory:
 *
 *   rank 0: sends A (in chunks) and B (offered), then stays outside of MPI until rank 1 has asked for B
 *   rank 1: receives B, then A
 *
 * A has a receive for CTSs posted at rank 0, by which that of B comes in with the first turn of progress.
 */
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/mpi/pt2pt_buffers.h"

enum { TAG_FIRST = 1, TAG_A, TAG_B, BYTES_FIRST = 300000, BYTES_A = 1 << 20, BYTES_B = 5 << 20, TURNS = 1000, ROUNDS = 5 };

/* A word that both ranks see without MPI. */
static atomic_int *shared_word(MPI_Win *window)
{
    MPI_Aint bytes;
    int rank, unit;
    void *word;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate_shared(rank == 0 ? sizeof(atomic_int) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &word, window);
    MPI_Win_shared_query(*window, 0, &bytes, &unit, &word);
    return word;
}

static void sender(const struct ends *e, atomic_int *asked, int round)
{
    struct buffer a, b;
    MPI_Request requests[2];

    message_create(e, &a, BYTES_A, TAG_A);
    message_create(e, &b, BYTES_B, TAG_B);
    MPI_Isend(a.data, BYTES_A, MPI_BYTE, 1, TAG_A, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(b.data, BYTES_B, MPI_BYTE, 1, TAG_B, MPI_COMM_WORLD, &requests[1]);
    /* Once A is announced. */
    for (int turn = 0, done; turn < TURNS; turn++) {
        MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
    }
    while (atomic_load(asked) != round) {
        sched_yield();
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    harness_check(e->h, true, "sent");
    buffer_destroy(&a, e->name);
    buffer_destroy(&b, e->name);
}

static void receiver(const struct ends *e, atomic_int *asked, int round)
{
    struct buffer a, b;
    MPI_Request request;
    int done = 0;

    landing_create(e, &a, BYTES_A);
    landing_create(e, &b, BYTES_B);
    MPI_Irecv(b.data, BYTES_B, MPI_BYTE, 0, TAG_B, MPI_COMM_WORLD, &request);
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    atomic_store(asked, round);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(a.data, BYTES_A, MPI_BYTE, 0, TAG_A, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    landing_check(e, &a, BYTES_A, 0, TAG_A);
    landing_check(e, &b, BYTES_B, 0, TAG_B);
}

/* By this one rank 0 learns that rank 1 shares its GPU. */
static void first(const struct ends *e)
{
    struct buffer buffer;

    if (e->h->rank == 0) {
        message_create(e, &buffer, BYTES_FIRST, TAG_FIRST);
        MPI_Send(buffer.data, BYTES_FIRST, MPI_BYTE, 1, TAG_FIRST, MPI_COMM_WORLD);
        buffer_destroy(&buffer, e->name);
    } else {
        landing_create(e, &buffer, BYTES_FIRST);
        MPI_Recv(buffer.data, BYTES_FIRST, MPI_BYTE, 0, TAG_FIRST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        landing_check(e, &buffer, BYTES_FIRST, 0, TAG_FIRST);
    }
}

int main(int argc, char **argv)
{
    struct harness h;
    struct ends ends = {.h = &h, .from = GPUFIFO_MEMORY_DEVICE, .to = GPUFIFO_MEMORY_DEVICE, .next = 1, .name = "early"};
    atomic_int *asked;
    MPI_Win window;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    asked = shared_word(&window);
    if (h.rank < 2 && h.ranks > 1) {
        first(&ends);
        for (int round = 1; round <= ROUNDS; round++) {
            (h.rank == 0 ? sender : receiver)(&ends, asked, round);
        }
    }
    MPI_Win_free(&window);
    return harness_finish(&h);
}
