/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory and comparison of a call on tested and on reference buffers.
 */
#include "tests/mpi/stage_case.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/values.h"

enum { MARGIN = 256 };   /* bytes */

static void create_memory(struct stage_case *c, const struct stage_plan *plan, enum gpufifo_memory kind, size_t shift,
                          struct stage_store *store, struct stage_memory *memory)
{
    *memory = (struct stage_memory){.block = {.kind = kind}};
    if (plan->in_place) {
        memory->address = MPI_IN_PLACE;
    } else if (c->choice.empty) {
        memory->address = plan == &c->send_plan ? NULL : stage_memory_poison(c->h, kind);
    } else if (!plan->used) {
        memory->address = stage_memory_poison(c->h, kind);
    } else {
        memory->bytes = (size_t)(plan->high - plan->low + 2 * MARGIN) + shift;
        memory->block = stage_memory_take(c->h, store, kind, memory->bytes);
        memory->address = memory->block.address + MARGIN - plan->low + shift;
    }
}

/* Unpacks ones into zeros. */
static void mark_data(struct stage_case *c)
{
    const struct stage_plan *plan = &c->recv_plan;

    memset(c->recv_is_data, 0, c->recv.bytes);
    for (int i = 0; i < plan->parts; i++) {
        char *origin = c->recv_is_data + ((char *)c->recv.address - c->recv.block.address) + plan->at[i];
        int size, position = 0;
        void *ones;

        MPI_Type_size(plan->type[i]->type, &size);
        size *= plan->count[i];
        ones = host_alloc(c->h, (size_t)size);
        memset(ones, -1, (size_t)size);
        MPI_Unpack(ones, size, &position, origin, plan->count[i], plan->type[i]->type, MPI_COMM_SELF);
        free(ones);
    }
}

static void create_recv(struct stage_case *c)
{
    create_memory(c, &c->recv_plan, c->place.recv, c->place.recv_shift, c->place.store, &c->recv);
    create_memory(c, &c->recv_plan, GPUFIFO_MEMORY_HOST, c->place.recv_shift, NULL, &c->recv_reference);
}

/* An address may lie outside of its memory, and so happen to be the other one: Open MPI's libnbc would take that for in place. */
static bool addresses_meet(const struct stage_case *c)
{
    return c->send.bytes > 0 && c->recv.bytes > 0
        && (c->send.address == c->recv.address || c->send_reference.address == c->recv_reference.address);
}

static void free_memory(struct stage_case *c, struct stage_memory *memory, struct stage_store *store, bool keeps)
{
    if (memory->bytes > 0) {
        stage_memory_give(c->h, store, &memory->block, keeps);
    }
}

void stage_case_create(struct harness *h, const struct stage_types *types, const struct stage_choice *choice,
                       const struct stage_place *place, struct stage_case *c)
{
    struct stage_peers peers;

    *c = (struct stage_case){.h = h, .types = types, .choice = *choice, .place = *place};
    stage_peers_find(choice->comm, choice->collective->neighbours, &peers);
    stage_plan_make(types, choice, &peers, &c->send_plan, &c->recv_plan);
    stage_plan_arguments(types, choice, &peers, &c->send_plan, &c->recv_plan, &c->send_arrays, &c->recv_arrays, &c->tested);
    create_memory(c, &c->send_plan, place->send, place->send_shift, place->store, &c->send);
    create_memory(c, &c->send_plan, GPUFIFO_MEMORY_HOST, place->send_shift, NULL, &c->send_reference);
    create_recv(c);
    while (addresses_meet(c)) {
        free_memory(c, &c->recv, place->store, false);
        free_memory(c, &c->recv_reference, NULL, false);
        c->place.recv_shift += MARGIN;
        create_recv(c);
    }
    c->reference = c->tested;
    c->tested.send = c->send.address;
    c->tested.recv = c->recv.address;
    c->reference.send = c->send_reference.address;
    c->reference.recv = c->recv_reference.address;
    c->recv_compared = c->recv.bytes;
    if (c->recv.bytes > 0 && choice->collective->send == SIDE_SUM && c->send_plan.in_place) {
        /* Behind the result is what is left of the contribution: MPI leaves open what happens to it. */
        c->recv_compared = (size_t)(MARGIN - c->recv_plan.low + c->recv_plan.result_high) + c->place.recv_shift;
    }
    c->recv_before = host_alloc(h, c->recv.bytes);
    c->recv_is_data = host_alloc(h, c->recv.bytes);
    if (c->recv.bytes > 0) {
        mark_data(c);
    }
    stage_case_fill(c, choice->seed);
}

static void fill_random(struct stage_memory *memory, uint64_t seed)
{
    for (size_t i = 0; i < memory->bytes; i += sizeof seed) {
        uint64_t bits = random_next(&seed);

        memcpy(memory->block.address + i, &bits, memory->bytes - i < sizeof bits ? memory->bytes - i : sizeof bits);
    }
}

