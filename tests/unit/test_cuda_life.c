/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA adaptor against a fake libcuda.so.1: kernels and IPC mappings from their making to their end, and ends that the
 * program brings about early, by a reset of the device or by leaving main.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "device/cuda_device.h"
#include "kernels/ring_work.h"
#include "tests/support/fake_cuda_run.h"

static gf_stream *make_stream(gf_device *device)
{
    gf_stream *stream = NULL;
    assert_int_equal(gf_device_stream_create(device, &stream, NULL), GF_OK);
    return stream;
}

static gf_device *open_with_kernels(void)
{
    gf_device *device = fake_cuda_open_device();
    ((struct gf_cuda_device *)device)->kernels.image = "fat binary";
    return device;
}

static gf_status launch_copy(gf_device *device, gf_stream *stream, struct gf_reason *why)
{
    struct gf_copy_work work = { .count = 0 };
    return gf_device_launch(device, stream, GF_KERNEL_COPY_LIST, 3, 64, &work, sizeof work, why);
}

/* Each kernel by its name in the image, and what it takes. */
static const struct {
    const char *name;
    size_t bytes;
} kernels[GF_KERNEL_COUNT] = {
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

static void test_launch(void **state)
{
    (void)state;
    char work[4096] = { 0 };
    gf_device *device = open_with_kernels();
    gf_stream *stream = make_stream(device);
    struct gf_reason why;
    assert_int_equal(fake->calls("cuModuleLoadData"), 0);
    for (int kernel = 0; kernel < GF_KERNEL_COUNT; kernel++) {
        assert_int_equal(gf_device_launch(device, stream, kernel, 3, 64, work, kernels[kernel].bytes, &why), GF_OK);
        assert_string_equal(fake->launched, kernels[kernel].name);
        assert_int_equal(fake->blocks, 3);
        assert_int_equal(fake->threads, 64);
        assert_int_equal(gf_device_launch(device, stream, kernel, 1, 64, work, kernels[kernel].bytes + 8, &why), GF_ERR_INVALID);
        assert_says(&why, kernels[kernel].name);
    }
    assert_int_equal(fake->calls("cuModuleLoadData"), 1);
    assert_int_equal(gf_device_launch(device, stream, GF_KERNEL_COUNT, 1, 64, work, 8, &why), GF_ERR_INVALID);
    int launches = fake->calls("cuLaunchKernel");
    static const int shapes[][2] = { { 0, 64 }, { 1, 0 }, { 1, 33 }, { 1, 544 }, { -1, 32 } };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        assert_int_equal(gf_device_launch(device, stream, GF_KERNEL_COPY_LIST, shapes[i][0], shapes[i][1], work,
                                          sizeof(struct gf_copy_work), &why), GF_ERR_INVALID);
    assert_int_equal(fake->calls("cuLaunchKernel"), launches);
    gf_device_stream_destroy(device, stream);
    gf_device_close(device);
    assert_int_equal(fake->modules, 0);
}

static void test_no_kernels_for_this_gpu(void **state)
{
    (void)state;
    static const struct { CUresult result; gf_status status; const char *says; } cases[] = {
        { CUDA_ERROR_NO_BINARY_FOR_GPU, GF_ERR_UNSUPPORTED, "no kernels for this GPU (sm_90)" },
        { CUDA_ERROR_UNSUPPORTED_PTX_VERSION, GF_ERR_UNSUPPORTED, "driver supports CUDA 13.0 and cannot load" },
        { CUDA_ERROR_INVALID_IMAGE, GF_ERR_UNSUPPORTED, "update the driver" },
        { CUDA_ERROR_ILLEGAL_ADDRESS, GF_ERR_DEVICE, "CUDA_ERROR_ILLEGAL_ADDRESS" },
    };
    struct gf_reason why;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gf_device *device = open_with_kernels();
        gf_stream *stream = make_stream(device);
        fake->fail_function = "cuModuleLoadData";
        fake->fail_result = cases[i].result;
        for (int again = 0; again < 2; again++) {
            assert_int_equal(launch_copy(device, stream, &why), cases[i].status);
            assert_says(&why, cases[i].says);
        }
        fake->fail_function = NULL;
        assert_int_equal(fake->calls("cuModuleLoadData"), (int)i + 1);
        gf_device_stream_destroy(device, stream);
        gf_device_close(device);
    }
    gf_device *device = fake_cuda_open_device();
    gf_stream *stream = make_stream(device);
    ((struct gf_cuda_device *)device)->kernels.image = NULL;
    assert_int_equal(launch_copy(device, stream, &why), GF_ERR_UNSUPPORTED);
    assert_says(&why, "built without nvcc");
    gf_device_stream_destroy(device, stream);
    gf_device_close(device);
}

