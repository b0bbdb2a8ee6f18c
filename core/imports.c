/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash table of mappings, and when they are closed.
 */
#include "core/imports.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/host_ordered.h"
#include "core/import_words.h"

enum { PATIENCE_NS = 1000 * 1000 * 1000 };

static struct gf_import **bucket_of(struct gf_imports *imports, uint64_t process, uint64_t buffer_id)
{
    uint64_t key = (buffer_id ^ process) * 0x9e3779b97f4a7c15ull;

    return &imports->buckets[key >> 32 & (GF_IMPORTS_BUCKETS - 1)];
}

/* Is it to be closed, as far as those who use it are concerned? */
static bool may_go(const struct gf_import *import)
{
    return import->address && ((import->unwanted && import->uses == 0) || (import->stale && import->uses == import->held));
}

/* Kept for later: one of those that are limited. */
static bool is_idle(const struct gf_import *import)
{
    return import->uses == 0 && !import->unwanted;
}

/* Of one that is idle. */
static void do_without(struct gf_imports *imports, struct gf_import *import)
{
    import->unwanted = true;
    imports->idle--;
}

static void close_mapping(struct gf_imports *imports, struct gf_import *import)
{
    if (import->address) {
        gf_device_ipc_close(imports->device, import->address);
        import->address = import->kernel_address = NULL;
        imports->count--;
    }
}

/* Forgets the one that this link leads to. */
static void unmap(struct gf_imports *imports, struct gf_import **link)
{
    struct gf_import *import = *link;

    *link = import->next;
    imports->idle -= is_idle(import);
    close_mapping(imports, import);
    free(import);
}

/* Closes what may go, if no kernel runs, which is asked only if there is something. Has any been closed? */
static bool close_some(struct gf_imports *imports)
{
    bool asked = false;

    for (int i = 0; i < GF_IMPORTS_BUCKETS; i++) {
        for (struct gf_import **link = &imports->buckets[i]; *link;) {
            struct gf_import *import = *link;

            if (!may_go(import)) {
                link = &import->next;
                continue;
            }
            if (!asked && gf_device_query(imports->device) != GF_OK) {
                return false;
            }
            asked = true;
            if (import->uses == 0) {
                unmap(imports, link);
            } else {
                close_mapping(imports, import);
                link = &import->next;
            }
        }
    }
    return asked;
}

static bool overlaps(const struct gf_import *import, const struct gf_buffer *buffer)
{
    return import->base < buffer->base + buffer->size && buffer->base < import->base + import->size;
}

