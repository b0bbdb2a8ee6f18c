/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drawing a call and taking it through its life.
 */
#include "tests/property/flight.h"

#include <stdio.h>
#include <string.h>

#include "tests/property/drawn_types.h"

static const char *const form_names[STAGE_FORMS] = {"blocking", "non-blocking", "persistent"};

static int below(uint64_t *state, int limit)
{
    return (int)(random_next(state) % (uint64_t)limit);
}

static const char *kind_name(enum gpufifo_memory kind)
{
    static const char *const names[] = {
        [GPUFIFO_MEMORY_HOST] = "host", [GPUFIFO_MEMORY_PINNED] = "pinned", [GPUFIFO_MEMORY_MANAGED] = "managed",
        [GPUFIFO_MEMORY_DEVICE] = "device", [GPUFIFO_MEMORY_VMM] = "vmm", [GPUFIFO_MEMORY_VMM_PRIVATE] = "private vmm",
        [GPUFIFO_MEMORY_POOL] = "pool",
    };

    return names[kind];
}

/* Device memory is the first. */
void flight_limits_find(struct harness *h, bool host, struct flight_limits *limits)
{
    static const enum gpufifo_memory kinds[] = {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_PINNED,
                                                GPUFIFO_MEMORY_MANAGED, GPUFIFO_MEMORY_VMM, GPUFIFO_MEMORY_VMM_PRIVATE,
                                                GPUFIFO_MEMORY_POOL};

    limits->kind_count = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        void *memory;

        if (host && kinds[i] != GPUFIFO_MEMORY_HOST) {
            continue;
        }
        if (gpufifo_alloc(h->device, kinds[i], 4096, &memory) == 0) {
            harness_need(h, gpufifo_free(h->device, memory), "free");
            limits->kinds[limits->kind_count++] = kinds[i];
        } else {
            printf("%s: rank %d goes without %s memory: %s\n", h->name, h->rank, kind_name(kinds[i]), gpufifo_error());
        }
    }
}

/* Most calls have device memory throughout; in the others each rank draws. */
static void draw_place(struct harness *h, uint64_t seed, const struct flight_limits *limits, struct flight *f)
{
    uint64_t own = seed * 1000 + (uint64_t)h->rank;
    bool alike = seed % 4 > 0, moves = !f->choice.collective->reduces;
    int step = moves ? 1 : f->choice.op ? (int)f->types->element->bytes : (int)sizeof(int);

    f->place.send = alike ? limits->kinds[0] : limits->kinds[below(&own, limits->kind_count)];
    f->place.recv = alike ? limits->kinds[0] : limits->kinds[below(&own, limits->kind_count)];
    f->place.send_shift = below(&own, 2) ? 0 : (size_t)(step * below(&own, moves ? 16 : 4));
    f->place.recv_shift = below(&own, 2) ? 0 : (size_t)(step * below(&own, moves ? 16 : 4));
}

static void draw_types(uint64_t *state, const struct stage_types *shared, struct flight *f)
{
    bool reduces = f->choice.collective->reduces;

    f->types = &f->own_types;
    if (reduces && below(state, 3) == 0) {
        f->types = shared;
    } else if (reduces) {
        drawn_types_to_reduce(state, &f->own_types, &f->choice.op);
    } else {
        drawn_types_to_move(state, 4 << below(state, 7), &f->own_types);
    }
}

/* Bytes; small numbers as often as large ones. */
static int draw_most(uint64_t *state, int limit)
{
    int below_power = 1 << below(state, 24);

    return below_power < limit ? below_power : limit;
}

/* A member, as a rank of MPI_COMM_WORLD. */
static int draw_root(const struct harness *h, MPI_Comm comm, int bits)
{
    struct stage_peers peers;

    stage_peers_find(comm, false, &peers);
    return peers.inter ? bits % h->ranks : peers.group[bits % peers.group_count];
}

