/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fake driver: one GPU, sm_90, whose memory is host memory. Its state is this library's, as a driver's is.
 */
#include "tests/support/fake_cuda_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FAKE_CUDA_VERSION
#define FAKE_CUDA_VERSION 13000
#endif

enum { MEMORIES = 256, STREAMS = 64, FUNCTIONS = 64, STACK = 8 };

struct CUstream_st {
    unsigned long long context;  /* 0: not in use */
};

static struct fake_cuda fake;
static struct fake_range memories[MEMORIES];
static struct CUstream_st streams[STREAMS];
static struct { const char *name; int calls; } functions[FUNCTIONS];
static unsigned long long context_id, last_id;
static char primary_context, foreign_context, module_object, function_objects[16][64];

static _Thread_local CUcontext stack[STACK];
static _Thread_local int depth;
static _Thread_local CUstreamCaptureMode capture;

#define PRIMARY ((CUcontext)&primary_context)

/* Every function begins here: counts the call, and fails if the test wants that. */
CUresult fake_enter(const char *name)
{
    int i = 0;
    while (functions[i].name && strcmp(functions[i].name, name) != 0)
        i++;
    functions[i].name = name;
    functions[i].calls++;
    return fake.fail_function && strcmp(fake.fail_function, name) == 0 ? fake.fail_result : CUDA_SUCCESS;
}