/* What this rank contributes to a predefined operation: in place, it lies where the result goes. */
static void fill_values(struct stage_case *c, uint64_t seed)
{
    const struct stage_plan *plan = c->send_plan.in_place ? &c->recv_plan : &c->send_plan;
    const struct stage_memory *memory = c->send_plan.in_place ? &c->recv_reference : &c->send_reference;

    if (c->choice.collective->reduces && c->choice.op && memory->bytes > 0) {
        values_fill(c->types->element, c->choice.op, c->h->rank, c->h->ranks, seed,
                    (size_t)plan->count[0] * (size_t)c->types->elements, memory->address);
    }
}

static void copy_contents(struct stage_case *c, struct stage_memory *tested, const struct stage_memory *reference)
{
    if (tested->bytes > 0) {
        harness_need(c->h, gpufifo_copy(c->h->device, tested->block.address, reference->block.address, tested->bytes), "copy");
    }
}

void stage_case_fill(struct stage_case *c, uint64_t seed)
{
    fill_random(&c->send_reference, seed * 64 + (uint64_t)c->h->rank * 2);
    fill_random(&c->recv_reference, seed * 64 + (uint64_t)c->h->rank * 2 + 1);
    fill_values(c, seed);
    copy_contents(c, &c->send, &c->send_reference);
    copy_contents(c, &c->recv, &c->recv_reference);
    if (c->recv.bytes > 0) {
        memcpy(c->recv_before, c->recv_reference.block.address, c->recv.bytes);
    }
}

/* Gaps may be as they were, and what lies in the padding of a result does not matter. */
static void forgive(const struct stage_case *c, char *got)
{
    const char *all = c->recv_reference.block.address;
    size_t count = (size_t)c->reference.rcount, at = (size_t)((char *)c->recv.address - c->recv.block.address);
    const char *right = c->recv_reference.address;

    if (c->choice.collective->reduces && c->choice.op && values_differ(c->types->element, got + at, right, count) == count) {
        memcpy(got + at, right, count * c->types->element->bytes);
    }
    for (size_t i = 0; i < c->recv.bytes; i++) {
        got[i] = !c->recv_is_data[i] && got[i] == c->recv_before[i] ? all[i] : got[i];
    }
}

static bool check(struct stage_case *c, const struct stage_memory *tested, const struct stage_memory *reference, size_t compared,
                  const char *form)
{
    size_t i = 0;
    const char *right = reference->block.address;
    char *got = host_alloc(c->h, tested->bytes);
    bool passed;

    if (tested->bytes > 0) {
        harness_need(c->h, gpufifo_copy(c->h->device, got, tested->block.address, tested->bytes), "copy");
    }
    if (tested->bytes > 0 && tested == &c->recv) {
        forgive(c, got);
    }
    while (i < compared && got[i] == right[i]) {
        i++;
    }
    passed = harness_check(c->h, i == compared,
                           "%s %s, seed %llu%s: byte %td of the %s buffer is %d, in host memory it would be %d", form,
                           c->choice.collective->name, (unsigned long long)c->choice.seed, c->choice.in_place ? ", in place" : "",
                           tested->block.address + i - (char *)tested->address, tested == &c->recv ? "receive" : "send",
                           i < compared ? got[i] : 0, i < compared ? right[i] : 0);
    free(got);
    return passed;
}

bool stage_case_check(struct stage_case *c, const char *form)
{
    bool send = check(c, &c->send, &c->send_reference, c->send.bytes, form);

    return check(c, &c->recv, &c->recv_reference, c->recv_compared, form) && send;
}

void stage_case_spoil(struct stage_case *c)
{
    bool root = c->choice.collective->rooted == ROOTED_BCAST && c->choice.root == c->h->rank;
    struct stage_memory *tested = root ? &c->recv : &c->send, *reference = root ? &c->recv_reference : &c->send_reference;

    if (tested->bytes > 0) {
        memset(reference->block.address, 0x77, reference->bytes);
        harness_need(c->h, gpufifo_fill(c->h->device, tested->block.address, 0x77, tested->bytes), "fill");
    }
}

void stage_case_free(struct stage_case *c)
{
    struct stage_memory *all[] = {&c->send, &c->recv, &c->send_reference, &c->recv_reference};

    for (int i = 0; i < 4; i++) {
        free_memory(c, all[i], i < 2 ? c->place.store : NULL, stage_draw(c->choice.seed, c->h->rank, 60 + i, 64) > 0);
    }
    free(c->recv_before);
    free(c->recv_is_data);
}

void stage_complete(int count, MPI_Request *requests, int how)
{
    MPI_Status statuses[STAGE_REQUESTS];
    int index, done, indices[STAGE_REQUESTS], left = count;

    switch (how) {
    case 0:
        MPI_Waitall(count, requests, statuses);
        break;
    case 1:
        while (left-- > 0) {
            MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
        }
        break;
    case 2:
        while (left > 0) {
            MPI_Testsome(count, requests, &done, indices, statuses);
            left -= done;
        }
        break;
    default:
        for (int i = count - 1; i >= 0; i--) {
            MPI_Wait(&requests[i], &statuses[i]);
        }
        break;
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
                    const struct stage_place *place, enum stage_form form)
{
    const struct stage_collective *collective = choice->collective;
    struct stage_case c;
    MPI_Request request;

    if (form == STAGE_PERSISTENT && !collective->persistent) {
        return;
    }
    stage_case_create(h, types, choice, place, &c);
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
