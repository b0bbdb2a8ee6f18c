/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places, records and verdicts of mapped buffers.
 */
#include "core/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/host_ordered.h"

enum {
    TURNS_PER_CLOCK = 256,             /* reading the clock costs more than a turn should */
    WHY_LENGTH = 200                   /* of a sentence; `why` of a page holds it with what stands before */
};

static struct gf_registry_page *own_page(const struct gf_registry *g)
{
    return g->of[g->rank].page;
}

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
        own_page(g)->process = g->device->driver->process;
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
                               .exports = { .device = imports->device, .by_fd = config->by_fd }, .imports = imports,
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

/* ---- this rank's own places ---- */

static void empty_place(struct gf_registry *g, uint32_t place, struct gf_registry_record *record)
{
    gf_familiar_part(&g->familiar, g->calls[place]);
    own_page(g)->places[place].id = 0;
    g->used[place] = 0;
    record->fresh |= 1u << place;
}

/* Empties the place if its buffer has been freed. */
static void look_at_place(struct gf_registry *g, uint32_t place, struct gf_registry_record *record)
{
    const struct gf_buffer *buffer = &own_page(g)->places[place];
    struct gf_pointer pointer;

    if (buffer->id == 0 || g->used[place] == g->call) {
        return;
    }
    if (gf_driver_pointer(g->device->driver, (const void *)(uintptr_t)buffer->base, &pointer) != GF_OK
        || pointer.kind != GF_MEMORY_DEVICE || pointer.buffer_id != buffer->id) {
        empty_place(g, place, record);
    }
}

static uint32_t find_place(const struct gf_registry *g, uint64_t id)
{
    uint32_t place = 0;

    while (place < GF_REGISTRY_PLACES && (own_page(g)->places[place].id != id)) {
        place++;
    }
    return place;
}

/* An empty one, or that of the buffer which was not used for the longest time; those of this call are the latest. */
static uint32_t oldest_place(const struct gf_registry *g)
{
    uint32_t oldest = 0;

    for (uint32_t place = 1; place < GF_REGISTRY_PLACES; place++) {
        if (g->used[place] < g->used[oldest]) {
            oldest = place;
        }
    }
    return oldest;
}

/* Gives a buffer that has none a place. */
static gf_status take_place(struct gf_registry *g, const struct gf_pointer *where, uint32_t *taken,
                            struct gf_registry_record *record, struct gf_reason *why)
{
    const struct gf_ipc_handle *handle;

    if (gf_fault_hits(g->fault, GF_FAULT_IPC_EXPORT, why)) {
        return GF_ERR_UNSUPPORTED;
    }
    gf_status status = gf_exports_get(&g->exports, where, &handle, why);
    char *kernel_base = status == GF_OK ? gf_device_kernel_address(g->device, where->base) : NULL;

    if (status != GF_OK) {
        return status;
    }
    if (!kernel_base) {
        gf_reason_set(why, "kernels cannot reach the memory at %p", where->base);
        return GF_ERR_UNSUPPORTED;
    }
    uint32_t place = oldest_place(g);
    struct gf_buffer *buffer = &own_page(g)->places[place];

    *buffer = (struct gf_buffer){
        .id = where->buffer_id, .base = (uintptr_t)where->base, .size = where->size, .handle = *handle,
    };
    memcpy(buffer->uuid, g->device->caps.uuid, sizeof buffer->uuid);
    g->of[g->rank].kernel_base[place] = kernel_base;
    g->calls[place] = 0;
    record->fresh |= 1u << place;
    *taken = place;
    return GF_OK;
}

/* Is it time to map a buffer that may wait? Not if that would drive out one that is in use: they would take turns. */
static bool is_worth_a_place(struct gf_registry *g, uint64_t id)
{
    uint64_t used = g->used[oldest_place(g)];

    return gf_familiar_meet(&g->familiar, id, g->call) && (used == 0 || g->call - used > GF_REGISTRY_IDLE_CALLS);
}

/* The place of buffer i of this call, and where the buffer begins there. */
static gf_status place_buffer(struct gf_registry *g, const struct gf_registry_buffer *buffer, int i,
                              struct gf_registry_record *record, struct gf_reason *why)
{
    const struct gf_pointer *where = buffer->where;
    struct gf_pointer found;
    gf_status status = GF_OK;