CUresult fake_enter_initialised(const char *name)
{
    CUresult result = fake_enter(name);
    if (result != CUDA_SUCCESS)
        return result;
    return fake.shut_down ? CUDA_ERROR_DEINITIALIZED : fake.initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult fake_enter_context(const char *name)
{
    CUresult result = fake_enter_initialised(name);
    if (result != CUDA_SUCCESS)
        return result;
    if (!depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    return stack[depth - 1] == PRIMARY && !fake.active ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

static CUresult enter_stream(const char *name, CUstream stream)
{
    CUresult result = fake_enter_context(name);
    if (result == CUDA_SUCCESS && stream != CU_STREAM_PER_THREAD && stream->context != context_id)
        fake.misuses++;
    return result;
}
#define ENTER_STREAM(stream) \
    do { CUresult entered = enter_stream(__func__, stream); if (entered != CUDA_SUCCESS) return entered; } while (0)

struct fake_range *fake_find(CUdeviceptr address)
{
    for (int i = 0; i < MEMORIES; i++) {
        if (memories[i].start && address - (CUdeviceptr)memories[i].start < memories[i].bytes)
            return &memories[i];
    }
    return NULL;
}

struct fake_range *fake_note(void *start, size_t bytes, enum fake_memory kind, bool ours)
{
    struct fake_range *memory = memories;
    while (memory->start)
        memory++;
    *memory = (struct fake_range){
        .start = start, .bytes = bytes, .kind = kind, .id = ++last_id, .owner = depth ? stack[depth - 1] : PRIMARY, .ours = ours,
    };
    return memory;
}

void fake_forget(struct fake_range *memory)
{
    if (memory->ours)
        free(memory->start);
    memory->start = NULL;
}

static void forget_all(void)
{
    for (int i = 0; i < MEMORIES; i++) {
        if (memories[i].start)
            fake_forget(&memories[i]);
    }
}

static int calls(const char *function)
{
    for (int i = 0; functions[i].name; i++) {
        if (strcmp(functions[i].name, function) == 0)
            return functions[i].calls;
    }
    return 0;
}

static void reset_device(bool again)
{
    forget_all();
    fake.active = again;
    context_id = ++last_id;
}

static CUdeviceptr make(enum fake_memory kind, size_t bytes)
{
    return (CUdeviceptr)fake_note(calloc(1, bytes), bytes, kind, true)->start;
}

static CUcontext current(void) { return depth ? stack[depth - 1] : NULL; }
static int get_depth(void) { return depth; }
static CUstreamCaptureMode get_capture(void) { return capture; }

static void restart(void)
{
    forget_all();
    memset(functions, 0, sizeof functions);
    memset(streams, 0, sizeof streams);
    depth = 0;
    capture = CU_STREAM_CAPTURE_MODE_GLOBAL;
    fake = (struct fake_cuda){
        .mps = false, .knows_ipc = true, .ipc = true, .devices = 1, .capability = 90, .foreign = (CUcontext)&foreign_context, .calls = calls, .restart = restart,
        .reset_device = reset_device, .make = make, .current = current, .depth = get_depth, .capture = get_capture,
    };
}

__attribute__((visibility("default"))) struct fake_cuda *fake_cuda(void)
{
    if (!fake.calls)
        restart();
    return &fake;
}

CUresult cuInit(unsigned flags) { (void)flags; ENTER(fake_enter); fake.initialised = true; return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int *version) { *version = FAKE_CUDA_VERSION; return fake_enter(__func__); }

CUresult cuGetErrorName(CUresult error, const char **name)
{
    static const struct { CUresult result; const char *name; } names[] = {
        { CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY" }, { CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE" },
        { CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS" },
        { CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED" },
        { CUDA_ERROR_ALREADY_MAPPED, "CUDA_ERROR_ALREADY_MAPPED" }, { CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED" },
    };
    *name = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].result == error)
            *name = names[i].name;
    }
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    *text = error ? "as the fake driver says" : "no error";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) { ENTER(fake_enter_initialised); *count = fake.devices; return CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *device, int ordinal) { ENTER(fake_enter_initialised); *device = ordinal; return CUDA_SUCCESS; }

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device)
{
    int capability = device == 0 ? 90 : fake.capability;
    ENTER(fake_enter_initialised);
    switch ((int)which) {
    case CU_DEVICE_ATTRIBUTE_INTEGRATED: *value = 0; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = capability / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = capability % 10; break;
    case 125: *value = fake.ipc; return fake.knows_ipc ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case 133: *value = fake.mps; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

#ifndef FAKE_CUDA_WITHOUT_UUID
CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    ENTER(fake_enter_initialised);
    memset(uuid, 0x5a + device, sizeof *uuid);
    return CUDA_SUCCESS;
}
#endif

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute which, CUdevice from, CUdevice to)
{
    (void)which;
    ENTER(fake_enter_initialised);
    *value = fake.nvlink;
    return from != to ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetPCIBusId(char *id, int bytes, CUdevice device)
{
    ENTER(fake_enter_initialised);
    snprintf(id, (size_t)bytes, "FFFF:FF:%02X.0", (unsigned)device);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    (void)device;
    ENTER(fake_enter_initialised);
    if (!fake.active)
        context_id = ++last_id;
    fake.active = true;
    fake.retained++;
    *context = PRIMARY;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    (void)device;
    ENTER(fake_enter_initialised);
    if (--fake.retained == 0)
        reset_device(false);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    (void)device;
    ENTER(fake_enter_initialised);
    *flags = 0;
    *active = fake.active;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
    ENTER(fake_enter_initialised);
    *id = context == PRIMARY ? context_id : 1;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) { ENTER(fake_enter_initialised); *context = depth ? stack[depth - 1] : NULL; return CUDA_SUCCESS; }
CUresult cuCtxPushCurrent_v2(CUcontext context) { ENTER(fake_enter_initialised); stack[depth++] = context; return CUDA_SUCCESS; }
CUresult cuCtxPopCurrent_v2(CUcontext *context) { ENTER(fake_enter_initialised); *context = stack[--depth]; return CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice *device) { ENTER(fake_enter_context); *device = 0; return CUDA_SUCCESS; }
CUresult cuCtxSynchronize(void) { return fake_enter_context(__func__); }

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    ENTER(fake_enter_context);
    *least = 0;
    *greatest = -5;
    return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    ENTER(fake_enter_initialised);
    CUstreamCaptureMode before = capture;
    capture = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

static void answer(CUpointer_attribute which, void *data, struct fake_range *memory)
{
    bool host = memory && memory->kind == FAKE_REGISTERED;
    switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(CUmemorytype *)data = !memory ? 0 : host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(int *)data = memory && memory->kind == FAKE_MANAGED; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)data = !memory ? -2 : memory->kind == FAKE_VMM && fake.elsewhere; break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: *(int *)data = memory && memory->kind == FAKE_DEVICE; break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)data = memory ? (CUdeviceptr)memory->start : 0; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)data = memory ? memory->bytes : 0; break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)data = memory ? memory->id : 0; break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(void **)data = memory && memory->kind == FAKE_POOL ? memory : NULL; break;
    case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)data = memory ? memory->owner : NULL; break;
    default: abort();
    }
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute which, CUdeviceptr address)
{
    ENTER(fake_enter_initialised);
    struct fake_range *memory = fake_find(address);
    if (!memory)
        return CUDA_ERROR_INVALID_VALUE;
    if (which != CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
        answer(which, data, memory);
    else if (!depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    else
        *(CUdeviceptr *)data = address + (memory->kind == FAKE_REGISTERED ? FAKE_SHIFT : 0);
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *which, void **data, CUdeviceptr address)
{
    ENTER(fake_enter_initialised);
    struct fake_range *memory = fake_find(address);
    for (unsigned i = 0; i < count; i++)
        answer(which[i], data[i], memory);
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total)
{
    ENTER(fake_enter_context);
    *available = 1ull << 30;
    *total = 4ull << 30;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t bytes)
{
    ENTER(fake_enter_context);
    *memory = make(FAKE_DEVICE, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *memory, size_t bytes, CUstream stream)
{
    ENTER(fake_enter_context);
    if (stream != CU_STREAM_PER_THREAD)
        return CUDA_ERROR_INVALID_VALUE;
    *memory = make(FAKE_POOL, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr *memory, size_t bytes, unsigned flags)
{
    (void)flags;
    ENTER(fake_enter_context);
    *memory = make(FAKE_MANAGED, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    ENTER(fake_enter_context);
    struct fake_range *memory = fake_find(address);
    if (!memory || (CUdeviceptr)memory->start != address)
        return CUDA_ERROR_INVALID_VALUE;
    fake_forget(memory);
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
    (void)flags;
    ENTER(fake_enter_context);
    if (fake_find((CUdeviceptr)address))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    fake_note(address, bytes, FAKE_REGISTERED, false);
    return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *address)
{
    ENTER(fake_enter_context);
    struct fake_range *memory = fake_find((CUdeviceptr)address);
    if (!memory || memory->kind != FAKE_REGISTERED)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    fake_forget(memory);
    return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    ENTER(fake_enter_context);
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &address, sizeof address);
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
{
    (void)handle;
    (void)flags;
    ENTER(fake_enter_context);
    if (fake.maps_once && fake.mappings > 0)
        return CUDA_ERROR_ALREADY_MAPPED;
    *address = make(FAKE_IMPORTED, 4096);
    fake.mappings++;
    return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
    ENTER(fake_enter_context);
    struct fake_range *memory = fake_find(address);
    if (!memory || memory->kind != FAKE_IMPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    fake_forget(memory);
    fake.mappings--;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    ENTER(fake_enter_context);
    if (flags != CU_STREAM_NON_BLOCKING || priority != -5)
        return CUDA_ERROR_INVALID_VALUE;
    *stream = streams;
    while ((*stream)->context)
        ++*stream;
    (*stream)->context = context_id;
    fake.streams++;
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream) { ENTER_STREAM(stream); fake.streams--; stream->context = 0; return CUDA_SUCCESS; }
CUresult cuStreamQuery(CUstream stream) { return enter_stream(__func__, stream); }
CUresult cuStreamSynchronize(CUstream stream) { return enter_stream(__func__, stream); }

CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID which, const CUstreamAttrValue *value)
{
    (void)which;
    (void)value;
    return enter_stream(__func__, stream);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER_STREAM(stream);
    memcpy((void *)to, (const void *)from, bytes);
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
    fake.modules++;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) { (void)module; ENTER(fake_enter_context); fake.modules--; return CUDA_SUCCESS; }

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

CUresult cuLaunchKernel(CUfunction function, unsigned blocks, unsigned y, unsigned z, unsigned threads, unsigned ty, unsigned tz,
                        unsigned shared, CUstream stream, void **parameters, void **extra)
{
    ENTER_STREAM(stream);
    if (y != 1 || z != 1 || ty != 1 || tz != 1 || shared || !parameters || !parameters[0] || extra)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(fake.launched, sizeof fake.launched, "%s", (const char *)function);
    fake.blocks = blocks;
    fake.threads = threads;
    return CUDA_SUCCESS;
}
