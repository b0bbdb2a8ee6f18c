/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Export, open and close of emulated device memory.
 */
#include "config.h"

#include "device/emulated_ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the bytes of a gf_ipc_handle are. */
struct handle {
    uint64_t magic;
    int32_t pid, fd;
    uint64_t inode, device;            /* of the memfd: tells a reused pid or fd */
    uint64_t start, bytes;             /* the allocation: offset in the memfd, size */
    uint64_t buffer_id;
    uint64_t offset;                   /* of the exported address within it */
    uint64_t server;                   /* not 0: the memfd is handed out by the exporter's server, see fd_server.h */
};
#define HANDLE_MAGIC 0x67662d6970632d31ull
_Static_assert(sizeof(struct handle) <= GF_IPC_HANDLE_BYTES, "a handle fits");

/* An allocation of another process, mapped here as often as it is open. Guarded by the memory's lock. */
struct gf_import {
    struct gf_import *next;
    struct handle source;              /* its offset does not count */
    struct gf_range range;             /* in the imports arena */
    int gpu;                           /* whose memory it is */
    int fd;                            /* the memfd, by a description of its own, which holds the memory (emulated_kept.h) */
    unsigned opens;
};

/* A record of the memory in the memfd says whether it is there still. */
static int give_fd(void *context, const struct gf_fd_request *request, struct gf_reason *why)
{
    const struct gf_emulated_memory *memory = context;
    struct gf_emulated_record record;

    if (!gf_emulated_record_read(memory->fd, request->what[0], &record) || record.buffer_id != request->what[1]) {
        gf_reason_set(why, "it has freed this memory");
        return -1;
    }
    return fcntl(memory->fd, F_DUPFD_CLOEXEC, 0);
}

void gf_emulated_ipc_init(struct gf_emulated_memory *memory)
{
    gf_fd_server_init(&memory->server, give_fd, memory);
}

/* How others get at the memory: *server stays 0 where they need none. */
static gf_status find_way(struct gf_emulated_memory *memory, const void *address, uint64_t *server, struct gf_reason *why)
{
    enum gf_allocator allocator;

    if (!gf_emulated_memory_allocator(memory, address, &allocator)) {
        gf_reason_set(why, "%p was imported from another process: only the process that allocated it can export it", address);
        return GF_ERR_UNSUPPORTED;
    }
    switch (allocator) {
    case GF_ALLOCATOR_VMM_FD:
        return gf_fd_server_start(&memory->server, server, why);
    case GF_ALLOCATOR_VMM:
        gf_reason_set(why, "memory of the virtual memory functions that was made without a file descriptor cannot be exported");
        return GF_ERR_UNSUPPORTED;
    case GF_ALLOCATOR_POOL:
        gf_reason_set(why, "memory of a stream-ordered pool cannot be exported");
        return GF_ERR_UNSUPPORTED;
    default:
        return GF_OK;
    }
}

gf_status gf_emulated_ipc_export(struct gf_emulated_memory *memory, const void *address, struct gf_ipc_handle *handle,
                                 struct gf_reason *why)
{
    struct gf_pointer info;
    uint64_t server = 0;

    memset(handle, 0, sizeof *handle);
    gf_emulated_memory_query(memory, address, &info);
    if (info.kind != GF_MEMORY_DEVICE) {
        gf_reason_set(why, "%p is no memory of the emulated device: only that can be exported", address);
        return GF_ERR_INVALID;
    }
    gf_status status = find_way(memory, address, &server, why);
    if (status != GF_OK) {
        return status;
    }
    struct handle contents = {
        .magic = HANDLE_MAGIC,
        .pid = (int32_t)getpid(),
        .fd = memory->fd,
        .inode = memory->fd_inode,
        .device = memory->fd_device,
        .start = (uintptr_t)info.base - memory->device.base,
        .bytes = info.size,
        .buffer_id = info.buffer_id,
        .offset = (uintptr_t)address - (uintptr_t)info.base,
        .server = server,
    };
    memcpy(handle->bytes, &contents, sizeof contents);
    return GF_OK;
}

