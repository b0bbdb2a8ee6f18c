/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies, which the copy engines do as far as the driver gives them to those.
 *
 * Without MPS the processes of a GPU take turns on it, and what does not go to a copy engine waits for its process's turn. The
 * driver writes 8 B to 16 KiB from the host by the engine of the kernels: 274 µs with 2 processes on an H200, 549 with 4, of
 * cuMemcpyAsync, cuMemcpyBatchAsync and cuMemcpy2DAsync of one row alike. Two rows at a pitch, of 8 B or of 4 KiB, take 8 to 9
 * and 11 to 12 µs; so do 64 KiB at once. So small copies from the host are cut into such rows.
 */
#include "device/cuda_device.h"

enum { FEWEST_BYTES = 6, ENOUGH_BYTES = 64 * 1024 };

/* Two pairs of rows that together are [0, bytes). The rows of a pair begin `pitch` apart and are shorter, so that they cannot
 * be taken for one run: [0, first) and [pitch, pitch + first), then [first, first + second) and [pitch + first, bytes). What
 * the second pair copies again is the same. bytes ≥ FEWEST_BYTES. */
struct rows {
    size_t pitch, first, second;
};

static struct rows cut(size_t bytes)
{
    size_t pitch = bytes / 2, first = (pitch + 1) / 2;

    return (struct rows){ pitch, first, bytes - pitch - first };
}

static CUresult copy_pair(const struct gf_cuda_api *api, CUstream stream, char *to, const char *from, size_t pitch, size_t width)
{
    CUDA_MEMCPY2D pair = {
        .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = from, .srcPitch = pitch,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = (CUdeviceptr)to, .dstPitch = pitch,
        .WidthInBytes = width, .Height = 2,
    };

    return api->cuMemcpy2DAsync_v2(&pair, stream);
}

static CUresult copy_in_rows(const struct gf_cuda_api *api, CUstream stream, char *to, const char *from, size_t bytes)
{
    struct rows rows = cut(bytes);
    CUresult result = copy_pair(api, stream, to, from, rows.pitch, rows.first);

    return result == CUDA_SUCCESS
        ? copy_pair(api, stream, to + rows.first, from + rows.first, rows.pitch, rows.second) : result;
}

/* Would it wait for this process's turn? Of pageable memory the driver takes a copy before it returns, in its own way. */
static bool waits_for_turn(gf_device *device, const void *to, const void *from, size_t bytes)
{
    struct gf_pointer source, target;

    return !device->caps.concurrent_processes && bytes >= FEWEST_BYTES && bytes < ENOUGH_BYTES
        && gf_cuda_pointer(device->driver, from, &source) == GF_OK && source.kind == GF_MEMORY_PINNED
        && gf_cuda_pointer(device->driver, to, &target) == GF_OK && target.kind == GF_MEMORY_DEVICE;
}

gf_status gf_cuda_copy(gf_device *base, gf_stream *stream, void *to, const void *from, size_t bytes)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    CUstream handle = gf_cuda_stream_handle(stream);
    struct gf_cuda_scope scope;

    if (!bytes) {
        return GF_OK;
    }
    bool rows = waits_for_turn(base, to, from, bytes);
    CUresult result = gf_cuda_enter(device, &scope);

    if (result == CUDA_SUCCESS) {
        result = rows ? copy_in_rows(api, handle, to, from, bytes)
                      : api->cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, handle);
        gf_cuda_leave(device, &scope);
    }
    return gf_cuda_status(result);
}