static void test_missing_kernel_unloads(void **state)
{
    (void)state;
    gf_device *device = open_with_kernels();
    gf_stream *stream = make_stream(device);
    struct gf_reason why;
    fake->fail_function = "cuModuleGetFunction";
    fake->fail_result = CUDA_ERROR_NOT_FOUND;
    assert_int_equal(launch_copy(device, stream, &why), GF_ERR_DEVICE);
    assert_int_equal(fake->modules, 0);
    fake->fail_function = NULL;
    gf_device_stream_destroy(device, stream);
    gf_device_close(device);
}

static void test_ipc_counts(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    struct gf_reason why;
    struct gf_ipc_handle start, middle;
    char *memory, *a, *b;
    assert_int_equal(gf_device_alloc(device, 4096, (void **)&memory, &why), GF_OK);
    assert_int_equal(gf_device_ipc_export(device, memory, &start, &why), GF_OK);
    assert_int_equal(gf_device_ipc_export(device, memory + 100, &middle, &why), GF_OK);
    assert_int_equal(gf_device_ipc_open(device, &start, (void **)&a, &why), GF_ERR_UNSUPPORTED);
    assert_says(&why, "belongs to the process itself");
    assert_null(a);

    start = fake_cuda_from_another_process(start);
    middle = fake_cuda_from_another_process(middle);
    assert_int_equal(gf_device_ipc_open(device, &start, (void **)&a, &why), GF_OK);
    assert_int_equal(gf_device_ipc_open(device, &middle, (void **)&b, &why), GF_OK);
    assert_ptr_equal(b, a + 100);
    assert_int_equal(fake->mappings, 1);
    assert_int_equal(gf_device_ipc_close(device, b), GF_OK);
    assert_int_equal(fake->mappings, 1);
    assert_int_equal(gf_device_ipc_close(device, a), GF_OK);
    assert_int_equal(fake->mappings, 0);
    assert_int_equal(gf_device_ipc_close(device, a), GF_ERR_INVALID);

    /* What is still mapped at the end is unmapped by the last close. */
    assert_int_equal(gf_device_ipc_open(device, &start, (void **)&a, &why), GF_OK);
    assert_int_equal(gf_device_free(device, memory), GF_OK);
    gf_device_close(device);
    assert_int_equal(fake->mappings, 0);
}

/* A new allocation of the peer at the same place is another mapping, though the driver's handle may be equal. */
static void test_ipc_new_allocation(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    struct gf_ipc_handle old, new;
    void *memory, *a, *b;
    gf_device_alloc(device, 4096, &memory, NULL);
    gf_device_ipc_export(device, memory, &old, NULL);
    old = fake_cuda_from_another_process(old);
    new = old;
    new.bytes[GF_IPC_HANDLE_BYTES - 16] ^= 1;       /* its buffer id */
    assert_int_equal(gf_device_ipc_open(device, &old, &a, NULL), GF_OK);
    assert_int_equal(gf_device_ipc_open(device, &new, &b, NULL), GF_OK);
    assert_ptr_not_equal(a, b);
    assert_int_equal(fake->mappings, 2);
    assert_int_equal(gf_device_ipc_close(device, a), GF_OK);
    assert_int_equal(gf_device_ipc_close(device, b), GF_OK);
    assert_int_equal(fake->mappings, 0);
    gf_device_free(device, memory);
    gf_device_close(device);
}

