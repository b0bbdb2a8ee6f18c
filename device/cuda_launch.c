/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels that nvcc compiled, embedded in this library as one fat binary: loaded into a context with its first launch.
 */
#include "device/cuda_device.h"
#include "kernels/ring_work.h"

struct kernel {
    const char *name;
    size_t bytes;                /* of its work item */
};

static const struct kernel table[GF_KERNEL_COUNT] = {
    [GF_KERNEL_ALLREDUCE_ONE_SHOT] = { "gf_kernel_allreduce_one_shot", sizeof(struct gf_one_shot_work) },
    [GF_KERNEL_ALLREDUCE_ONE_SHOT_FEW] = { "gf_kernel_allreduce_one_shot_few", sizeof(struct gf_one_shot_few_work) },
    [GF_KERNEL_ALLREDUCE_LL128] = { "gf_kernel_allreduce_ll128", sizeof(struct gf_one_shot_work) },
    [GF_KERNEL_ALLREDUCE_LL128_FEW] = { "gf_kernel_allreduce_ll128_few", sizeof(struct gf_one_shot_few_work) },
    [GF_KERNEL_ALLREDUCE_RING] = { "gf_kernel_allreduce_ring", sizeof(struct gf_ring_work) },
    [GF_KERNEL_ALLREDUCE_RING_LENT] = { "gf_kernel_allreduce_ring_lent", sizeof(struct gf_ring_work) },
    [GF_KERNEL_ALLREDUCE_RING_DIRECT] = { "gf_kernel_allreduce_ring_direct", sizeof(struct gf_ring_direct_work) },
    [GF_KERNEL_ALLREDUCE_TWO_SHOT] = { "gf_kernel_allreduce_two_shot", sizeof(struct gf_two_shot_work) },
    [GF_KERNEL_ALLREDUCE_TWO_SHOT_FEW] = { "gf_kernel_allreduce_two_shot_few", sizeof(struct gf_two_shot_few_work) },
    [GF_KERNEL_EXCHANGE] = { "gf_kernel_exchange", sizeof(struct gf_exchange_work) },
    [GF_KERNEL_EXCHANGE_FEW] = { "gf_kernel_exchange_few", sizeof(struct gf_exchange_few_work) },
    [GF_KERNEL_REDUCE_LOCAL] = { "gf_kernel_reduce_local", sizeof(struct gf_local_work) },
    [GF_KERNEL_COPY_LIST] = { "gf_kernel_copy_list", sizeof(struct gf_copy_work) },
    [GF_KERNEL_PULL] = { "gf_kernel_pull", sizeof(struct gf_pull_work) },
    [GF_KERNEL_PULL_LIST] = { "gf_kernel_pull_list", sizeof(struct gf_pull_list_work) },
    [GF_KERNEL_PACK] = { "gf_kernel_pack", sizeof(struct gf_pack_work) },
    [GF_KERNEL_PACK_LIST] = { "gf_kernel_pack_list", sizeof(struct gf_pack_list_work) },
    [GF_KERNEL_AGENT] = { "gf_kernel_agent", sizeof(struct gf_agent_work) },
};

