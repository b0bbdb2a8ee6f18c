/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fake driver: one GPU, sm_90, whose memory is host memory. Its state is this library's, as a driver's is. Here: devices,
 * contexts, and what the tests ask.
 */
#include "tests/support/fake_cuda_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FAKE_CUDA_VERSION
#define FAKE_CUDA_VERSION 13000
#endif

enum { FUNCTIONS = 64, STACK = 8 };

static struct fake_cuda fake;
static struct { const char *name; int calls; } functions[FUNCTIONS];
static unsigned long long context_id, last_id;
static char primary_context, foreign_context;

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
    fake.strict_calls += capture != CU_STREAM_CAPTURE_MODE_RELAXED;
    return stack[depth - 1] == PRIMARY && !fake.active ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

unsigned long long fake_context_id(void) { return context_id; }
unsigned long long fake_next_id(void) { return ++last_id; }
CUcontext fake_owner(void) { return depth ? stack[depth - 1] : PRIMARY; }

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
    fake_forget_all();
    fake.active = again;
    context_id = ++last_id;
}

static CUcontext current(void) { return depth ? stack[depth - 1] : NULL; }
static int get_depth(void) { return depth; }
static CUstreamCaptureMode get_capture(void) { return capture; }

static void restart(void)
{
    fake_forget_all();
    fake_forget_streams();
    memset(functions, 0, sizeof functions);
    depth = 0;
    capture = CU_STREAM_CAPTURE_MODE_GLOBAL;
    fake = (struct fake_cuda){
        .mps = false, .knows_ipc = true, .ipc = true, .devices = 1, .capability = 90, .foreign = (CUcontext)&foreign_context,
        .calls = calls, .restart = restart, .reset_device = reset_device, .make = fake_make, .current = current,
        .depth = get_depth, .capture = get_capture,
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
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING:
        *value = fake.write_ordering;
        return fake.write_ordering >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES: *value = fake.host_page_tables; break;
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

CUresult cuCtxGetCurrent(CUcontext *context) { ENTER(fake_enter_initialised); *context = current(); return CUDA_SUCCESS; }
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
