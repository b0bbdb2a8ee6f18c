/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the virtual memory functions and of pools, against a fake libcuda.so.1: what is shared by a descriptor, what is
 * refused, and that nothing is left of either.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <unistd.h>

#include "device/cuda_device.h"
#include "tests/support/descriptors.h"
#include "tests/support/fake_cuda_run.h"

enum { BYTES = 5000 };

static char *alloc_by(gf_device *device, enum gf_allocator by)
{
    struct gf_reason why = { "" };
    void *memory = NULL;
    if (gf_device_alloc_by(device, by, BYTES, &memory, &why) != GF_OK)
        fail_msg("%s", why.text);
    return memory;
}

static struct gf_ipc_handle export(gf_device *device, const void *memory)
{
    struct gf_ipc_handle handle;
    struct gf_reason why = { "" };
    if (gf_device_ipc_export(device, memory, &handle, &why) != GF_OK)
        fail_msg("%s", why.text);
    return fake_cuda_from_another_process(handle);
}

static void test_shared(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    char *memory = alloc_by(device, GF_ALLOCATOR_VMM_FD), *start, *middle;
    struct gf_pointer info;
    struct gf_reason why = { "" };
    struct gf_ipc_handle handles[2] = { export(device, memory), export(device, memory + 100) };

    assert_int_equal(gf_driver_pointer(driver, memory + 7, &info), GF_OK);
    assert_true(info.kind == GF_MEMORY_DEVICE && !info.ipc && info.base == memory && info.size == 2 << 20);
    assert_ptr_equal(gf_device_kernel_address(device, memory + 7), memory + 7);
    memory[102] = 42;
    assert_int_equal(gf_device_ipc_open(device, &handles[0], (void **)&start, &why), GF_OK);
    assert_int_equal(gf_device_ipc_open(device, &handles[1], (void **)&middle, &why), GF_OK);
    assert_true(start != memory && middle == start + 100 && middle[2] == 42);
    assert_int_equal(fake->calls("cuMemImportFromShareableHandle"), 1);
    assert_int_equal(fake->reservations, 2);
    assert_int_equal(gf_device_ipc_close(device, middle), GF_OK);
    assert_int_equal(gf_device_free(device, memory), GF_OK);
    assert_int_equal(start[102], 42);
    assert_int_equal(gf_device_ipc_close(device, start), GF_OK);
    assert_int_equal(fake->reservations, 0);
    assert_int_equal(fake->physicals, 0);
    gf_device_close(device);
}

/* The exporter keeps no descriptor, and gives none of what is freed, or is other memory now at the same address. */
static void test_freed(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    struct gf_reason why = { "" };
    bool same = false;
    int descriptors = 0;
    for (int round = 0; round < 20; round++) {
        char *memory = alloc_by(device, GF_ALLOCATOR_VMM_FD), *again;
        struct gf_ipc_handle handle = export(device, memory);
        void *mapped = &why;

        assert_int_equal(gf_device_ipc_open(device, &handle, &mapped, &why), GF_OK);
        assert_int_equal(gf_device_ipc_close(device, mapped), GF_OK);
        assert_int_equal(gf_device_free(device, memory), GF_OK);
        assert_int_equal(fake->physicals, 0);
        if (round == 0) {
            descriptors = gftest_open_descriptors();
        }
        assert_int_equal(gf_device_ipc_open(device, &handle, &mapped, &why), GF_ERR_UNSUPPORTED);
        assert_says(&why, "has freed this memory");
        assert_null(mapped);
        again = alloc_by(device, GF_ALLOCATOR_VMM_FD);
        same = same || again == memory;
        assert_int_equal(gf_device_ipc_open(device, &handle, &mapped, &why), GF_ERR_UNSUPPORTED);
        assert_int_equal(gf_device_free(device, again), GF_OK);
        assert_true(gftest_descriptors_return_to(descriptors));
    }
    assert_true(same);     /* or the above proved nothing */
    gf_device_close(device);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct { enum gf_allocator by; const char *says; } cases[] = {
        { GF_ALLOCATOR_VMM, "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR" }, { GF_ALLOCATOR_POOL, "cudaMallocAsync" },
    };
    gf_device *device = fake_cuda_open_device();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gf_reason why = { "" };
        struct gf_ipc_handle handle;
        void *memory = alloc_by(device, cases[i].by);
        assert_int_equal(gf_device_ipc_export(device, memory, &handle, &why), GF_ERR_UNSUPPORTED);
        assert_says(&why, cases[i].says);
        assert_int_equal(gf_device_free(device, memory), GF_OK);
    }
    assert_int_equal(fake->physicals, 0);
    gf_device_close(device);
}

