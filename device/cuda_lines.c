/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the 128 aligned bytes that eight lanes of a warp store by one instruction arrive whole.
 *
 * NVIDIA documents it nowhere. It holds within a GPU, whose shared cache keeps such lines, and over NVLink, whose packets carry
 * them; not over PCIe, and not in host memory, where lines have 64 bytes. NCCL relies on it for its own LL128 between GPUs of one
 * compute capability of the data-centre line, and says of others that they are untested and may corrupt data. tests/gpu/run.sh
 * ll128 looks for torn lines on the GPUs at hand.
 */
#include "device/cuda_device.h"

#include <string.h>

/* Not in the cuda.h of all releases. */
enum { P2P_ACCESS = 2, P2P_NATIVE_ATOMICS = 3 };

static int capability_of(const struct gf_cuda_api *api, CUdevice handle)
{
    int major = 0, minor = 0;
    api->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, handle);
    api->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, handle);
    return 10 * major + minor;
}

int gf_cuda_capability(const struct gf_cuda_device *device)
{
    return capability_of(gf_cuda_api_of(device), device->handle);
}

bool gf_cuda_keeps_lines_whole(int capability)
{
    static const int known[] = { 70, 80, 90, 100 };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (capability == known[i])
            return true;
    return false;
}

/* The visible device of that uuid. */
static bool find(const struct gf_cuda_api *api, const unsigned char *uuid, CUdevice *found)
{
    int count = 0;
    CUuuid each;
    if (api->cuDeviceGetCount(&count) != CUDA_SUCCESS)
        return false;
    for (int i = 0; i < count; i++)
        if (api->cuDeviceGet(found, i) == CUDA_SUCCESS && api->cuDeviceGetUuid_v2(&each, *found) == CUDA_SUCCESS &&
            memcmp(&each, uuid, sizeof each) == 0)
            return true;
    return false;
}

static bool link_has(const struct gf_cuda_api *api, int which, CUdevice from, CUdevice to)
{
    int value = 0;
    return api->cuDeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)which, from, to) == CUDA_SUCCESS && value == 1;
}

/* Atomic operations of one GPU on the memory of another are native over NVLink only. */
static bool has_nvlink(const struct gf_cuda_api *api, CUdevice a, CUdevice b)
{
    return link_has(api, P2P_ACCESS, a, b) && link_has(api, P2P_NATIVE_ATOMICS, a, b) && link_has(api, P2P_NATIVE_ATOMICS, b, a);
}

gf_status gf_cuda_whole_lines(gf_device *base, const unsigned char *uuid, struct gf_reason *why)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    int mine = gf_cuda_capability(device);
    CUdevice other;
    if (!base->caps.line128_atomic) {
        gf_reason_set(why, "of GPUs of compute capability %d.%d it is not known that they store lines of 128 bytes whole",
                      mine / 10, mine % 10);
        return GF_ERR_UNSUPPORTED;
    }
    if (memcmp(uuid, base->caps.uuid, sizeof base->caps.uuid) == 0)
        return GF_OK;
    if (!find(api, uuid, &other)) {
        gf_reason_set(why, "the peer's GPU is hidden from this process, so nobody knows whether NVLink leads there: look at "
                      "CUDA_VISIBLE_DEVICES");
        return GF_ERR_UNSUPPORTED;
    }
    if (capability_of(api, other) != mine || !has_nvlink(api, device->handle, other)) {
        gf_reason_set(why, "CUDA devices %d and %d are not two of one kind with NVLink between them, so a line of 128 bytes may "
                           "arrive in parts", base->ordinal, other);
        return GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}
