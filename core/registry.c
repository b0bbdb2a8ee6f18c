/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages, records and verdicts of mapped buffers.
 */
#include "core/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/host_ordered.h"
#include "core/registry_places.h"

enum {
    TURNS_PER_CLOCK = 256,             /* reading the clock costs more than a turn should */
    PATIENCE_NS = 1000 * 1000 * 1000   /* with what is in the way of a mapping */
};

/* The page of every other rank. */
static gf_status attach(struct gf_registry *g, const struct gf_segment_name *names, struct gf_reason *why)
{
    for (int r = 0; r < g->ranks; r++) {
        if (r == g->rank) {
            continue;
        }
        gf_status status = gf_fault_hits(g->fault, GF_FAULT_ATTACH, why) ? GF_ERR_UNSUPPORTED
            : gf_segment_attach(&names[r], &g->segments[r], why);

        if (status != GF_OK) {
            return status;
        }
        g->of[r].page = g->segments[r].address;
    }
    return GF_OK;
}

static gf_status open_page(struct gf_registry *g, struct gf_segment_name *name, struct gf_reason *why)
{
    if (!g->segments || !g->of) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    if (gf_fault_hits(g->fault, GF_FAULT_SEGMENT, why)) {
        return GF_ERR_NO_MEMORY;
    }
    gf_status status = gf_segment_create(sizeof(struct gf_registry_page), &g->segments[g->rank], name, why);

    if (status == GF_OK) {
        g->of[g->rank].page = g->segments[g->rank].address;
        gf_registry_own_page(g)->process = g->device->driver->process;
    }
    return status;
}

gf_status gf_registry_create(struct gf_registry *g, struct gf_imports *imports, struct gf_watch *watch, struct gf_fault *fault,
                             const struct gf_config *config, struct gf_reason *why)
{
    const struct gf_bootstrap *bootstrap = watch->bootstrap;
    size_t ranks = (size_t)bootstrap->ranks;
    struct gf_segment_name name = { 0 }, names[GF_MAX_RANKS];

    *g = (struct gf_registry){ .device = imports->device, .watch = watch, .fault = fault,
                               .deadline_ns = config->deadline_ms * 1000000u, .rank = bootstrap->rank, .ranks = bootstrap->ranks,
                               .imports = imports, .by_fd = config->by_fd,
                               .segments = calloc(ranks, sizeof *g->segments), .of = calloc(ranks, sizeof *g->of) };
    gf_status status = gf_bootstrap_agree(bootstrap, open_page(g, &name, why), why);

    if (status == GF_OK) {
        status = bootstrap->allgather(bootstrap->ctx, &name, names, sizeof name);
        if (status != GF_OK) {
            gf_reason_set(why, "the ranks could not exchange messages: %s", gf_status_string(status));
        }
    }
    if (status == GF_OK) {
        status = gf_bootstrap_agree(bootstrap, attach(g, names, why), why);
    }
    if (status != GF_OK) {
        gf_registry_destroy(g);
        return status == GF_ERR_NO_MEMORY || status == GF_ERR_SYSTEM ? GF_ERR_UNSUPPORTED : status;
    }
    return GF_OK;
}

/* Has the peer whose word this is come as far as this call? GF_IN_PROGRESS: not yet. */
static gf_status look_at(struct gf_registry *g, const uint64_t *word, struct gf_reason *why)
{
    if (gf_host_observe(word) >= g->call) {
        return GF_OK;
    }
    if (g->deadline_ns == 0 || ++g->turns % TURNS_PER_CLOCK != 0) {
        return GF_IN_PROGRESS;
    }
    uint64_t now = gf_now_ns();

    g->began_ns = g->began_ns ? g->began_ns : now;
    if (now - g->began_ns <= g->deadline_ns) {
        return GF_IN_PROGRESS;
    }
    gf_reason_set(why, "rank %d waited longer than deadline_ms = %" PRIu64 " for the hosts of its peers", g->rank,
                  g->deadline_ns / 1000000u);
    return GF_ERR_TIMEOUT;
}

static void begin_step(struct gf_registry *g, enum gf_registry_step step)
{
    g->step = step;
    g->next = 0;
    g->turns = 0;
    g->began_ns = 0;
}

