/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device adaptor: what gpufifo asks of an accelerator. Everything above this folder meets devices only here.
 *
 *   gf_driver   one a process and kind ("cuda", "emulated"): answers pointer queries, opens devices
 *   gf_device   one GPU: memory, IPC, streams, kernels
 *
 * Addresses. A *user address* is what the program holds and what every function here takes and returns. Code that runs on the
 * device reaches the same memory under its *kernel address* (gf_device_kernel_address); on CUDA the two are equal for
 * device memory, on the emulated device the user address is PROT_NONE. Only kernel addresses go into work items.
 *
 * Threads: every function may be called from any thread. The caller's current CUDA context is the same after the call.
 * No function waits for the device unless its comment says so.
 */
#ifndef GF_DEVICE_DEVICE_H
#define GF_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/status.h"
#include "kernels/work.h"

enum gf_memory_kind {
    GF_MEMORY_HOST,      /* the driver does not know it: pageable host memory */
    GF_MEMORY_PINNED,    /* host memory that the device reaches */
    GF_MEMORY_MANAGED,   /* both sides may touch it */
    GF_MEMORY_DEVICE,    /* the CPU must not touch it */
    GF_MEMORY_INVALID    /* in the device's address range, but not allocated: a freed pointer */
};

struct gf_pointer {
    enum gf_memory_kind kind;
    int ordinal;          /* device it lives on; -1 for host memory */
    void *base;           /* start of the allocation, null for host memory */
    size_t size;          /* bytes of the allocation */
    uint64_t buffer_id;   /* never reused within a process: tells a new allocation at an old address */
    bool ipc;             /* plain device memory, which gf_device_ipc_export names by a handle alone; other device memory may be
                             exported, too, but then by a file descriptor, or not */
    bool direct;          /* kernels reach it at this very address: no need to ask gf_device_kernel_address. False says
                             nothing. */
};

/* What made device memory, and so how other processes get at it. */
enum gf_allocator {
    GF_ALLOCATOR_PLAIN,      /* cudaMalloc: by a handle */
    GF_ALLOCATOR_VMM_FD,     /* the virtual memory functions, exportable: by a file descriptor */
    GF_ALLOCATOR_VMM,        /* the same functions, not exportable: not at all */
    GF_ALLOCATOR_POOL        /* a stream-ordered pool, cudaMallocAsync: not at all */
};

/* Is what an adapter writes into the device's memory seen by its kernels before what it writes, or lets the host write, later, so
 * that no flush is needed in between? And who says so: the driver, or, where that does not tell, what kind of device it is. */
enum gf_arrivals {
    GF_ARRIVALS_UNORDERED,          /* a flush is needed */
    GF_ARRIVALS_BY_DRIVER,
    GF_ARRIVALS_BY_COHERENT_LINK,   /* it shares the page tables of the host */
    GF_ARRIVALS_BY_CAPABILITY       /* it is of capability 9.0 or newer */
};

struct gf_device_caps {
    bool ipc;                    /* memory can be mapped by other processes */
    bool concurrent_processes;   /* kernels of several processes run at once here (MPS, or emulated): see rule 9 of the design.
                                    False says nothing against one process alone on the device. */
    bool line128_atomic;         /* an aligned 128-byte store of a warp arrives whole in this device's own memory */
    bool host_types;             /* kernels know the types of gf_type_is_host_only too (the emulated device) */
    bool copies_beside_kernels;  /* a copy from this device's memory to this device's memory does not wait for kernels of the
                                    process that run, as copies to and from the host never do */
    enum gf_arrivals arrivals;
    bool on_host_cores;          /* its kernels run on the cores of the host (the emulated device): who waits for them had better
                                    let others run */
    int blocks;                  /* blocks of GF_BLOCK_THREADS threads that run at once */
    int numa_node;               /* nearest NUMA node, -1 unknown */
    char pci[16];                /* address on the bus, as "0000:1b:00.0"; empty: none is known */
    unsigned char uuid[16];      /* equal in two processes exactly if the device is the same */
};

#define GF_IPC_HANDLE_BYTES 96

