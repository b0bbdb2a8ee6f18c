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
#include <unistd.h>

#include "mca_coll_gpufifo/module.h"

/* Addresses are free, but a process may have some 65000 mappings in all. What ordinary data have filled is memory, and so is what
 * is pinned: so much of each is kept. They have nothing to do with each other, since unpinning may wait for the device: large
 * messages must not make small receives do so. */
enum { CLASSES = 48, MOST_IDLE = 4096 };
static const size_t most_kept = (size_t)64 << 20;

/* Up to so many bytes they are pinned. */
static const size_t largest_pinned = (size_t)256 << 10;

/* Behind the room; only addresses. A process that may not have so many has landings without. */
static const size_t full_apron = (size_t)64 << 20;

struct gf_landings {
    size_t page;                       /* bytes */
    pthread_mutex_t lock;
    struct gf_landing *idle[GF_MAX_DEVICES + 1][CLASSES];    /* the pageable ones, and those pinned for each device by its
                                                                ordinal; by the logarithm of their room */
    size_t count, filled;              /* of all idle ones that are pageable */
    size_t pinned;                     /* bytes of all idle ones that are pinned */
};

struct gf_landings *gf_landings_create(void)
{
    struct gf_landings *landings = calloc(1, sizeof *landings);

    if (landings) {
        landings->page = (size_t)sysconf(_SC_PAGESIZE);
        pthread_mutex_init(&landings->lock, NULL);
    }
    return landings;
}

static struct gf_landing **idle_ones(struct gf_landings *landings, const gf_device *device, int class)
{
    return &landings->idle[device ? 1 + device->ordinal : 0][class];
}

static void destroy(struct gf_landing *landing)
{
    if (landing->device) {
        (void)gf_device_host_unregister(landing->device, landing->memory);
    }
    munmap(landing->memory, landing->room + landing->apron);
    free(landing);
}

void gf_landings_destroy(struct gf_landings *landings)
{
    if (!landings) {
        return;
    }
    for (int i = 0; i < (GF_MAX_DEVICES + 1) * CLASSES; i++) {
        struct gf_landing **idle = &landings->idle[i / CLASSES][i % CLASSES];

        while (*idle) {
            struct gf_landing *landing = *idle;

            *idle = landing->next;
            destroy(landing);
        }
    }
    pthread_mutex_destroy(&landings->lock);
    free(landings);
}

/* Not less than a page. */
static int class_of(const struct gf_landings *landings, size_t bytes)
{
    int class = 0;

    while (class < CLASSES - 1 && ((size_t)1 << class < bytes || (size_t)1 << class < landings->page)) {
        class++;
    }
    return class;
}

/* A forked child must not get it: the page that this process goes on with would be another one than the device's. */
static void pin(struct gf_landing *landing, gf_device *device)
{
    if (madvise(landing->memory, landing->room + landing->apron, MADV_DONTFORK) == 0 &&
        gf_device_host_register(device, landing->memory, landing->room, NULL) == GF_OK) {
        landing->device = device;
        landing->filled = landing->room;
    }
}

/* Huge pages would make the first touch of a page cost two megabytes. */
static bool map(struct gf_landing *landing, size_t apron)
{
    size_t bytes = landing->room + apron;

    landing->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (landing->memory == MAP_FAILED) {
        return false;
    }
    landing->apron = apron;
    (void)madvise(landing->memory, bytes, MADV_NOHUGEPAGE);
    return true;
}

static gf_status create(size_t room, gf_device *device, struct gf_landing **created, struct gf_reason *why)
{
    struct gf_landing *landing = calloc(1, sizeof *landing);

    if (landing) {
        landing->room = room;
        if (map(landing, full_apron) || map(landing, 0)) {
            if (room <= largest_pinned) {
                pin(landing, device);
            }
            *created = landing;
            return GF_OK;
        }
    }
    free(landing);
    gf_reason_set(why, "no host memory for a message of up to %zu bytes", room);
    return GF_ERR_NO_MEMORY;
}

/* With the lock held, of an idle one. */
static void count(struct gf_landings *landings, const struct gf_landing *landing, bool more)
{
    size_t *bytes = landing->device ? &landings->pinned : &landings->filled;

    *bytes = more ? *bytes + landing->filled : *bytes - landing->filled;
    if (!landing->device) {
        landings->count = more ? landings->count + 1 : landings->count - 1;
    }
}

/* With the lock held. The last one of this size that is pinned for this device, or pageable; null: there is none. */
static struct gf_landing *take(struct gf_landings *landings, int class, const gf_device *device)
{
    struct gf_landing **idle = idle_ones(landings, device, class), *landing;

    idle = *idle ? idle : idle_ones(landings, NULL, class);
    landing = *idle;
    if (landing) {
        *idle = landing->next;
        count(landings, landing, false);
    }
    return landing;
}

gf_status gf_landing_get(struct gf_landings *landings, gf_device *device, size_t bytes, struct gf_landing **landing,
                         struct gf_reason *why)
{
    int class = class_of(landings, bytes);

    pthread_mutex_lock(&landings->lock);
    *landing = take(landings, class, device);
    pthread_mutex_unlock(&landings->lock);
    return *landing ? GF_OK : create((size_t)1 << class, device, landing, why);
}

/* What was touched becomes mere addresses again, but for what is pinned. */
static void forget(struct gf_landing *landing)
{
    size_t kept = landing->device ? landing->room : 0;

    (void)madvise((char *)landing->memory + kept, landing->room + landing->apron - kept, MADV_DONTNEED);
    landing->filled = kept;
}

void gf_landing_put(struct gf_landings *landings, struct gf_landing *landing)
{
    struct gf_landing **idle = idle_ones(landings, landing->device, class_of(landings, landing->room));
    bool keep;

    pthread_mutex_lock(&landings->lock);
    if (landing->filled > landing->room ||
        (!landing->device && landing->filled > landings->page && landings->filled + landing->filled > most_kept)) {
        forget(landing);
    }
    keep = landing->device ? landings->pinned + landing->filled <= most_kept : landings->count < MOST_IDLE;
    if (keep) {
        landing->next = *idle;
        *idle = landing;
        count(landings, landing, true);
    }
    pthread_mutex_unlock(&landings->lock);
    if (!keep) {
        destroy(landing);
    }
}
