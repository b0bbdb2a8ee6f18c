/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A libcuda.so.1 for tests on machines without a GPU: it exports the functions that gpufifo uses, keeps to the rules of the real
 * one where gpufifo depends on them (contexts, pointer queries, resets), and tells what was called. Memory is host memory.
 *
 * A test gets at it by dlopen("libcuda.so.1") and the symbol fake_cuda. All of it belongs to one thread at a time, except
 * that current contexts and capture modes are per thread.
 */
#ifndef GF_TESTS_FAKE_CUDA_H
#define GF_TESTS_FAKE_CUDA_H

#include "device/cuda_driver.h"

enum { FAKE_SHIFT = 1 << 20 };      /* the device's addresses of registered host memory are this much higher */

enum fake_memory { FAKE_DEVICE, FAKE_POOL, FAKE_MANAGED, FAKE_REGISTERED, FAKE_IMPORTED, FAKE_VMM };

struct fake_cuda {
    /* What the test sets. */
    const char *fail_function;      /* this function fails ... */
    CUresult fail_result;           /* ... with this; null: none */
    bool mps;                       /* the attribute CU_DEVICE_ATTRIBUTE_MPS_ENABLED */
    int write_ordering;             /* CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING; -1: the driver does not know it */
    int host_page_tables;           /* CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES */
    bool knows_ipc;                 /* the driver knows the attribute CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED */
    bool ipc;
    int devices;                    /* how many the process sees; only device 0 can be opened */
    int capability;                 /* compute capability of device 1, times ten; device 0 has 90 */
    bool nvlink;                    /* between devices 0 and 1 */
    bool maps_once;                 /* memory of other processes: refuses a second mapping while there is one */
    bool busy;                      /* a kernel of the program runs; */
    bool full;                      /* none of ours can begin */
    bool elsewhere;                 /* memory of the virtual memory functions is on device 1, */
    bool no_access;                 /* and device 0 has no access to it */
    bool shut_down;                 /* the driver has ended, as it does when the process leaves main */

    /* What the test reads. */
    CUcontext foreign;              /* a context of the program's own */
    bool initialised;
    bool active;                    /* the primary context is there */
    int retained;                   /* references to it */
    int streams, mappings, modules; /* alive */
    int physicals;                  /* alive: memory of the virtual memory functions, by handle or mapping */
    int reservations;               /* of addresses */
    int rows;                       /* of copies by rows */
    int misuses;                    /* uses of an object of a dead context: the real driver may crash */
    int strict_calls;               /* while captures in other threads forbid some: not in relaxed mode */
    bool remote;                    /* the last stream made is of the remote domain of memory synchronisation */
    char launched[64];              /* name of the last kernel launched */
    unsigned blocks, threads;

    int (*calls)(const char *function);      /* how often it was called since the last restart */
    void (*restart)(void);                   /* as if the program had just begun; the settings too */
    void (*reset_device)(bool again);        /* cudaDeviceReset; again: and the program goes on to use CUDA */
    CUdeviceptr (*make)(enum fake_memory kind, size_t bytes);    /* the program's own memory */
    CUcontext (*current)(void);              /* of the calling thread */
    int (*depth)(void);                      /* of its stack of contexts */
    CUstreamCaptureMode (*capture)(void);    /* of the calling thread */
};

struct fake_cuda *fake_cuda(void);

#endif
