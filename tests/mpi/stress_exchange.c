/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Sendrecv and MPI_Sendrecv_replace round a ring of all ranks, and a receive without a message, which is cancelled meanwhile.
 */
#include "tests/mpi/pt2pt_buffers.h"
#include "tests/mpi/stress.h"

enum { NEVER = 1000 };                 /* a tag; those of exchanges are the receivers' ranks */

/* Drawn for the round. */
struct exchange {
    int next, previous;
    size_t bytes;
    uint64_t type;
    unsigned seed;
    bool in_place;
    int wildcards;
    enum gpufifo_memory from, to;
};

static void check_status(struct worker *worker, const struct exchange *x, const MPI_Status *status, int code)
{
    int bytes = -1;

    MPI_Get_count(status, MPI_BYTE, &bytes);
    harness_check(&worker->h, code == MPI_SUCCESS && bytes == (int)x->bytes && status->MPI_SOURCE == x->previous &&
                  status->MPI_TAG == worker->h.rank, "round %d: an exchange got %d bytes of %d, tag %d, code %d", worker->round,
                  bytes, status->MPI_SOURCE, status->MPI_TAG, code);
}

static void exchange(struct worker *worker, const struct exchange *x)
{
    int source = x->wildcards & ANY_SOURCE ? MPI_ANY_SOURCE : x->previous, code;
    int tag = x->wildcards & ANY_TAG ? MPI_ANY_TAG : worker->h.rank;
    struct placed from, to;
    MPI_Status status;

    placed_create(&worker->h, &from, x->from, x->bytes, x->type);
    placed_write(&from, worker->h.rank, x->seed);
    if (x->in_place) {
        code = MPI_Sendrecv_replace(placed_address(&from), from.count, from.type, x->next, x->next, source, tag, worker->pairs,
                                    &status);
        placed_check(&worker->h, &from, x->bytes, x->previous, x->seed, "an exchange in place");
    } else {
        placed_create(&worker->h, &to, x->to, x->bytes, x->type);
        code = MPI_Sendrecv(placed_address(&from), from.count, from.type, x->next, x->next, placed_address(&to), to.count,
                            to.type, source, tag, worker->pairs, &status);
        placed_check(&worker->h, &to, x->bytes, x->previous, x->seed, "an exchange");
        placed_destroy(&to, "an exchange");
    }
    check_status(worker, x, &status, code);
    placed_destroy(&from, "an exchange");
}

void stress_exchange(struct worker *worker)
{
    int ranks = worker->h.ranks, step = (int)stress_draw(worker, (unsigned)ranks), cancelled = 0;
    struct exchange x = {.next = (worker->h.rank + step) % ranks, .previous = (worker->h.rank + ranks - step) % ranks};
    struct placed never;
    MPI_Request lost;
    MPI_Status status;

    x.type = stress_draw(worker, 2) ? 1 + stress_draw(worker, 1u << 30) : 0;
    x.bytes = placed_bytes(stress_draw(worker, 1u << stress_draw(worker, 15)), x.type);
    x.seed = stress_draw(worker, 1000);
    x.in_place = stress_draw(worker, 2);
    x.wildcards = (int)stress_draw(worker, 4);
    x.from = stress_draw_kind(worker);
    x.to = stress_draw_kind(worker);
    placed_create(&worker->h, &never, stress_draw_kind(worker), 1000, 0);
    MPI_Irecv(placed_address(&never), 1000, MPI_BYTE, stress_draw(worker, 2) ? MPI_ANY_SOURCE : x.previous, NEVER, worker->pairs,
              &lost);
    exchange(worker, &x);
    MPI_Cancel(&lost);
    MPI_Wait(&lost, &status);
    MPI_Test_cancelled(&status, &cancelled);
    harness_check(&worker->h, cancelled, "round %d: a receive without a message was not cancelled", worker->round);
    placed_check(&worker->h, &never, 0, 0, 0, "a cancelled receive");
    placed_destroy(&never, "a cancelled receive");
}
