/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the CUDA adaptor share. Nothing outside device/cuda*.c includes this, but for their unit test.
 *
 *   cuda.c          the process's driver, its devices, their capabilities
 *   cuda_context.c  entering and leaving our context, and noticing that it is gone
 *   cuda_memory.c   pointer queries, allocation, registration
 *   cuda_vmm.c      memory of the virtual memory functions and of pools
 *   cuda_ipc.c      memory of other processes
 *   cuda_fd.c       such memory that goes by a file descriptor
 *   cuda_stream.c   streams, fills
 *   cuda_copy.c     copies
 *   cuda_lines.c    where a line of 128 bytes arrives whole
 *   cuda_launch.c   the embedded kernels
 */
#ifndef GF_DEVICE_CUDA_DEVICE_H
#define GF_DEVICE_CUDA_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/cuda_driver.h"
#include "device/device.h"
#include "device/fd_server.h"

enum { GF_CUDA_DEVICES = 64 };   /* most devices of one process that we handle */

struct gf_cuda_device;
struct gf_cuda_mapping;          /* cuda_ipc.c */
struct gf_cuda_piece;            /* cuda_vmm.c */

/* What a gf_ipc_handle holds. */
struct gf_cuda_handle {
    union {
        CUipcMemHandle allocation;
        struct {                 /* is_fd: whom to ask for the descriptor, and by which address there */
            uint64_t server, base;
        } by_fd;
    };
    uint64_t offset;             /* of the exported address in the allocation */
    uint64_t bytes : 56;         /* of the allocation */
    uint64_t is_fd : 8;
    uint64_t buffer_id;          /* of the exporter: a later allocation at the same place may have an equal CUipcMemHandle */
    uint64_t process;            /* the exporter, gf_driver.process */
};
_Static_assert(sizeof(struct gf_cuda_handle) <= GF_IPC_HANDLE_BYTES, "our handle fits into a gf_ipc_handle");

/* The process's one CUDA driver: made on first request, lives until exit. */
struct gf_cuda_driver {
    gf_driver base;              /* first */
    struct gf_cuda_api api;
    struct gf_fd_server server;  /* hands out memory that goes by a file descriptor */
    pthread_mutex_t lock;        /* guards devices[] and the reference counts in them */
    struct gf_cuda_device *devices[GF_CUDA_DEVICES];
    _Atomic(CUcontext) contexts[GF_CUDA_DEVICES];    /* of the devices, null where there is none; read without the lock */
};

/* The embedded kernels in this device's context, loaded with the first launch. Guarded by lock until `tried`. */
struct gf_cuda_kernels {
    const void *image;           /* fat binary; null: built without one */
    pthread_mutex_t lock;
    bool tried;
    gf_status status;            /* of the attempt; it is not repeated */
    struct gf_reason why;
    CUmodule module;
    CUfunction functions[GF_KERNEL_COUNT];
};

/* Made by device_open, freed by the last close once no memory of it is left. */
struct gf_cuda_device {
    gf_device base;              /* first */
    struct gf_cuda_driver *driver;
    int references;              /* under driver->lock */
    atomic_long allocations;     /* alive: they outlive the last close, so the context must too */
    CUdevice handle;
    CUcontext context;           /* the primary context, retained */
    unsigned long long context_id;    /* 0: the driver does not tell */
    pthread_mutex_t mappings_lock;
    struct gf_cuda_mapping *mappings; /* under mappings_lock */
    struct gf_cuda_piece *pieces;     /* likewise */
    struct gf_cuda_kernels kernels;
    pthread_mutex_t census_lock;
    struct gf_cuda_census *census;    /* under census_lock */
};

static inline struct gf_cuda_device *gf_cuda_device_of(gf_device *device) { return (struct gf_cuda_device *)device; }
static inline const struct gf_cuda_api *gf_cuda_api_of(const struct gf_cuda_device *device) { return &device->driver->api; }

/* The caller's state that a call of ours replaces, to be put back. */
struct gf_cuda_scope {
    bool pushed;                 /* our context was not current already */
    CUstreamCaptureMode capture;
};

/* Makes our context current, and lifts the restrictions that a stream capture in this program puts on the calling thread.
 * Each success needs its leave, by the same thread. Fails with CUDA_ERROR_CONTEXT_IS_DESTROYED after a reset of the device. */
CUresult gf_cuda_enter(struct gf_cuda_device *device, struct gf_cuda_scope *scope);
void gf_cuda_leave(struct gf_cuda_device *device, struct gf_cuda_scope *scope);

/* Did the program reset the device, or has the driver shut down? Everything in our context is gone then. */
bool gf_cuda_is_lost(struct gf_cuda_device *device);

/* The functions of the driver's and the device's tables: device.h says what each does, its units, ownership and errors. Any
 * thread may call them; those of one stream, one thread at a time. They enter our context and leave it, and answer
 * GF_ERR_DEVICE, with a sentence where there is room for one, to an error of CUDA's that has no status of its own. */
gf_status gf_cuda_pointer(gf_driver *driver, const void *address, struct gf_pointer *info);

