/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table with one place for each buffer id, and the words.
 */
#include "core/exports.h"

#include <stdio.h>
#include <string.h>

#include "core/host_ordered.h"

void gf_exports_init(struct gf_exports *exports, gf_device *device)
{
    exports->device = device;
    pthread_mutex_init(&exports->lock, NULL);
}

void gf_exports_destroy(struct gf_exports *exports)
{
    gf_segment_close(&exports->segment);
    pthread_mutex_destroy(&exports->lock);
}

static uint64_t *word_of(const struct gf_exports *exports, int i)
{
    return (uint64_t *)exports->segment.address + i;
}

/* Gives a large buffer a word, or tells which it has. With none left, or without shared memory, others keep it for longer. */
static void watch(struct gf_exports *exports, const struct gf_pointer *pointer, struct gf_buffer *buffer)
{
    int place = GF_EXPORTS_WATCHED;

    if (pointer->size < GF_EXPORTS_LARGE || pointer->buffer_id == 0
        || (!exports->segment.address && gf_segment_create(GF_EXPORTS_WATCHED * sizeof(uint64_t), &exports->segment,
                                                           &exports->name, NULL) != GF_OK)) {
        return;
    }
    for (int i = GF_EXPORTS_WATCHED - 1; i >= 0; i--) {
        if (exports->watched[i].id == pointer->buffer_id) {
            place = i;
            break;
        }
        place = exports->watched[i].id == 0 ? i : place;
    }
    if (place < GF_EXPORTS_WATCHED) {
        exports->watched[place] = (struct gf_watched){ .id = pointer->buffer_id, .base = pointer->base };
        gf_host_publish(word_of(exports, place), pointer->buffer_id);
        buffer->words = exports->name;
        buffer->word = (uint64_t)place;
    }
}

static gf_status export(struct gf_exports *exports, const struct gf_pointer *pointer, bool by_fd, struct gf_buffer *buffer,
                        struct gf_reason *why)
{
    if (!pointer->ipc && !by_fd) {
        gf_reason_set(why, "memory at %p cannot be mapped by other processes: plain allocations of the device can",
                      pointer->base);
        return GF_ERR_UNSUPPORTED;
    }
    if (!pointer->ipc && pointer->buffer_id == 0) {
        gf_reason_set(why, "the device does not tell the memory at %p from what was there before", pointer->base);
        return GF_ERR_UNSUPPORTED;
    }
    *buffer = (struct gf_buffer){ .id = pointer->buffer_id, .base = (uintptr_t)pointer->base, .size = pointer->size };
    memcpy(buffer->uuid, exports->device->caps.uuid, sizeof buffer->uuid);
    gf_status status = gf_device_ipc_export(exports->device, pointer->base, &buffer->handle, why);

    if (status == GF_OK) {
        watch(exports, pointer, buffer);
    }
    return status;
}

static gf_status renew(struct gf_exports *exports, const struct gf_pointer *pointer, bool by_fd, struct gf_export *entry,
                       struct gf_reason *why)
{
    struct gf_reason refusal = { "" };

    entry->buffer_id = 0;
    gf_status status = export(exports, pointer, by_fd, &entry->buffer, &refusal);

    entry->refused = status == GF_ERR_UNSUPPORTED && !pointer->ipc;
    if (entry->refused) {
        snprintf(entry->why, sizeof entry->why, "%.*s", GF_EXPORTS_WHY - 1, refusal.text);
    } else if (status != GF_OK) {
        gf_reason_set(why, "%s", refusal.text);
        return status;
    }
    entry->buffer_id = pointer->buffer_id;
    return GF_OK;
}

gf_status gf_exports_get(struct gf_exports *exports, const struct gf_pointer *pointer, bool by_fd, struct gf_buffer *buffer,
                         struct gf_reason *why)
{
    struct gf_export *entry = &exports->entries[pointer->buffer_id % GF_EXPORTS];
    gf_status status = GF_OK;

    pthread_mutex_lock(&exports->lock);
    if (entry->buffer_id != pointer->buffer_id || pointer->buffer_id == 0) {
        status = renew(exports, pointer, by_fd, entry, why);
    }
    if (status == GF_OK && entry->refused) {
        gf_reason_set(why, "%s", entry->why);
        status = GF_ERR_UNSUPPORTED;
    }
    if (status == GF_OK) {
        *buffer = entry->buffer;
    }
    pthread_mutex_unlock(&exports->lock);
    return status;
}

/* A device that does not answer any more has freed nothing. */
static bool is_freed(const struct gf_exports *exports, const struct gf_watched *watched)
{
    struct gf_pointer now;

    return gf_driver_pointer(exports->device->driver, watched->base, &now) == GF_OK
        && (now.kind != GF_MEMORY_DEVICE || now.buffer_id != watched->id);
}

void gf_exports_look(struct gf_exports *exports)
{
    pthread_mutex_lock(&exports->lock);
    for (int i = 0; i < GF_EXPORTS_WATCHED; i++) {
        if (exports->watched[i].id != 0 && is_freed(exports, &exports->watched[i])) {
            gf_host_publish(word_of(exports, i), 0);
            exports->watched[i].id = 0;
        }
    }
    pthread_mutex_unlock(&exports->lock);
}