/* A range of device memory for another process of this host. Plain bytes: send it as it is. */
struct gf_ipc_handle {
    unsigned char bytes[GF_IPC_HANDLE_BYTES];
};

/* Device memory as adapters take it: what one asks for begins at `offset` of what the descriptor names. */
struct gf_dmabuf {
    int fd;                      /* of whoever asked; the memory stays an adapter's that has taken it when this is closed */
    uint64_t offset;
};

typedef struct gf_driver gf_driver;
typedef struct gf_device gf_device;
typedef struct gf_stream gf_stream;   /* an ordered queue of work; one thread at a time */

struct gf_driver_ops {
    const char *name;
    gf_status (*pointer)(gf_driver *, const void *address, struct gf_pointer *info);
    int (*device_count)(gf_driver *);
    gf_status (*device_open)(gf_driver *, int ordinal, gf_device **device, struct gf_reason *why);
};

struct gf_device_ops {
    gf_status (*alloc)(gf_device *, size_t bytes, void **address, struct gf_reason *why);
    gf_status (*alloc_by)(gf_device *, enum gf_allocator, size_t bytes, void **address, struct gf_reason *why);
    gf_status (*free)(gf_device *, void *address);
    gf_status (*pinned_alloc)(gf_device *, size_t bytes, void **address, struct gf_reason *why);
    gf_status (*pinned_free)(gf_device *, void *address);
    gf_status (*managed_alloc)(gf_device *, size_t bytes, void **address, struct gf_reason *why);
    gf_status (*managed_free)(gf_device *, void *address);
    gf_status (*host_register)(gf_device *, void *address, size_t bytes, struct gf_reason *why);
    gf_status (*host_unregister)(gf_device *, void *address);
    void *(*kernel_address)(gf_device *, const void *address);
    gf_status (*ipc_export)(gf_device *, const void *address, struct gf_ipc_handle *handle, struct gf_reason *why);
    gf_status (*ipc_open)(gf_device *, const struct gf_ipc_handle *handle, void **address, struct gf_reason *why);
    gf_status (*ipc_close)(gf_device *, void *address);
    gf_status (*dmabuf_export)(gf_device *, const void *address, size_t bytes, struct gf_dmabuf *dmabuf, struct gf_reason *why);
    gf_status (*whole_lines)(gf_device *, const unsigned char *uuid, struct gf_reason *why);
    gf_status (*stream_create)(gf_device *, gf_stream **stream, struct gf_reason *why);
    void (*stream_destroy)(gf_device *, gf_stream *stream);
    gf_status (*copy)(gf_device *, gf_stream *, void *to, const void *from, size_t bytes);
    gf_status (*copy_at_once)(gf_device *, void *to, const void *from, size_t bytes);      /* null: it has none */
    gf_status (*fill)(gf_device *, gf_stream *, void *to, int byte, size_t bytes);
    gf_status (*stream_query)(gf_device *, gf_stream *);
    gf_status (*stream_sync)(gf_device *, gf_stream *);
    gf_status (*device_sync)(gf_device *);
    gf_status (*device_query)(gf_device *);
    gf_status (*launch)(gf_device *, gf_stream *, enum gf_kernel kernel, int blocks, int threads,
                        const void *arguments, size_t bytes, struct gf_reason *why);
    void (*close)(gf_device *);
};

struct gf_driver {
    const struct gf_driver_ops *ops;
    uint64_t process;              /* random: tells this process from others, across PID namespaces, and from earlier ones of
                                      its pid */
};

struct gf_device {
    const struct gf_device_ops *ops;
    gf_driver *driver;
    int ordinal;
    struct gf_device_caps caps;    /* fixed once the device is open */
    uint64_t queued;               /* copies, fills and kernels so far; atomic: any thread */
};

static inline void gf_device_count(gf_device *d) { __atomic_fetch_add(&d->queued, 1, __ATOMIC_RELAXED); }

/* Is the driver of this kind there at all? Cheap: touches no device, creates no context. For CUDA: libcuda.so.1 loads
 * and a GPU's device node exists. */
