/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots of persistent operations, and whose turn it is.
 */
#include "mca_coll_gpufifo/turns.h"

#include "mca_coll_gpufifo/agree.h"
#include "mca_coll_gpufifo/bootstrap.h"
#include "mca_coll_gpufifo/flight_private.h"
#include "mca_coll_gpufifo/native.h"

enum { PAGE_SLOTS = 64 };

/* What all ranks see of some slots. */
struct gf_turns_words {
    _Alignas(GF_AGREE_LINE) _Atomic uint64_t turn[PAGE_SLOTS];      /* the latest that each was given. Written by the leader */
    struct {
        _Alignas(GF_AGREE_LINE) _Atomic uint64_t started[PAGE_SLOTS];      /* how often this rank has started each. By it */
    } lines[];
};

/* Slots, made when all others are taken; stays where it is. */
struct gf_turns_page {
    struct gf_turns_page *next;            /* made after this one */
    struct gf_segment segment;
    struct gf_turns_words *words;          /* in it */
    uint64_t used;                         /* slots that this rank has booked, a bit each; atomic: requests are freed by any
                                              thread */
    uint64_t started[PAGE_SLOTS];          /* how often this rank has started each */
};

struct gf_turns {
    struct gf_flights *flights;            /* null: this rank has no memory, or no thread, for them */
    gf_comm *comm;                         /* ours */
    gf_status opened;                      /* not GF_OK: there are no native ones here, on any rank */
    struct gf_reason against;
    struct gf_turns_page *pages;           /* the same on all ranks */
    int page_count;
};

/* At the leader: all ranks have started it, so it gets a turn. */
static void give_turn(struct gf_flights *flights, struct gf_flight *flight)
{
    struct gf_turns_words *words = flight->slot.page->words;
    int members = flights->module->agree->map->members;

    for (int rank = 0; rank < members; rank++) {
        if (atomic_load_explicit(&words->lines[rank].started[flight->slot.bit], memory_order_acquire) < flight->started) {
            return;
        }
    }
    flight->has_turn = true;
    atomic_store_explicit(&words->turn[flight->slot.bit], ++flights->given, memory_order_release);
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
    const struct gf_agree *agree = flights->module->agree;

    for (struct gf_flight *flight = flights->first; flight && agree->map->place == 0; flight = flight->next) {
        if (flight->state == GF_FLIGHT_ASKED && !flight->has_turn) {
            give_turn(flights, flight);
        }
    }
    if (flights->first && flights->first->state != GF_FLIGHT_ASKED) {
        return;                            /* another one has its turn */
    }
    for (struct gf_flight **link = &flights->first; *link; link = &(*link)->next) {
        const struct gf_turns_slot *slot = &(*link)->slot;

        if (atomic_load_explicit(&slot->page->words->turn[slot->bit], memory_order_acquire) == flights->turns + 1) {
            go_first(flights, link);
            return;
        }
    }
}

