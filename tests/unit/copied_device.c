/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device of copied_device.h.
 */
#define _GNU_SOURCE 1   /* memfd_create */
#include "tests/unit/copied_device.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/scalar.h"
#include "transport/part.h"

struct allocation {
    struct allocation *next;
    char *base;
    size_t size;
    uint64_t id;                       /* of no other one */
};

struct copy {
    struct copy *next;                 /* of its stream */
    char *to;
    const char *from;
    size_t bytes;
};

struct gf_stream {
    struct gf_stream *next;            /* of the device */
    struct copy *first, **last;
    bool busy;
};

enum { SPOILED = 0xee };

/* The test's one device. lock guards all but what the engine does to memory. */
static struct {
    gf_device base;
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_t engine;
    struct gf_stream *streams;
    uint64_t random;
    struct allocation *allocations;
    uint64_t ids;
    bool ending;
    bool dmabuf;                       /* its memory can be had as one */
} fake;

static struct gf_stream *choose_stream(void)
{
    struct gf_stream *chosen = NULL;

    for (struct gf_stream *s = fake.streams; s; s = s->next) {
        if (s->first && (!chosen || scalar_random(&fake.random) % 2)) {
            chosen = s;
        }
    }
    return chosen;
}

static void move_memory(const struct copy *copy, uint64_t dawdle)
{
    memset(copy->to, SPOILED, copy->bytes);
    for (uint64_t i = 0; i < dawdle; i++) {
        sched_yield();
    }
    memcpy(copy->to, copy->from, copy->bytes);
}

static void *run_engine(void *ctx)
{
    (void)ctx;
    pthread_mutex_lock(&fake.lock);
    while (!fake.ending) {
        struct gf_stream *stream = choose_stream();

        if (!stream) {
            pthread_cond_wait(&fake.work, &fake.lock);
            continue;
        }
        struct copy *copy = stream->first;
        uint64_t dawdle = scalar_random(&fake.random) % 4;

        stream->first = copy->next;
        stream->last = stream->first ? stream->last : &stream->first;
        pthread_mutex_unlock(&fake.lock);
        move_memory(copy, dawdle);
        free(copy);
        pthread_mutex_lock(&fake.lock);
        stream->busy = stream->first != NULL;
    }
    pthread_mutex_unlock(&fake.lock);
    return NULL;
}

static void *allocate(size_t bytes)
{
    struct allocation *made = calloc(1, sizeof *made);

    *made = (struct allocation){ .base = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096), .size = bytes };
    memset(made->base, 0, bytes);
    pthread_mutex_lock(&fake.lock);
    made->id = ++fake.ids;
    made->next = fake.allocations;
    fake.allocations = made;
    pthread_mutex_unlock(&fake.lock);
    return made->base;
}

/* The link to that which the address lies in, or to null. The lock is held. */
static struct allocation **find(const void *address)
{
    struct allocation **link = &fake.allocations;

    while (*link && (size_t)((const char *)address - (*link)->base) >= (*link)->size) {
        link = &(*link)->next;
    }
    return link;
}

static void release(void *memory)
{
    pthread_mutex_lock(&fake.lock);
    struct allocation **link = find(memory), *gone = *link;

    *link = gone->next;
    pthread_mutex_unlock(&fake.lock);
    free(gone->base);
    free(gone);
}

void copied_device_renew(void *address)
{
    pthread_mutex_lock(&fake.lock);
    (*find(address))->id = ++fake.ids;
    pthread_mutex_unlock(&fake.lock);
}

static gf_status fake_alloc(gf_device *device, size_t bytes, void **address, struct gf_reason *why)
{
    (void)device;
    (void)why;
    *address = allocate(bytes);
    return GF_OK;
}

static gf_status fake_free(gf_device *device, void *address)
{
    (void)device;
    release(address);
    return GF_OK;
}

static void *fake_kernel_address(gf_device *device, const void *address)
{
    (void)device;
    return (void *)(uintptr_t)address;
}

static gf_status fake_export(gf_device *device, const void *address, struct gf_ipc_handle *handle, struct gf_reason *why)
{
    (void)device;
    (void)why;
    memcpy(handle->bytes, &address, sizeof address);
    return GF_OK;
}

static gf_status fake_open(gf_device *device, const struct gf_ipc_handle *handle, void **address, struct gf_reason *why)
{
    (void)device;
    (void)why;
    memcpy(address, handle->bytes, sizeof *address);
    return GF_OK;
}

static gf_status fake_close(gf_device *device, void *address)
{
    (void)device;
    (void)address;
    return GF_OK;
}

/* A file that has the address of the memory where that begins. */
static gf_status fake_dmabuf(gf_device *device, const void *address, size_t bytes, struct gf_dmabuf *dmabuf,
                             struct gf_reason *why)
{
    enum { OFFSET = 256 };

    (void)device;
    (void)bytes;
    if (!fake.dmabuf) {
        gf_reason_set(why, "the test's device has no dma-buf");
        return GF_ERR_UNSUPPORTED;
    }
    *dmabuf = (struct gf_dmabuf){ .fd = memfd_create("dmabuf", 0), .offset = OFFSET };
    assert_int_equal(pwrite(dmabuf->fd, &address, sizeof address, OFFSET), sizeof address);
    return GF_OK;
}

