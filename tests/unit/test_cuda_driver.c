/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA adaptor against a fake libcuda.so.1, on a machine without a GPU: finding the driver, opening devices, pointers,
 * memory, and the caller's context. Once for each kind of driver that there may be: a whole one, none, an old one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/cuda_device.h"
#include "device/drivers.h"
#include "tests/support/fake_cuda_run.h"

static void test_gpu_present(void **state)
{
    (void)state;
    char root[] = "/tmp/gpufifo-test-XXXXXX", path[128];
    assert_non_null(mkdtemp(root));
    assert_false(gf_cuda_gpu_present(root));
    snprintf(path, sizeof path, "%s/dev", root);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/dev/nvidiactl", root);
    fclose(fopen(path, "w"));
    assert_false(gf_cuda_gpu_present(root));
    unlink(path);
    static const char *const nodes[] = { "nvidia0", "nvidia12", "dxg" };
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/dev/%s", root, nodes[i]);
        fclose(fopen(path, "w"));
        assert_true(gf_cuda_gpu_present(root));
        unlink(path);
        assert_false(gf_cuda_gpu_present(root));
    }
    snprintf(path, sizeof path, "%s/dev", root);
    rmdir(path);
    rmdir(root);
}

static void test_pointer_before_cuda(void **state)
{
    (void)state;
    int here;
    struct gf_pointer info;
    CUdeviceptr memory = fake->make(FAKE_DEVICE, 64);
    assert_int_equal(gf_driver_pointer(driver, &here, &info), GF_OK);
    assert_int_equal(info.kind, GF_MEMORY_HOST);
    assert_int_equal(gf_driver_pointer(driver, (void *)memory, &info), GF_OK);
    assert_int_equal(info.kind, GF_MEMORY_HOST);
    assert_int_equal(info.ordinal, -1);
    assert_int_equal(fake->calls("cuInit"), 0);
    assert_int_equal(fake->calls("cuDevicePrimaryCtxRetain"), 0);
}

static void test_no_gpu(void **state)
{
    (void)state;
    gf_device *device;
    struct gf_reason why;
    fake->fail_function = "cuInit";
    fake->fail_result = CUDA_ERROR_NO_DEVICE;
    assert_int_equal(gf_device_open(driver, 0, &device, &why), GF_ERR_UNSUPPORTED);
    assert_null(device);
    assert_says(&why, "CUDA_ERROR_NO_DEVICE");
    assert_says(&why, "CUDA_VISIBLE_DEVICES");
    assert_int_equal(driver->ops->device_count(driver), 0);
    fake->fail_function = NULL;
    assert_int_equal(driver->ops->device_count(driver), 1);
    assert_int_equal(gf_device_open(driver, 3, &device, &why), GF_ERR_INVALID);
    assert_says(&why, "no CUDA device 3");
    assert_int_equal(fake->retained, 0);
}

static void test_open_and_close(void **state)
{
    (void)state;
    gf_device *one = fake_cuda_open_device(), *two = fake_cuda_open_device();
    assert_ptr_equal(one, two);
    assert_int_equal(fake->retained, 1);
    assert_int_equal(one->caps.blocks, 132);
    assert_true(one->caps.ipc);
    assert_false(one->caps.concurrent_processes);
    assert_int_equal(one->caps.uuid[15], 0x5a);
    assert_int_equal(one->caps.numa_node, -1);
    assert_string_equal(one->caps.pci, "ffff:ff:00.0");
    gf_device_close(one);
    assert_int_equal(fake->retained, 1);
    gf_device_close(two);
    assert_int_equal(fake->retained, 0);

    fake->mps = true;
    fake->knows_ipc = false;
    one = fake_cuda_open_device();
    assert_true(one->caps.concurrent_processes);
    assert_true(one->caps.ipc);
    gf_device_close(one);
    fake->knows_ipc = true;
    fake->ipc = false;
    one = fake_cuda_open_device();
    assert_false(one->caps.ipc);
    gf_device_close(one);
    assert_int_equal(fake->retained, 0);
}

