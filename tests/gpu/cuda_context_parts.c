/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The caller's context, threads without one, stream capture, and the ends that a program may put to CUDA, on a real GPU.
 */
#include "tests/gpu/gpu_test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every function of the table once. */
static bool use_all(struct gpu_program *program)
{
    gf_device *device = program->device;
    gf_stream *stream = NULL;
    void *memory = NULL, *managed = NULL, *pinned = NULL;
    struct gf_ipc_handle handle;
    struct gf_reason why = { "" };
    bool ok = gf_device_alloc(device, 1 << 20, &memory, &why) == GF_OK &&
              gf_device_managed_alloc(device, 4096, &managed, &why) == GF_OK &&
              gf_device_pinned_alloc(device, 4096, &pinned, &why) == GF_OK &&
              gf_device_stream_create(device, &stream, &why) == GF_OK;
    struct gpu_program own = { program->driver, device, stream };
    ok = ok && gpu_pattern_write(&own, memory, 5000, 1) == GF_OK && gpu_pattern_is(&own, memory, 5000, 1);
    ok = ok && gf_device_fill(device, stream, memory, 1, 64) == GF_OK && gf_device_stream_sync(device, stream) == GF_OK;
    ok = ok && gf_device_kernel_address(device, memory) == memory && gf_device_kernel_address(device, pinned);
    ok = ok && gf_device_ipc_export(device, memory, &handle, &why) == GF_OK;
    ok = ok && gf_device_ipc_open(device, &handle, &(void *){ NULL }, &why) == GF_ERR_UNSUPPORTED;
    ok = ok && gpu_copy_by_kernel(&own, (char *)memory + 8192, memory, 4096, &why) == GF_OK;
    gf_device_stream_destroy(device, stream);
    ok = gf_device_free(device, memory) == GF_OK && ok;
    ok = gf_device_managed_free(device, managed) == GF_OK && ok;
    return gf_device_pinned_free(device, pinned) == GF_OK && ok;
}

static CUcontext current_context(void)
{
    CUcontext current = NULL;
    gpu_app()->cuCtxGetCurrent(&current);
    return current;
}

static void *use_all_without_context(void *argument)
{
    struct gpu_program *program = argument;
    struct gf_pointer info;
    void *memory = NULL;
    CHECK(current_context() == NULL);
    CHECK(use_all(program));
    CHECK(gf_device_alloc(program->device, 64, &memory, NULL) == GF_OK);
    CHECK(gf_driver_pointer(program->driver, memory, &info) == GF_OK && info.kind == GF_MEMORY_DEVICE);
    CHECK(gf_device_free(program->device, memory) == GF_OK);
    CHECK(current_context() == NULL);
    return NULL;
}

static void on_new_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    if (CHECK(pthread_create(&thread, NULL, function, argument) == 0))
        pthread_join(thread, NULL);
}

void gpu_part_contexts(void)
{
    struct gpu_program program;
    CUcontext other, popped;
    if (!gpu_program_start(&program))
        return;
    CUcontext primary = current_context();
    CHECK(use_all(&program));
    CHECK(gf_device_sync(program.device) == GF_OK);
    CHECK(current_context() == primary);
    on_new_thread(use_all_without_context, &program);
    if (CHECK(gpu_app()->cuCtxCreate_v2(&other, 0, 0) == CUDA_SUCCESS)) {
        CHECK(use_all(&program));
        CHECK(current_context() == other);
        gpu_app()->cuCtxPopCurrent_v2(&popped);
        CHECK(current_context() == primary);
        CHECK(gpu_app()->cuCtxDestroy_v2(other) == CUDA_SUCCESS);
    }
    gpu_program_end(&program);
    CHECK(current_context() == primary);
}

static void *use_all_on_thread(void *program)
{
    CHECK(use_all(program));
    return NULL;
}

/* A capture of the strictest kind forbids most of what we do, to all threads of the program: it must not notice us, also where
 * its stream waits for the default one. Waiting for the whole device is left out: no mode allows that beside a capture, and only
 * a program that asks for it gets it. */
static void use_all_beside_capture(unsigned stream_flags, CUstreamCaptureMode mode)
{
    struct gpu_program program;
    CUstream capturing;
    CUgraph graph = NULL;
    CUdeviceptr memory;
    if (!gpu_program_start(&program))
        return;
    CHECK(use_all(&program));
    CHECK(gpu_app()->cuMemAlloc_v2(&memory, 4096) == CUDA_SUCCESS);
    CHECK(gpu_app()->cuStreamCreate(&capturing, stream_flags) == CUDA_SUCCESS);
    CHECK(gpu_app()->cuStreamBeginCapture_v2(capturing, mode) == CUDA_SUCCESS);
    CHECK(gpu_app()->cuMemsetD8Async(memory, 1, 4096, capturing) == CUDA_SUCCESS);
    CHECK(use_all(&program));
    on_new_thread(use_all_on_thread, &program);
    CHECK(gpu_app()->cuMemsetD8Async(memory, 2, 4096, capturing) == CUDA_SUCCESS);
    CHECK(gpu_app()->cuStreamEndCapture(capturing, &graph) == CUDA_SUCCESS && graph);
    if (graph)
        gpu_app()->cuGraphDestroy(graph);
    gpu_app()->cuStreamDestroy_v2(capturing);
    gpu_app()->cuMemFree_v2(memory);
    gpu_program_end(&program);
}