/* The records of the ranks from g->next on. */
static gf_status read_records(struct gf_registry *g, struct gf_reason *why)
{
    const struct gf_registry_record *mine = g->records[g->rank];

    for (; g->next < g->ranks; g->next++) {
        int r = g->next;
        gf_status status = look_at(g, &g->of[r].page->entered, why);

        if (status != GF_OK) {
            return status;
        }
        g->records[r] = &g->of[r].page->records[g->call % 2];
        g->fresh |= g->records[r]->fresh != 0;
        if (memcmp(g->records[r]->what, mine->what, sizeof mine->what) != 0) {
            gf_reason_set(why, "rank %d calls with another count, datatype or operation than rank %d: pass the same on all ranks",
                          r, g->rank);
            return GF_ERR_PEER;
        }
    }
    return GF_OK;
}

/* Fresh places: everyone maps, and learns what everyone could not map. First goes all that is gone, so that nothing stands in the
 * way of what is new. */
static void begin_mapping(struct gf_registry *g)
{
    for (int r = 0; r < g->ranks; r++) {
        for (uint32_t place = 0; place < GF_REGISTRY_PLACES && r != g->rank; place++) {
            if (g->records[r]->fresh >> place & 1) {
                gf_imports_release(g->imports, g->of[r].imports[place]);
                g->of[r].imports[place] = NULL;
            }
        }
    }
    gf_registry_own_page(g)->unmapped = 0;
    begin_step(g, GF_REGISTRY_MAPPING);
}

/* What stands in the way may be in use for a little while yet. */
static gf_status ask_again(struct gf_registry *g)
{
    g->began_ns = g->began_ns ? g->began_ns : gf_now_ns();
    return gf_now_ns() - g->began_ns < PATIENCE_NS ? GF_IN_PROGRESS : GF_ERR_UNSUPPORTED;
}

/* Maps what is new of one rank and is not mapped yet. */
static gf_status map_places(struct gf_registry *g, int rank, struct gf_reason *why)
{
    struct gf_registry_rank *of = &g->of[rank];
    uint32_t fresh = g->records[rank]->fresh;

    for (uint32_t place = 0; place < GF_REGISTRY_PLACES; place++) {
        struct gf_import **import = &of->imports[place];

        if (!(fresh >> place & 1) || of->page->places[place].id == 0 || *import) {
            continue;
        }
        gf_status status = gf_fault_hits(g->fault, GF_FAULT_IPC_OPEN, why) ? GF_ERR_UNSUPPORTED
            : gf_imports_get(g->imports, of->page->process, &of->page->places[place], import, why);

        if (status != GF_OK) {
            *import = NULL;
            return status == GF_NO_RESOURCE ? ask_again(g) : status;
        }
        gf_imports_hold(g->imports, *import);
        of->kernel_base[place] = (*import)->kernel_address;
    }
    return GF_OK;
}

/* The memory of the ranks from g->next on; then the others learn what could not be mapped. */
static gf_status map_ranks(struct gf_registry *g)
{
    struct gf_registry_page *page = gf_registry_own_page(g);
    struct gf_reason why = { "" };

    for (; g->next < g->ranks; g->next++) {
        gf_status status = g->next == g->rank ? GF_OK : map_places(g, g->next, &why);

        if (status == GF_IN_PROGRESS) {
            return status;
        }
        if (status != GF_OK) {
            page->unmapped |= 1ull << g->next;
            snprintf(page->why, sizeof page->why, "the memory of rank %d could not be mapped: %.*s", g->next,
                     GF_REGISTRY_WHY_LENGTH, why.text);
        }
    }
    gf_host_publish(&page->judged, g->call);
    return GF_OK;
}

/* What the ranks from g->next on could not map. */
static gf_status read_verdicts(struct gf_registry *g, struct gf_reason *why)
{
    for (; g->next < g->ranks; g->next++) {
        const struct gf_registry_page *page = g->of[g->next].page;
        gf_status status = look_at(g, &page->judged, why);

        if (status != GF_OK) {
            return status;
        }
        if (page->unmapped) {
            gf_reason_set(&g->refused_why, "rank %d: %.200s", g->next, page->why);
        }
        g->unmapped |= page->unmapped;
    }
    for (int r = 0; r < g->ranks; r++) {
        g->of[r].refused &= ~g->records[r]->fresh;
        g->of[r].refused |= g->unmapped >> r & 1 ? g->records[r]->fresh : 0;
    }
    return GF_OK;
}

