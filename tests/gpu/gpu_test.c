/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks, the program's own use of CUDA, and patterns.
 */
#include "tests/gpu/gpu_test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const char *const gpu_memory_names[GPU_MEMORIES] = {
    "cuMemAlloc memory", "pool memory", "VMM memory", "memory of another context", "managed memory", "pinned memory",
    "registered memory", "pageable memory",
};

const struct gpu_app *gpu_app(void)
{
    static const struct { const char *name; size_t offset; } functions[] = {
#define FUNCTION(name) { #name, offsetof(struct gpu_app, name) },
        GPU_APP_FUNCTIONS(FUNCTION)
#undef FUNCTION
        { "cuCtxCreate_v2", offsetof(struct gpu_app, cuCtxCreate_v2) },
    };
    static struct gpu_app app;
    if (app.cuInit)
        return &app;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; library && i < sizeof functions / sizeof functions[0]; i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function)
            break;
        memcpy((char *)&app + functions[i].offset, &function, sizeof function);
    }
    if (!app.cuCtxCreate_v2) {
        fprintf(stderr, "no driver, or one without what this test needs: %s\n", dlerror());
        exit(1);
    }
    return &app;
}

bool gpu_program_start(struct gpu_program *program)
{
    struct gf_reason why = { "" };
    *program = (struct gpu_program){ 0 };
    CUcontext primary;
    CHECK(gpu_app()->cuInit(0) == CUDA_SUCCESS && gpu_app()->cuDevicePrimaryCtxRetain(&primary, 0) == CUDA_SUCCESS &&
          gpu_app()->cuCtxSetCurrent(primary) == CUDA_SUCCESS);
    return CHECK_OK(gf_driver_open("cuda", &program->driver, &why), why) &&
           CHECK_OK(gf_device_open(program->driver, 0, &program->device, &why), why) &&
           CHECK_OK(gf_device_stream_create(program->device, &program->stream, &why), why);
}

void gpu_program_end(struct gpu_program *program)
{
    gf_device_stream_destroy(program->device, program->stream);
    gf_device_close(program->device);
}

