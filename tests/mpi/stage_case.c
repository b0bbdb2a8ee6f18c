/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory and comparison of a call on tested and on reference buffers.
 */
#include "tests/mpi/stage_case.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/values.h"

enum { MARGIN = 64 };   /* ints */

/* An address that must not be touched: of freed memory of that kind. Buffers without elements have it, or null. */
static void *poison(struct harness *h, enum gpufifo_memory kind)
{
    void *address;

    harness_need(h, gpufifo_alloc(h->device, kind, 4096, &address), "alloc");
    harness_need(h, gpufifo_free(h->device, address), "free");
    return address;
}

static void create_memory(struct stage_case *c, const struct stage_plan *plan, enum gpufifo_memory kind,
                          struct stage_memory *memory)
{
    void *block;

    *memory = (struct stage_memory){.kind = kind};
    if (plan->in_place) {
        memory->address = MPI_IN_PLACE;
    } else if (c->choice.empty) {
        memory->address = plan == &c->send_plan ? NULL : poison(c->h, kind);
    } else if (!plan->used) {
        memory->address = poison(c->h, kind);
    } else {
        memory->bytes = (size_t)(plan->high - plan->low + 2 * MARGIN) * sizeof(int);
        harness_need(c->h, gpufifo_alloc(c->h->device, kind, memory->bytes, &block), "alloc");
        memory->block = block;
        memory->address = memory->block + (MARGIN - plan->low) * (ptrdiff_t)sizeof(int);
    }
}

void stage_case_create(struct harness *h, const struct stage_types *types, const struct stage_choice *choice,
                       enum gpufifo_memory send_kind, enum gpufifo_memory recv_kind, struct stage_case *c)
{
    struct stage_peers peers;

    *c = (struct stage_case){.h = h, .choice = *choice};
    stage_peers_find(choice, &peers);
    stage_plan_make(types, choice, &peers, &c->send_plan, &c->recv_plan);
    stage_plan_arguments(types, choice, &peers, &c->send_plan, &c->recv_plan, &c->send_arrays, &c->recv_arrays, &c->tested);
    create_memory(c, &c->send_plan, send_kind, &c->send);
    create_memory(c, &c->recv_plan, recv_kind, &c->recv);
    create_memory(c, &c->send_plan, GPUFIFO_MEMORY_HOST, &c->send_reference);
    create_memory(c, &c->recv_plan, GPUFIFO_MEMORY_HOST, &c->recv_reference);
    c->reference = c->tested;
    c->tested.send = c->send.address;
    c->tested.recv = c->recv.address;
    c->reference.send = c->send_reference.address;
    c->reference.recv = c->recv_reference.address;
    c->recv_compared = c->recv.bytes;
    if (c->recv.block && choice->collective->send == SIDE_SUM && c->send_plan.in_place) {
        /* Behind the result is what is left of the contribution: MPI leaves open what happens to it. */
        c->recv_compared = (size_t)(MARGIN - c->recv_plan.low + c->recv_plan.result_high) * sizeof(int);
    }
    stage_case_fill(c, choice->seed);
}

static void fill(struct stage_case *c, struct stage_memory *tested, struct stage_memory *reference, uint64_t seed)
{
    uint64_t state = seed;
    int *values = (int *)reference->block;

    for (size_t i = 0; i < reference->bytes / sizeof(int); i++) {
        values[i] = (int)((random_next(&state) >> 20) % 100);
    }
    if (tested->block) {
        harness_need(c->h, gpufifo_copy(c->h->device, tested->block, reference->block, tested->bytes), "copy");
    }
}

void stage_case_fill(struct stage_case *c, uint64_t seed)
{
    fill(c, &c->send, &c->send_reference, seed * 64 + (uint64_t)c->h->rank * 2);
    fill(c, &c->recv, &c->recv_reference, seed * 64 + (uint64_t)c->h->rank * 2 + 1);
}

static void check(struct stage_case *c, const struct stage_memory *tested, const struct stage_memory *reference,
                  size_t compared, const char *form, const char *side)
{
    size_t count = compared / sizeof(int), i = 0;
    const int *right = (const int *)reference->block;
    int *got = host_alloc(c->h, tested->bytes);

    if (tested->block) {
        harness_need(c->h, gpufifo_copy(c->h->device, got, tested->block, tested->bytes), "copy");
    }
    while (i < count && got[i] == right[i]) {
        i++;
    }
    harness_check(c->h, i == count, "%s %s, seed %llu%s: int %td of the %s buffer is %d, in host memory it would be %d", form,
                  c->choice.collective->name, (unsigned long long)c->choice.seed, c->choice.in_place ? ", in place" : "",
                  (int *)tested->block + i - (int *)tested->address, side, i < count ? got[i] : 0, i < count ? right[i] : 0);
    free(got);
}

void stage_case_check(struct stage_case *c, const char *form)
{
    check(c, &c->send, &c->send_reference, c->send.bytes, form, "send");
    check(c, &c->recv, &c->recv_reference, c->recv_compared, form, "receive");
}

void stage_case_free(struct stage_case *c)
{
    struct stage_memory *all[] = {&c->send, &c->recv, &c->send_reference, &c->recv_reference};

    for (int i = 0; i < 4; i++) {
        if (all[i]->block) {
            harness_need(c->h, gpufifo_free(c->h->device, all[i]->block), "free");
        }
    }
}

static void run_persistent(struct stage_case *c)
{
    const struct stage_collective *collective = c->choice.collective;
    MPI_Request requests[2];

    collective->persistent(&c->tested, &requests[0]);
    collective->persistent(&c->reference, &requests[1]);
    for (int round = 0; round < 2; round++) {
        stage_case_fill(c, c->choice.seed + (uint64_t)round);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        stage_case_check(c, round ? "second start of persistent" : "persistent");
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

void stage_case_run(struct harness *h, const struct stage_types *types, const struct stage_choice *choice,
                    enum gpufifo_memory send_kind, enum gpufifo_memory recv_kind, enum stage_form form)
{
    const struct stage_collective *collective = choice->collective;
    struct stage_case c;
    MPI_Request request;

    if (form == STAGE_PERSISTENT && !collective->persistent) {
        return;
    }
    stage_case_create(h, types, choice, send_kind, recv_kind, &c);
    switch (form) {
    case STAGE_BLOCKING:
        collective->blocking(&c.reference);
        collective->blocking(&c.tested);
        stage_case_check(&c, "blocking");
        break;
    case STAGE_NONBLOCKING:
        collective->nonblocking(&c.reference, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        collective->nonblocking(&c.tested, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        stage_case_check(&c, "non-blocking");
        break;
    default:
        run_persistent(&c);
        break;
    }
    stage_case_free(&c);
}
