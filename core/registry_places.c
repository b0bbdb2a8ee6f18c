/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which of this rank's buffers has which place.
 */
#include "core/registry_places.h"

#include <stdio.h>
#include <string.h>

static void empty_place(struct gf_registry *g, uint32_t place, struct gf_registry_record *record)
{
    gf_familiar_part(&g->familiar, g->calls[place]);
    gf_registry_own_page(g)->places[place].id = 0;
    g->used[place] = 0;
    record->fresh |= 1u << place;
}

/* Empties the place if its buffer has been freed. */
static void look_at_place(struct gf_registry *g, uint32_t place, struct gf_registry_record *record)
{
    const struct gf_buffer *buffer = &gf_registry_own_page(g)->places[place];
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

    while (place < GF_REGISTRY_PLACES && (gf_registry_own_page(g)->places[place].id != id)) {
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
    struct gf_buffer buffer;

    if (gf_fault_hits(g->fault, GF_FAULT_IPC_EXPORT, why)) {
        return GF_ERR_UNSUPPORTED;
    }
    gf_status status = gf_exports_get(&g->imports->exports, where, g->by_fd, &buffer, why);
    char *kernel_base = status == GF_OK ? gf_device_kernel_address(g->device, where->base) : NULL;

    if (status != GF_OK) {
        return status;
    }
    if (!kernel_base) {
        gf_reason_set(why, "kernels cannot reach the memory at %p", where->base);
        return GF_ERR_UNSUPPORTED;
    }
    uint32_t place = oldest_place(g);

    gf_registry_own_page(g)->places[place] = buffer;
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

void gf_registry_write_record(struct gf_registry *g, const struct gf_registry_buffer *buffers, const uint64_t what[2])
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
            snprintf(record->why, sizeof record->why, "%.*s", GF_REGISTRY_WHY_LENGTH, why.text);
        }
    }
    look_at_place(g, g->look, record);
    g->look = (g->look + 1) % GF_REGISTRY_PLACES;
    for (uint32_t place = 0; place < GF_REGISTRY_PLACES && record->fresh; place++) {
        look_at_place(g, place, record);
    }
}
