/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bounce memory, small by powers of two, large as it comes, and lanes; each list last in, first out: what was used last is warm.
 */
#include "mca_coll_gpufifo/stage_pool.h"

#include <stdlib.h>

#include "mca_coll_gpufifo/device_memory.h"
#include "mca_coll_gpufifo/flatten.h"
#include "mca_coll_gpufifo/module.h"
#include "mca_coll_gpufifo/request.h"

enum {
    SMALLEST_CLASS = 12,   /* a page */
    CLASSES = 12           /* up to GF_BOUNCE_KEEP_BYTES */
};
_Static_assert((size_t)1 << (SMALLEST_CLASS + CLASSES - 1) == GF_BOUNCE_KEEP_BYTES, "the last class is the largest that is kept");

/* Free bounce memory holds its own list. */
struct free_bounce {
    struct free_bounce *next;
    size_t bytes;                      /* of a large one */
};

struct gf_stage_pool {
    gf_device *device;
    struct gf_staging *staging;
    struct free_bounce *free[CLASSES];
    size_t kept;                       /* bytes in free[] */
    struct free_bounce *large;         /* GF_BOUNCE_KEEP_LARGE bytes at most */
    struct gf_stage_lane *idle;
    gf_stream *stream;                 /* of the first lane, and of those for which there is no memory; null: not even for this */
    bool lent;                         /* there is a first lane */
    struct gf_device_memory *memory;
    struct gf_stage_pool *next;
};

struct gf_staging *gf_staging_create(void)
{
    struct gf_staging *staging = calloc(1, sizeof *staging);

    if (!staging) {
        return NULL;
    }
    staging->requests = gf_request_queue_create();
    staging->flattener = gf_flattener_create();
    if (!staging->requests || !staging->flattener) {
        gf_request_queue_destroy(staging->requests);
        gf_flattener_destroy(staging->flattener);
        free(staging);
        return NULL;
    }
    pthread_mutex_init(&staging->lock, NULL);
    return staging;
}

static void lane_destroy(struct gf_stage_lane *lane)
{
    if (lane->stream && !lane->shares) {
        gf_device_stream_destroy(lane->device, lane->stream);
    }
    if (lane->words) {
        gf_device_pinned_free(lane->device, lane->words);
    }
    if (lane->blocks_done) {
        gf_device_free(lane->device, lane->blocks_done);
    }
    free(lane);
}

static void destroy_all(struct gf_stage_pool *pool, struct free_bounce *list)
{
    while (list) {
        struct free_bounce *bounce = list;

        list = bounce->next;
        gf_device_pinned_free(pool->device, bounce);
    }
}

static void pool_destroy(struct gf_stage_pool *pool)
{
    while (pool->idle) {
        struct gf_stage_lane *lane = pool->idle;
        pool->idle = lane->next;
        lane_destroy(lane);
    }
    for (int i = 0; i < CLASSES; i++) {
        destroy_all(pool, pool->free[i]);
    }
    destroy_all(pool, pool->large);
    gf_device_memory_destroy(pool->memory);
    if (pool->stream) {
        gf_device_stream_destroy(pool->device, pool->stream);
    }
    free(pool);
}

void gf_staging_destroy(struct gf_staging *staging)
{
    if (!staging) {
        return;
    }
    gf_request_queue_destroy(staging->requests);
    gf_flattener_destroy(staging->flattener);
    while (staging->pools) {
        struct gf_stage_pool *pool = staging->pools;
        staging->pools = pool->next;
        pool_destroy(pool);
    }
    pthread_mutex_destroy(&staging->lock);
    free(staging);
}

static struct gf_stage_pool *find_pool(struct gf_staging *staging, int ordinal)
{
    struct gf_stage_pool *pool = staging->pools;

    while (pool && pool->device->ordinal != ordinal) {
        pool = pool->next;
    }
    return pool;
}

/* With the lock held. */
static gf_status add_pool(struct gf_staging *staging, gf_device *device, struct gf_stage_pool **pool, struct gf_reason *why)
{
    *pool = calloc(1, sizeof **pool);
    if (*pool) {
        (*pool)->memory = gf_device_memory_create(device);
    }
    if (!*pool || !(*pool)->memory) {
        gf_reason_set(why, "no host memory to stage buffers of device %d", device->ordinal);
        free(*pool);
        *pool = NULL;
        return GF_ERR_NO_MEMORY;
    }
    (*pool)->device = device;
    if (gf_device_stream_create(device, &(*pool)->stream, NULL) != GF_OK) {
        (*pool)->stream = NULL;
    }
    (*pool)->staging = staging;
    (*pool)->next = staging->pools;
    staging->pools = *pool;
    return GF_OK;
}