static bool make_vmm(struct gpu_buffer *buffer)
{
    const struct gpu_app *app = gpu_app();
    CUmemAllocationProp wanted = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
    };
    CUmemAccessDesc access = { .location = wanted.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    size_t step = 0;
    CUdeviceptr address = 0;
    if (app->cuMemGetAllocationGranularity(&step, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
        return false;
    buffer->bytes = (buffer->bytes + step - 1) / step * step;
    bool made = app->cuMemCreate(&buffer->physical, buffer->bytes, &wanted, 0) == CUDA_SUCCESS &&
                app->cuMemAddressReserve(&address, buffer->bytes, 0, 0, 0) == CUDA_SUCCESS &&
                app->cuMemMap(address, buffer->bytes, 0, buffer->physical, 0) == CUDA_SUCCESS &&
                app->cuMemSetAccess(address, buffer->bytes, &access, 1) == CUDA_SUCCESS;
    buffer->address = (char *)address;
    return made;
}

static bool make_pool(struct gpu_buffer *buffer)
{
    CUdeviceptr address = 0;
    bool made = gpu_app()->cuMemAllocAsync(&address, buffer->bytes, NULL) == CUDA_SUCCESS &&
                gpu_app()->cuStreamSynchronize(NULL) == CUDA_SUCCESS;
    buffer->address = (char *)address;
    return made;
}

static bool make_in_other_context(struct gpu_buffer *buffer)
{
    CUdeviceptr address = 0;
    CUcontext popped;
    if (gpu_app()->cuCtxCreate_v2(&buffer->context, 0, 0) != CUDA_SUCCESS)
        return false;
    bool made = gpu_app()->cuMemAlloc_v2(&address, buffer->bytes) == CUDA_SUCCESS;
    gpu_app()->cuCtxPopCurrent_v2(&popped);
    buffer->address = (char *)address;
    return made;
}

struct gpu_buffer gpu_buffer_make(struct gpu_program *program, enum gpu_memory memory, size_t bytes)
{
    struct gpu_buffer buffer = { .memory = memory, .bytes = bytes };
    void **address = (void **)&buffer.address;
    bool made = false;
    switch (memory) {
    case GPU_ALLOCATED: made = gf_device_alloc(program->device, bytes, address, NULL) == GF_OK; break;
    case GPU_POOL: made = make_pool(&buffer); break;
    case GPU_VMM: made = make_vmm(&buffer); break;
    case GPU_OTHER_CONTEXT: made = make_in_other_context(&buffer); break;
    case GPU_MANAGED: made = gf_device_managed_alloc(program->device, bytes, address, NULL) == GF_OK; break;
    case GPU_PINNED: made = gpu_app()->cuMemHostAlloc(address, bytes, 0) == CUDA_SUCCESS; break;
    case GPU_REGISTERED: made = gf_device_pinned_alloc(program->device, bytes, address, NULL) == GF_OK; break;
    case GPU_PAGEABLE: made = (buffer.address = malloc(bytes)) != NULL; break;
    case GPU_MEMORIES: break;
    }
    if (!gpu_check(made, "the program gets %s", gpu_memory_names[memory]))
        buffer.address = NULL;
    return buffer;
}

void gpu_buffer_free(struct gpu_program *program, struct gpu_buffer *buffer)
{
    const struct gpu_app *app = gpu_app();
    CUdeviceptr address = (CUdeviceptr)buffer->address;
    bool freed = !address;
    switch (address ? buffer->memory : GPU_MEMORIES) {
    case GPU_ALLOCATED: freed = gf_device_free(program->device, buffer->address) == GF_OK; break;
    case GPU_POOL: freed = app->cuMemFreeAsync(address, NULL) == CUDA_SUCCESS; break;
    case GPU_VMM:
        freed = app->cuMemUnmap(address, buffer->bytes) == CUDA_SUCCESS && app->cuMemRelease(buffer->physical) == CUDA_SUCCESS &&
                app->cuMemAddressFree(address, buffer->bytes) == CUDA_SUCCESS;
        break;
    case GPU_OTHER_CONTEXT: freed = app->cuCtxDestroy_v2(buffer->context) == CUDA_SUCCESS; break;
    case GPU_MANAGED: freed = gf_device_managed_free(program->device, buffer->address) == GF_OK; break;
    case GPU_PINNED: freed = app->cuMemFreeHost(buffer->address) == CUDA_SUCCESS; break;
    case GPU_REGISTERED: freed = gf_device_pinned_free(program->device, buffer->address) == GF_OK; break;
    case GPU_PAGEABLE: free(buffer->address); freed = true; break;
    case GPU_MEMORIES: break;
    }
    gpu_check(freed, "%s is freed", gpu_memory_names[buffer->memory]);
    buffer->address = NULL;
}

static unsigned char pattern(size_t place, unsigned seed) { return (unsigned char)((place * 2654435761u + seed * 40503u) >> 11); }

gf_status gpu_pattern_write(struct gpu_program *program, void *to, size_t bytes, unsigned seed)
{
    unsigned char *host = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        host[i] = pattern(i, seed);
    gf_status status = gf_device_copy(program->device, program->stream, to, host, bytes);
    if (status == GF_OK)
        status = gf_device_stream_sync(program->device, program->stream);
    free(host);
    return status;
}

bool gpu_pattern_is(struct gpu_program *program, const void *from, size_t bytes, unsigned seed)
{
    unsigned char *host = calloc(1, bytes);
    gf_status status = gf_device_copy(program->device, program->stream, host, from, bytes);
    if (status == GF_OK)
        status = gf_device_stream_sync(program->device, program->stream);
    size_t right = 0;
    while (status == GF_OK && right < bytes && host[right] == pattern(right, seed))
        right++;
    free(host);
    return right == bytes;
}

/* What the kernel and we share, in pinned memory. */
struct words {
    uint64_t done;
    uint32_t abort, error;
    struct gf_piece piece;
};

gf_status gpu_copy_by_kernel(struct gpu_program *program, void *to, const void *from, size_t bytes, struct gf_reason *why)
{
    gf_device *device = program->device;
    struct words *words = NULL;
    void *blocks_done = NULL;
    gf_status status = gf_device_pinned_alloc(device, sizeof *words, (void **)&words, why);
    if (status == GF_OK)
        status = gf_device_alloc(device, GF_LINE, &blocks_done, why);
    if (status == GF_OK)
        status = gf_device_fill(device, program->stream, blocks_done, 0, GF_LINE);
    if (status == GF_OK) {
        struct words *seen = gf_device_kernel_address(device, words);
        words->piece = (struct gf_piece){ to, from, bytes };
        struct gf_copy_work work = {
            .task = { .ranks = 1, .abort = &seen->abort, .blocks_done = gf_device_kernel_address(device, blocks_done),
                      .done = &seen->done, .error = &seen->error, .ticket = 7 },
            .pieces = &seen->piece, .count = 1,
        };
        status = gf_device_launch(device, program->stream, GF_KERNEL_COPY_LIST, 4, GF_BLOCK_THREADS, &work, sizeof work, why);
    }
    bool ended = status != GF_OK;
    while (!ended && __atomic_load_n(&words->done, __ATOMIC_ACQUIRE) != 7)
        ended = gf_device_stream_query(device, program->stream) != GF_IN_PROGRESS;
    if (status == GF_OK)
        status = gf_device_stream_sync(device, program->stream);
    if (status == GF_OK && words->done != 7)
        status = GF_ERR_DEVICE;
    gf_device_free(device, blocks_done);
    gf_device_pinned_free(device, words);
    return status;
}
