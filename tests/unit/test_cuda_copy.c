/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA adaptor against a fake libcuda.so.1: small copies from the host where processes take turns on the GPU go in rows,
 * which are all of the bytes and nothing beside them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/fake_cuda_run.h"

enum { MOST = 70000, GUARD = 64, ROWS = 4 };

struct ends {
    gf_device *device;
    gf_stream *stream;
    char *memory;                      /* on the device, which the fake keeps in the host's memory */
    char *pinned;
};

static struct ends open_ends(void)
{
    struct ends e = { .device = fake_cuda_open_device() };
    void *memory, *pinned;

    assert_int_equal(gf_device_stream_create(e.device, &e.stream, NULL), GF_OK);
    assert_int_equal(gf_device_alloc(e.device, MOST + 2 * GUARD, &memory, NULL), GF_OK);
    assert_int_equal(gf_device_pinned_alloc(e.device, MOST, &pinned, NULL), GF_OK);
    e.memory = memory;
    e.pinned = pinned;
    for (int i = 0; i < MOST; i++) {
        e.pinned[i] = (char)(i * 7 + i / 251);
    }
    return e;
}

static void close_ends(struct ends *e)
{
    gf_device_free(e->device, e->memory);
    gf_device_pinned_free(e->device, e->pinned);
    gf_device_stream_destroy(e->device, e->stream);
    gf_device_close(e->device);
}

static void check(const struct ends *e, size_t bytes, int rows)
{
    int before = fake->rows;
    char guard[GUARD];

    memset(guard, 'g', GUARD);
    memset(e->memory, 'g', MOST + 2 * GUARD);
    assert_int_equal(gf_device_copy(e->device, e->stream, e->memory + GUARD, e->pinned, bytes), GF_OK);
    assert_memory_equal(e->memory, guard, GUARD);
    assert_memory_equal(e->memory + GUARD, e->pinned, bytes);
    assert_memory_equal(e->memory + GUARD + bytes, guard, GUARD);
    assert_int_equal(fake->rows - before, rows);
}

static void test_in_turns(void **state)
{
    (void)state;
    fake->mps = false;
    struct ends e = open_ends();

    for (size_t bytes = 1; bytes < 300; bytes++) {
        check(&e, bytes, bytes < 6 ? 0 : ROWS);
    }
    check(&e, 65535, ROWS);
    check(&e, 65536, 0);
    close_ends(&e);
}

static void test_side_by_side(void **state)
{
    (void)state;
    fake->mps = true;
    struct ends e = open_ends();

    check(&e, 8, 0);
    close_ends(&e);
}

/* From pageable memory, to the host, and within the device. */
static void test_other_ways(void **state)
{
    (void)state;
    fake->mps = false;
    struct ends e = open_ends();
    char pageable[64] = "payload";

    assert_int_equal(gf_device_copy(e.device, e.stream, e.memory, pageable, 64), GF_OK);
    assert_int_equal(gf_device_copy(e.device, e.stream, e.memory + 64, e.memory, 64), GF_OK);
    assert_int_equal(gf_device_copy(e.device, e.stream, e.pinned, e.memory + 64, 64), GF_OK);
    assert_string_equal(e.pinned, "payload");
    assert_int_equal(fake->rows, 0);
    close_ends(&e);
}

static void test_failure(void **state)
{
    (void)state;
    fake->mps = false;
    struct ends e = open_ends();

    fake->fail_function = "cuMemcpy2DAsync_v2";
    fake->fail_result = CUDA_ERROR_LAUNCH_FAILED;
    assert_int_equal(gf_device_copy(e.device, e.stream, e.memory, e.pinned, 8), GF_ERR_DEVICE);
    fake->fail_function = NULL;
    close_ends(&e);
}

int main(int argc, char **argv)
{
    (void)argv;
#define TEST(function) cmocka_unit_test_setup_teardown(function, fake_cuda_setup, fake_cuda_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(test_in_turns), TEST(test_side_by_side), TEST(test_other_ways), TEST(test_failure),
    };
    return argc < 2 ? fake_cuda_rerun("fake_cuda", "whole") : cmocka_run_group_tests(tests, NULL, NULL);
}
