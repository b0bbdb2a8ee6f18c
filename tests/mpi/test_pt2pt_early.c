/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A receiver that cannot map what is offered asks for chunks, and its CTS may reach the sender before that has seen why: kept
 * for it. Two ranks that share a GPU without MPS (where only long messages are offered), of which rank 1 cannot map memory:
 *
 *   rank 0: sends A and C (in chunks) and B (offered), then stays outside of MPI until rank 1 has asked for B and C
 *   rank 1: receives B, C, and in the end A
 *
 * A and C have receives for CTSs posted at rank 0, by which those of B and C come in with the first turn of progress. The chunks
 * of C must not go before those of B: rank 1 takes them in the order in which it has asked.
 */
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/mpi/pt2pt_buffers.h"

enum { TAG_FIRST = 1, BYTES_FIRST = 300000, TURNS = 1000, ROUNDS = 5 };
enum { A, B, C, MESSAGES };
static const int bytes_of[] = {[A] = 1 << 20, [B] = 5 << 20, [C] = 600000};

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

/* Outside of MPI. */
static void await(atomic_int *stage, int wanted)
{
    while (atomic_load(stage) != wanted) {
        sched_yield();
    }
}

/* MPI's progress, often. */
static void take_turns(MPI_Request *request)
{
    for (int turns = 0, done; turns < TURNS; turns++) {
        MPI_Request_get_status(*request, &done, MPI_STATUS_IGNORE);
    }
}

static void sender(const struct ends *e, atomic_int *stage, int round)
{
    struct buffer buffers[MESSAGES];
    MPI_Request requests[MESSAGES];

    for (int i = 0; i < MESSAGES; i++) {
        message_create(e, &buffers[i], (size_t)bytes_of[i], (unsigned)i);
        MPI_Isend(buffers[i].data, bytes_of[i], MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
    }
    take_turns(&requests[A]);                /* A and C are announced */
    atomic_store(stage, 2 * round);
    await(stage, 2 * round + 1);
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MESSAGES; i++) {
        buffer_destroy(&buffers[i], e->name);
    }
    harness_check(e->h, true, "sent");
}

static void receiver(const struct ends *e, atomic_int *stage, int round)
{
    static const int order[] = {B, C, A};
    struct buffer buffers[MESSAGES];
    MPI_Request requests[MESSAGES];

    await(stage, 2 * round);
    for (int i = 0; i < MESSAGES; i++) {
        int m = order[i];

        if (m == A) {
            atomic_store(stage, 2 * round + 1);
        }
        landing_create(e, &buffers[m], (size_t)bytes_of[m]);
        MPI_Irecv(buffers[m].data, bytes_of[m], MPI_BYTE, 0, m, MPI_COMM_WORLD, &requests[m]);
        take_turns(&requests[m]);
    }
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MESSAGES; i++) {
        landing_check(e, &buffers[i], (size_t)bytes_of[i], 0, (unsigned)i);
    }
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
    atomic_int *stage;
    MPI_Win window;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    stage = shared_word(&window);
    if (h.rank < 2 && h.ranks > 1) {
        first(&ends);
        for (int round = 1; round <= ROUNDS; round++) {
            (h.rank == 0 ? sender : receiver)(&ends, stage, round);
        }
    }
    MPI_Win_free(&window);
    return harness_finish(&h);
}