/* Whatever fails, the caller hears of it and nothing is left. */
static void test_failures(void **state)
{
    (void)state;
    static const char *const functions[] = {
        "cuMemImportFromShareableHandle", "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess", "cuMemRetainAllocationHandle",
        "cuMemExportToShareableHandle",
    };
    gf_device *device = fake_cuda_open_device();
    char *memory = alloc_by(device, GF_ALLOCATOR_VMM_FD);
    struct gf_ipc_handle handle = export(device, memory);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        struct gf_reason why = { "" };
        void *mapped = NULL, *other = NULL;

        fake->fail_function = functions[i];
        fake->fail_result = CUDA_ERROR_NOT_PERMITTED;
        assert_int_equal(gf_device_ipc_open(device, &handle, &mapped, &why), GF_ERR_UNSUPPORTED);
        assert_says(&why, "CUDA_ERROR_NOT_PERMITTED");
        if (i > 0 && i < 4) {
            fake->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
            assert_int_equal(gf_device_ipc_open(device, &handle, &mapped, &why), GF_ERR_NO_MEMORY);
            assert_int_equal(gf_device_alloc_by(device, GF_ALLOCATOR_VMM, BYTES, &other, &why), GF_ERR_NO_MEMORY);
            assert_null(other);
        }
        fake->fail_function = NULL;
        assert_int_equal(fake->physicals, 1);
        assert_int_equal(fake->reservations, 1);
    }
    gf_device_free(device, memory);
    gf_device_close(device);
}

/* Memory of another GPU is within reach of our kernels if it was given to them. */
static void test_reach(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    char *memory = alloc_by(device, GF_ALLOCATOR_VMM_FD);
    fake->elsewhere = true;
    assert_ptr_equal(gf_device_kernel_address(device, memory), memory);
    fake->no_access = true;
    assert_null(gf_device_kernel_address(device, memory));
    gf_device_free(device, memory);
    gf_device_close(device);
}

/* Whole pages of it, in which the memory begins where that is told. */
static void test_dmabuf(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    char *memory = alloc_by(device, GF_ALLOCATOR_VMM_FD);
    struct gf_reason why = { "" };
    struct gf_dmabuf dmabuf;
    CUdeviceptr start = 0;
    int descriptors = gftest_open_descriptors();

    assert_int_equal(gf_device_dmabuf_export(device, memory + BYTES, 3200, &dmabuf, &why), GF_OK);
    assert_int_equal(dmabuf.offset, BYTES - 4096);
    assert_int_equal(lseek(dmabuf.fd, 0, SEEK_END), 2 * 4096);
    assert_int_equal(pread(dmabuf.fd, &start, sizeof start, 0), sizeof start);
    assert_int_equal(start, (CUdeviceptr)memory + 4096);
    close(dmabuf.fd);

    fake->fail_function = "cuMemGetHandleForAddressRange";
    fake->fail_result = CUDA_ERROR_NOT_SUPPORTED;
    assert_int_equal(gf_device_dmabuf_export(device, memory, BYTES, &dmabuf, &why), GF_ERR_UNSUPPORTED);
    assert_says(&why, "5000 bytes of device memory as a dma-buf: ");
    fake->fail_function = NULL;

    struct gf_cuda_api *api = &((struct gf_cuda_driver *)driver)->api;
    __typeof__(api->cuMemGetHandleForAddressRange) function = api->cuMemGetHandleForAddressRange;

    api->cuMemGetHandleForAddressRange = NULL;
    assert_int_equal(gf_device_dmabuf_export(device, memory, BYTES, &dmabuf, &why), GF_ERR_UNSUPPORTED);
    assert_says(&why, "CUDA 11.7");
    api->cuMemGetHandleForAddressRange = function;
    assert_int_equal(gftest_open_descriptors(), descriptors);
    gf_device_free(device, memory);
    gf_device_close(device);
}

int main(int argc, char **argv)
{
    (void)argv;
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_cuda_setup, fake_cuda_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_shared), TEST(test_freed), TEST(test_refused), TEST(test_failures), TEST(test_reach),
        TEST(test_dmabuf),
    };
    return argc < 2 ? fake_cuda_rerun("fake_cuda", "whole") : cmocka_run_group_tests(tests, NULL, NULL);
}