gf_status gf_stage_pool_get(struct gf_staging *staging, int ordinal, struct gf_stage_pool **pool, struct gf_reason *why)
{
    gf_status status = GF_OK;

    pthread_mutex_lock(&staging->lock);
    *pool = find_pool(staging, ordinal);
    pthread_mutex_unlock(&staging->lock);
    if (*pool) {
        return GF_OK;
    }

    gf_device *device = gf_component_device(ordinal, why);     /* which comes here, too, if it opens it */

    if (!device) {
        return GF_ERR_DEVICE;
    }
    pthread_mutex_lock(&staging->lock);
    *pool = find_pool(staging, ordinal);
    if (!*pool) {
        status = add_pool(staging, device, pool, why);
    }
    pthread_mutex_unlock(&staging->lock);
    return status;
}

gf_device *gf_stage_pool_device(const struct gf_stage_pool *pool)
{
    return pool->device;
}

gf_stream *gf_stage_pool_stream(const struct gf_stage_pool *pool)
{
    return pool->stream;
}

struct gf_device_memory *gf_stage_pool_memory(const struct gf_stage_pool *pool)
{
    return pool->memory;
}

struct gf_flattener *gf_stage_pool_flattener(const struct gf_stage_pool *pool)
{
    return pool->staging->flattener;
}

/* The class whose memory holds so many bytes; CLASSES if they are too many for one. */
static int class_of(size_t bytes)
{
    int class = 0;

    while (class < CLASSES && (size_t)1 << (SMALLEST_CLASS + class) < bytes) {
        class++;
    }
    return class;
}

/* What memory for so many bytes has. Large memory is rounded up by an eighth at most, so that messages of about one size share
 * it. */
static size_t class_bytes(int class, size_t bytes)
{
    size_t unit = GF_BOUNCE_KEEP_BYTES / 8;

    if (class < CLASSES) {
        return (size_t)1 << (SMALLEST_CLASS + class);
    }
    while (unit * 16 < bytes) {
        unit *= 2;
    }
    return (bytes + unit - 1) / unit * unit;
}

/* With the lock held. Null: there is none of this size. */
static struct free_bounce *take_large(struct gf_stage_pool *pool, size_t bytes)
{
    for (struct free_bounce **link = &pool->large; *link; link = &(*link)->next) {
        struct free_bounce *bounce = *link;

        if (bounce->bytes == bytes) {
            *link = bounce->next;
            return bounce;
        }
    }
    return NULL;
}

/* With the lock held. Those that have not been used for longest make room; they are the caller's to destroy. */
static struct free_bounce *keep_large(struct gf_stage_pool *pool, struct free_bounce *bounce, size_t bytes)
{
    struct free_bounce **link = &pool->large, *rest;
    size_t sum = 0;

    if (bytes > GF_BOUNCE_KEEP_LARGE) {
        bounce->next = NULL;
        return bounce;
    }
    *bounce = (struct free_bounce){.next = pool->large, .bytes = bytes};
    pool->large = bounce;
    while (*link && sum + (*link)->bytes <= GF_BOUNCE_KEEP_LARGE) {
        sum += (*link)->bytes;
        link = &(*link)->next;
    }
    rest = *link;
    *link = NULL;
    return rest;
}

/* With the lock held. Null: none is free. */
static struct free_bounce *take_small(struct gf_stage_pool *pool, int class)
{
    struct free_bounce *bounce = pool->free[class];

    if (bounce) {
        pool->free[class] = bounce->next;
        pool->kept -= class_bytes(class, 0);
    }
    return bounce;
}

/* With the lock held. What is not kept is the caller's to destroy. */
static struct free_bounce *keep_small(struct gf_stage_pool *pool, struct free_bounce *bounce, int class)
{
    if (pool->kept + class_bytes(class, 0) > GF_BOUNCE_KEEP_TOTAL) {
        bounce->next = NULL;
        return bounce;
    }
    bounce->next = pool->free[class];
    pool->free[class] = bounce;
    pool->kept += class_bytes(class, 0);
    return NULL;
}

