/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots of persistent operations, and whose turn it is.
 */
#include "mca_coll_gpufifo/turns.h"

#include "core/exchange.h"
#include "mca_coll_gpufifo/agree.h"
#include "mca_coll_gpufifo/bootstrap.h"
#include "mca_coll_gpufifo/flight_private.h"
#include "mca_coll_gpufifo/native.h"

struct gf_turns {
    struct gf_flights *flights;            /* null: this rank has no memory, or no thread, for them */
    gf_comm *comm;                         /* ours */
    gf_status opened;                      /* not GF_OK: there are no native ones here, on any rank */
    struct gf_reason against;
    struct gf_exchange nothing;
    uint32_t used;                         /* slots that this rank has booked, a bit each */
    uint64_t started[GF_AGREE_SLOTS];      /* how often this rank has started each */
};

/* At the leader: all ranks have started it, so it gets a turn. */
static void give_turn(struct gf_flights *flights, struct gf_flight *flight)
{
    const struct gf_agree *agree = flights->module->agree;

    for (int rank = 0; rank < agree->map->members; rank++) {
        const _Atomic uint64_t *started = &agree->board->lines[rank].started[flight->slot];

        if (atomic_load_explicit(started, memory_order_acquire) < flight->started) {
            return;
        }
    }
    flight->has_turn = true;
    atomic_store_explicit(&agree->board->turn[flight->slot], ++flights->given, memory_order_release);
}

/* The one whose turn is the next goes first. */
static void go_first(struct gf_flights *flights, struct gf_flight **link)
{
    struct gf_flight *flight = *link;

    *link = flight->next;
    if (flights->end == &flight->next) {
        flights->end = link;
    }
    if (flights->end == &flights->first) {
        flights->end = &flight->next;
    }
    flight->next = flights->first;
    flights->first = flight;
    flights->turns++;
    gf_flight_move_on(flight, GF_FLIGHT_AGREED);
}

static void ask(struct gf_flights *flights)
{
    struct gf_agree *agree = flights->module->agree;

    for (struct gf_flight *flight = flights->first; flight && agree->map->place == 0; flight = flight->next) {
        if (flight->state == GF_FLIGHT_ASKED && !flight->has_turn) {
            give_turn(flights, flight);
        }
    }
    if (flights->first && flights->first->state != GF_FLIGHT_ASKED) {
        return;                            /* another one has its turn */
    }
    for (struct gf_flight **link = &flights->first; *link; link = &(*link)->next) {
        if (atomic_load_explicit(&agree->board->turn[(*link)->slot], memory_order_acquire) == flights->turns + 1) {
            go_first(flights, link);
            return;
        }
    }
}

/* The mapped buffers are connected by the first exchange, which takes messages: one of nothing, here, where that may be. */
static gf_status meet(struct gf_turns *turns, mca_coll_gpufifo_module_t *module, struct gf_reason *why)
{
    gf_status status = gf_native_comm_make(module, &turns->comm, why);

    if (status == GF_OK) {
        turns->nothing.name = "the first persistent operation";
        status = gf_comm_exchange(turns->comm, &turns->nothing, why);
    }
    if (status == GF_OK && (turns->flights = gf_flights_create(module, turns->comm)) != NULL) {
        turns->flights->ask = ask;
        turns->flights->drop = NULL;
    }
    return status;
}

/* Once; where it cannot be, all ranks remember it. */
static gf_status open_turns(mca_coll_gpufifo_module_t *module, struct gf_reason *why)
{
    struct gf_bootstrap bootstrap = gf_bootstrap_of(module);
    struct gf_turns *turns = module->turns ? module->turns : calloc(1, sizeof *turns);

    if (module->turns) {
        *why = turns->against;
        return turns->opened;
    }
    if (!turns) {
        gf_reason_set(why, "host memory is exhausted");
    }
    gf_status status = gf_bootstrap_agree(&bootstrap, turns ? GF_OK : GF_ERR_UNSUPPORTED, why);

    if (status != GF_OK) {
        free(turns);
        return status;
    }
    turns->opened = meet(turns, module, &turns->against);
    module->turns = turns;
    *why = turns->against;
    return turns->opened;
}

gf_status gf_turns_book(mca_coll_gpufifo_module_t *module, bool able, int *slot, struct gf_reason *why)
{
    struct gf_bootstrap bootstrap = gf_bootstrap_of(module);
    gf_status status = open_turns(module, why);
    uint32_t mine, all[GF_MAX_RANKS], common = UINT32_MAX;

    if (status != GF_OK) {
        return status;
    }
    mine = able && module->turns->flights ? ~module->turns->used : 0;
    status = bootstrap.allgather(bootstrap.ctx, &mine, all, sizeof mine);
    for (int rank = 0; rank < bootstrap.ranks && status == GF_OK; rank++) {
        common &= all[rank];
    }
    if (status == GF_OK && common == 0) {
        gf_reason_set(why, "a rank has no memory for it, or it is one too many (%d can be native at once)", GF_AGREE_SLOTS);
        return GF_ERR_UNSUPPORTED;
    }
    *slot = __builtin_ctz(common);
    module->turns->used |= status == GF_OK ? 1u << *slot : 0;
    return status;
}

void gf_turns_release(mca_coll_gpufifo_module_t *module, int slot)
{
    module->turns->used &= ~(1u << slot);
}

void gf_turns_start(mca_coll_gpufifo_module_t *module, struct gf_flight *flight)
{
    struct gf_turns *turns = module->turns;
    struct gf_agree_line *mine = module->agree->mine;

    flight->has_turn = false;
    flight->started = ++turns->started[flight->slot];
    gf_flights_add(turns->flights, flight);
    atomic_store_explicit(&mine->started[flight->slot], flight->started, memory_order_release);
    gf_proxy_wake(turns->flights->proxy);
}

void gf_turns_close(mca_coll_gpufifo_module_t *module)
{
    struct gf_turns *turns = module->turns;

    if (!turns) {
        return;
    }
    if (turns->flights) {
        gf_flights_destroy(turns->flights);
    }
    if (turns->comm) {
        gf_comm_destroy(turns->comm);
    }
    free(turns);
    module->turns = NULL;
}