    if (!where) {
        status = gf_driver_pointer(g->device->driver, buffer->address, &found);
        where = &found;
    }
    if (status != GF_OK || where->kind != GF_MEMORY_DEVICE || where->buffer_id == 0) {
        gf_reason_set(why, "%p is no device memory that others could map", buffer->address);
        return GF_ERR_UNSUPPORTED;
    }
    uint64_t offset = (uint64_t)((const char *)buffer->address - (const char *)where->base);

    if (offset > where->size || buffer->bytes > where->size - offset) {
        gf_reason_set(why, "the buffer of %zu bytes at %p lies in several allocations", buffer->bytes, buffer->address);
        return GF_ERR_UNSUPPORTED;
    }
    uint32_t place = find_place(g, where->buffer_id);

    if (place == GF_REGISTRY_PLACES && buffer->patient && !is_worth_a_place(g, where->buffer_id)) {
        gf_reason_set(why, "the buffer at %p is not mapped yet", buffer->address);
        return GF_NO_RESOURCE;
    }
    if (place == GF_REGISTRY_PLACES) {
        status = take_place(g, where, &place, record, why);
        if (status != GF_OK) {
            return status;
        }
    }
    g->calls[place] += g->used[place] != g->call;
    g->used[place] = g->call;
    record->place[i] = (uint8_t)place;
    record->offset[i] = offset;
    return GF_OK;
}

static void write_record(struct gf_registry *g, const struct gf_registry_buffer *buffers, const uint64_t what[2])
{
    struct gf_registry_record *record = g->records[g->rank];
    struct gf_reason why = { "" };

    record->what[0] = what[0];
    record->what[1] = what[1];
    record->fresh = 0;
    for (int i = 0; i < GF_REGISTRY_BUFFERS; i++) {
        gf_status status = place_buffer(g, &buffers[i], i, record, &why);

        if (status != GF_OK) {
            record->place[i] = status == GF_NO_RESOURCE ? GF_REGISTRY_YOUNG : GF_REGISTRY_REFUSED;
            snprintf(record->why, sizeof record->why, "%.*s", WHY_LENGTH, why.text);
        }
    }
    look_at_place(g, g->look, record);
    g->look = (g->look + 1) % GF_REGISTRY_PLACES;
    for (uint32_t place = 0; place < GF_REGISTRY_PLACES && record->fresh; place++) {
        look_at_place(g, place, record);
    }
}

/* ---- all ranks' ---- */

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Until a peer's word says that it has come as far as this call. */
static gf_status wait_for(struct gf_registry *g, const uint64_t *word, struct gf_reason *why)
{
    gf_status status = GF_OK;
    uint64_t began_ns = 0;

    for (uint32_t turn = 1; status == GF_OK && gf_host_observe(word) < g->call; turn++) {
        status = gf_watch_poll(g->watch, why);
        if (g->deadline_ns == 0 || turn % TURNS_PER_CLOCK != 0) {
            continue;
        }
        began_ns = began_ns ? began_ns : now_ns();
        if (status == GF_OK && now_ns() - began_ns > g->deadline_ns) {
            gf_reason_set(why, "rank %d waited longer than deadline_ms = %" PRIu64 " for the hosts of its peers", g->rank,
                          g->deadline_ns / 1000000u);
            status = GF_ERR_TIMEOUT;
        }
    }
    return status;
}

/* Of every rank. *fresh: has any of them a fresh place? */
static gf_status read_records(struct gf_registry *g, bool *fresh, struct gf_reason *why)
{
    const struct gf_registry_record *mine = g->records[g->rank];

    *fresh = mine->fresh != 0;
    for (int r = 0; r < g->ranks; r++) {
        gf_status status = wait_for(g, &g->of[r].page->entered, why);

        if (status != GF_OK) {
            return status;
        }
        g->records[r] = &g->of[r].page->records[g->call % 2];
        *fresh |= g->records[r]->fresh != 0;
        if (memcmp(g->records[r]->what, mine->what, sizeof mine->what) != 0) {
            gf_reason_set(why, "rank %d calls with another count, datatype or operation than rank %d: pass the same on all ranks",
                          r, g->rank);
            return GF_ERR_PEER;
        }
    }
    return GF_OK;
}