/* Here, where messages and waiting may be. */
static gf_status meet(struct gf_turns *turns, mca_coll_gpufifo_module_t *module, struct gf_reason *why)
{
    gf_status status = gf_native_comm_make(module, &turns->comm, why);

    if (status == GF_OK) {
        status = gf_comm_connect_mapped(turns->comm, why);
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

static gf_status open_page(mca_coll_gpufifo_module_t *module, struct gf_turns_page *page, const struct gf_bootstrap *bootstrap,
                           struct gf_reason *why)
{
    size_t bytes = sizeof *page->words + (size_t)bootstrap->ranks * sizeof page->words->lines[0];
    bool leads = module->agree->map->place == 0;
    struct gf_segment_name name = {0}, all[GF_MAX_RANKS];
    gf_status status = leads ? gf_segment_create(bytes, &page->segment, &name, why) : GF_OK;

    status = gf_bootstrap_agree(bootstrap, status, why);
    if (status == GF_OK) {
        status = bootstrap->allgather(bootstrap->ctx, &name, all, sizeof name);
    }
    if (status == GF_OK) {
        status = leads ? GF_OK : gf_segment_attach(&all[0], &page->segment, why);
        status = gf_bootstrap_agree(bootstrap, status, why);
    }
    page->words = page->segment.address;
    return status;
}

/* Collective: more slots. */
static gf_status add_page(mca_coll_gpufifo_module_t *module, const struct gf_bootstrap *bootstrap, struct gf_reason *why)
{
    struct gf_turns *turns = module->turns;
    struct gf_turns_page *page = calloc(1, sizeof *page), **end = &turns->pages;

    if (!page) {
        gf_reason_set(why, "host memory is exhausted");
    }
    gf_status status = gf_bootstrap_agree(bootstrap, page ? GF_OK : GF_ERR_UNSUPPORTED, why);

    if (status == GF_OK) {
        status = open_page(module, page, bootstrap, why);
    }
    if (status != GF_OK) {
        if (page) {
            gf_segment_close(&page->segment);
        }
        free(page);
        return GF_ERR_UNSUPPORTED;
    }
    while (*end) {
        end = &(*end)->next;
    }
    *end = page;
    turns->page_count++;
    return GF_OK;
}

/* Collective: one that no rank has booked. GF_NO_RESOURCE: there is none. */
static gf_status find_slot(struct gf_turns *turns, const struct gf_bootstrap *bootstrap, struct gf_turns_slot *slot,
                           struct gf_reason *why)
{
    size_t count = (size_t)turns->page_count, i = 0;
    uint64_t *mine = calloc(count * (size_t)(bootstrap->ranks + 1) + 1, sizeof *mine), *all = mine ? mine + count : NULL;
    gf_status status;

    if (!mine) {
        gf_reason_set(why, "host memory is exhausted");
    }
    status = gf_bootstrap_agree(bootstrap, mine ? GF_OK : GF_ERR_UNSUPPORTED, why);
    for (const struct gf_turns_page *page = turns->pages; page && mine; page = page->next) {
        mine[i++] = ~__atomic_load_n(&page->used, __ATOMIC_ACQUIRE);
    }
    if (status == GF_OK && count > 0) {
        status = bootstrap->allgather(bootstrap->ctx, mine, all, count * sizeof *mine);
    }
    *slot = (struct gf_turns_slot){.page = turns->pages};
    for (i = 0; i < count && status == GF_OK; i++, slot->page = slot->page->next) {
        uint64_t common = UINT64_MAX;

        for (size_t rank = 0; rank < (size_t)bootstrap->ranks; rank++) {
            common &= all[rank * count + i];
        }
        if (common != 0) {
            slot->bit = __builtin_ctzll(common);
            break;
        }
    }
    free(mine);
    return status == GF_OK && !slot->page ? GF_NO_RESOURCE : status;
}

gf_status gf_turns_book(mca_coll_gpufifo_module_t *module, bool able, struct gf_turns_slot *slot, struct gf_reason *why)
{
    struct gf_bootstrap bootstrap = gf_bootstrap_of(module);
    gf_status status = open_turns(module, why);

    if (status == GF_OK) {
        able = able && module->turns->flights;
        gf_reason_set(why, "a rank has no memory for it");
        status = gf_bootstrap_agree(&bootstrap, able ? GF_OK : GF_ERR_UNSUPPORTED, why);
    }
    if (status == GF_OK && (status = find_slot(module->turns, &bootstrap, slot, why)) == GF_NO_RESOURCE) {
        status = add_page(module, &bootstrap, why);
        if (status == GF_OK) {
            status = find_slot(module->turns, &bootstrap, slot, why);
        }
    }
    if (status == GF_OK) {
        __atomic_fetch_or(&slot->page->used, UINT64_C(1) << slot->bit, __ATOMIC_ACQ_REL);
    }
    return status;
}

void gf_turns_release(const struct gf_turns_slot *slot)
{
    __atomic_fetch_and(&slot->page->used, ~(UINT64_C(1) << slot->bit), __ATOMIC_ACQ_REL);
}

void gf_turns_start(mca_coll_gpufifo_module_t *module, struct gf_flight *flight)
{
    struct gf_flights *flights = module->turns->flights;
    struct gf_turns_page *page = flight->slot.page;
    int bit = flight->slot.bit;

    flight->has_turn = false;
    flight->started = ++page->started[bit];
    gf_flights_add(flights, flight);
    atomic_store_explicit(&page->words->lines[module->agree->map->place].started[bit], flight->started, memory_order_release);
    gf_proxy_wake(flights->proxy);
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
    while (turns->pages) {
        struct gf_turns_page *page = turns->pages;

        turns->pages = page->next;
        gf_segment_close(&page->segment);
        free(page);
    }
    free(turns);
    module->turns = NULL;
}