gf_status gf_cuda_alloc(gf_device *device, size_t bytes, void **address, struct gf_reason *why);
gf_status gf_cuda_alloc_by(gf_device *device, enum gf_allocator by, size_t bytes, void **address, struct gf_reason *why);
gf_status gf_cuda_managed_alloc(gf_device *device, size_t bytes, void **address, struct gf_reason *why);
gf_status gf_cuda_free(gf_device *device, void *address);
gf_status gf_cuda_pinned_alloc(gf_device *device, size_t bytes, void **address, struct gf_reason *why);
gf_status gf_cuda_pinned_free(gf_device *device, void *address);
gf_status gf_cuda_host_register(gf_device *device, void *address, size_t bytes, struct gf_reason *why);
gf_status gf_cuda_host_unregister(gf_device *device, void *address);
void *gf_cuda_kernel_address(gf_device *device, const void *address);

/* Maps physical memory at a fresh address, which kernels of this device reach, or leaves nothing; the mapping holds the memory.
 * Our context is current, as for unmap. */
CUresult gf_cuda_vmm_map(struct gf_cuda_device *device, CUmemGenericAllocationHandle physical, size_t bytes, CUdeviceptr *start);
CUresult gf_cuda_vmm_unmap(struct gf_cuda_device *device, CUdeviceptr start, size_t bytes);
/* May kernels of this device load and store there? For memory of the virtual memory functions, on whichever GPU it lies. */
bool gf_cuda_vmm_reaches(struct gf_cuda_device *device, const void *address);
/* Frees it if gf_cuda_alloc_by made it by the virtual memory functions, or else says false. Our context is current. */
bool gf_cuda_vmm_free(struct gf_cuda_device *device, void *address, CUresult *result);
/* The device ends; its memory may have gone with its context. */
void gf_cuda_vmm_forget_all(struct gf_cuda_device *device);

/* Ten times the major plus the minor compute capability: 90 is sm_90. */
int gf_cuda_capability(const struct gf_cuda_device *device);
/* Do GPUs of that capability store and load aligned lines of 128 bytes whole, in their own memory and over NVLink? Those that are
 * known to. */
bool gf_cuda_keeps_lines_whole(int capability);
/* In the device's table. */
gf_status gf_cuda_whole_lines(gf_device *device, const unsigned char *uuid, struct gf_reason *why);

/* In the device's table. */
gf_status gf_cuda_ipc_export(gf_device *device, const void *address, struct gf_ipc_handle *handle, struct gf_reason *why);
gf_status gf_cuda_ipc_open(gf_device *device, const struct gf_ipc_handle *handle, void **address, struct gf_reason *why);
gf_status gf_cuda_ipc_close(gf_device *device, void *address);
/* The device ends: closes what is still open. */
void gf_cuda_ipc_close_all(struct gf_cuda_device *device);

gf_status gf_cuda_dmabuf_export(gf_device *device, const void *address, size_t bytes, struct gf_dmabuf *dmabuf,
                                struct gf_reason *why);

/* A descriptor of memory, for the driver's server; context: the gf_cuda_driver. */
int gf_cuda_fd_give(void *context, const struct gf_fd_request *request, struct gf_reason *why);
/* Can this device memory, no plain allocation, be shared by a descriptor? *server: who hands it out. GF_ERR_UNSUPPORTED with a
 * sentence. */
gf_status gf_cuda_fd_export(struct gf_cuda_device *device, const struct gf_pointer *info, uint64_t *server,
                            struct gf_reason *why);
/* Asks for the descriptor and maps the memory. GF_OK: *result is what the driver says to that; else it was not handed out. */
gf_status gf_cuda_fd_import(struct gf_cuda_device *device, const struct gf_cuda_handle *handle, CUdeviceptr *start,
                            CUresult *result, struct gf_reason *why);

/* In the device's table. */
gf_status gf_cuda_stream_create(gf_device *device, gf_stream **stream, struct gf_reason *why);
void gf_cuda_stream_destroy(gf_device *device, gf_stream *stream);
gf_status gf_cuda_copy(gf_device *device, gf_stream *stream, void *to, const void *from, size_t bytes);
gf_status gf_cuda_fill(gf_device *device, gf_stream *stream, void *to, int byte, size_t bytes);
gf_status gf_cuda_stream_query(gf_device *device, gf_stream *stream);
gf_status gf_cuda_stream_sync(gf_device *device, gf_stream *stream);
gf_status gf_cuda_device_sync(gf_device *device);
gf_status gf_cuda_device_query(gf_device *device);
/* The device ends: waits for the census' kernel and frees what it has. */
void gf_cuda_census_end(struct gf_cuda_device *device);
/* What CUDA calls this stream, for as long as it lives. */
CUstream gf_cuda_stream_handle(gf_stream *stream);

/* In the device's table. */
gf_status gf_cuda_launch(gf_device *device, gf_stream *stream, enum gf_kernel kernel, int blocks, int threads,
                         const void *arguments, size_t bytes, struct gf_reason *why);
/* A kernel of our fat binary that is in no table, by the name in it. Else an error: there is none, or no fat binary. */
gf_status gf_cuda_kernel_find(struct gf_cuda_device *device, const char *name, CUfunction *function);
/* The device ends: no kernel runs any more. */
void gf_cuda_kernels_unload(struct gf_cuda_device *device);

#endif