/* The kind of the device counts only where the driver does not tell. */
static void test_arrivals(void **state)
{
    static const struct { int ordering, capability, host_page_tables; enum gf_arrivals arrivals; } cases[] = {
        { CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE, 80, 0, GF_ARRIVALS_UNORDERED },
        { CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE, 90, 1, GF_ARRIVALS_UNORDERED },
        { CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER, 80, 0, GF_ARRIVALS_BY_DRIVER },
        { CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES, 90, 1, GF_ARRIVALS_BY_DRIVER },
        { -1, 80, 0, GF_ARRIVALS_UNORDERED }, { -1, 89, 0, GF_ARRIVALS_UNORDERED }, { -1, 90, 0, GF_ARRIVALS_BY_CAPABILITY },
        { -1, 120, 0, GF_ARRIVALS_BY_CAPABILITY }, { -1, 80, 1, GF_ARRIVALS_BY_COHERENT_LINK },
        { -1, 90, 1, GF_ARRIVALS_BY_COHERENT_LINK },
    };

    (void)state;
    fake->devices = 2;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gf_driver *driver;
        gf_device *device;

        fake->write_ordering = cases[i].ordering;
        fake->capability = cases[i].capability;
        fake->host_page_tables = cases[i].host_page_tables;
        assert_int_equal(gf_cuda_driver_get(&driver, NULL), GF_OK);
        assert_int_equal(gf_device_open(driver, 1, &device, NULL), GF_OK);
        assert_int_equal(device->caps.arrivals, cases[i].arrivals);
        gf_device_close(device);
    }
}

/* gpufifo_device_close promises that memory stays valid. */
static void test_memory_outlives_close(void **state)
{
    (void)state;
    void *memory, *pinned;
    gf_device *device = fake_cuda_open_device();
    assert_int_equal(gf_device_alloc(device, 100, &memory, NULL), GF_OK);
    assert_int_equal(gf_device_pinned_alloc(device, 100, &pinned, NULL), GF_OK);
    gf_device_close(device);
    assert_int_equal(fake->retained, 1);
    device = fake_cuda_open_device();
    assert_int_equal(gf_device_free(device, memory), GF_OK);
    gf_device_close(device);
    assert_int_equal(fake->retained, 1);
    device = fake_cuda_open_device();
    assert_int_equal(gf_device_pinned_free(device, pinned), GF_OK);
    gf_device_close(device);
    assert_int_equal(fake->retained, 0);
}

/* Every function of the table once, whatever it answers. */
static void exercise(gf_device *device)
{
    char host[256] = { 1 };
    _Alignas(4096) static char shared[4096];
    void *memory = NULL, *managed = NULL, *pinned = NULL, *mapped = NULL;
    gf_stream *stream = NULL;
    struct gf_ipc_handle handle;
    struct gf_copy_work work = { .count = 0 };
    gf_device_alloc(device, 256, &memory, NULL);
    gf_device_managed_alloc(device, 256, &managed, NULL);
    gf_device_pinned_alloc(device, 256, &pinned, NULL);
    if (gf_device_host_register(device, shared, sizeof shared, NULL) == GF_OK)
        gf_device_host_unregister(device, shared);
    gf_device_kernel_address(device, memory);
    if (memory && gf_device_ipc_export(device, memory, &handle, NULL) == GF_OK) {
        handle = fake_cuda_from_another_process(handle);
        if (gf_device_ipc_open(device, &handle, &mapped, NULL) == GF_OK)
            gf_device_ipc_close(device, mapped);
    }
    struct gf_dmabuf dmabuf;
    if (memory && gf_device_dmabuf_export(device, memory, 256, &dmabuf, NULL) == GF_OK)
        close(dmabuf.fd);
    gf_device_stream_create(device, &stream, NULL);
    if (memory && stream) {
        gf_device_copy(device, stream, memory, host, sizeof host);
        gf_device_fill(device, stream, memory, 7, 256);
        gf_device_fill(device, stream, host, 7, 256);
        gf_device_stream_query(device, stream);
        gf_device_stream_sync(device, stream);
        gf_device_launch(device, stream, GF_KERNEL_COPY_LIST, 1, 32, &work, sizeof work, NULL);
    }
    gf_device_sync(device);
    gf_device_stream_destroy(device, stream);
    gf_device_pinned_free(device, pinned);
    gf_device_free(device, managed);
    gf_device_free(device, memory);
}