gf_status gf_bounce_alloc(struct gf_stage_pool *pool, size_t bytes, void **address, struct gf_reason *why)
{
    int class = class_of(bytes);
    size_t room = class_bytes(class, bytes);
    struct free_bounce *bounce;

    pthread_mutex_lock(&pool->staging->lock);
    bounce = class < CLASSES ? take_small(pool, class) : take_large(pool, room);
    pthread_mutex_unlock(&pool->staging->lock);
    if (bounce) {
        *address = bounce;
        return GF_OK;
    }
    return gf_device_pinned_alloc(pool->device, room, address, why);
}

void gf_bounce_free(struct gf_stage_pool *pool, void *address, size_t bytes)
{
    int class = class_of(bytes);
    struct free_bounce *rest;

    pthread_mutex_lock(&pool->staging->lock);
    rest = class < CLASSES ? keep_small(pool, address, class) : keep_large(pool, address, class_bytes(class, bytes));
    pthread_mutex_unlock(&pool->staging->lock);
    destroy_all(pool, rest);
}

/* Where the device has no memory for another, lanes share a stream: their copies and kernels wait for nobody, so what is behind
 * another lane's work comes to its turn. */
static gf_status find_stream(struct gf_stage_pool *pool, struct gf_stage_lane *lane, struct gf_reason *why)
{
    bool first;

    pthread_mutex_lock(&pool->staging->lock);
    first = pool->stream && !pool->lent;
    pool->lent |= first;
    pthread_mutex_unlock(&pool->staging->lock);

    if (!first) {
        gf_status status = gf_device_stream_create(lane->device, &lane->stream, why);

        if (status != GF_ERR_NO_MEMORY || !pool->stream) {
            return status;
        }
    }
    lane->stream = pool->stream;
    lane->shares = true;
    return GF_OK;
}

static gf_status lane_create(struct gf_stage_pool *pool, struct gf_stage_lane **created, struct gf_reason *why)
{
    struct gf_stage_lane *lane = calloc(1, sizeof *lane);

    if (!lane) {
        gf_reason_set(why, "no host memory for a stream of device %d", pool->device->ordinal);
        return GF_ERR_NO_MEMORY;
    }
    lane->device = pool->device;
    lane->pool = pool;

    gf_status status = gf_device_pinned_alloc(lane->device, sizeof *lane->words, (void **)&lane->words, why);
    if (status == GF_ERR_NO_MEMORY) {
        lane->words = NULL;
        status = GF_OK;
    }
    if (status == GF_OK) {
        status = find_stream(pool, lane, why);
    }
    if (status != GF_OK) {
        lane_destroy(lane);
        return status;
    }
    *created = lane;
    return GF_OK;
}

gf_status gf_lane_acquire(struct gf_stage_pool *pool, struct gf_stage_lane **lane, struct gf_reason *why)
{
    pthread_mutex_lock(&pool->staging->lock);
    *lane = pool->idle;
    if (*lane) {
        pool->idle = (*lane)->next;
    }
    pthread_mutex_unlock(&pool->staging->lock);
    return *lane ? GF_OK : lane_create(pool, lane, why);
}

void gf_lane_release(struct gf_stage_lane *lane)
{
    struct gf_stage_pool *pool = lane->pool;

    pthread_mutex_lock(&pool->staging->lock);
    lane->next = pool->idle;
    pool->idle = lane;
    pthread_mutex_unlock(&pool->staging->lock);
}

gf_status gf_lane_count_blocks(struct gf_stage_lane *lane, struct gf_reason *why)
{
    gf_status status;

    if (!lane->words) {
        gf_reason_set(why, "there was no pinned memory in which a kernel could tell its end");
        return GF_ERR_NO_MEMORY;
    }
    if (lane->blocks_done) {
        return GF_OK;
    }
    status = gf_device_alloc(lane->device, sizeof *lane->blocks_done, (void **)&lane->blocks_done, why);
    return status == GF_OK ? gf_device_fill(lane->device, lane->stream, lane->blocks_done, 0, sizeof *lane->blocks_done) : status;
}

struct gf_task gf_lane_task(struct gf_stage_lane *lane)
{
    gf_device *device = lane->device;

    return (struct gf_task){
        .ranks = 1,
        .abort = gf_device_kernel_address(device, &lane->words->abort),
        .blocks_done = gf_device_kernel_address(device, lane->blocks_done),
        .done = gf_device_kernel_address(device, &lane->words->done),
        .error = gf_device_kernel_address(device, &lane->words->error),
        .ticket = ++lane->ticket,
    };
}