static void test_ipc_refused(void **state)
{
    (void)state;
    static const struct { enum fake_memory kind; const char *says; } cases[] = {
        { FAKE_POOL, "cudaMallocAsync" }, { FAKE_MANAGED, "managed memory" }, { FAKE_REGISTERED, "pinned host memory" },
    };
    gf_device *device = fake_cuda_open_device();
    struct gf_reason why;
    struct gf_ipc_handle handle;
    void *memory = NULL, *mapped;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memory = (void *)fake->make(cases[i].kind, 64);
        assert_int_equal(gf_device_ipc_export(device, memory, &handle, &why), GF_ERR_UNSUPPORTED);
        assert_says(&why, cases[i].says);
    }
    assert_int_equal(gf_device_ipc_export(device, &handle, &handle, &why), GF_ERR_UNSUPPORTED);
    assert_says(&why, "host memory cannot be mapped");

    assert_int_equal(gf_device_alloc(device, 64, &memory, &why), GF_OK);
    assert_int_equal(gf_device_ipc_export(device, memory, &handle, &why), GF_OK);
    handle = fake_cuda_from_another_process(handle);
    fake->fail_function = "cuIpcOpenMemHandle_v2";
    fake->fail_result = CUDA_ERROR_MAP_FAILED;
    assert_int_equal(gf_device_ipc_open(device, &handle, &mapped, &why), GF_ERR_UNSUPPORTED);
    assert_says(&why, "one container");
    fake->fail_result = CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    assert_int_equal(gf_device_ipc_open(device, &handle, &mapped, &why), GF_ERR_UNSUPPORTED);
    fake->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
    assert_int_equal(gf_device_ipc_open(device, &handle, &mapped, &why), GF_ERR_NO_MEMORY);
    fake->fail_function = "cuIpcGetMemHandle";
    fake->fail_result = CUDA_ERROR_INVALID_CONTEXT;
    assert_int_equal(gf_device_ipc_export(device, memory, &handle, &why), GF_ERR_UNSUPPORTED);
    fake->fail_result = CUDA_ERROR_ILLEGAL_ADDRESS;
    assert_int_equal(gf_device_ipc_export(device, memory, &handle, &why), GF_ERR_DEVICE);
    assert_says(&why, "CUDA_ERROR_ILLEGAL_ADDRESS");
    fake->fail_function = NULL;
    gf_device_free(device, memory);
    gf_device_close(device);
}

/* Of a stream's other properties the fake driver takes only the right ones. Drivers that know no domains go without. */
static void test_stream_domain(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    gf_stream *stream;
    assert_int_equal(gf_device_stream_create(device, &stream, NULL), GF_OK);
    assert_int_equal(fake->remote, CUDA_VERSION >= 12000);
    gf_device_stream_destroy(device, stream);
    fake->fail_function = "cuStreamSetAttribute";
    fake->fail_result = CUDA_ERROR_INVALID_VALUE;
    assert_int_equal(gf_device_stream_create(device, &stream, NULL), GF_OK);
    gf_device_stream_destroy(device, stream);
    fake->fail_function = NULL;
    gf_device_close(device);
}

struct belongings {
    gf_device *device;
    gf_stream *stream;
    void *memory, *mapped;
    char *pinned;
    char registered[4096];
};

static void acquire(struct belongings *all)
{
    struct gf_ipc_handle handle;
    all->device = open_with_kernels();
    all->stream = make_stream(all->device);
    assert_int_equal(launch_copy(all->device, all->stream, NULL), GF_OK);
    assert_int_equal(gf_device_alloc(all->device, 64, &all->memory, NULL), GF_OK);
    assert_int_equal(gf_device_ipc_export(all->device, all->memory, &handle, NULL), GF_OK);
    handle = fake_cuda_from_another_process(handle);
    assert_int_equal(gf_device_ipc_open(all->device, &handle, &all->mapped, NULL), GF_OK);
    assert_int_equal(gf_device_pinned_alloc(all->device, 64, (void **)&all->pinned, NULL), GF_OK);
    assert_int_equal(gf_device_host_register(all->device, all->registered, sizeof all->registered, NULL), GF_OK);
}

/* All of it must answer at once, and none of it may reach what is gone (the fixture looks). */
static void release_after_the_end(struct belongings *all)
{
    struct gf_reason why;
    assert_int_equal(gf_device_stream_sync(all->device, all->stream), GF_ERR_DEVICE);
    assert_int_equal(gf_device_stream_query(all->device, all->stream), GF_ERR_DEVICE);
    assert_int_equal(gf_device_copy(all->device, all->stream, all->memory, all->pinned, 8), GF_ERR_DEVICE);
    assert_int_equal(launch_copy(all->device, all->stream, &why), GF_ERR_DEVICE);
    assert_null(gf_device_kernel_address(all->device, all->memory));
    all->pinned[0] = 1;
    assert_int_equal(gf_device_ipc_close(all->device, all->mapped), GF_OK);
    assert_int_equal(gf_device_host_unregister(all->device, all->registered), GF_OK);
    assert_int_equal(gf_device_pinned_free(all->device, all->pinned), GF_OK);
    assert_int_equal(gf_device_free(all->device, all->memory), GF_OK);
    gf_device_stream_destroy(all->device, all->stream);
    gf_device_close(all->device);
}