static void assert_caller_undisturbed(const char *failing)
{
    if (fake->current() != fake->foreign || fake->depth() != 1 || fake->capture() != CU_STREAM_CAPTURE_MODE_GLOBAL)
        fail_msg("the caller's context or capture mode is lost when %s fails", failing);
    if (fake->strict_calls)
        fail_msg("calls are made that would break a capture in another thread, when %s fails", failing);
}

/* With a context of the program current, each function of the driver fails in turn. */
static void test_context_restored(void **state)
{
    (void)state;
    static const char *const functions[] = {
#define NAME(name) #name,
        GF_CUDA_REQUIRED(NAME)
#undef NAME
        "cuCtxGetId", "cuFuncLoad", "cuMemGetHandleForAddressRange",
    };
    const struct gf_cuda_api *api = &((struct gf_cuda_driver *)driver)->api;
    api->cuInit(0);
    api->cuCtxPushCurrent_v2(fake->foreign);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strcmp(functions[i], "cuCtxPopCurrent_v2") == 0)
            continue;       /* there is no way on without it */
        gf_device *device = fake_cuda_open_device();
        ((struct gf_cuda_device *)device)->kernels.image = "fat binary";
        fake->fail_function = functions[i];
        fake->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
        exercise(device);
        assert_caller_undisturbed(functions[i]);
        gf_device_close(device);
        assert_caller_undisturbed(functions[i]);
        fake->fail_function = NULL;
        fake->restart();
        api->cuInit(0);
        api->cuCtxPushCurrent_v2(fake->foreign);
    }
    CUcontext foreign;
    api->cuCtxPopCurrent_v2(&foreign);
}

/* Between the begin and the end of a capture of its own the caller's thread may have any mode. */
static void test_capture_of_the_caller(void **state)
{
    (void)state;
    static const CUstreamCaptureMode modes[] = { CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                                 CU_STREAM_CAPTURE_MODE_RELAXED };
    const struct gf_cuda_api *api = &((struct gf_cuda_driver *)driver)->api;
    gf_device *device = fake_cuda_open_device();
    ((struct gf_cuda_device *)device)->kernels.image = "fat binary";
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        CUstreamCaptureMode mode = modes[i];
        api->cuThreadExchangeStreamCaptureMode(&mode);
        exercise(device);
        assert_int_equal(fake->capture(), modes[i]);
        assert_int_equal(fake->strict_calls, 0);
        api->cuThreadExchangeStreamCaptureMode(&mode);
    }
    gf_device_close(device);
}

static void *thread_without_context(void *device)
{
    void *memory = NULL;
    if (gf_device_alloc(device, 4096, &memory, NULL) != GF_OK || gf_device_kernel_address(device, memory) != memory ||
        gf_device_free(device, memory) != GF_OK || fake->depth() != 0)
        return "failed";
    return NULL;
}

static void test_thread_without_context(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, thread_without_context, device), 0);
    pthread_join(thread, &result);
    assert_null(result);
    gf_device_close(device);
}

static void test_pointer_kinds(void **state)
{
    (void)state;
    static const struct { enum fake_memory made; enum gf_memory_kind kind; int ordinal; bool ipc; } cases[] = {
        { FAKE_DEVICE, GF_MEMORY_DEVICE, 0, true }, { FAKE_POOL, GF_MEMORY_DEVICE, 0, false },
        { FAKE_MANAGED, GF_MEMORY_MANAGED, 0, false }, { FAKE_REGISTERED, GF_MEMORY_PINNED, -1, false },
    };
    gf_device *device = fake_cuda_open_device();
    struct gf_pointer info;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CUdeviceptr start = fake->make(cases[i].made, 1000);
        assert_int_equal(gf_driver_pointer(driver, (void *)(start + 999), &info), GF_OK);
        assert_int_equal(info.kind, cases[i].kind);
        assert_int_equal(info.ordinal, cases[i].ordinal);
        assert_int_equal(info.ipc, cases[i].ipc);
        assert_ptr_equal(info.base, (void *)start);
        assert_int_equal(info.size, 1000);
        assert_true(info.buffer_id != 0);
    }
    fake->fail_function = "cuPointerGetAttributes";
    fake->fail_result = CUDA_ERROR_ILLEGAL_ADDRESS;
    assert_int_equal(gf_driver_pointer(driver, &info, &info), GF_ERR_DEVICE);
    fake->fail_function = NULL;
    gf_device_close(device);
}

