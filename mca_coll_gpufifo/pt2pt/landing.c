/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Idle landings by size.
 */
#define _GNU_SOURCE
#include "mca_coll_gpufifo/pt2pt/landing.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Addresses are free, but a process may have some 65000 mappings in all. What ordinary data have filled is memory: so much of
 * it is kept. */
enum { CLASSES = 48, MOST_IDLE = 4096, PAGE = 4096 };
static const size_t most_filled = (size_t)64 << 20;

/* Behind the room; only addresses. */
static const size_t apron = (size_t)64 << 20;

struct gf_landings {
    pthread_mutex_t lock;
    struct gf_landing *idle[CLASSES];  /* by the logarithm of their room */
    size_t count, filled;              /* of all idle ones */
};

struct gf_landings *gf_landings_create(void)
{
    struct gf_landings *landings = calloc(1, sizeof *landings);

    if (landings) {
        pthread_mutex_init(&landings->lock, NULL);
    }
    return landings;
}

static void destroy(struct gf_landing *landing)
{
    munmap(landing->memory, landing->room + apron);
    free(landing);
}

void gf_landings_destroy(struct gf_landings *landings)
{
    if (!landings) {
        return;
    }
    for (int class = 0; class < CLASSES; class++) {
        while (landings->idle[class]) {
            struct gf_landing *landing = landings->idle[class];

            landings->idle[class] = landing->next;
            destroy(landing);
        }
    }
    pthread_mutex_destroy(&landings->lock);
    free(landings);
}

static int class_of(size_t bytes)
{
    int class = 0;

    while (class < CLASSES - 1 && (size_t)1 << class < bytes) {
        class++;
    }
    return class;
}

/* Huge pages would make the first touch of a page cost two megabytes. */
static gf_status create(size_t room, struct gf_landing **created, struct gf_reason *why)
{
    struct gf_landing *landing = calloc(1, sizeof *landing);

    if (landing) {
        landing->room = room;
        landing->memory = mmap(NULL, room + apron, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (landing->memory != MAP_FAILED) {
            (void)madvise(landing->memory, room + apron, MADV_NOHUGEPAGE);
            *created = landing;
            return GF_OK;
        }
    }
    free(landing);
    gf_reason_set(why, "no host memory for a message of up to %zu bytes", room);
    return GF_ERR_NO_MEMORY;
}

gf_status gf_landing_get(struct gf_landings *landings, size_t bytes, struct gf_landing **landing, struct gf_reason *why)
{
    int class = class_of(bytes);

    pthread_mutex_lock(&landings->lock);
    *landing = landings->idle[class];
    if (*landing) {
        landings->idle[class] = (*landing)->next;
        landings->count--;
        landings->filled -= (*landing)->filled;
    }
    pthread_mutex_unlock(&landings->lock);
    return *landing ? GF_OK : create((size_t)1 << class, landing, why);
}

void gf_landing_put(struct gf_landings *landings, struct gf_landing *landing)
{
    int class = class_of(landing->room);
    bool keep;

    pthread_mutex_lock(&landings->lock);
    keep = landings->count < MOST_IDLE;
    if (keep && landing->filled > PAGE && (landing->filled > landing->room || landings->filled + landing->filled > most_filled)) {
        (void)madvise(landing->memory, landing->room + apron, MADV_DONTNEED);
        landing->filled = 0;
    }
    if (keep) {
        landing->next = landings->idle[class];
        landings->idle[class] = landing;
        landings->count++;
        landings->filled += landing->filled;
    }
    pthread_mutex_unlock(&landings->lock);
    if (!keep) {
        destroy(landing);
    }
}