static void test_reset_then_release(void **state)
{
    (void)state;
    struct belongings all;
    acquire(&all);
    fake->reset_device(false);
    release_after_the_end(&all);
    assert_int_equal(fake->calls("cuDevicePrimaryCtxRelease_v2"), 0);
    assert_int_equal(fake->calls("cuStreamDestroy_v2"), 0);
}

/* The program goes on with CUDA after its reset: the new context is its own, and a new gf_device works there. */
static void test_reset_and_go_on(void **state)
{
    (void)state;
    struct belongings all;
    struct gf_reason why;
    acquire(&all);
    fake->reset_device(true);
    assert_int_equal(launch_copy(all.device, all.stream, &why), GF_ERR_DEVICE);
    assert_says(&why, "has reset the GPU");
    gf_device *again = fake_cuda_open_device();
    assert_ptr_not_equal(again, all.device);
    void *memory;
    assert_int_equal(gf_device_alloc(again, 64, &memory, NULL), GF_OK);
    release_after_the_end(&all);
    assert_int_equal(fake->calls("cuDevicePrimaryCtxRelease_v2"), 0);
    assert_int_equal(gf_device_free(again, memory), GF_OK);
    gf_device_close(again);
    assert_int_equal(fake->calls("cuDevicePrimaryCtxRelease_v2"), 1);
}

/* Nothing is left of it when the device is closed; and where there are no kernels, nobody can tell. */
static void test_query(void **state)
{
    (void)state;
    gf_device *device = open_with_kernels();
    assert_int_equal(gf_device_query(device), GF_OK);
    fake->busy = true;
    assert_int_equal(gf_device_query(device), GF_IN_PROGRESS);
    fake->busy = false;
    fake->fail_function = "cuLaunchKernel";
    fake->fail_result = CUDA_ERROR_LAUNCH_FAILED;
    assert_int_equal(gf_device_query(device), GF_ERR_DEVICE);
    fake->fail_function = NULL;
    assert_int_equal(gf_device_query(device), GF_OK);
    assert_string_equal(fake->launched, "gf_kernel_census");
    assert_int_equal(fake->streams, 1);
    gf_device_close(device);
    assert_int_equal(fake->streams, 0);

    device = fake_cuda_open_device();
    ((struct gf_cuda_device *)device)->kernels.image = NULL;
    assert_int_equal(gf_device_query(device), GF_ERR_UNSUPPORTED);
    gf_device_close(device);
}

/* A census that the program's kernels keep out is not begun again before it has ended. */
static void test_query_kept_out(void **state)
{
    (void)state;
    gf_device *device = open_with_kernels();
    fake->full = true;
    assert_int_equal(gf_device_query(device), GF_IN_PROGRESS);
    int launches = fake->calls("cuLaunchKernel");
    assert_int_equal(gf_device_query(device), GF_IN_PROGRESS);
    assert_int_equal(fake->calls("cuLaunchKernel"), launches);
    gf_device_close(device);
}

/* After main the driver shuts itself down before the libraries that use it are done. */
static void test_driver_shut_down(void **state)
{
    (void)state;
    struct belongings all;
    acquire(&all);
    fake->shut_down = true;
    release_after_the_end(&all);
    struct gf_pointer info;
    assert_int_equal(gf_driver_pointer(driver, &all, &info), GF_OK);
    assert_int_equal(info.kind, GF_MEMORY_HOST);
    assert_int_equal(fake->calls("cuDevicePrimaryCtxRelease_v2"), 0);
}

int main(int argc, char **argv)
{
    (void)argv;
#define TEST(function) cmocka_unit_test_setup_teardown(function, fake_cuda_setup, fake_cuda_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(test_launch), TEST(test_no_kernels_for_this_gpu), TEST(test_missing_kernel_unloads), TEST(test_ipc_counts),
        TEST(test_ipc_new_allocation), TEST(test_ipc_refused), TEST(test_reset_then_release), TEST(test_reset_and_go_on),
        TEST(test_query), TEST(test_query_kept_out), TEST(test_driver_shut_down), TEST(test_stream_domain),
    };
    return argc < 2 ? fake_cuda_rerun("fake_cuda", "whole") : cmocka_run_group_tests(tests, NULL, NULL);
}
