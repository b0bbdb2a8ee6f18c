/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device adaptor on the emulated device: opening, registered memory, what waits for work, and launches of the
 * library's kernels.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "device/device.h"
#include "device/emulated.h"
#include "gpufifo/device.h"

static gpufifo_device *opened(void)
{
    gpufifo_device *device;
    if (gpufifo_device_open("emulated", -1, &device) != 0) {
        fail_msg("%s", gpufifo_error());
    }
    return device;
}

static void opens_are_counted(void **state)
{
    gf_driver *first, *second;
    gf_device *a, *b;
    struct gf_reason why = {""};

    (void)state;
    assert_true(gf_driver_available("emulated", NULL));
    assert_int_equal(gf_driver_open("emulated", &first, NULL), GF_OK);
    assert_int_equal(gf_driver_open("emulated", &second, NULL), GF_OK);
    assert_ptr_equal(first, second);
    assert_int_equal(first->ops->device_count(first), 1);
    assert_int_equal(gf_device_open(first, 0, &a, NULL), GF_OK);
    assert_int_equal(gf_device_open(first, -1, &b, NULL), GF_OK);
    assert_ptr_equal(a, b);
    assert_int_equal(a->ordinal, 0);
    assert_true(a->caps.ipc && a->caps.concurrent_processes && a->caps.line128_atomic);
    assert_true(a->caps.on_host_cores);
    assert_int_equal(a->caps.blocks, 8);
    gf_device_close(a);

    gf_stream *stream;
    assert_int_equal(gf_device_stream_create(b, &stream, NULL), GF_OK);
    gf_device_stream_destroy(b, stream);
    gf_device_close(b);
    assert_int_equal(gf_device_open(first, 1, &a, &why), GF_ERR_INVALID);
    assert_null(a);
    assert_non_null(strstr(why.text, "no emulated device 1"));
}

static void registered_memory_is_pinned(void **state)
{
    gpufifo_device *public = opened();
    gf_driver *driver;
    gf_device *device;
    void *host = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    gf_driver_open("emulated", &driver, NULL);
    assert_int_equal(gf_device_open(driver, 0, &device, NULL), GF_OK);
    assert_null(gf_device_kernel_address(device, host));
    assert_int_equal(gf_device_host_register(device, host, 8192, NULL), GF_OK);
    assert_int_equal(gpufifo_kind(public, (char *)host + 8191), GPUFIFO_MEMORY_PINNED);
    assert_ptr_equal(gf_device_kernel_address(device, host), host);
    assert_int_equal(gf_device_pinned_free(device, host), GF_ERR_INVALID);
    assert_int_equal(gf_device_host_unregister(device, host), GF_OK);
    assert_int_equal(gf_device_host_unregister(device, host), GF_ERR_INVALID);
    assert_int_equal(gpufifo_kind(public, host), GPUFIFO_MEMORY_HOST);
    munmap(host, 8192);
    gf_device_close(device);
    gpufifo_device_close(public);
}

struct slow {
    atomic_int *started, *finished;
};

static void run_slowly(void *argument)
{
    struct slow *slow = argument;

    atomic_store(slow->started, 1);
    for (int i = 0; i < 500; i++) {
        sched_yield();
    }
    atomic_store(slow->finished, 1);
}

/* As cudaFree: whatever may use the memory has ended. */
static void freeing_waits_for_work_under_way(void **state)
{
    gf_driver *driver;
    gf_device *device;
    gf_stream *stream;
    void *pointer;

    (void)state;
    gf_driver_open("emulated", &driver, NULL);
    assert_int_equal(gf_device_open(driver, 0, &device, NULL), GF_OK);
    assert_int_equal(gf_device_stream_create(device, &stream, NULL), GF_OK);
    for (int kind = 0; kind < 3; kind++) {
        atomic_int started = 0, finished = 0;
        struct slow slow = {&started, &finished};
        gf_status (*alloc)(gf_device *, size_t, void **, struct gf_reason *) =
            kind == 0 ? device->ops->alloc : kind == 1 ? device->ops->pinned_alloc : device->ops->managed_alloc;
        gf_status (*release)(gf_device *, void *) =
            kind == 0 ? device->ops->free : kind == 1 ? device->ops->pinned_free : device->ops->managed_free;
        assert_int_equal(alloc(device, 1000, &pointer, NULL), GF_OK);
        assert_int_equal(gf_emulated_run(device, stream, run_slowly, &slow, NULL), GF_OK);
        assert_int_equal(release(device, pointer), GF_OK);
        assert_int_equal(atomic_load(&finished), 1);
    }
    gf_device_stream_destroy(device, stream);
    gf_device_close(device);
}

static void pageable_copies_are_done_on_return(void **state)
{
    gpufifo_device *public = opened();
    gf_driver *driver;
    gf_device *device;
    gf_stream *stream;
    void *pointer;
    char host[100];

    (void)state;
    gf_driver_open("emulated", &driver, NULL);
    gf_device_open(driver, 0, &device, NULL);
    gf_device_stream_create(device, &stream, NULL);
    gf_device_alloc(device, 100, &pointer, NULL);
    for (int round = 0; round < 50; round++) {
        memset(host, round, sizeof host);
        assert_int_equal(gf_device_copy(device, stream, pointer, host, 100), GF_OK);
        memset(host, 0, sizeof host);            /* the source may be reused at once */
        assert_int_equal(gf_device_copy(device, stream, host, pointer, 100), GF_OK);
        assert_int_equal(host[99], round);
    }
    assert_int_equal(gf_device_stream_query(device, stream), GF_OK);
    gf_device_free(device, pointer);
    gf_device_stream_destroy(device, stream);
    gf_device_close(device);
    gpufifo_device_close(public);
}