/* What lay where the new buffer lies has been freed by its owner. */
static void find_stale(struct gf_imports *imports, uint64_t process, const struct gf_buffer *buffer)
{
    for (int i = 0; i < GF_IMPORTS_BUCKETS; i++) {
        for (struct gf_import *import = imports->buckets[i]; import; import = import->next) {
            import->stale |= import->process == process && overlaps(import, buffer);
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
    imports->count++;
    if (!import->kernel_address) {
        close_mapping(imports, import);
        gf_reason_set(why, "kernels cannot reach memory that was mapped from another process");
        return GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}

/* A new buffer is refused where one is mapped still that was freed; small allocations share pieces of memory, so that it need not
 * have overlapped. */
static void do_without_those_of(struct gf_imports *imports, uint64_t process)
{
    for (int i = 0; i < GF_IMPORTS_BUCKETS; i++) {
        for (struct gf_import *import = imports->buckets[i]; import; import = import->next) {
            if (import->process == process && is_idle(import)) {
                do_without(imports, import);
            }
        }
    }
}

/* Will anything of that process go some day, so that there is reason to come again? */
static bool any_will_go(const struct gf_imports *imports, uint64_t process)
{
    for (int i = 0; i < GF_IMPORTS_BUCKETS; i++) {
        for (const struct gf_import *import = imports->buckets[i]; import; import = import->next) {
            if (import->process == process && import->address && (import->stale || import->unwanted)) {
                return true;
            }
        }
    }
    return false;
}

static gf_status make_room(struct gf_imports *imports, struct gf_reason *why)
{
    if (imports->count >= GF_IMPORTS_MOST && !close_some(imports)) {
        gf_reason_set(why, "%d allocations of other processes are mapped", GF_IMPORTS_MOST);
        return GF_NO_RESOURCE;
    }
    return GF_OK;
}

static gf_status map(struct gf_imports *imports, uint64_t process, const struct gf_buffer *buffer, struct gf_import *import,
                     struct gf_reason *why)
{
    gf_status status = make_room(imports, why);

    if (status != GF_OK) {
        return status;
    }
    find_stale(imports, process, buffer);
    status = open_mapping(imports, buffer, import, why);
    for (int try = 0; try < 2 && status == GF_ERR_UNSUPPORTED; try++) {
        if (try == 1) {
            do_without_those_of(imports, process);
        }
        if (close_some(imports)) {
            status = open_mapping(imports, buffer, import, why);
        }
    }
    return status == GF_ERR_UNSUPPORTED && any_will_go(imports, process) ? GF_NO_RESOURCE : status;
}

static gf_status add(struct gf_imports *imports, uint64_t process, const struct gf_buffer *buffer, struct gf_import **added,
                     struct gf_reason *why)
{
    struct gf_import *import = calloc(1, sizeof *import);

    if (!import) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    gf_status status = map(imports, process, buffer, import, why);

    if (status != GF_OK) {
        free(import);
        return status;
    }
    struct gf_import **bucket = bucket_of(imports, process, buffer->id);

    import->process = process;
    import->buffer_id = buffer->id;
    import->base = buffer->base;
    import->size = buffer->size;
    import->word = gf_import_word(&imports->words, process, buffer);
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
    } else if (is_idle(import)) {
        imports->idle--;
    } else if (import->uses == 0) {
        import->unwanted = false;
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
    const uint64_t end = gf_now_ns() + PATIENCE_NS;
    gf_status status = gf_imports_get(imports, process, buffer, found, why);

    while (status == GF_NO_RESOURCE && bootstrap && bootstrap->progress && gf_now_ns() <= end) {
        bootstrap->progress(bootstrap->ctx);
        sched_yield();
        status = gf_imports_get(imports, process, buffer, found, why);
    }
    return status == GF_NO_RESOURCE ? GF_ERR_UNSUPPORTED : status;
}

void gf_imports_share(struct gf_imports *imports, struct gf_import *import)
{
    pthread_mutex_lock(&imports->lock);
    import->uses++;
    pthread_mutex_unlock(&imports->lock);
}

static void limit_idle(struct gf_imports *imports)
{
    struct gf_import *oldest = NULL;

    for (int i = 0; i < GF_IMPORTS_BUCKETS && imports->idle > GF_IMPORTS_IDLE; i++) {
        for (struct gf_import *import = imports->buckets[i]; import; import = import->next) {
            if (is_idle(import) && (!oldest || import->last_use < oldest->last_use)) {
                oldest = import;
            }
        }
    }
    if (oldest) {
        do_without(imports, oldest);
    }
}

/* The lock is held. */
static void end_use(struct gf_imports *imports, struct gf_import *import)
{
    assert(import->uses > 0 && "a mapping is given back once for each use");
    if (--import->uses > 0) {
        return;
    }
    if (!import->address) {
        struct gf_import **link = bucket_of(imports, import->process, import->buffer_id);

        while (*link != import) {
            link = &(*link)->next;
        }
        unmap(imports, link);
        return;
    }
    import->last_use = ++imports->turn;
    imports->idle += is_idle(import);
    limit_idle(imports);
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
        close_some(imports);
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
        close_some(imports);
        pthread_mutex_unlock(&imports->lock);
    }
}

void gf_imports_look(struct gf_imports *imports)
{
    pthread_mutex_lock(&imports->lock);
    for (int i = 0; i < GF_IMPORTS_BUCKETS; i++) {
        for (struct gf_import *import = imports->buckets[i]; import; import = import->next) {
            import->stale |= import->word && gf_host_observe(import->word) != import->buffer_id;
        }
    }
    close_some(imports);
    pthread_mutex_unlock(&imports->lock);
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
    gf_exports_init(&imports->exports, device);
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
            unmap(imports, &imports->buckets[i]);
        }
    }
    gf_import_words_clear(&imports->words);
    gf_exports_destroy(&imports->exports);
    pthread_mutex_destroy(&imports->lock);
    free(imports);
}
