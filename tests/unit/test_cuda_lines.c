/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA adaptor against a fake libcuda.so.1: between which GPUs lines of 128 bytes are said to arrive whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "device/cuda_device.h"
#include "tests/support/fake_cuda_run.h"

/* As the fake names its device 1. */
static unsigned char other[16];

static void test_within_one_gpu(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    assert_true(device->caps.line128_atomic);
    assert_int_equal(gf_device_whole_lines(device, device->caps.uuid, NULL), GF_OK);
    gf_device_close(device);
}

static void test_a_hidden_gpu_is_refused(void **state)
{
    (void)state;
    struct gf_reason why;
    gf_device *device = fake_cuda_open_device();
    fake->nvlink = true;
    assert_int_equal(gf_device_whole_lines(device, other, &why), GF_ERR_UNSUPPORTED);
    assert_says(&why, "CUDA_VISIBLE_DEVICES");
    gf_device_close(device);
}

static void test_two_gpus_need_nvlink_and_one_kind(void **state)
{
    (void)state;
    struct gf_reason why;
    gf_device *device = fake_cuda_open_device();
    fake->devices = 2;
    assert_int_equal(gf_device_whole_lines(device, other, &why), GF_ERR_UNSUPPORTED);
    assert_says(&why, "NVLink");
    fake->nvlink = true;
    assert_int_equal(gf_device_whole_lines(device, other, &why), GF_OK);
    fake->capability = 80;
    assert_int_equal(gf_device_whole_lines(device, other, &why), GF_ERR_UNSUPPORTED);
    gf_device_close(device);
}

static void test_unknown_gpus_are_refused(void **state)
{
    (void)state;
    struct gf_reason why;
    static const int known[] = { 70, 80, 90, 100 }, unknown[] = { 0, 60, 75, 86, 89, 99, 110, 120 };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_true(gf_cuda_keeps_lines_whole(known[i]));
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        assert_false(gf_cuda_keeps_lines_whole(unknown[i]));
    gf_device *device = fake_cuda_open_device();
    device->caps.line128_atomic = false;
    assert_int_equal(gf_device_whole_lines(device, device->caps.uuid, &why), GF_ERR_UNSUPPORTED);
    assert_says(&why, "9.0");
    gf_device_close(device);
}

int main(int argc, char **argv)
{
    (void)argv;
    memset(other, 0x5b, sizeof other);
#define TEST(function) cmocka_unit_test_setup_teardown(function, fake_cuda_setup, fake_cuda_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(test_within_one_gpu), TEST(test_a_hidden_gpu_is_refused), TEST(test_two_gpus_need_nvlink_and_one_kind),
        TEST(test_unknown_gpus_are_refused),
    };
    return argc < 2 ? fake_cuda_rerun("fake_cuda", "whole") : cmocka_run_group_tests(tests, NULL, NULL);
}