bool gf_driver_available(const char *name, struct gf_reason *why);

/* name: "cuda" or "emulated". The driver is the process's one of that kind and lives until exit; do not free it.
 * For CUDA, neither cuInit nor a context happens here. */
gf_status gf_driver_open(const char *name, gf_driver **driver, struct gf_reason *why);

/* What the address is. Cheap enough for every call: no context is made; before the program has initialised CUDA every
 * address is host memory. Memory that the driver does not know is GF_MEMORY_HOST. */
static inline gf_status gf_driver_pointer(gf_driver *driver, const void *address, struct gf_pointer *info)
{
    return driver->ops->pointer(driver, address, info);
}

/* Opens the process's device of that ordinal; reference-counted: every open needs its gf_device_close. */
static inline gf_status gf_device_open(gf_driver *driver, int ordinal, gf_device **device, struct gf_reason *why)
{
    return driver->ops->device_open(driver, ordinal, device, why);
}

static inline void gf_device_close(gf_device *device) { device->ops->close(device); }

/* Device memory of this process, aligned to 256 bytes. free gives it back at once and waits for work that may use it, as
 * cudaFree. */
static inline gf_status gf_device_alloc(gf_device *d, size_t bytes, void **address, struct gf_reason *why)
{
    return d->ops->alloc(d, bytes, address, why);
}

static inline gf_status gf_device_free(gf_device *d, void *address) { return d->ops->free(d, address); }

/* Device memory as programs have it that use another allocator; free as above. GF_ERR_UNSUPPORTED where the device has none
 * such. */
static inline gf_status gf_device_alloc_by(gf_device *d, enum gf_allocator by, size_t bytes, void **address,
                                           struct gf_reason *why)
{
    return d->ops->alloc_by(d, by, bytes, address, why);
}

/* Host memory that kernels and copy engines reach, page-aligned, zeroed; and memory that migrates between host and device. Each
 * has a free of its own. */
static inline gf_status gf_device_pinned_alloc(gf_device *d, size_t bytes, void **address, struct gf_reason *why)
{
    return d->ops->pinned_alloc(d, bytes, address, why);
}

static inline gf_status gf_device_pinned_free(gf_device *d, void *address) { return d->ops->pinned_free(d, address); }

static inline gf_status gf_device_managed_alloc(gf_device *d, size_t bytes, void **address, struct gf_reason *why)
{
    return d->ops->managed_alloc(d, bytes, address, why);
}

static inline gf_status gf_device_managed_free(gf_device *d, void *address) { return d->ops->managed_free(d, address); }

/* Makes existing host memory (a shared segment, page-aligned) reachable for kernels; unregister before unmapping it. */
static inline gf_status gf_device_host_register(gf_device *d, void *address, size_t bytes, struct gf_reason *why)
{
    return d->ops->host_register(d, address, bytes, why);
}

static inline gf_status gf_device_host_unregister(gf_device *d, void *address) { return d->ops->host_unregister(d, address); }

/* The address by which kernels reach this memory (device, pinned, registered, managed or imported); null if they cannot. */
static inline void *gf_device_kernel_address(gf_device *d, const void *address) { return d->ops->kernel_address(d, address); }

/* IPC. export names the whole allocation plus the offset of address in it; open maps it and returns the user address that
 * corresponds to the exported one; opening one allocation twice is allowed and counted. close takes what open returned.
 * Memory of the virtual memory functions goes by a file descriptor, which the exporter's process hands out while the allocation
 * lives (device/fd_server.h): open asks for it, and may wait for the answer for some seconds.
 * GF_ERR_UNSUPPORTED where this memory or this pair of processes cannot: the caller takes its next path. */
static inline gf_status gf_device_ipc_export(gf_device *d, const void *address, struct gf_ipc_handle *handle,
                                             struct gf_reason *why)
{
    return d->ops->ipc_export(d, address, handle, why);
}

static inline gf_status gf_device_ipc_open(gf_device *d, const struct gf_ipc_handle *handle, void **address,
                                           struct gf_reason *why)
{
    return d->ops->ipc_open(d, handle, address, why);
}