/* The verdict on this call: a pure function of what all ranks have read. */
static gf_status conclude(const struct gf_registry *g, struct gf_reason *why)
{
    for (int r = 0; r < g->ranks; r++) {
        const struct gf_registry_record *record = g->records[r];

        for (int i = 0; i < GF_REGISTRY_BUFFERS; i++) {
            if (record->place[i] >= GF_REGISTRY_REFUSED) {
                gf_reason_set(why, "rank %d: %.200s", r, record->why);
                return record->place[i] == GF_REGISTRY_YOUNG ? GF_NO_RESOURCE : GF_ERR_UNSUPPORTED;
            }
            if (g->of[r].refused >> record->place[i] & 1) {
                gf_reason_set(why, "%s", g->refused_why.text);
                return GF_ERR_UNSUPPORTED;
            }
        }
    }
    return GF_OK;
}

void gf_registry_start_enter(struct gf_registry *g, const struct gf_registry_buffer buffers[GF_REGISTRY_BUFFERS],
                             const uint64_t what[2])
{
    g->call++;
    g->records[g->rank] = &gf_registry_own_page(g)->records[g->call % 2];
    gf_registry_write_record(g, buffers, what);
    gf_host_publish(&gf_registry_own_page(g)->entered, g->call);
    g->fresh = false;
    g->unmapped = 0;
    begin_step(g, GF_REGISTRY_READING);
}

gf_status gf_registry_poll_enter(struct gf_registry *g, struct gf_reason *why)
{
    gf_status status = GF_OK;

    if (g->step == GF_REGISTRY_READING) {
        status = read_records(g, why);
        if (status == GF_OK && g->fresh) {
            begin_mapping(g);
        }
    }
    if (status == GF_OK && g->step == GF_REGISTRY_MAPPING) {
        status = map_ranks(g);
        if (status == GF_OK) {
            begin_step(g, GF_REGISTRY_JUDGING);
        }
    }
    if (status == GF_OK && g->step == GF_REGISTRY_JUDGING) {
        status = read_verdicts(g, why);
    }
    return status == GF_OK ? conclude(g, why) : status;
}

void gf_registry_start_leave(struct gf_registry *g)
{
    gf_host_publish(&gf_registry_own_page(g)->left, g->call);
    begin_step(g, GF_REGISTRY_LEAVING);
}

gf_status gf_registry_poll_leave(struct gf_registry *g, struct gf_reason *why)
{
    for (; g->next < g->ranks; g->next++) {
        gf_status status = look_at(g, &g->of[g->next].page->left, why);

        if (status != GF_OK) {
            return status;
        }
    }
    return GF_OK;
}

static gf_status finish(struct gf_registry *g, gf_status (*poll)(struct gf_registry *g, struct gf_reason *why),
                        struct gf_reason *why)
{
    gf_status status;

    while ((status = poll(g, why)) == GF_IN_PROGRESS) {
        gf_status cause = gf_watch_poll(g->watch, why);

        if (cause != GF_OK) {
            return cause;
        }
    }
    return status;
}

gf_status gf_registry_enter(struct gf_registry *g, const struct gf_registry_buffer buffers[GF_REGISTRY_BUFFERS],
                            const uint64_t what[2], struct gf_reason *why)
{
    gf_registry_start_enter(g, buffers, what);
    return finish(g, gf_registry_poll_enter, why);
}

gf_status gf_registry_leave(struct gf_registry *g, struct gf_reason *why)
{
    gf_registry_start_leave(g);
    return finish(g, gf_registry_poll_leave, why);
}

void gf_registry_destroy(struct gf_registry *g)
{
    for (int r = 0; g->of && r < g->ranks; r++) {
        for (int place = 0; place < GF_REGISTRY_PLACES; place++) {
            gf_imports_release(g->imports, g->of[r].imports[place]);
        }
    }
    for (int r = 0; g->segments && r < g->ranks; r++) {
        gf_segment_close(&g->segments[r]);
    }
    free(g->segments);
    free(g->of);
    *g = (struct gf_registry){ .device = NULL };
}