void gpu_part_capture(void)
{
    static const unsigned flags[] = { CU_STREAM_NON_BLOCKING, CU_STREAM_DEFAULT };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        use_all_beside_capture(flags[i], CU_STREAM_CAPTURE_MODE_GLOBAL);
        use_all_beside_capture(flags[i], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        use_all_beside_capture(flags[i], CU_STREAM_CAPTURE_MODE_RELAXED);
    }
}

/* What a communicator holds when the program ends. */
struct belongings {
    struct gpu_program program;
    void *memory;
    char *pinned;
};
static _Alignas(4096) char segment[4096];

static bool acquire(struct belongings *all)
{
    struct gf_reason why = { "" };
    if (!gpu_program_start(&all->program))
        return false;
    gf_device *device = all->program.device;
    return CHECK(use_all(&all->program)) && CHECK_OK(gf_device_alloc(device, 1 << 20, &all->memory, &why), why) &&
           CHECK_OK(gf_device_pinned_alloc(device, 4096, (void **)&all->pinned, &why), why) &&
           CHECK_OK(gf_device_host_register(device, segment, sizeof segment, &why), why);
}

/* Neither crashes nor hangs; the pinned words are still there. */
static void release(struct belongings *all)
{
    gf_device *device = all->program.device;
    CHECK(gf_device_stream_sync(device, all->program.stream) == GF_ERR_DEVICE);
    all->pinned[0] = 1;
    CHECK(gf_device_host_unregister(device, segment) == GF_OK);
    CHECK(gf_device_pinned_free(device, all->pinned) == GF_OK);
    CHECK(gf_device_free(device, all->memory) == GF_OK);
    gpu_program_end(&all->program);
}

void gpu_part_reset(void)
{
    struct belongings all;
    if (!acquire(&all))
        return;
    CHECK(gpu_app()->cuDevicePrimaryCtxReset_v2(0) == CUDA_SUCCESS);
    release(&all);
}

void gpu_part_reset_and_go_on(void)
{
    struct belongings all, again;
    if (!acquire(&all))
        return;
    CHECK(gpu_app()->cuDevicePrimaryCtxReset_v2(0) == CUDA_SUCCESS);
    CUcontext primary;
    CHECK(gpu_app()->cuDevicePrimaryCtxRetain(&primary, 0) == CUDA_SUCCESS);
    CHECK(gpu_app()->cuCtxSetCurrent(primary) == CUDA_SUCCESS);
    release(&all);
    if (gpu_program_start(&again.program)) {
        CHECK(use_all(&again.program));
        gpu_program_end(&again.program);
    }
}

static struct belongings at_exit;

static void release_at_exit(void)
{
    gf_device *device = at_exit.program.device;
    gf_device_stream_sync(device, at_exit.program.stream);
    at_exit.pinned[0] = 1;
    gf_device_host_unregister(device, segment);
    gf_device_pinned_free(device, at_exit.pinned);
    gf_device_free(device, at_exit.memory);
    gpu_program_end(&at_exit.program);
    CHECK(true);
}

/* Registered before the driver registers its own end, so it runs after that. */
void gpu_part_exit(void)
{
    CHECK(atexit(release_at_exit) == 0);
    if (!acquire(&at_exit))
        _Exit(1);
}

/* A kernel that touches what is nobody's memory: from then on every call fails, with the driver's reason. */
void gpu_part_crash(void)
{
    struct belongings all;
    struct gf_reason why = { "" };
    struct gf_pointer info;
    void *more = NULL;
    if (!acquire(&all))
        return;
    CHECK(gpu_copy_by_kernel(&all.program, (void *)0x10000, all.memory, 4096, &why) == GF_ERR_DEVICE);
    CHECK(gf_device_stream_query(all.program.device, all.program.stream) == GF_ERR_DEVICE);
    CHECK(gf_device_alloc(all.program.device, 64, &more, &why) == GF_ERR_DEVICE);
    gpu_check(strstr(why.text, "CUDA_ERROR_"), "the sentence has the driver's name: %s", why.text);
    printf("%s\n", why.text);
    gf_status status = gf_driver_pointer(all.program.driver, all.memory, &info);
    gpu_check(status == GF_ERR_DEVICE || info.kind == GF_MEMORY_DEVICE,
              "device memory is not taken for host memory after a crash");
    gf_device_host_unregister(all.program.device, segment);
    gf_device_pinned_free(all.program.device, all.pinned);
    gf_device_free(all.program.device, all.memory);
    gpu_program_end(&all.program);
}