static gf_status check_handle(const struct gf_emulated_memory *memory, const struct handle *source, struct gf_reason *why)
{
    if (source->magic != HANDLE_MAGIC || source->bytes == 0 || source->offset >= source->bytes
        || source->start < GF_ARENA_PAGE || source->start + source->bytes < source->start) {
        gf_reason_set(why, "these bytes are no handle to memory of an emulated device");
        return GF_ERR_INVALID;
    }
    if (source->inode == memory->fd_inode && source->device == memory->fd_device) {
        gf_reason_set(why, "the handle is this process's own: use the address that was exported");
        return GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}

/* The other process's memfd, or -1 with a reason: as its server hands it out, but by a description that is not that process's, */
static int ask_for_source(const struct handle *source, struct gf_reason *why)
{
    const struct gf_fd_request request = { { source->start, source->buffer_id } };
    char path[64];
    int shared;

    if (gf_fd_ask(source->server, &request, &shared, why) != GF_OK) {
        return -1;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", shared);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        gf_reason_set(why, "cannot open the memory of process %d again (%s: %s)", source->pid, path, strerror(errno));
    }
    close(shared);
    return fd;
}

/* or by its name. */
static int open_source(const struct handle *source, struct gf_reason *why)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", source->pid, source->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        gf_reason_set(why, "cannot reach the memory of process %d (%s: %s): it ended, belongs to another user, or has a PID "
                      "namespace of its own", source->pid, path, strerror(errno));
        return -1;
    }
    if (fstat(fd, &status) != 0 || status.st_ino != source->inode || status.st_dev != source->device) {
        gf_reason_set(why, "process %d is not the one that exported this memory: that one ended, or has a PID namespace of "
                      "its own", source->pid);
        close(fd);
        return -1;
    }
    return fd;
}

/* *gpu: whose memory it is. */
static gf_status check_record(int fd, const struct handle *source, int *gpu, struct gf_reason *why)
{
    struct gf_emulated_record record;

    if (!gf_emulated_record_read(fd, source->start, &record) || record.buffer_id != source->buffer_id
        || record.bytes != source->bytes) {
        gf_reason_set(why, "the handle is stale: process %d has freed this memory since it exported it", source->pid);
        return GF_ERR_INVALID;
    }
    *gpu = (int)record.gpu;
    return GF_OK;
}

static bool same_allocation(const struct handle *a, const struct handle *b)
{
    return a->pid == b->pid && a->inode == b->inode && a->device == b->device && a->buffer_id == b->buffer_id
        && a->start == b->start;
}

static struct gf_import *find_import(struct gf_emulated_memory *memory, const struct handle *source)
{
    struct gf_import *import = memory->first_import;
    while (import && !same_allocation(&import->source, source)) {
        import = import->next;
    }
    return import;
}

static void *kernel_pages(const struct gf_emulated_memory *memory, const struct gf_range *range)
{
    return (void *)(gf_range_pages(range) + memory->distance);
}