static inline gf_status gf_device_ipc_close(gf_device *d, void *address) { return d->ops->ipc_close(d, address); }

/* This device's memory as a dma-buf. GF_ERR_UNSUPPORTED with a sentence: the driver has none for it. */
static inline gf_status gf_device_dmabuf_export(gf_device *d, const void *address, size_t bytes, struct gf_dmabuf *dmabuf,
                                                struct gf_reason *why)
{
    return d->ops->dmabuf_export(d, address, bytes, dmabuf, why);
}

/* Does an aligned 128-byte store by which a warp of this device writes into memory of the device with that uuid, mapped by IPC,
 * arrive whole, and is it loaded so there? GF_ERR_UNSUPPORTED with a sentence: no, or nobody knows. Symmetrical. */
static inline gf_status gf_device_whole_lines(gf_device *d, const unsigned char uuid[16], struct gf_reason *why)
{
    return d->ops->whole_lines(d, uuid, why);
}

/* Streams run their work in order and beside other streams, not synchronised with the program's default stream;
 * of high priority where the device has priorities. destroy waits for the stream. */
static inline gf_status gf_device_stream_create(gf_device *d, gf_stream **stream, struct gf_reason *why)
{
    return d->ops->stream_create(d, stream, why);
}

static inline void gf_device_stream_destroy(gf_device *d, gf_stream *stream) { d->ops->stream_destroy(d, stream); }

/* Queue a copy between any two kinds of memory, or a fill. Pageable host memory is allowed; then the call may wait. */
static inline gf_status gf_device_copy(gf_device *d, gf_stream *s, void *to, const void *from, size_t bytes)
{
    gf_device_count(d);
    return d->ops->copy(d, s, to, from, bytes);
}

static inline gf_status gf_device_fill(gf_device *d, gf_stream *s, void *to, int byte, size_t bytes)
{
    gf_device_count(d);
    return d->ops->fill(d, s, to, byte, bytes);
}

/* A copy by the calling thread, where the host reaches the device's memory: done on return, beside whatever is queued. What is
 * longer than GF_AT_ONCE_BYTES had better be queued. GF_ERR_UNSUPPORTED: there is no such way here, queue it. Else as above. */
enum { GF_AT_ONCE_BYTES = 1024 };
static inline gf_status gf_device_copy_at_once(gf_device *d, void *to, const void *from, size_t bytes)
{
    return d->ops->copy_at_once ? d->ops->copy_at_once(d, to, from, bytes) : GF_ERR_UNSUPPORTED;
}

/* query: GF_OK when all queued work is done, GF_IN_PROGRESS, or the error it ended with. sync waits for that; gf_device_sync for
 * all work of this process on the device, the program's too. */
static inline gf_status gf_device_stream_query(gf_device *d, gf_stream *s) { return d->ops->stream_query(d, s); }
static inline gf_status gf_device_stream_sync(gf_device *d, gf_stream *s) { return d->ops->stream_sync(d, s); }
static inline gf_status gf_device_sync(gf_device *d) { return d->ops->device_sync(d); }

/* Does any kernel of this process run, also of the program's? GF_OK: none. GF_IN_PROGRESS: there may be one. Else an error, or
 * GF_ERR_UNSUPPORTED where that cannot be told. May take 20 µs of the whole device, and wait for a millisecond. */
static inline gf_status gf_device_query(gf_device *d) { return d->ops->device_query(d); }

/* Queue a kernel. arguments: the kernel's work item (see kernels/work.h), copied before return. threads: a multiple of
 * 32 up to GF_BLOCK_THREADS; the emulated device uses its own, smaller team. GF_ERR_UNSUPPORTED where the binary has no code
 * for this GPU. */
static inline gf_status gf_device_launch(gf_device *d, gf_stream *s, enum gf_kernel kernel, int blocks, int threads,
                                         const void *arguments, size_t bytes, struct gf_reason *why)
{
    gf_device_count(d);
    return d->ops->launch(d, s, kernel, blocks, threads, arguments, bytes, why);
}

#endif