static bool is_direct(gf_device *device, CUdeviceptr memory)
{
    struct gf_pointer info;

    assert_int_equal(gf_driver_pointer(device->driver, (void *)memory, &info), GF_OK);
    return info.direct;
}

static void test_kernel_address(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    const struct gf_cuda_api *api = &((struct gf_cuda_driver *)driver)->api;
    CUdeviceptr ours = fake->make(FAKE_DEVICE, 64), registered = fake->make(FAKE_REGISTERED, 64);
    api->cuCtxPushCurrent_v2(fake->foreign);
    CUdeviceptr theirs = fake->make(FAKE_DEVICE, 64), managed = fake->make(FAKE_MANAGED, 64);
    CUcontext foreign;
    api->cuCtxPopCurrent_v2(&foreign);
    assert_ptr_equal(gf_device_kernel_address(device, (void *)(ours + 8)), (void *)(ours + 8));
    assert_null(gf_device_kernel_address(device, (void *)theirs));
    assert_true(is_direct(device, ours));
    assert_false(is_direct(device, theirs));
    assert_false(is_direct(device, registered));
    assert_ptr_equal(gf_device_kernel_address(device, (void *)managed), (void *)managed);
    assert_ptr_equal(gf_device_kernel_address(device, (void *)(registered + 8)), (void *)(registered + 8 + FAKE_SHIFT));
    assert_null(gf_device_kernel_address(device, &foreign));
    gf_device_close(device);
}

static void test_sentences(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    struct gf_reason why;
    void *memory;
    fake->fail_function = "cuMemAlloc_v2";
    fake->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
    assert_int_equal(gf_device_alloc(device, 3ull << 30, &memory, &why), GF_ERR_NO_MEMORY);
    assert_null(memory);
    assert_says(&why, "3.00 GiB");
    assert_says(&why, "1.00 of the GPU's 4.00 GiB");
    fake->fail_result = CUDA_ERROR_ILLEGAL_ADDRESS;
    assert_int_equal(gf_device_alloc(device, 64, &memory, &why), GF_ERR_DEVICE);
    assert_says(&why, "CUDA_ERROR_ILLEGAL_ADDRESS (as the fake driver says)");
    assert_int_equal(gf_device_alloc(device, 0, &memory, &why), GF_ERR_INVALID);
    assert_says(&why, "0 bytes");
    fake->fail_function = NULL;
    int on_stack;
    assert_int_equal(gf_device_free(device, &on_stack), GF_ERR_INVALID);
    assert_int_equal(gf_device_free(device, NULL), GF_OK);
    gf_device_close(device);
}

static void test_pinned_and_registered(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    struct gf_reason why;
    void *pinned;
    assert_int_equal(gf_device_pinned_alloc(device, 10000, &pinned, &why), GF_OK);
    assert_int_equal((uintptr_t)pinned % 4096, 0);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(((char *)pinned)[i], 0);
    pid_t child = fork();
    if (child == 0)
        _exit(msync(pinned, 4096, MS_ASYNC) == 0);      /* a child must not have it */
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(gf_device_host_register(device, pinned, 4096, &why), GF_ERR_INVALID);
    assert_says(&why, "registered already");
    assert_int_equal(gf_device_pinned_free(device, pinned), GF_OK);

    /* Memory of the program's own, however much it looks like ours, stays. */
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    *(size_t *)pages = 8192;
    assert_int_equal(gf_device_pinned_free(device, pages + 4096), GF_ERR_INVALID);
    assert_int_equal(msync(pages, 8192, MS_ASYNC), 0);
    munmap(pages, 8192);

    fake->fail_function = "cuMemHostRegister_v2";
    fake->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
    assert_int_equal(gf_device_pinned_alloc(device, 64, &pinned, &why), GF_ERR_NO_MEMORY);
    assert_null(pinned);
    fake->fail_function = NULL;
    gf_device_close(device);
}

