/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash table of mappings, and a list of those that nobody uses.
 */
#include "core/imports.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_SECONDS = 1 };

static struct gf_import **bucket_of(struct gf_imports *imports, uint64_t process, uint64_t buffer_id)
{
    uint64_t key = (buffer_id ^ process) * 0x9e3779b97f4a7c15ull;

    return &imports->buckets[key >> 32 & (GF_IMPORTS_BUCKETS - 1)];
}

static void take_from_idle(struct gf_imports *imports, struct gf_import *import)
{
    *(import->older ? &import->older->newer : &imports->oldest) = import->newer;
    *(import->newer ? &import->newer->older : &imports->newest) = import->older;
    import->older = import->newer = NULL;
    imports->idle--;
    imports->stale_bytes -= import->stale ? import->size : 0;
}

static void add_to_idle(struct gf_imports *imports, struct gf_import *import)
{
    import->older = imports->newest;
    *(imports->newest ? &imports->newest->newer : &imports->oldest) = import;
    imports->newest = import;
    imports->idle++;
    imports->stale_bytes += import->stale ? import->size : 0;
}

static void close_mapping(struct gf_imports *imports, struct gf_import *import)
{
    if (import->address) {
        gf_device_ipc_close(imports->device, import->address);
        import->address = import->kernel_address = NULL;
    }
}

/* Forgets one that is in no list of idle ones. */
static void unmap(struct gf_imports *imports, struct gf_import *import)
{
    struct gf_import **link = bucket_of(imports, import->process, import->buffer_id);

    while (*link != import) {
        link = &(*link)->next;
    }
    *link = import->next;
    close_mapping(imports, import);
    free(import);
}

static void drop_idle_one(struct gf_imports *imports, struct gf_import *import)
{
    take_from_idle(imports, import);
    unmap(imports, import);
}

static bool overlaps(const struct gf_import *import, const struct gf_buffer *buffer)
{
    return import->base < buffer->base + buffer->size && buffer->base < import->base + import->size;
}

/* What lay where the new buffer lies has been freed by its owner. */
static void find_stale(struct gf_imports *imports, uint64_t process, const struct gf_buffer *buffer)
{
    struct gf_import *next;

    for (int i = 0; i < GF_IMPORTS_BUCKETS; i++) {
        for (struct gf_import *import = imports->buckets[i]; import; import = import->next) {
            if (!import->stale && import->process == process && overlaps(import, buffer)) {
                import->stale = true;
                imports->stale_bytes += import->uses == 0 ? import->size : 0;
            }
        }
    }
    for (struct gf_import *import = imports->oldest; import && imports->stale_bytes > GF_IMPORTS_STALE_BYTES; import = next) {
        next = import->newer;
        if (import->stale) {
            drop_idle_one(imports, import);
        }
    }
}

static gf_status open_mapping(struct gf_imports *imports, const struct gf_buffer *buffer, struct gf_import *import,
                              struct gf_reason *why)
{
    void *address = NULL;
    gf_status status = gf_device_ipc_open(imports->device, &buffer->handle, &address, why);

    if (status != GF_OK) {
        return status;
    }
    import->address = address;
    import->kernel_address = gf_device_kernel_address(imports->device, address);
    if (!import->kernel_address) {
        gf_device_ipc_close(imports->device, address);
        gf_reason_set(why, "kernels cannot reach memory that was mapped from another process");
        return GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}

/* A new buffer is refused where one is mapped still that was freed; small allocations share pieces of memory, so that it need not
 * have overlapped. Is there any to close that nobody uses? */
static bool drop_idle(struct gf_imports *imports, uint64_t process, bool stale_only)
{
    struct gf_import *next;
    bool any = false;

    for (struct gf_import *import = imports->oldest; import; import = next) {
        next = import->newer;
        if (import->process == process && (import->stale || !stale_only)) {
            drop_idle_one(imports, import);
            any = true;
        }
    }
    return any;
}

/* The same for those that are only held. */
static bool close_held(struct gf_imports *imports, uint64_t process)
{
    bool any = false;

    for (int i = 0; i < GF_IMPORTS_BUCKETS; i++) {
        for (struct gf_import *import = imports->buckets[i]; import; import = import->next) {
            if (import->process == process && import->stale && import->held > 0 && import->held == import->uses
                && import->address) {
                close_mapping(imports, import);
                any = true;
            }
        }
    }
    return any;
}

static bool any_stale_in_use(const struct gf_imports *imports, uint64_t process, const struct gf_buffer *buffer)
{
    for (int i = 0; i < GF_IMPORTS_BUCKETS; i++) {
        for (const struct gf_import *import = imports->buckets[i]; import; import = import->next) {
            if (import->process == process && import->stale && import->uses > 0 && import->address && overlaps(import, buffer)) {
                return true;
            }
        }
    }
    return false;
}

static gf_status add(struct gf_imports *imports, uint64_t process, const struct gf_buffer *buffer, struct gf_import **added,
                     struct gf_reason *why)
{
    struct gf_import *import = calloc(1, sizeof *import);

    if (!import) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    find_stale(imports, process, buffer);
    gf_status status = open_mapping(imports, buffer, import, why);