/* Follows one rank's changes: first all that is gone, so that nothing stands in the way of what is new. */
static gf_status follow(struct gf_registry *g, int rank, struct gf_reason *why)
{
    struct gf_registry_rank *of = &g->of[rank];
    uint32_t fresh = g->records[rank]->fresh;
    gf_status status = GF_OK;

    for (uint32_t place = 0; place < GF_REGISTRY_PLACES; place++) {
        if (fresh >> place & 1) {
            gf_imports_drop(g->imports, of->imports[place]);
            of->imports[place] = NULL;
        }
    }
    for (uint32_t place = 0; place < GF_REGISTRY_PLACES && status == GF_OK; place++) {
        struct gf_import **import = &of->imports[place];

        if (!(fresh >> place & 1) || of->page->places[place].id == 0) {
            continue;
        }
        status = gf_fault_hits(g->fault, GF_FAULT_IPC_OPEN, why) ? GF_ERR_UNSUPPORTED
            : gf_imports_get(g->imports, of->page->process, &of->page->places[place], import, why);
        if (status != GF_OK) {
            *import = NULL;
        } else {
            of->kernel_base[place] = (*import)->kernel_address;
        }
    }
    return status;
}

static void judge(struct gf_registry *g)
{
    struct gf_registry_page *page = own_page(g);
    struct gf_reason why = { "" };

    page->unmapped = 0;
    for (int r = 0; r < g->ranks; r++) {
        if (r != g->rank && follow(g, r, &why) != GF_OK) {
            page->unmapped |= 1ull << r;
            snprintf(page->why, sizeof page->why, "the memory of rank %d could not be mapped: %.*s", r, WHY_LENGTH, why.text);
        }
    }
    gf_host_publish(&page->judged, g->call);
}

/* Fresh places: everyone maps, and learns what everyone could not map. */
static gf_status renew(struct gf_registry *g, struct gf_reason *why)
{
    uint64_t unmapped = 0;

    judge(g);
    for (int r = 0; r < g->ranks; r++) {
        const struct gf_registry_page *page = g->of[r].page;
        gf_status status = wait_for(g, &page->judged, why);

        if (status != GF_OK) {
            return status;
        }
        if (page->unmapped) {
            gf_reason_set(&g->refused_why, "rank %d: %.200s", r, page->why);
        }
        unmapped |= page->unmapped;
    }
    for (int r = 0; r < g->ranks; r++) {
        g->of[r].refused &= ~g->records[r]->fresh;
        g->of[r].refused |= unmapped >> r & 1 ? g->records[r]->fresh : 0;
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

gf_status gf_registry_enter(struct gf_registry *g, const struct gf_registry_buffer buffers[GF_REGISTRY_BUFFERS],
                            const uint64_t what[2], struct gf_reason *why)
{
    bool fresh;

    g->call++;
    g->records[g->rank] = &own_page(g)->records[g->call % 2];
    write_record(g, buffers, what);
    gf_host_publish(&own_page(g)->entered, g->call);
    gf_status status = read_records(g, &fresh, why);

    if (status == GF_OK && fresh) {
        status = renew(g, why);
    }
    return status == GF_OK ? conclude(g, why) : status;
}

gf_status gf_registry_leave(struct gf_registry *g, struct gf_reason *why)
{
    gf_status status = GF_OK;

    gf_host_publish(&own_page(g)->left, g->call);
    for (int r = 0; r < g->ranks && status == GF_OK; r++) {
        status = wait_for(g, &g->of[r].page->left, why);
    }
    return status;
}

void gf_registry_destroy(struct gf_registry *g)
{
    for (int r = 0; g->of && r < g->ranks; r++) {
        for (int place = 0; place < GF_REGISTRY_PLACES; place++) {
            gf_imports_drop(g->imports, g->of[r].imports[place]);
        }
    }
    for (int r = 0; g->segments && r < g->ranks; r++) {
        gf_segment_close(&g->segments[r]);
    }
    free(g->segments);
    free(g->of);
    *g = (struct gf_registry){ .device = NULL };
}
