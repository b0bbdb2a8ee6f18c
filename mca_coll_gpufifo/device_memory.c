/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Idle pieces in the order of their last use, sought by their exact size, of which there are few.
 */
#include "mca_coll_gpufifo/device_memory.h"

#include <pthread.h>
#include <stdlib.h>

enum { SMALLEST = 4096, FINE = 1 << 20 };

struct list {
    struct gf_device_piece *first, *last;
    size_t bytes;
};

struct gf_device_memory {
    gf_device *device;
    pthread_mutex_t lock;              /* guards both lists */
    struct list used, idle;
};

static void push(struct list *list, struct gf_device_piece *piece)
{
    piece->next = list->first;
    piece->previous = NULL;
    *(list->first ? &list->first->previous : &list->last) = piece;
    list->first = piece;
    list->bytes += piece->bytes;
}

static void pull_out(struct list *list, struct gf_device_piece *piece)
{
    *(piece->previous ? &piece->previous->next : &list->first) = piece->next;
    *(piece->next ? &piece->next->previous : &list->last) = piece->previous;
    list->bytes -= piece->bytes;
}

struct gf_device_memory *gf_device_memory_create(gf_device *device)
{
    struct gf_device_memory *memory = calloc(1, sizeof *memory);

    if (memory) {
        memory->device = device;
        pthread_mutex_init(&memory->lock, NULL);
    }
    return memory;
}

static void give_back(struct gf_device_memory *memory, struct gf_device_piece *piece)
{
    gf_device_free(memory->device, piece->address);
    free(piece);
}

/* Gives idle pieces back, the oldest first, until no more than so many bytes of them are left. */
static void trim(struct gf_device_memory *memory, size_t most)
{
    for (;;) {
        struct gf_device_piece *oldest;

        pthread_mutex_lock(&memory->lock);
        oldest = memory->idle.bytes > most ? memory->idle.last : NULL;
        if (oldest) {
            pull_out(&memory->idle, oldest);
        }
        pthread_mutex_unlock(&memory->lock);
        if (!oldest) {
            return;
        }
        give_back(memory, oldest);
    }
}

void gf_device_memory_destroy(struct gf_device_memory *memory)
{
    if (!memory) {
        return;
    }
    trim(memory, 0);
    while (memory->used.first) {
        struct gf_device_piece *piece = memory->used.first;

        pull_out(&memory->used, piece);
        give_back(memory, piece);
    }
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}

/* Powers of two, and from a megabyte on eighths of them, so that messages of about one size share a piece. */
static size_t rounded(size_t bytes)
{
    size_t power = SMALLEST;

    while (power < bytes && power < FINE) {
        power *= 2;
    }
    if (bytes <= power) {
        return power;
    }
    while (power * 2 < bytes) {
        power *= 2;
    }
    return (bytes + power / 8 - 1) / (power / 8) * (power / 8);
}

static struct gf_device_piece *take_idle(struct gf_device_memory *memory, size_t bytes)
{
    struct gf_device_piece *piece;

    pthread_mutex_lock(&memory->lock);
    piece = memory->idle.first;
    while (piece && piece->bytes != bytes) {
        piece = piece->next;
    }
    if (piece) {
        pull_out(&memory->idle, piece);
        push(&memory->used, piece);
    }
    pthread_mutex_unlock(&memory->lock);
    return piece;
}

static gf_status make(struct gf_device_memory *memory, size_t bytes, struct gf_device_piece **made, struct gf_reason *why)
{
    struct gf_device_piece *piece = calloc(1, sizeof *piece);
    gf_status status;

    if (!piece) {
        gf_reason_set(why, "no host memory for an allocation on device %d", memory->device->ordinal);
        return GF_ERR_NO_MEMORY;
    }
    status = gf_device_alloc(memory->device, bytes, &piece->address, why);
    if (status == GF_ERR_NO_MEMORY) {
        trim(memory, 0);
        status = gf_device_alloc(memory->device, bytes, &piece->address, why);
    }
    if (status != GF_OK) {
        free(piece);
        return status;
    }
    piece->bytes = bytes;
    pthread_mutex_lock(&memory->lock);
    push(&memory->used, piece);
    pthread_mutex_unlock(&memory->lock);
    *made = piece;
    return GF_OK;
}

gf_status gf_device_memory_alloc(struct gf_device_memory *memory, size_t bytes, struct gf_device_piece **piece,
                                 struct gf_reason *why)
{
    *piece = take_idle(memory, rounded(bytes));
    return *piece ? GF_OK : make(memory, rounded(bytes), piece, why);
}

void gf_device_memory_free(struct gf_device_memory *memory, struct gf_device_piece *piece)
{
    pthread_mutex_lock(&memory->lock);
    pull_out(&memory->used, piece);
    push(&memory->idle, piece);
    pthread_mutex_unlock(&memory->lock);
    trim(memory, GF_DEVICE_KEEP_BYTES);
}

void gf_device_memory_count(struct gf_device_memory *memory, size_t *used, size_t *idle)
{
    pthread_mutex_lock(&memory->lock);
    *used = memory->used.bytes;
    *idle = memory->idle.bytes;
    pthread_mutex_unlock(&memory->lock);
}