static void test_copy_and_fill(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    gf_stream *stream;
    char host[64] = "payload", back[64] = "";
    void *memory;
    assert_int_equal(gf_device_stream_create(device, &stream, NULL), GF_OK);
    assert_int_equal(gf_device_alloc(device, 64, &memory, NULL), GF_OK);
    assert_int_equal(gf_device_copy(device, stream, memory, host, 64), GF_OK);
    assert_int_equal(gf_device_copy(device, stream, back, memory, 64), GF_OK);
    assert_string_equal(back, "payload");
    assert_int_equal(gf_device_fill(device, stream, memory, 'x', 64), GF_OK);
    assert_int_equal(gf_device_fill(device, stream, host, 'y', 64), GF_OK);
    assert_int_equal(gf_device_copy(device, stream, back, memory, 64), GF_OK);
    assert_int_equal(back[63], 'x');
    assert_int_equal(host[63], 'y');
    int copies = fake->calls("cuMemcpyAsync");
    assert_int_equal(gf_device_copy(device, stream, NULL, NULL, 0), GF_OK);
    assert_int_equal(gf_device_fill(device, stream, NULL, 0, 0), GF_OK);
    assert_int_equal(fake->calls("cuMemcpyAsync"), copies);
    fake->fail_function = "cuStreamQuery";
    fake->fail_result = CUDA_ERROR_NOT_READY;
    assert_int_equal(gf_device_stream_query(device, stream), GF_IN_PROGRESS);
    fake->fail_result = CUDA_ERROR_LAUNCH_FAILED;
    assert_int_equal(gf_device_stream_query(device, stream), GF_ERR_DEVICE);
    fake->fail_function = NULL;
    gf_device_stream_destroy(device, stream);
    gf_device_free(device, memory);
    gf_device_close(device);
    assert_int_equal(fake->streams, 0);
}

static void assert_not_loaded(const char *says)
{
    gf_driver *none = NULL;
    struct gf_reason why = { "" };
    assert_int_equal(gf_driver_open("cuda", &none, &why), GF_ERR_UNSUPPORTED);
    assert_null(none);
    assert_says(&why, says);
    why.text[0] = '\0';
    assert_int_equal(gf_driver_open("cuda", &none, &why), GF_ERR_UNSUPPORTED);
    assert_says(&why, says);
    assert_false(gf_driver_available("cuda", &why));
}

static void test_driver_missing(void **state)
{
    (void)state;
    assert_not_loaded("no usable NVIDIA driver here (");
}

static void test_driver_old(void **state)
{
    (void)state;
    assert_not_loaded("supports CUDA 10.2 and has no cuDeviceGetUuid_v2");
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest missing[] = { cmocka_unit_test(test_driver_missing) };
    static const struct CMUnitTest old[] = { cmocka_unit_test(test_driver_old) };
#define TEST(function) cmocka_unit_test_setup_teardown(function, fake_cuda_setup, fake_cuda_teardown)
    static const struct CMUnitTest whole[] = {
        cmocka_unit_test(test_gpu_present), TEST(test_pointer_before_cuda), TEST(test_no_gpu), TEST(test_open_and_close),
        TEST(test_arrivals),
        TEST(test_memory_outlives_close), TEST(test_context_restored), TEST(test_thread_without_context),
        TEST(test_capture_of_the_caller),
        TEST(test_pointer_kinds), TEST(test_kernel_address), TEST(test_sentences), TEST(test_pinned_and_registered),
        TEST(test_copy_and_fill),
    };
    if (argc < 2)
        return fake_cuda_rerun("fake_cuda", "whole") + fake_cuda_rerun(NULL, "missing") + fake_cuda_rerun("fake_cuda_old", "old");
    if (strcmp(argv[1], "missing") == 0)
        return cmocka_run_group_tests(missing, NULL, NULL);
    if (strcmp(argv[1], "old") == 0)
        return cmocka_run_group_tests(old, NULL, NULL);
    return cmocka_run_group_tests(whole, NULL, NULL);
}