    for (int try = 0; try < 2 && status == GF_ERR_UNSUPPORTED; try++) {
        bool closed = drop_idle(imports, process, try == 0);

        if (close_held(imports, process) || closed) {
            status = open_mapping(imports, buffer, import, why);
        }
    }
    if (status != GF_OK) {
        free(import);
        return status == GF_ERR_UNSUPPORTED && any_stale_in_use(imports, process, buffer) ? GF_NO_RESOURCE : status;
    }
    struct gf_import **bucket = bucket_of(imports, process, buffer->id);

    import->process = process;
    import->buffer_id = buffer->id;
    import->base = buffer->base;
    import->size = buffer->size;
    import->same_device = memcmp(buffer->uuid, imports->device->caps.uuid, sizeof buffer->uuid) == 0;
    import->next = *bucket;
    *bucket = import;
    *added = import;
    return GF_OK;
}

/* The lock is held. */
static gf_status get(struct gf_imports *imports, uint64_t process, const struct gf_buffer *buffer, struct gf_import **found,
                     struct gf_reason *why)
{
    struct gf_import *import = *bucket_of(imports, process, buffer->id);

    while (import && (import->process != process || import->buffer_id != buffer->id)) {
        import = import->next;
    }
    if (!import) {
        gf_status status = add(imports, process, buffer, &import, why);

        if (status != GF_OK) {
            return status;
        }
    } else if (!import->address) {
        gf_reason_set(why, "the buffer has been freed by its owner");
        return GF_ERR_UNSUPPORTED;
    } else if (import->uses == 0) {
        take_from_idle(imports, import);
    }
    import->uses++;
    *found = import;
    return GF_OK;
}

gf_status gf_imports_get(struct gf_imports *imports, uint64_t process, const struct gf_buffer *buffer, struct gf_import **found,
                         struct gf_reason *why)
{
    pthread_mutex_lock(&imports->lock);
    gf_status status = get(imports, process, buffer, found, why);

    pthread_mutex_unlock(&imports->lock);
    return status;
}

gf_status gf_imports_await(struct gf_imports *imports, uint64_t process, const struct gf_buffer *buffer,
                           const struct gf_bootstrap *bootstrap, struct gf_import **found, struct gf_reason *why)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    const time_t end = now.tv_sec + PATIENCE_SECONDS;
    gf_status status = gf_imports_get(imports, process, buffer, found, why);

    while (status == GF_NO_RESOURCE && bootstrap && bootstrap->progress && now.tv_sec <= end) {
        bootstrap->progress(bootstrap->ctx);
        sched_yield();
        status = gf_imports_get(imports, process, buffer, found, why);
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    return status == GF_NO_RESOURCE ? GF_ERR_UNSUPPORTED : status;
}

void gf_imports_share(struct gf_imports *imports, struct gf_import *import)
{
    pthread_mutex_lock(&imports->lock);
    import->uses++;
    pthread_mutex_unlock(&imports->lock);
}

/* The lock is held. */
static void end_use(struct gf_imports *imports, struct gf_import *import)
{
    assert(import->uses > 0 && "a mapping is given back once for each use");
    if (--import->uses > 0) {
        return;
    }
    if (import->unwanted || !import->address) {
        unmap(imports, import);
        return;
    }
    add_to_idle(imports, import);
    if (imports->idle > GF_IMPORTS_IDLE) {
        drop_idle_one(imports, imports->oldest);
    }
}

void gf_imports_put(struct gf_imports *imports, struct gf_import *import)
{
    if (import) {
        pthread_mutex_lock(&imports->lock);
        end_use(imports, import);
        pthread_mutex_unlock(&imports->lock);
    }
}

void gf_imports_drop(struct gf_imports *imports, struct gf_import *import)
{
    if (import) {
        pthread_mutex_lock(&imports->lock);
        import->unwanted = true;
        end_use(imports, import);
        pthread_mutex_unlock(&imports->lock);
    }
}

void gf_imports_hold(struct gf_imports *imports, struct gf_import *import)
{
    pthread_mutex_lock(&imports->lock);
    import->held++;
    pthread_mutex_unlock(&imports->lock);
}

void gf_imports_release(struct gf_imports *imports, struct gf_import *import)
{
    if (import) {
        pthread_mutex_lock(&imports->lock);
        import->held--;
        import->unwanted = true;
        end_use(imports, import);
        pthread_mutex_unlock(&imports->lock);
    }
}

gf_status gf_imports_create(gf_device *device, struct gf_imports **made, struct gf_reason *why)
{
    struct gf_imports *imports = calloc(1, sizeof *imports);

    *made = imports;
    if (!imports) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    imports->device = device;
    pthread_mutex_init(&imports->lock, NULL);
    return GF_OK;
}

void gf_imports_destroy(struct gf_imports *imports)
{
    if (!imports) {
        return;
    }
    for (int i = 0; i < GF_IMPORTS_BUCKETS; i++) {
        while (imports->buckets[i]) {
            unmap(imports, imports->buckets[i]);
        }
    }
    pthread_mutex_destroy(&imports->lock);
    free(imports);
}
