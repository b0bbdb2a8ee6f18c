/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where an address lives, asked of a driver of our own that counts how often it is asked.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "mca_coll_gpufifo/host_memory.h"

enum { PAGE = 4096 };

/* Says DEVICE for one range and that it does not know anything else. */
struct counting_driver {
    gf_driver base;
    _Atomic(char *) low;
    _Atomic size_t bytes;
    _Atomic int asked;
    gf_status answer;
};

static gf_status answer(gf_driver *driver, const void *address, struct gf_pointer *info)
{
    struct counting_driver *d = (struct counting_driver *)driver;
    const char *low = d->low;

    d->asked++;
    *info = (struct gf_pointer){.kind = GF_MEMORY_HOST, .ordinal = -1};
    if (low && (const char *)address >= low && (const char *)address < low + d->bytes) {
        *info = (struct gf_pointer){.kind = GF_MEMORY_DEVICE, .ordinal = 3, .base = (void *)low, .size = d->bytes};
    }
    return d->answer;
}

static const struct gf_driver_ops driver_ops = {.name = "counting", .pointer = answer};

static struct gf_host_memory memory;

static struct counting_driver fresh(bool remembers)
{
    gf_host_memory_open(&memory, remembers);
    return (struct counting_driver){.base = {.ops = &driver_ops}};
}

static bool is_device(struct counting_driver *driver, const void *address)
{
    struct gf_pointer info;

    return gf_host_memory_locate(&memory, &driver->base, address, &info);
}

static char *map(size_t bytes, int protection)
{
    char *address = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(address, MAP_FAILED);
    return address;
}

static int static_number;

/* Nobody may ask this: where UCX is loaded it is a function that moves the end of the heap. */
static int asked_sbrk;

void *sbrk(intptr_t change)
{
    (void)change;
    asked_sbrk++;
    return (void *)syscall(SYS_brk, 0);
}

static void test_ranges_need_no_driver(void **state)
{
    struct counting_driver driver = fresh(false);
    int local = 0;
    const char *heap_end = (const char *)syscall(SYS_brk, 0);   /* unknown where a sanitizer's malloc has no heap there */
    (void)state;

    for (int round = 0; round < 2; round++) {
        assert_false(is_device(&driver, &local));
        assert_false(is_device(&driver, &static_number));
        assert_false(is_device(&driver, "constant"));
        assert_true(memory.heap_low == 0 || !is_device(&driver, heap_end - 1));
        assert_false(is_device(&driver, NULL));
        assert_false(is_device(&driver, (void *)1));
    }
    assert_int_equal(driver.asked, 0);
    assert_int_equal(asked_sbrk, 0);
}

/* The fast question has to say no for null and MPI_IN_PLACE, whatever was released. */
static void test_no_page_is_remembered_at_first(void **state)
{
    (void)state;

    (void)fresh(true);
    for (int round = 0; round < 2; round++) {
        for (uintptr_t page = 0; page < 2 * GF_HOST_PAGES; page++) {
            assert_false(gf_host_memory_remembers(&memory, (void *)(page << GF_HOST_PAGE_SHIFT)));
        }
        gf_host_memory_forget(&memory, NULL, (size_t)4 * GF_HOST_PAGES * PAGE);
    }
}

static void test_pages_are_remembered_until_released(void **state)
{
    struct counting_driver driver = fresh(true);
    char *block = map(3 * PAGE, PROT_READ | PROT_WRITE);
    (void)state;

    assert_false(gf_host_memory_remembers(&memory, block));
    assert_false(is_device(&driver, block + 8));
    assert_true(gf_host_memory_remembers(&memory, block));
    assert_true(gf_host_memory_remembers(&memory, block + PAGE - 1));
    assert_false(gf_host_memory_remembers(&memory, block + PAGE));
    assert_false(is_device(&driver, block + PAGE - 1));
    assert_int_equal(driver.asked, 1);
    assert_false(is_device(&driver, block + 2 * PAGE));
    assert_int_equal(driver.asked, 2);

    gf_host_memory_forget(&memory, block + PAGE, PAGE);
    assert_true(gf_host_memory_remembers(&memory, block));
    assert_true(gf_host_memory_remembers(&memory, block + 2 * PAGE));
    gf_host_memory_forget(&memory, block + 1, 2);
    assert_false(gf_host_memory_remembers(&memory, block));
    gf_host_memory_forget(&memory, block - (size_t)PAGE * 2 * GF_HOST_PAGES, (size_t)PAGE * 4 * GF_HOST_PAGES);
    assert_false(gf_host_memory_remembers(&memory, block + 2 * PAGE));

    driver.low = block;
    driver.bytes = 3 * PAGE;
    assert_true(is_device(&driver, block));
    munmap(block, 3 * PAGE);
}

static void test_without_announcements_nothing_is_remembered(void **state)
{
    struct counting_driver driver = fresh(false);
    char *block = map(PAGE, PROT_READ | PROT_WRITE);
    (void)state;

    assert_false(is_device(&driver, block));
    assert_false(is_device(&driver, block));
    assert_int_equal(driver.asked, 2);
    assert_false(gf_host_memory_remembers(&memory, block));
    munmap(block, PAGE);
}

