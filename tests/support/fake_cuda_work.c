/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fake driver's streams, the copies on them, modules and launches: all is done at once.
 */
#include "tests/support/fake_cuda_private.h"

#include <stdio.h>
#include <string.h>

#include "kernels/work.h"

enum { STREAMS = 64 };

struct CUstream_st {
    unsigned long long context;  /* 0: not in use */
};

static struct CUstream_st streams[STREAMS];
static char module_object, function_objects[32][64];

void fake_forget_streams(void)
{
    memset(streams, 0, sizeof streams);
}

static CUresult enter_stream(const char *name, CUstream stream)
{
    CUresult result = fake_enter_context(name);
    if (result == CUDA_SUCCESS && stream != CU_STREAM_PER_THREAD && stream->context != fake_context_id())
        fake_cuda()->misuses++;
    return result;
}
#define ENTER_STREAM(stream) \
    do { CUresult entered = enter_stream(__func__, stream); if (entered != CUDA_SUCCESS) return entered; } while (0)

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    ENTER(fake_enter_context);
    if (flags != CU_STREAM_NON_BLOCKING || priority != -5)
        return CUDA_ERROR_INVALID_VALUE;
    *stream = streams;
    while ((*stream)->context)
        ++*stream;
    (*stream)->context = fake_context_id();
    fake_cuda()->remote = false;
    fake_cuda()->streams++;
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    ENTER_STREAM(stream);
    fake_cuda()->streams--;
    stream->context = 0;
    return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) { return enter_stream(__func__, stream); }
CUresult cuStreamSynchronize(CUstream stream) { return enter_stream(__func__, stream); }

CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID which, const CUstreamAttrValue *value)
{
    CUresult result = enter_stream(__func__, stream);
#if CUDA_VERSION >= 12000
    fake_cuda()->remote = result == CUDA_SUCCESS && which == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN &&
                          value->memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
#else
    (void)which;
    (void)value;
#endif
    return result;
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER_STREAM(stream);
    memcpy((void *)to, (const void *)from, bytes);
    return CUDA_SUCCESS;
}

/* As the real one, it wants rows that fit into their pitch; and it takes no rows that are one run, which the real one may see,
 * too. */
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    ENTER_STREAM(stream);
    if (copy->srcMemoryType != CU_MEMORYTYPE_HOST || copy->dstMemoryType != CU_MEMORYTYPE_DEVICE
        || copy->WidthInBytes >= copy->srcPitch || copy->WidthInBytes >= copy->dstPitch)
        return CUDA_ERROR_INVALID_VALUE;
    fake_cuda()->rows += (int)copy->Height;
    for (size_t row = 0; row < copy->Height; row++)
        memcpy((char *)copy->dstDevice + row * copy->dstPitch, (const char *)copy->srcHost + row * copy->srcPitch,
               copy->WidthInBytes);
    return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes, CUstream stream)
{
    ENTER_STREAM(stream);
    if (!fake_find(to))
        return CUDA_ERROR_INVALID_VALUE;
    memset((void *)to, byte, bytes);
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    (void)image;
    ENTER(fake_enter_context);
    *module = (CUmodule)&module_object;
    fake_cuda()->modules++;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) { (void)module; ENTER(fake_enter_context); fake_cuda()->modules--; return CUDA_SUCCESS; }

/* A function is the place where its name is kept. */
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    (void)module;
    ENTER(fake_enter_context);
    int i = 0;
    while (function_objects[i][0] && strcmp(function_objects[i], name) != 0)
        i++;
    snprintf(function_objects[i], sizeof function_objects[i], "%s", name);
    *function = (CUfunction)function_objects[i];
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function) { (void)function; return fake_enter_context(__func__); }

static void take_census(const struct gf_census_work *work)
{
    if (!fake_cuda()->full)
        *(uint32_t *)((char *)work->word - FAKE_SHIFT) = work->ticket * 2 + !fake_cuda()->busy;
}

CUresult cuLaunchKernel(CUfunction function, unsigned blocks, unsigned y, unsigned z, unsigned threads, unsigned ty, unsigned tz,
                        unsigned shared, CUstream stream, void **parameters, void **extra)
{
    ENTER_STREAM(stream);
    if (y != 1 || z != 1 || ty != 1 || tz != 1 || shared || !parameters || !parameters[0] || extra)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(fake_cuda()->launched, sizeof fake_cuda()->launched, "%s", (const char *)function);
    fake_cuda()->blocks = blocks;
    fake_cuda()->threads = threads;
    if (strcmp((const char *)function, "gf_kernel_census") == 0)
        take_census(parameters[0]);
    return CUDA_SUCCESS;
}