static void host_moves_short_data_at_once(void **state)
{
    enum { BYTES = 100 };
    gf_driver *driver;
    gf_device *device;
    void *pointer, *pinned;
    char host[BYTES], back[BYTES];

    (void)state;
    gf_driver_open("emulated", &driver, NULL);
    gf_device_open(driver, 0, &device, NULL);
    gf_device_alloc(device, BYTES, &pointer, NULL);
    gf_device_pinned_alloc(device, BYTES, &pinned, NULL);
    memset(host, 3, sizeof host);
    memset(pinned, 4, BYTES);
    assert_int_equal(gf_device_copy_at_once(device, pointer, host, BYTES), GF_OK);
    assert_int_equal(gf_device_copy_at_once(device, pointer, pinned, 1), GF_OK);
    assert_int_equal(gf_device_copy_at_once(device, back, pointer, BYTES), GF_OK);
    host[0] = 4;
    assert_memory_equal(back, host, BYTES);
    assert_int_equal(gf_device_copy_at_once(device, pointer, host, BYTES + 1000), GF_ERR_INVALID);
    gf_device_free(device, pointer);
    assert_int_equal(gf_device_copy_at_once(device, back, pointer, BYTES), GF_ERR_INVALID);
    gf_device_pinned_free(device, pinned);
    gf_device_close(device);
}

static void launches_run_the_kernels_of_the_library(void **state)
{
    gf_driver *driver;
    gf_device *device;
    gf_stream *stream;
    char *from, *to, result[1000];
    struct gf_piece *pieces;
    struct { uint64_t done; uint32_t abort, error; } *words;
    uint32_t *blocks_done;

    (void)state;
    gf_driver_open("emulated", &driver, NULL);
    assert_int_equal(gf_device_open(driver, 0, &device, NULL), GF_OK);
    gf_device_stream_create(device, &stream, NULL);
    gf_device_alloc(device, 1000, (void **)&from, NULL);
    gf_device_alloc(device, 1000, (void **)&to, NULL);
    gf_device_alloc(device, sizeof *blocks_done, (void **)&blocks_done, NULL);
    gf_device_pinned_alloc(device, sizeof *words, (void **)&words, NULL);
    gf_device_pinned_alloc(device, 2 * sizeof *pieces, (void **)&pieces, NULL);
    gf_device_fill(device, stream, from, 1, 500);
    gf_device_fill(device, stream, from + 500, 2, 500);
    gf_device_fill(device, stream, blocks_done, 0, sizeof *blocks_done);
    pieces[0] = (struct gf_piece){gf_device_kernel_address(device, to + 500), gf_device_kernel_address(device, from), 500};
    pieces[1] = (struct gf_piece){gf_device_kernel_address(device, to), gf_device_kernel_address(device, from + 500), 500};
    struct gf_copy_work work = {
        .task = {.ranks = 1, .abort = &words->abort, .done = &words->done, .error = &words->error, .ticket = 7,
                 .blocks_done = gf_device_kernel_address(device, blocks_done)},
        .pieces = pieces, .count = 2,
    };
    assert_int_equal(gf_device_launch(device, stream, GF_KERNEL_COPY_LIST, 2, 512, &work, sizeof work, NULL), GF_OK);
    assert_int_equal(gf_device_stream_sync(device, stream), GF_OK);
    assert_int_equal(words->done, 7);
    gf_device_copy(device, stream, result, to, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(result[i], i < 500 ? 2 : 1);
    }
    gf_device_free(device, from);
    gf_device_free(device, to);
    gf_device_free(device, blocks_done);
    gf_device_pinned_free(device, words);
    gf_device_pinned_free(device, pieces);
    gf_device_stream_destroy(device, stream);
    gf_device_close(device);
}

static void bad_launches_say_why(void **state)
{
    gf_driver *driver;
    gf_device *device;
    gf_stream *stream;
    struct gf_copy_work work = {.count = 0};
    static const struct { int kernel, blocks, threads; const char *says; } bad[] = {
        {GF_KERNEL_COUNT, 1, 512, "no kernel"}, {-1, 1, 512, "no kernel"}, {GF_KERNEL_COPY_LIST, 9, 512, "9 blocks"},
        {GF_KERNEL_COPY_LIST, 1, 0, "multiple of 32"}, {GF_KERNEL_COPY_LIST, 1, 33, "multiple of 32"},
        {GF_KERNEL_COPY_LIST, 1, 544, "32 to 512"},
    };

    (void)state;
    gf_driver_open("emulated", &driver, NULL);
    assert_int_equal(gf_device_open(driver, 0, &device, NULL), GF_OK);
    gf_device_stream_create(device, &stream, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct gf_reason why = {""};
        assert_int_equal(gf_device_launch(device, stream, (enum gf_kernel)bad[i].kernel, bad[i].blocks, bad[i].threads, &work,
                                          sizeof work, &why), GF_ERR_INVALID);
        assert_non_null(strstr(why.text, bad[i].says));
    }
    assert_int_equal(gf_device_stream_query(device, stream), GF_OK);
    gf_device_stream_destroy(device, stream);
    gf_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_are_counted),
        cmocka_unit_test(registered_memory_is_pinned),
        cmocka_unit_test(freeing_waits_for_work_under_way),
        cmocka_unit_test(pageable_copies_are_done_on_return), cmocka_unit_test(host_moves_short_data_at_once),
        cmocka_unit_test(launches_run_the_kernels_of_the_library),
        cmocka_unit_test(bad_launches_say_why),
    };
    unsetenv("GPUFIFO_EMULATED");
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