/* The binary does not fit this GPU or this driver: other paths may do. */
static gf_status explain(const struct gf_cuda_device *device, CUresult result, struct gf_reason *why)
{
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    int driver = 0, sm = gf_cuda_capability(device);
    api->cuDriverGetVersion(&driver);
    switch (result) {
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
        gf_reason_set(why, "this gpufifo has no kernels for this GPU (sm_%d): build it with a CUDA toolkit that knows sm_%d, "
                      "and with GF_GPU_ARCH unset or naming %d", sm, sm, sm);
        return GF_ERR_UNSUPPORTED;
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_INVALID_IMAGE:
        gf_reason_set(why, "the NVIDIA driver supports CUDA %d.%d and cannot load kernels for this GPU (sm_%d) that CUDA %d.%d "
                      "built: update the driver, or build gpufifo with an older toolkit", driver / 1000, driver % 1000 / 10,
                      sm, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
        return GF_ERR_UNSUPPORTED;
    default:
        return gf_cuda_fail(api, result, why, "loading gpufifo's kernels into CUDA device %d (sm_%d)", device->base.ordinal, sm);
    }
}

/* Our context is current. The driver may load a function lazily, which can wait for running kernels: do it now, while none of
 * ours runs. */
static gf_status load(struct gf_cuda_device *device)
{
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    struct gf_cuda_kernels *kernels = &device->kernels;
    if (!kernels->image) {
        gf_reason_set(&kernels->why, "this gpufifo was built without nvcc and has no kernels for GPUs: install the CUDA toolkit "
                      "and build it again");
        return GF_ERR_UNSUPPORTED;
    }
    CUresult result = api->cuModuleLoadData(&kernels->module, kernels->image);
    for (int i = 0; i < GF_KERNEL_COUNT && result == CUDA_SUCCESS; i++) {
        result = api->cuModuleGetFunction(&kernels->functions[i], kernels->module, table[i].name);
        if (result == CUDA_SUCCESS && api->cuFuncLoad)
            result = api->cuFuncLoad(kernels->functions[i]);
    }
    if (result == CUDA_SUCCESS)
        return GF_OK;
    if (kernels->module)
        api->cuModuleUnload(kernels->module);
    kernels->module = NULL;
    return explain(device, result, &kernels->why);
}

/* Our context is current. */
static gf_status load_once(struct gf_cuda_device *device, struct gf_reason *why)
{
    struct gf_cuda_kernels *kernels = &device->kernels;
    pthread_mutex_lock(&kernels->lock);
    if (!kernels->tried)
        kernels->status = load(device);
    kernels->tried = true;
    gf_status status = kernels->status;
    pthread_mutex_unlock(&kernels->lock);
    if (status != GF_OK)
        gf_reason_set(why, "%s", kernels->why.text);
    return status;
}

gf_status gf_cuda_kernel_find(struct gf_cuda_device *device, const char *name, CUfunction *function)
{
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    struct gf_cuda_scope scope;
    CUresult result = gf_cuda_enter(device, &scope);
    if (result != CUDA_SUCCESS)
        return gf_cuda_status(result);
    gf_status status = load_once(device, NULL);
    if (status == GF_OK) {
        result = api->cuModuleGetFunction(function, device->kernels.module, name);
        if (result == CUDA_SUCCESS && api->cuFuncLoad)
            result = api->cuFuncLoad(*function);
        status = gf_cuda_status(result);
    }
    gf_cuda_leave(device, &scope);
    return status;
}

static gf_status check(enum gf_kernel kernel, int blocks, int threads, size_t bytes, struct gf_reason *why)
{
    if ((unsigned)kernel >= GF_KERNEL_COUNT) {
        gf_reason_set(why, "there is no kernel %d", (int)kernel);
        return GF_ERR_INVALID;
    }
    if (bytes != table[kernel].bytes) {
        gf_reason_set(why, "%s takes a work item of %zu bytes, not %zu", table[kernel].name, table[kernel].bytes, bytes);
        return GF_ERR_INVALID;
    }
    if (blocks < 1 || threads < 32 || threads > GF_BLOCK_THREADS || threads % 32) {
        gf_reason_set(why, "%s cannot run as %d blocks of %d threads: at least one block, and a multiple of 32 threads up to %d",
                      table[kernel].name, blocks, threads, GF_BLOCK_THREADS);
        return GF_ERR_INVALID;
    }
    return GF_OK;
}

gf_status gf_cuda_launch(gf_device *base, gf_stream *stream, enum gf_kernel kernel, int blocks, int threads,
                         const void *arguments, size_t bytes, struct gf_reason *why)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    gf_status status = check(kernel, blocks, threads, bytes, why);
    if (status != GF_OK)
        return status;
    struct gf_cuda_scope scope;
    CUresult result = gf_cuda_enter(device, &scope);
    if (result != CUDA_SUCCESS)
        return gf_cuda_fail(api, result, why, "launching %s on CUDA device %d", table[kernel].name, base->ordinal);
    status = load_once(device, why);
    if (status == GF_OK) {
        void *parameters[] = { (void *)(uintptr_t)arguments };
        result = api->cuLaunchKernel(device->kernels.functions[kernel], (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, 0,
                                     gf_cuda_stream_handle(stream), parameters, NULL);
        if (result != CUDA_SUCCESS)
            status = gf_cuda_fail(api, result, why, "launching %s on CUDA device %d", table[kernel].name, base->ordinal);
    }
    gf_cuda_leave(device, &scope);
    return status;
}

void gf_cuda_kernels_unload(struct gf_cuda_device *device)
{
    struct gf_cuda_scope scope;
    if (device->kernels.module && gf_cuda_enter(device, &scope) == CUDA_SUCCESS) {
        gf_cuda_api_of(device)->cuModuleUnload(device->kernels.module);
        gf_cuda_leave(device, &scope);
    }
}
