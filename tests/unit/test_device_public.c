/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The public header on the emulated device: which device a name means, every kind of memory, copies between all of them, work,
 * and a sentence for every mistake.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <time.h>

#include <cmocka.h>

#include "device/device.h"
#include "gpufifo/device.h"

static gpufifo_device *opened(void)
{
    gpufifo_device *device;
    if (gpufifo_device_open("emulated", -1, &device) != 0) {
        fail_msg("%s", gpufifo_error());
    }
    return device;
}

/* ---- names ---- */

static void set_environment(const char *ours, const char *mca)
{
    ours ? setenv("GPUFIFO_DEVICE", ours, 1) : unsetenv("GPUFIFO_DEVICE");
    mca ? setenv("OMPI_MCA_coll_gpufifo_device", mca, 1) : unsetenv("OMPI_MCA_coll_gpufifo_device");
}

static void the_callers_word_goes_before_the_environment(void **state)
{
    static const struct { const char *name, *ours, *mca; } emulated[] = {
        {"emulated", NULL, NULL},
        {"emulated", "cuda", "none"},
        {NULL, "emulated", NULL},
        {NULL, "emulated", "none"},
        {"auto", "emulated", "cuda"},
        {"", NULL, "emulated"},
        {NULL, "auto", "emulated"},
        {"auto", "", "emulated"},
    };
    gpufifo_device *device;

    (void)state;
    for (size_t i = 0; i < sizeof emulated / sizeof emulated[0]; i++) {
        set_environment(emulated[i].ours, emulated[i].mca);
        if (gpufifo_device_open(emulated[i].name, -1, &device) != 0) {
            fail_msg("case %zu: %s", i, gpufifo_error());
        }
        assert_string_equal(gpufifo_device_name(device), "emulated");
        gpufifo_device_close(device);
    }
    set_environment(NULL, NULL);
}

static void an_unknown_name_is_named(void **state)
{
    gpufifo_device *device = (gpufifo_device *)1;
    struct gf_reason why = {""};
    gf_driver *driver;

    (void)state;
    assert_true(gpufifo_device_open("vulkan", -1, &device) < 0);
    assert_null(device);
    assert_non_null(strstr(gpufifo_error(), "\"vulkan\""));
    set_environment(NULL, "opencl");
    assert_true(gpufifo_device_open(NULL, -1, &device) < 0);
    assert_non_null(strstr(gpufifo_error(), "\"opencl\""));
    set_environment("none", NULL);
    assert_true(gpufifo_device_open(NULL, -1, &device) < 0);
    assert_non_null(strstr(gpufifo_error(), "set GPUFIFO_DEVICE to"));
    set_environment(NULL, NULL);

    assert_false(gf_driver_available("vulkan", &why));
    assert_non_null(strstr(why.text, "vulkan"));
    assert_false(gf_driver_available(NULL, NULL));
    assert_int_equal(gf_driver_open("vulkan", &driver, &why), GF_ERR_INVALID);
    assert_null(driver);
}

static void the_emulated_device_is_never_chosen_unasked(void **state)
{
    gpufifo_device *device;

    (void)state;
    set_environment(NULL, NULL);
    if (gpufifo_device_open(NULL, -1, &device) == 0) {
        assert_string_equal(gpufifo_device_name(device), "cuda");
        gpufifo_device_close(device);
    } else {
        assert_true(gf_driver_available("cuda", NULL) || strstr(gpufifo_error(), "GPUFIFO_DEVICE=emulated"));
        assert_null(device);
    }
}

/* ---- memory ---- */

static const enum gpufifo_memory kinds[] = {
    GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_PINNED, GPUFIFO_MEMORY_MANAGED, GPUFIFO_MEMORY_DEVICE,
};
enum { KINDS = 4 };

static void memory_is_of_the_kind_that_was_asked_for(void **state)
{
    gpufifo_device *device = opened();

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        void *pointer = NULL;
        assert_int_equal(gpufifo_alloc(device, kinds[k], 1000, &pointer), 0);
        assert_non_null(pointer);
        assert_int_equal(gpufifo_kind(device, pointer), kinds[k]);
        assert_int_equal(gpufifo_kind(device, (char *)pointer + 999), kinds[k]);
        assert_int_equal(gpufifo_free(device, pointer), 0);
        if (kinds[k] != GPUFIFO_MEMORY_HOST) {
            assert_int_equal(gpufifo_kind(device, pointer), GPUFIFO_MEMORY_INVALID);
            assert_true(gpufifo_free(device, pointer) < 0);
            assert_non_null(strstr(gpufifo_error(), "freed already"));
        }
        assert_int_equal(gpufifo_alloc(device, kinds[k], 0, &pointer), 0);
        assert_null(pointer);
        assert_int_equal(gpufifo_free(device, NULL), 0);
    }
    void *pointer = (void *)1;
    assert_true(gpufifo_alloc(device, GPUFIFO_MEMORY_INVALID, 10, &pointer) < 0);
    assert_null(pointer);
    assert_true(gpufifo_alloc(device, GPUFIFO_MEMORY_DEVICE, SIZE_MAX / 2, &pointer) < 0);
    assert_non_null(strstr(gpufifo_error(), "GPUFIFO_EMULATED=memory="));
    gpufifo_device_close(device);
}