/* Leaves inaccessible addresses where an import was; they stay reserved. */
static gf_status unmap(const struct gf_emulated_memory *memory, const struct gf_range *range)
{
    void *fresh = mmap(kernel_pages(memory, range), gf_range_pages_bytes(range), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return fresh == MAP_FAILED ? GF_ERR_SYSTEM : GF_OK;
}

/* As CUDA refuses it, with the option "lingering": memory that its owner has freed and that is mapped here still is in the way
 * of what lies there now. The lock is held. */
static bool is_in_the_way(const struct gf_emulated_memory *memory, const struct handle *source)
{
    for (const struct gf_import *import = memory->first_import; import; import = import->next) {
        const struct handle *other = &import->source;

        if (!other->server && other->pid == source->pid && other->inode == source->inode && other->device == source->device
            && other->start < source->start + source->bytes && source->start < other->start + other->bytes) {
            return true;
        }
    }
    return false;
}

/* Maps an allocation that is not mapped yet; fd is the import's then. The lock is held. */
static gf_status add_import(struct gf_emulated_memory *memory, int fd, const struct handle *source, struct gf_import **added,
                            struct gf_reason *why)
{
    if (memory->lingering && !source->server && is_in_the_way(memory, source)) {
        gf_reason_set(why, "memory that process %d has freed lies in the way of this and is mapped here still", source->pid);
        return GF_ERR_UNSUPPORTED;
    }
    struct gf_import *import = malloc(sizeof *import);
    uint64_t id = atomic_fetch_add_explicit(&memory->last_id, 1, memory_order_relaxed) + 1;

    if (!import || gf_arena_take(&memory->imports, source->bytes, id, &import->range) != GF_OK) {
        gf_reason_set(why, "no addresses are left to map %llu bytes of process %d: close what is not used, or set "
                      "GPUFIFO_EMULATED=memory=BYTES", (unsigned long long)source->bytes, source->pid);
        free(import);
        return GF_ERR_NO_MEMORY;
    }
    const struct gf_range *range = &import->range;
    off_t place = (off_t)(source->start / GF_ARENA_PAGE * GF_ARENA_PAGE);
    gf_status status = GF_OK;
    if (range->start % GF_ARENA_PAGE != source->start % GF_ARENA_PAGE) {
        gf_reason_set(why, "process %d has another version of the emulated device: use one for all", source->pid);
        status = GF_ERR_UNSUPPORTED;
    } else if (mmap(kernel_pages(memory, range), gf_range_pages_bytes(range), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                    fd, place) == MAP_FAILED) {
        gf_reason_set(why, "cannot map %zu bytes of process %d (%s)", range->bytes, source->pid, strerror(errno));
        status = GF_ERR_SYSTEM;
    }
    if (status != GF_OK) {
        gf_arena_give(&memory->imports, range->start);
        free(import);
        return status;
    }
    gf_kept_hold(fd, source->buffer_id);
    import->fd = fd;
    import->source = *source;
    import->opens = 0;
    import->next = memory->first_import;
    memory->first_import = import;
    *added = import;
    return GF_OK;
}

/* Takes an import out of the list and gives its addresses back. The lock is held. */
static gf_status remove_import(struct gf_emulated_memory *memory, struct gf_import *import)
{
    struct gf_import **place = &memory->first_import;
    while (*place != import) {
        place = &(*place)->next;
    }
    *place = import->next;
    gf_status status = unmap(memory, &import->range);
    close(import->fd);
    gf_arena_give(&memory->imports, import->range.start);
    free(import);
    return status;
}

gf_status gf_emulated_ipc_open(struct gf_emulated_memory *memory, const struct gf_ipc_handle *handle, void **address,
                               struct gf_reason *why)
{
    struct handle source;

    *address = NULL;
    memcpy(&source, handle->bytes, sizeof source);
    gf_status status = check_handle(memory, &source, why);
    if (status != GF_OK) {
        return status;
    }
    int fd = source.server ? ask_for_source(&source, why) : open_source(&source, why);
    if (fd < 0) {
        return GF_ERR_UNSUPPORTED;
    }
    pthread_mutex_lock(&memory->lock);
    struct gf_import *import = find_import(memory, &source);
    bool known = import != NULL;
    if (!known) {
        status = add_import(memory, fd, &source, &import, why);
    }
    if (known || status != GF_OK) {
        close(fd);
    }
    /* Once it is mapped: the memory may be freed at any time, and what is checked before says nothing about later. */
    if (status == GF_OK) {
        status = check_record(import->fd, &source, &import->gpu, why);
        if (status == GF_OK) {
            import->opens++;
            *address = (void *)(import->range.start + source.offset);
        } else if (import->opens == 0) {
            remove_import(memory, import);
        }
    }
    pthread_mutex_unlock(&memory->lock);
    return status;
}

/* The lock is held; null: it is no import. */
static struct gf_import *import_at(const struct gf_emulated_memory *memory, const void *address)
{
    struct gf_import *import = memory->first_import;

    while (import && (uintptr_t)address - import->range.start >= import->range.bytes) {
        import = import->next;
    }
    return import;
}

int gf_emulated_ipc_gpu(struct gf_emulated_memory *memory, const void *address)
{
    pthread_mutex_lock(&memory->lock);
    const struct gf_import *import = import_at(memory, address);
    int gpu = import ? import->gpu : memory->gpu;

    pthread_mutex_unlock(&memory->lock);
    return gpu;
}

gf_status gf_emulated_ipc_close(struct gf_emulated_memory *memory, void *address)
{
    gf_status status = GF_ERR_INVALID;

    pthread_mutex_lock(&memory->lock);
    struct gf_import *import = import_at(memory, address);
    if (import) {
        status = --import->opens == 0 ? remove_import(memory, import) : GF_OK;
    }
    pthread_mutex_unlock(&memory->lock);
    return status;
}
