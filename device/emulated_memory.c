/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allocation and pointer queries of the emulated device's memory. See the header for its layout.
 */
#include "config.h"

#include "device/emulated_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    IMPORT_SHARE = 4,              /* imports have this many times the addresses of the device's memory */
    USER_SHARE = 1 + IMPORT_SHARE,
    ALL_SHARE = 2 * USER_SHARE + 2,
    PATTERN_BYTES = 64 * 1024,     /* so much of new device memory is made useless; the rest stays untouched and free of cost */
    PATTERN = 0xa5
};

static gf_status create_file(struct gf_emulated_memory *memory, size_t bytes, struct gf_reason *why)
{
    struct stat status;

    memory->fd = memfd_create("gpufifo-emulated", MFD_CLOEXEC);
    if (memory->fd < 0 || ftruncate(memory->fd, (off_t)bytes) != 0 || fstat(memory->fd, &status) != 0) {
        gf_reason_set(why, "cannot create a memfd of %zu bytes for the emulated device (%s): ask for less with "
                      "GPUFIFO_EMULATED=memory=BYTES", bytes, strerror(errno));
        return GF_ERR_SYSTEM;
    }
    memory->fd_inode = status.st_ino;
    memory->fd_device = status.st_dev;
    memory->fd_bytes = bytes;
    return GF_OK;
}

static gf_status reserve(struct gf_emulated_memory *memory, size_t bytes, struct gf_reason *why)
{
    size_t all = ALL_SHARE * bytes;
    char *base = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        gf_reason_set(why, "cannot reserve %zu bytes of addresses for the emulated device (%s): raise `ulimit -v`, or ask for "
                      "less with GPUFIFO_EMULATED=memory=BYTES", all, strerror(errno));
        return GF_ERR_NO_MEMORY;
    }
    memory->base = (uintptr_t)base;
    memory->bytes = all;
    memory->distance = USER_SHARE * bytes;
    if (mmap(base + memory->distance, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, memory->fd, 0) == MAP_FAILED) {
        gf_reason_set(why, "cannot map the emulated device's memory (%s)", strerror(errno));
        return GF_ERR_SYSTEM;
    }
    uintptr_t host = memory->base + 2 * memory->distance;
    memory->device = (struct gf_arena){.base = memory->base, .bytes = bytes, .alignment = GF_ARENA_ALIGNMENT};
    memory->imports = (struct gf_arena){
        .base = memory->base + bytes, .bytes = IMPORT_SHARE * bytes, .alignment = GF_ARENA_ALIGNMENT,
    };
    memory->pinned = (struct gf_arena){.base = host, .bytes = bytes, .alignment = GF_ARENA_PAGE};
    memory->managed = (struct gf_arena){.base = host + bytes, .bytes = bytes, .alignment = GF_ARENA_ALIGNMENT};
    return GF_OK;
}

gf_status gf_emulated_memory_create(size_t bytes, struct gf_emulated_memory **created, struct gf_reason *why)
{
    struct gf_emulated_memory *memory = calloc(1, sizeof *memory);
    *created = NULL;
    if (!memory) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    memory->fd = -1;
    pthread_mutex_init(&memory->lock, NULL);
    bytes = (bytes + GF_ARENA_PAGE - 1) / GF_ARENA_PAGE * GF_ARENA_PAGE;
    gf_status status = create_file(memory, bytes, why);
    if (status == GF_OK) {
        status = reserve(memory, bytes, why);
    }
    if (status != GF_OK) {
        gf_emulated_memory_destroy(memory);
        return status;
    }
    *created = memory;
    return GF_OK;
}

void gf_emulated_memory_destroy(struct gf_emulated_memory *memory)
{
    if (memory->base) {
        munmap((void *)memory->base, memory->bytes);
    }
    if (memory->fd >= 0) {
        close(memory->fd);
    }
    free(memory->device.ranges);
    free(memory->imports.ranges);
    free(memory->pinned.ranges);
    free(memory->managed.ranges);
    free(memory->kept.allocations);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}