void flight_draw(struct harness *h, uint64_t seed, const struct flight_limits *limits, const struct drawn_comms *comms,
                 const struct stage_types *shared, struct stage_store *store, struct flight *f)
{
    uint64_t state = seed;
    const struct stage_collective *drawn = &stage_collectives[below(&state, (int)stage_collective_count)];
    static const enum stage_form forms[] = {STAGE_BLOCKING, STAGE_BLOCKING, STAGE_NONBLOCKING, STAGE_PERSISTENT};
    int size, root;

    *f = (struct flight){.request = MPI_REQUEST_NULL, .place = {.store = store}};
    f->choice = (struct stage_choice){.collective = limits->only ? limits->only : drawn, .seed = random_next(&state) >> 8};
    f->form = forms[below(&state, f->choice.collective->persistent ? 4 : 3)];
    f->comm = drawn_comms_pick(f->choice.collective, random_next(&state));
    f->choice.comm = comms->comm[f->comm];
    root = below(&state, 1 << 20);
    draw_types(&state, shared, f);
    MPI_Type_size(f->types->type[STAGE_DENSE].type, &size);
    f->choice.most = draw_most(&state, limits->bytes) / size;
    f->choice.most = f->choice.most > STAGE_COLUMNS ? f->choice.most : STAGE_COLUMNS;
    f->choice.in_place = below(&state, 3) == 0 && f->choice.collective->in_place != IN_PLACE_NOT;
    f->choice.dense = below(&state, 2);
    f->choice.empty = below(&state, 24) == 0;
    f->member = f->choice.comm != MPI_COMM_NULL;
    f->choice.root = f->member ? draw_root(h, f->choice.comm, root) : 0;
    draw_place(h, random_next(&state) >> 16, limits, f);
}

static void run_reference(struct flight *f)
{
    const struct stage_collective *collective = f->choice.collective;
    MPI_Request request;

    switch (f->form) {
    case STAGE_BLOCKING:
        collective->blocking(&f->c.reference);
        break;
    case STAGE_NONBLOCKING:
        collective->nonblocking(&f->c.reference, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    default:
        collective->persistent(&f->c.reference, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        break;
    }
}

void flight_prepare(struct harness *h, struct flight *f)
{
    if (f->member) {
        stage_case_create(h, f->types, &f->choice, &f->place, &f->c);
        run_reference(f);
    }
}

void flight_spoil(struct flight *f)
{
    if (f->member && f->choice.seed % 2) {
        stage_case_spoil(&f->c);
    }
}

void flight_start(struct flight *f)
{
    const struct stage_collective *collective = f->choice.collective;

    if (!f->member) {
        return;
    }
    switch (f->form) {
    case STAGE_BLOCKING:
        collective->blocking(&f->c.tested);
        flight_spoil(f);
        break;
    case STAGE_NONBLOCKING:
        collective->nonblocking(&f->c.tested, &f->request);
        break;
    default:
        collective->persistent(&f->c.tested, &f->request);
        MPI_Start(&f->request);
        break;
    }
}

bool flight_check(struct flight *f, const char *when)
{
    char text[200];

    if (!f->member) {
        return true;
    }
    flight_describe(f, text, sizeof text);
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s:", when);
    return stage_case_check(&f->c, text);
}

void flight_again(struct flight *f)
{
    if (f->member && f->form == STAGE_PERSISTENT) {
        stage_case_fill(&f->c, f->choice.seed + 1);
        run_reference(f);
        MPI_Start(&f->request);
    }
}

void flight_end(struct flight *f)
{
    if (f->member) {
        stage_case_free(&f->c);
        if (f->form == STAGE_PERSISTENT) {
            MPI_Request_free(&f->request);
        }
    }
    if (f->types == &f->own_types) {
        stage_types_free(&f->own_types);
    }
}

void flight_describe(const struct flight *f, char *text, size_t size)
{
    const struct stage_choice *choice = &f->choice;
    char what[64];

    if (!choice->collective->reduces) {
        snprintf(what, sizeof what, "%s gaps", choice->dense ? "without" : "with");
    } else if (choice->op) {
        snprintf(what, sizeof what, "%s of %s", choice->op->name, f->types->element->name);
    } else {
        snprintf(what, sizeof what, "the user's operation");
    }
    snprintf(text, size, "%s on %s, %s, up to %d, root %d, %s to %s%s", form_names[f->form], drawn_comms_name(f->comm), what,
             choice->most, choice->root, kind_name(f->place.send), kind_name(f->place.recv),
             choice->empty ? ", empty" : "");
}