static void test_device_memory_is_never_remembered(void **state)
{
    struct counting_driver driver = fresh(true);
    struct gf_pointer info;
    struct gf_reason why = {""};
    char *block = map(2 * PAGE, PROT_READ | PROT_WRITE);
    (void)state;

    driver.low = block;
    driver.bytes = PAGE;
    assert_true(gf_host_memory_locate(&memory, &driver.base, block + 5, &info));
    assert_int_equal(info.kind, GF_MEMORY_DEVICE);
    assert_int_equal(info.ordinal, 3);
    assert_ptr_equal(info.base, block);
    assert_true(is_device(&driver, block));
    assert_int_equal(driver.asked, 2);
    assert_int_equal(gf_host_memory_query(&memory, &driver.base, block, &info, &why), GF_OK);
    assert_int_equal(info.size, PAGE);
    munmap(block, 2 * PAGE);
}

/* What a driver reserves but has not given out, or has got back, is unknown to it and closed to us. */
static void test_unreadable_memory_is_invalid(void **state)
{
    struct counting_driver driver = fresh(true);
    struct gf_pointer info;
    struct gf_reason why = {""};
    char *block = map(PAGE, PROT_NONE);
    (void)state;

    assert_true(is_device(&driver, block));
    assert_false(gf_host_memory_remembers(&memory, block));
    assert_int_equal(gf_host_memory_query(&memory, &driver.base, block, &info, &why), GF_ERR_INVALID);
    assert_int_equal(info.kind, GF_MEMORY_INVALID);
    assert_non_null(strstr(why.text, "freed"));
    munmap(block, PAGE);
    assert_true(is_device(&driver, block));
}

static void test_a_driver_that_fails_keeps_host_code_away(void **state)
{
    struct counting_driver driver = fresh(true);
    struct gf_pointer info;
    struct gf_reason why = {""};
    char *block = map(PAGE, PROT_READ | PROT_WRITE);
    (void)state;

    driver.answer = GF_ERR_DEVICE;
    assert_true(is_device(&driver, block));
    assert_false(gf_host_memory_remembers(&memory, block));
    assert_int_equal(gf_host_memory_query(&memory, &driver.base, block, &info, &why), GF_ERR_DEVICE);
    assert_non_null(strstr(why.text, "counting"));
    munmap(block, PAGE);
}

/* The answer of the driver is older than a release: it must not be remembered. */
static void test_an_old_answer_is_not_remembered(void **state)
{
    char *block = map(PAGE, PROT_READ | PROT_WRITE);
    uint64_t generation;
    (void)state;

    (void)fresh(true);
    generation = gf_host_memory_generation(&memory);
    gf_host_memory_forget(&memory, block, PAGE);
    gf_host_memory_learn(&memory, block, generation);
    assert_false(gf_host_memory_remembers(&memory, block));
    gf_host_memory_learn(&memory, block, gf_host_memory_generation(&memory));
    assert_true(gf_host_memory_remembers(&memory, block));
    munmap(block, PAGE);
}

/* Two pages that share a place in the table: the later one is remembered, the earlier one is asked about again. */
static void test_pages_that_share_a_place(void **state)
{
    struct counting_driver driver = fresh(true);
    size_t distance = (size_t)GF_HOST_PAGES * PAGE;
    char *block = map(distance + PAGE, PROT_READ | PROT_WRITE);
    (void)state;

    assert_false(is_device(&driver, block));
    assert_false(is_device(&driver, block + distance));
    assert_false(gf_host_memory_remembers(&memory, block));
    assert_true(gf_host_memory_remembers(&memory, block + distance));
    gf_host_memory_forget(&memory, block, PAGE);
    assert_true(gf_host_memory_remembers(&memory, block + distance));
    munmap(block, distance + PAGE);
}

static _Atomic int stop;

static void *ask_all_the_time(void *argument)
{
    struct counting_driver *driver = argument;

    while (!stop) {
        for (int i = 0; i < 4; i++) {
            is_device(driver, driver->low + i * PAGE);
        }
    }
    return NULL;
}

/* One thread learns while another one turns host memory into device memory and back, announcing the release first, as it
 * happens. Once the memory is the device's, it must never be taken for the host's. */
static void test_learning_and_releasing_at_once(void **state)
{
    struct counting_driver driver = fresh(true);
    char *block = map(4 * PAGE, PROT_READ | PROT_WRITE);
    pthread_t thread;
    (void)state;

    driver.low = block;
    stop = 0;
    assert_int_equal(pthread_create(&thread, NULL, ask_all_the_time, &driver), 0);
    for (int round = 0; round < 20000; round++) {
        driver.bytes = 4 * PAGE;
        gf_host_memory_forget(&memory, block, 4 * PAGE);
        for (int i = 0; i < 4; i++) {
            assert_true(is_device(&driver, block + i * PAGE));
        }
        driver.bytes = 0;
        is_device(&driver, block);
    }
    stop = 1;
    pthread_join(thread, NULL);
    munmap(block, 4 * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_need_no_driver),
        cmocka_unit_test(test_no_page_is_remembered_at_first),
        cmocka_unit_test(test_pages_are_remembered_until_released),
        cmocka_unit_test(test_without_announcements_nothing_is_remembered),
        cmocka_unit_test(test_device_memory_is_never_remembered),
        cmocka_unit_test(test_unreadable_memory_is_invalid),
        cmocka_unit_test(test_a_driver_that_fails_keeps_host_code_away),
        cmocka_unit_test(test_an_old_answer_is_not_remembered),
        cmocka_unit_test(test_pages_that_share_a_place),
        cmocka_unit_test(test_learning_and_releasing_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