static struct gf_arena *arena_of_kind(struct gf_emulated_memory *memory, enum gf_memory_kind kind)
{
    switch (kind) {
    case GF_MEMORY_DEVICE:  return &memory->device;
    case GF_MEMORY_PINNED:  return &memory->pinned;
    case GF_MEMORY_MANAGED: return &memory->managed;
    default:                return NULL;
    }
}

static void *kernel_pages(const struct gf_emulated_memory *memory, const struct gf_range *range)
{
    return (void *)(gf_range_pages(range) + memory->distance);
}

static gf_status open_device_pages(struct gf_emulated_memory *memory, const struct gf_range *range)
{
    struct gf_emulated_record record = {
        .magic = GF_EMULATED_RECORD,
        .buffer_id = range->buffer_id,
        .start = range->start - memory->base,
        .bytes = range->bytes,
        .gpu = (uint64_t)memory->gpu,
    };
    off_t place = (off_t)(gf_range_guard(range) - memory->base);

    if (pwrite(memory->fd, &record, sizeof record, place) != (ssize_t)sizeof record
        || mprotect(kernel_pages(memory, range), gf_range_pages_bytes(range), PROT_READ | PROT_WRITE) != 0) {
        return GF_ERR_SYSTEM;
    }
    memset((void *)(range->start + memory->distance), PATTERN, range->bytes < PATTERN_BYTES ? range->bytes : PATTERN_BYTES);
    return GF_OK;
}

static gf_status close_device_pages(struct gf_emulated_memory *memory, const struct gf_range *range)
{
    off_t place = (off_t)(gf_range_guard(range) - memory->base);
    off_t bytes = (off_t)(GF_ARENA_PAGE + gf_range_pages_bytes(range));

    bool closed = mprotect(kernel_pages(memory, range), gf_range_pages_bytes(range), PROT_NONE) == 0;
    bool punched = fallocate(memory->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place, bytes) == 0;
    return closed && punched ? GF_OK : GF_ERR_SYSTEM;
}

static gf_status open_pages(struct gf_emulated_memory *memory, enum gf_memory_kind kind, const struct gf_range *range)
{
    if (kind == GF_MEMORY_DEVICE) {
        return open_device_pages(memory, range);
    }
    void *pages = (void *)gf_range_pages(range);
    return mprotect(pages, gf_range_pages_bytes(range), PROT_READ | PROT_WRITE) == 0 ? GF_OK : GF_ERR_SYSTEM;
}