void copied_device_give_dmabuf(bool give)
{
    fake.dmabuf = give;
}

static gf_status stream_create(gf_device *device, gf_stream **stream, struct gf_reason *why)
{
    struct gf_stream *made = calloc(1, sizeof *made);

    (void)device;
    (void)why;
    made->last = &made->first;
    pthread_mutex_lock(&fake.lock);
    made->next = fake.streams;
    fake.streams = made;
    pthread_mutex_unlock(&fake.lock);
    *stream = made;
    return GF_OK;
}

static gf_status copy(gf_device *device, gf_stream *stream, void *to, const void *from, size_t bytes)
{
    struct copy *made = calloc(1, sizeof *made);

    (void)device;
    *made = (struct copy){ .to = to, .from = from, .bytes = bytes };
    pthread_mutex_lock(&fake.lock);
    *stream->last = made;
    stream->last = &made->next;
    stream->busy = true;
    pthread_cond_signal(&fake.work);
    pthread_mutex_unlock(&fake.lock);
    return GF_OK;
}

static gf_status stream_query(gf_device *device, gf_stream *stream)
{
    (void)device;
    pthread_mutex_lock(&fake.lock);
    bool busy = stream->busy;

    pthread_mutex_unlock(&fake.lock);
    return busy ? GF_IN_PROGRESS : GF_OK;
}

static void stream_destroy(gf_device *device, gf_stream *stream)
{
    struct gf_stream **link = &fake.streams;

    while (stream_query(device, stream) != GF_OK) {
        sched_yield();
    }
    pthread_mutex_lock(&fake.lock);
    while (*link != stream) {
        link = &(*link)->next;
    }
    *link = stream->next;
    pthread_mutex_unlock(&fake.lock);
    free(stream);
}

gf_status gf_part_create(struct gf_connector *c, size_t bytes, struct gf_part *part, struct gf_segment_name *name,
                         struct gf_reason *why)
{
    (void)why;
    part->segment = (struct gf_segment){ .address = allocate(bytes), .bytes = bytes };
    part->registered = !c->is_sender;
    *name = (struct gf_segment_name){ .bytes = bytes, .inode = (uint64_t)(uintptr_t)part->segment.address };
    return GF_OK;
}

gf_status gf_part_attach(struct gf_connector *c, const struct gf_segment_name *name, size_t bytes, struct gf_part *part,
                         struct gf_reason *why)
{
    (void)c;
    (void)why;
    assert_int_equal(name->bytes, bytes);
    part->segment = (struct gf_segment){ .address = (void *)(uintptr_t)name->inode, .bytes = bytes };
    return GF_OK;
}

char *gf_part_kernel_address(const struct gf_connector *c, const struct gf_part *part)
{
    (void)c;
    return part->segment.address;
}

/* `registered` tells who made it. */
void gf_part_release(struct gf_connector *c, struct gf_part *part)
{
    (void)c;
    if (part->registered) {
        release(part->segment.address);
    }
    *part = (struct gf_part){ .registered = false };
}

/* Closing a mapping of this device waits for nothing. */
static gf_status device_query(gf_device *device)
{
    (void)device;
    return GF_OK;
}

static const struct gf_device_ops ops = {
    .alloc = fake_alloc, .free = fake_free, .pinned_alloc = fake_alloc, .pinned_free = fake_free,
    .kernel_address = fake_kernel_address, .ipc_export = fake_export, .ipc_open = fake_open, .ipc_close = fake_close,
    .dmabuf_export = fake_dmabuf,
    .stream_create = stream_create, .stream_destroy = stream_destroy, .copy = copy, .stream_query = stream_query,
    .device_query = device_query,
};

static gf_status pointer(gf_driver *driver, const void *address, struct gf_pointer *info)
{
    (void)driver;
    *info = (struct gf_pointer){ .kind = GF_MEMORY_HOST, .ordinal = -1 };
    pthread_mutex_lock(&fake.lock);
    const struct allocation *found = *find(address);

    if (found) {
        *info = (struct gf_pointer){ .kind = GF_MEMORY_DEVICE, .base = found->base, .size = found->size, .buffer_id = found->id };
    }
    pthread_mutex_unlock(&fake.lock);
    return GF_OK;
}

static const struct gf_driver_ops driver_ops = { .name = "copied", .pointer = pointer };
static gf_driver driver = { .ops = &driver_ops, .process = 1 };

gf_device *copied_device_open(uint64_t seed)
{
    memset(&fake, 0, sizeof fake);
    fake.base = (gf_device){
        .ops = &ops, .driver = &driver, .caps = { .ipc = true, .copies_beside_kernels = true, .numa_node = -1 },
    };
    fake.random = seed;
    pthread_mutex_init(&fake.lock, NULL);
    pthread_cond_init(&fake.work, NULL);
    assert_int_equal(pthread_create(&fake.engine, NULL, run_engine, NULL), 0);
    return &fake.base;
}

void copied_device_close(gf_device *device)
{
    (void)device;
    pthread_mutex_lock(&fake.lock);
    fake.ending = true;
    pthread_cond_signal(&fake.work);
    pthread_mutex_unlock(&fake.lock);
    pthread_join(fake.engine, NULL);
    assert_null(fake.streams);
    assert_null(fake.allocations);
}