static void memory_outlives_the_device_that_was_closed(void **state)
{
    gpufifo_device *device = opened();
    void *pointer;
    char byte = 5;

    (void)state;
    assert_int_equal(gpufifo_alloc(device, GPUFIFO_MEMORY_DEVICE, 100, &pointer), 0);
    assert_int_equal(gpufifo_fill(device, pointer, 77, 100), 0);
    gpufifo_device_close(device);
    device = opened();
    assert_int_equal(gpufifo_kind(device, pointer), GPUFIFO_MEMORY_DEVICE);
    assert_int_equal(gpufifo_copy(device, &byte, (char *)pointer + 99, 1), 0);
    assert_int_equal(byte, 77);
    assert_int_equal(gpufifo_free(device, pointer), 0);
    gpufifo_device_close(device);
}

/* From a[kind] + some offset to b[kind] + some other, through every pair of kinds, with what lies around left alone. */
static void copies_work_between_all_kinds_at_all_offsets(void **state)
{
    enum { BYTES = 20000 };
    gpufifo_device *device = opened();
    unsigned char *from[KINDS], *to[KINDS], source[BYTES], expected[BYTES], result[BYTES];
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    srand(seed);
    for (int k = 0; k < KINDS; k++) {
        assert_int_equal(gpufifo_alloc(device, kinds[k], BYTES, (void **)&from[k]), 0);
        assert_int_equal(gpufifo_alloc(device, kinds[k], BYTES, (void **)&to[k]), 0);
    }
    for (int round = 0; round < 10 * KINDS * KINDS; round++) {
        int a = round % KINDS, b = round / KINDS % KINDS;
        size_t bytes = 1 + (size_t)rand() % (round % 3 ? 20 : BYTES / 2);
        size_t start = (size_t)rand() % (BYTES - bytes + 1), end = (size_t)rand() % (BYTES - bytes + 1);
        for (int i = 0; i < BYTES; i++) {
            source[i] = (unsigned char)rand();
        }
        assert_int_equal(gpufifo_copy(device, from[a], source, BYTES), 0);
        assert_int_equal(gpufifo_fill(device, to[b], round, BYTES), 0);
        memset(expected, round, BYTES);
        memcpy(expected + end, source + start, bytes);
        assert_int_equal(gpufifo_copy(device, to[b] + end, from[a] + start, bytes), 0);
        assert_int_equal(gpufifo_copy(device, result, to[b], BYTES), 0);
        assert_memory_equal(result, expected, BYTES);
    }
    for (int k = 0; k < KINDS; k++) {
        assert_int_equal(gpufifo_free(device, from[k]), 0);
        assert_int_equal(gpufifo_free(device, to[k]), 0);
    }
    gpufifo_device_close(device);
}

static void bad_ranges_are_refused_and_no_bytes_never_are(void **state)
{
    gpufifo_device *device = opened();
    char host[200], *pointer, *freed;

    (void)state;
    gpufifo_alloc(device, GPUFIFO_MEMORY_DEVICE, 100, (void **)&pointer);
    gpufifo_alloc(device, GPUFIFO_MEMORY_DEVICE, 100, (void **)&freed);
    gpufifo_free(device, freed);
    const struct { void *to; const void *from; size_t bytes; } bad[] = {
        {pointer, host, 101}, {host, pointer, 101}, {pointer + 1, host, 100}, {freed, host, 1}, {host, freed, 1},
        {NULL, host, 1}, {host, NULL, 1}, {pointer - 1, host, 1}, {host, pointer, SIZE_MAX},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (gpufifo_copy(device, bad[i].to, bad[i].from, bad[i].bytes) >= 0) {
            fail_msg("copy %zu was taken", i);
        }
        assert_non_null(strstr(gpufifo_error(), "gpufifo_copy: an address is null, freed"));
        assert_int_equal(gpufifo_copy(device, bad[i].to, bad[i].from, 0), 0);
        assert_int_equal(gpufifo_fill(device, bad[i].to, 1, 0), 0);
    }
    assert_true(gpufifo_fill(device, pointer, 1, 101) < 0);
    assert_true(gpufifo_fill(device, NULL, 1, 1) < 0);
    assert_true(gpufifo_free(device, pointer + 1) < 0);
    assert_int_equal(gpufifo_free(device, pointer), 0);
    gpufifo_device_close(device);
}

