/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Does any kernel run in this process? CUDA has no query that leaves the program's stream captures alone: cuCtxRecordEvent and
 * cuCtxSynchronize invalidate them. But a kernel can be launched whose blocks fill the whole GPU, and ask one another whether all
 * of them are there at once (gf_kernel_census): if so, nothing else is. That takes 20 µs.
 *
 * What has been queued behind something else than a kernel of this GPU is not seen. Under MPS kernels of other processes count,
 * since they take room, too: while they leave no moment in which the GPU is empty, the answer is that it is not. A launch that
 * cannot be there as a whole, where MPS allows a process fewer multiprocessors than the driver tells, says the same.
 */
#include "device/cuda_device.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

enum { PATIENCE_US = 1000 };

/* Owner: the device. Made by the first query. */
struct gf_cuda_census {
    gf_stream *stream;
    uint32_t *word;              /* a page of host memory: what the last census has found, with its ticket */
    uint32_t *kernel_word;
    CUfunction function;
    unsigned blocks;             /* that fill the GPU */
    uint32_t ticket;             /* of the census that runs or ran last */
};

static unsigned blocks_of(const struct gf_cuda_device *device)
{
    int multiprocessors = 0, threads = 0;
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    api->cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device->handle);
    api->cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device->handle);
    return (unsigned)(multiprocessors * (threads / GF_BLOCK_THREADS));
}

void gf_cuda_census_end(struct gf_cuda_device *device)
{
    struct gf_cuda_census *census = device->census;
    if (!census)
        return;
    if (census->stream)
        gf_cuda_stream_destroy(&device->base, census->stream);
    if (census->kernel_word)
        gf_cuda_host_unregister(&device->base, census->word);
    free(census->word);
    free(census);
    device->census = NULL;
}

static gf_status make(struct gf_cuda_device *device)
{
    struct gf_cuda_census *census = calloc(1, sizeof *census);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    device->census = census;
    if (!census)
        return GF_ERR_NO_MEMORY;
    census->blocks = blocks_of(device);
    census->word = aligned_alloc(page, page);
    gf_status status = census->word ? gf_cuda_kernel_find(device, "gf_kernel_census", &census->function) : GF_ERR_NO_MEMORY;
    if (status == GF_OK)
        status = gf_cuda_stream_create(&device->base, &census->stream, NULL);
    if (status == GF_OK)
        status = gf_cuda_host_register(&device->base, census->word, page, NULL);
    if (status == GF_OK) {
        *census->word = 0;
        census->kernel_word = gf_cuda_kernel_address(&device->base, census->word);
    }
    return status;
}

/* The last one has told; until then no other may begin. */
static bool has_ended(const struct gf_cuda_census *census)
{
    return (__atomic_load_n(census->word, __ATOMIC_ACQUIRE) & ~1u) == 2 * census->ticket;
}

static CUresult begin(struct gf_cuda_device *device)
{
    struct gf_cuda_census *census = device->census;
    struct gf_census_work work = { .word = census->kernel_word, .ticket = census->ticket + 1 };
    void *parameters[] = { &work };
    struct gf_cuda_scope scope;
    CUresult result = gf_cuda_enter(device, &scope);
    if (result != CUDA_SUCCESS)
        return result;
    result = gf_cuda_api_of(device)->cuLaunchKernel(census->function, census->blocks, 1, 1, GF_BLOCK_THREADS, 1, 1, 0,
                                                    gf_cuda_stream_handle(census->stream), parameters, NULL);
    census->ticket += result == CUDA_SUCCESS;
    gf_cuda_leave(device, &scope);
    return result;
}

static double now_us(void)
{
    return (double)gf_now_ns() * 1e-3;
}

/* census_lock is held. */
static gf_status query(struct gf_cuda_device *device)
{
    struct gf_cuda_census *census = device->census;
    if (!has_ended(census))
        return GF_IN_PROGRESS;
    CUresult result = begin(device);
    double end = now_us() + PATIENCE_US;
    if (result != CUDA_SUCCESS)
        return gf_cuda_status(result);
    while (!has_ended(census) && now_us() < end)
        ;
    return has_ended(census) && *census->word & 1 ? GF_OK : GF_IN_PROGRESS;
}

gf_status gf_cuda_device_query(gf_device *base)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    pthread_mutex_lock(&device->census_lock);
    gf_status status = GF_OK;
    if (!device->census) {
        status = make(device);
        if (status != GF_OK)
            gf_cuda_census_end(device);
    }
    if (status == GF_OK)
        status = query(device);
    pthread_mutex_unlock(&device->census_lock);
    return status;
}