static gf_status close_pages(struct gf_emulated_memory *memory, enum gf_memory_kind kind, const struct gf_range *range)
{
    if (kind == GF_MEMORY_DEVICE) {
        return close_device_pages(memory, range);
    }
    void *fresh = mmap((void *)gf_range_pages(range), gf_range_pages_bytes(range), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return fresh == MAP_FAILED ? GF_ERR_SYSTEM : GF_OK;
}

static gf_status no_room(const struct gf_arena *arena, size_t bytes, size_t kept, struct gf_reason *why)
{
    size_t unused, largest;
    gf_arena_free(arena, &unused, &largest);
    gf_reason_set(why,
                  "the emulated device has no room for %zu bytes: %zu of %zu are free, at most %zu in one piece, %zu of them "
                  "still mapped by other processes; free some, or set GPUFIFO_EMULATED=memory=BYTES", bytes, unused, arena->bytes,
                  largest, kept);
    return GF_ERR_NO_MEMORY;
}

/* The lock is held. */
static gf_status take(struct gf_emulated_memory *memory, struct gf_arena *arena, size_t bytes, uint64_t id,
                      struct gf_range *range, struct gf_reason *why)
{
    size_t kept = arena == &memory->device ? gf_kept_bytes(&memory->kept, memory->fd) : 0, unused = 0, largest;

    if (kept > 0) {
        gf_arena_free(arena, &unused, &largest);
    }
    if ((kept > 0 && (unused < kept || unused - kept < bytes)) || gf_arena_take(arena, bytes, id, range) != GF_OK) {
        return no_room(arena, bytes, kept, why);
    }
    return GF_OK;
}

/* mark: what the range is marked with. */
static gf_status allocate(struct gf_emulated_memory *memory, enum gf_memory_kind kind, int mark, size_t bytes, void **address,
                          struct gf_reason *why)
{
    struct gf_arena *arena = arena_of_kind(memory, kind);
    struct gf_range range;

    *address = NULL;
    if (!arena) {
        gf_reason_set(why, "memory of kind %d cannot be allocated", (int)kind);
        return GF_ERR_INVALID;
    }
    if (bytes == 0) {
        return GF_OK;
    }
    uint64_t id = atomic_fetch_add_explicit(&memory->last_id, 1, memory_order_relaxed) + 1;
    pthread_mutex_lock(&memory->lock);
    gf_status status = take(memory, arena, bytes, id, &range, why);
    if (status == GF_OK && (status = open_pages(memory, kind, &range)) != GF_OK) {
        gf_reason_set(why, "cannot make %zu bytes accessible for the emulated device (%s): with very many allocations raise "
                      "vm.max_map_count", bytes, strerror(errno));
        close_pages(memory, kind, &range);
        gf_arena_give(arena, range.start);
    }
    if (status == GF_OK) {
        gf_arena_mark(arena, range.start, mark);
    }
    pthread_mutex_unlock(&memory->lock);
    if (status == GF_OK) {
        *address = (void *)range.start;
    }
    return status;
}

gf_status gf_emulated_memory_alloc(struct gf_emulated_memory *memory, enum gf_memory_kind kind, size_t bytes, void **address,
                                   struct gf_reason *why)
{
    return allocate(memory, kind, GF_ALLOCATOR_PLAIN, bytes, address, why);
}

gf_status gf_emulated_memory_alloc_by(struct gf_emulated_memory *memory, enum gf_allocator allocator, size_t bytes,
                                      void **address, struct gf_reason *why)
{
    return allocate(memory, GF_MEMORY_DEVICE, (int)allocator, bytes, address, why);
}

bool gf_emulated_memory_allocator(struct gf_emulated_memory *memory, const void *address, enum gf_allocator *allocator)
{
    pthread_mutex_lock(&memory->lock);
    const struct gf_range *range = gf_arena_find(&memory->device, (uintptr_t)address);
    if (range) {
        *allocator = (enum gf_allocator)range->mark;
    }
    pthread_mutex_unlock(&memory->lock);
    return range != NULL;
}

gf_status gf_emulated_memory_free(struct gf_emulated_memory *memory, enum gf_memory_kind kind, void *address)
{
    struct gf_arena *arena = arena_of_kind(memory, kind);
    uintptr_t start = (uintptr_t)address;

    if (!address) {
        return GF_OK;
    }
    if (!arena) {
        return GF_ERR_INVALID;
    }
    pthread_mutex_lock(&memory->lock);
    const struct gf_range *range = gf_arena_find(arena, start);
    gf_status status = range && range->start == start ? close_pages(memory, kind, range) : GF_ERR_INVALID;
    if (status != GF_ERR_INVALID) {
        if (arena == &memory->device) {
            gf_kept_add(&memory->kept, memory->fd, range->buffer_id, gf_range_pages_bytes(range));
        }
        gf_arena_give(arena, start);
    }
    pthread_mutex_unlock(&memory->lock);
    return status;
}

gf_status gf_emulated_memory_register(struct gf_emulated_memory *memory, void *address, size_t bytes, struct gf_reason *why)
{
    uintptr_t start = (uintptr_t)address;

    if (!address || bytes == 0 || start % GF_ARENA_PAGE != 0 || start + bytes < start) {
        gf_reason_set(why, "cannot register %zu bytes of host memory at %p: give a page-aligned address and a size above 0",
                      bytes, address);
        return GF_ERR_INVALID;
    }
    if (start + bytes > memory->base && start < memory->base + memory->bytes) {
        gf_reason_set(why, "the memory at %p belongs to the emulated device: it needs no registration", address);
        return GF_ERR_INVALID;
    }
    if (msync(address, bytes, MS_ASYNC) != 0) {
        gf_reason_set(why, "cannot register %zu bytes of host memory at %p (%s): map all of it first",
                      bytes, address, strerror(errno));
        return GF_ERR_INVALID;
    }
    uint64_t id = atomic_fetch_add_explicit(&memory->last_id, 1, memory_order_relaxed) + 1;
    pthread_mutex_lock(&memory->lock);
    gf_status status = gf_registered_add(&memory->registered, start, bytes, id, why);
    pthread_mutex_unlock(&memory->lock);
    return status;
}

gf_status gf_emulated_memory_unregister(struct gf_emulated_memory *memory, void *address)
{
    pthread_mutex_lock(&memory->lock);
    gf_status status = gf_registered_remove(&memory->registered, (uintptr_t)address);
    pthread_mutex_unlock(&memory->lock);
    return status;
}

/* The arena that spans the address, or null for the kernel addresses, which no user may pass. */
static const struct gf_arena *arena_at(const struct gf_emulated_memory *memory, uintptr_t address, enum gf_memory_kind *kind)
{
    const struct { const struct gf_arena *arena; enum gf_memory_kind kind; } arenas[] = {
        { &memory->device, GF_MEMORY_DEVICE },
        { &memory->imports, GF_MEMORY_DEVICE },
        { &memory->pinned, GF_MEMORY_PINNED },
        { &memory->managed, GF_MEMORY_MANAGED },
    };
    for (size_t i = 0; i < sizeof arenas / sizeof arenas[0]; i++) {
        if (gf_arena_spans(arenas[i].arena, address)) {
            *kind = arenas[i].kind;
            return arenas[i].arena;
        }
    }
    return NULL;
}

static void query_host(struct gf_emulated_memory *memory, uintptr_t address, struct gf_pointer *info)
{
    struct gf_registered_range range;

    *info = (struct gf_pointer){.kind = GF_MEMORY_HOST, .ordinal = -1};
    if (gf_registered_find(&memory->registered, address, &range)) {
        info->kind = GF_MEMORY_PINNED;
        info->base = (void *)range.start;
        info->size = range.bytes;
        info->buffer_id = range.id;
    }
}

void gf_emulated_memory_query(struct gf_emulated_memory *memory, const void *address, struct gf_pointer *info)
{
    uintptr_t at = (uintptr_t)address;
    enum gf_memory_kind kind = GF_MEMORY_INVALID;

    if (at - memory->base >= memory->bytes) {
        query_host(memory, at, info);
        return;
    }
    *info = (struct gf_pointer){.kind = GF_MEMORY_INVALID, .ordinal = -1};
    const struct gf_arena *arena = arena_at(memory, at, &kind);
    if (!arena) {
        return;
    }
    pthread_mutex_lock(&memory->lock);
    const struct gf_range *range = gf_arena_find(arena, at);
    if (range) {
        *info = (struct gf_pointer){
            .kind = kind,
            .ordinal = kind == GF_MEMORY_PINNED ? -1 : 0,
            .base = (void *)range->start,
            .size = range->bytes,
            .buffer_id = range->buffer_id,
            .ipc = arena == &memory->device && range->mark == GF_ALLOCATOR_PLAIN,
        };
    }
    pthread_mutex_unlock(&memory->lock);
}

void *gf_emulated_memory_reach(struct gf_emulated_memory *memory, const void *address, size_t bytes, enum gf_memory_kind *kind)
{
    struct gf_pointer info;

    gf_emulated_memory_query(memory, address, &info);
    *kind = info.kind;
    if (info.kind == GF_MEMORY_HOST) {
        return (void *)address;
    }
    if (info.kind == GF_MEMORY_INVALID || bytes > info.size - (size_t)((const char *)address - (char *)info.base)) {
        return NULL;
    }
    return (char *)address + (info.kind == GF_MEMORY_DEVICE ? memory->distance : 0);
}

bool gf_emulated_record_read(int fd, uint64_t start, struct gf_emulated_record *record)
{
    off_t place = (off_t)(start / GF_ARENA_PAGE * GF_ARENA_PAGE) - GF_ARENA_PAGE;
    return place >= 0 && pread(fd, record, sizeof *record, place) == (ssize_t)sizeof *record
        && record->magic == GF_EMULATED_RECORD && record->start == start;
}