static void the_cpu_and_kernels_know_different_addresses(void **state)
{
    gpufifo_device *device = opened();
    void *pointer, *pinned, *managed;
    int on_stack;

    (void)state;
    gpufifo_alloc(device, GPUFIFO_MEMORY_DEVICE, 100, &pointer);
    gpufifo_alloc(device, GPUFIFO_MEMORY_PINNED, 100, &pinned);
    gpufifo_alloc(device, GPUFIFO_MEMORY_MANAGED, 100, &managed);
    char *kernel = gpufifo_kernel_address(device, pointer);
    assert_non_null(kernel);
    assert_ptr_not_equal(kernel, pointer);
    assert_ptr_equal(gpufifo_kernel_address(device, (char *)pointer + 99), kernel + 99);
    assert_ptr_equal(gpufifo_kernel_address(device, pinned), pinned);
    assert_ptr_equal(gpufifo_kernel_address(device, managed), managed);
    assert_null(gpufifo_kernel_address(device, &on_stack));
    assert_null(gpufifo_kernel_address(device, NULL));
    assert_null(gpufifo_kernel_address(device, (char *)pointer + 100));
    gpufifo_free(device, pointer);
    gpufifo_free(device, pinned);
    gpufifo_free(device, managed);
    gpufifo_device_close(device);
}

/* ---- work ---- */

struct increment {
    int *numbers;
    int count;
    pthread_t thread;
};

static void increment(void *arguments)
{
    struct increment *increment = arguments;
    for (int i = 0; i < increment->count; i++) {
        increment->numbers[i]++;
    }
    increment->thread = pthread_self();
}

static void a_function_runs_as_a_kernel_would(void **state)
{
    gpufifo_device *device = opened();
    int numbers[100], *pointer;

    (void)state;
    gpufifo_alloc(device, GPUFIFO_MEMORY_DEVICE, sizeof numbers, (void **)&pointer);
    for (int i = 0; i < 100; i++) {
        numbers[i] = i;
    }
    gpufifo_copy(device, pointer, numbers, sizeof numbers);
    struct increment work = {.numbers = gpufifo_kernel_address(device, pointer), .count = 100};
    assert_int_equal(gpufifo_run(device, increment, &work), 0);
    assert_int_equal(gpufifo_synchronize(device), 0);
    assert_false(pthread_equal(work.thread, pthread_self()));
    gpufifo_copy(device, numbers, pointer, sizeof numbers);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(numbers[i], i + 1);
    }
    assert_true(gpufifo_run(device, NULL, NULL) < 0);
    gpufifo_free(device, pointer);
    gpufifo_device_close(device);
}

/* ---- errors ---- */

static void a_null_device_is_an_error_everywhere(void **state)
{
    void *pointer = NULL;
    char byte;

    (void)state;
    assert_true(gpufifo_device_open("emulated", 0, NULL) < 0);
    assert_true(gpufifo_alloc(NULL, GPUFIFO_MEMORY_HOST, 1, &pointer) < 0);
    assert_non_null(strstr(gpufifo_error(), "open one first"));
    assert_true(gpufifo_free(NULL, &byte) < 0);
    assert_true(gpufifo_copy(NULL, &byte, &byte, 1) < 0);
    assert_true(gpufifo_fill(NULL, &byte, 0, 1) < 0);
    assert_true(gpufifo_run(NULL, increment, NULL) < 0);
    assert_true(gpufifo_synchronize(NULL) < 0);
    assert_null(gpufifo_kernel_address(NULL, &byte));
    assert_int_equal(gpufifo_kind(NULL, &byte), GPUFIFO_MEMORY_HOST);
    gpufifo_device_close(NULL);
    gpufifo_device *device = opened();
    assert_true(gpufifo_alloc(device, GPUFIFO_MEMORY_HOST, 1, NULL) < 0);
    gpufifo_device_close(device);
}

static void *fail_elsewhere(void *argument)
{
    bool *clean = argument;
    *clean = strstr(gpufifo_error(), "no call has failed") != NULL;
    gpufifo_synchronize(NULL);
    return NULL;
}

static void each_thread_has_its_own_last_error(void **state)
{
    pthread_t thread;
    gpufifo_device *device;
    bool clean = false;

    (void)state;
    assert_true(gpufifo_device_open("vulkan", 0, &device) < 0);
    pthread_create(&thread, NULL, fail_elsewhere, &clean);
    pthread_join(thread, NULL);
    assert_true(clean);
    assert_non_null(strstr(gpufifo_error(), "vulkan"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_callers_word_goes_before_the_environment),
        cmocka_unit_test(an_unknown_name_is_named),
        cmocka_unit_test(the_emulated_device_is_never_chosen_unasked),
        cmocka_unit_test(memory_is_of_the_kind_that_was_asked_for),
        cmocka_unit_test(memory_outlives_the_device_that_was_closed),
        cmocka_unit_test(copies_work_between_all_kinds_at_all_offsets),
        cmocka_unit_test(bad_ranges_are_refused_and_no_bytes_never_are),
        cmocka_unit_test(the_cpu_and_kernels_know_different_addresses),
        cmocka_unit_test(a_function_runs_as_a_kernel_would),
        cmocka_unit_test(a_null_device_is_an_error_everywhere),
        cmocka_unit_test(each_thread_has_its_own_last_error),
    };
    unsetenv("GPUFIFO_EMULATED");
    return cmocka_run_group_tests_name("device_public", tests, NULL, NULL);
}
