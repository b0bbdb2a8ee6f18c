/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The emulated device's memory: out of reach for the CPU, in reach for kernels, gone when it is freed, and known by
 * pointer queries.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/unit/child.h"
#include "tests/unit/emulated_memory.h"

static void read_byte(void *address)
{
    (void)*(volatile char *)address;
}

static void write_byte(void *address)
{
    *(volatile char *)address = 1;
}

static long blocks_of(const struct gf_emulated_memory *memory)
{
    struct stat status;
    assert_int_equal(fstat(memory->fd, &status), 0);
    return (long)status.st_blocks;
}

static void the_cpu_dies_of_a_device_address(void **state)
{
    char *device = alloc(*state, GF_MEMORY_DEVICE, 10000);

    assert_true(child_died_by(child_fork(read_byte, device), SIGSEGV));
    assert_true(child_died_by(child_fork(write_byte, device), SIGSEGV));
    assert_true(child_died_by(child_fork(read_byte, device + 9999), SIGSEGV));
    assert_int_equal(child_fork(read_byte, reach(*state, device, 1)), 0);
    assert_int_equal(gf_emulated_memory_free(*state, GF_MEMORY_DEVICE, device), GF_OK);
}

static void kernels_reach_it_at_a_fixed_distance(void **state)
{
    struct gf_emulated_memory *memory = *state;
    char *a = alloc(memory, GF_MEMORY_DEVICE, 10000), *b = alloc(memory, GF_MEMORY_DEVICE, 1);
    char *kernel = reach(memory, a, 10000);

    assert_ptr_equal(kernel, a + memory->distance);
    assert_ptr_equal(reach(memory, b, 1), b + memory->distance);
    assert_ptr_equal(reach(memory, a + 77, 9923), kernel + 77);
    memset(kernel, 7, 10000);
    assert_int_equal(kernel[9999], 7);
    assert_int_equal((uintptr_t)a % 256, 0);
    assert_int_equal((uintptr_t)b % 256, 0);

    assert_null(reach(memory, a, 10001));
    assert_null(reach(memory, a + 1, 10000));
    assert_null(reach(memory, a, SIZE_MAX));
    gf_emulated_memory_free(memory, GF_MEMORY_DEVICE, a);
    gf_emulated_memory_free(memory, GF_MEMORY_DEVICE, b);
}

static void new_device_memory_holds_no_zeros(void **state)
{
    char *device = alloc(*state, GF_MEMORY_DEVICE, 5000);
    const char *kernel = reach(*state, device, 5000);

    for (int i = 0; i < 5000; i++) {
        assert_int_not_equal(kernel[i], 0);
    }
    gf_emulated_memory_free(*state, GF_MEMORY_DEVICE, device);
}

static void running_over_either_end_hits_a_guard_page(void **state)
{
    char *before = alloc(*state, GF_MEMORY_DEVICE, PAGE), *device = alloc(*state, GF_MEMORY_DEVICE, 1000);
    char *after = alloc(*state, GF_MEMORY_DEVICE, PAGE);
    char *kernel = reach(*state, device, 1000);

    assert_true(child_died_by(child_fork(write_byte, kernel + 1024), SIGSEGV));
    assert_true(child_died_by(child_fork(write_byte, reach(*state, after, 1) - 1), SIGSEGV));
    assert_true(child_died_by(child_fork(write_byte, reach(*state, before, PAGE) + PAGE), SIGSEGV));
    gf_emulated_memory_free(*state, GF_MEMORY_DEVICE, before);
    gf_emulated_memory_free(*state, GF_MEMORY_DEVICE, device);
    gf_emulated_memory_free(*state, GF_MEMORY_DEVICE, after);
}

static void freed_memory_is_out_of_reach_of_kernels_too(void **state)
{
    char *device = alloc(*state, GF_MEMORY_DEVICE, 5000), *kernel = reach(*state, device, 5000);
    char *pinned = alloc(*state, GF_MEMORY_PINNED, 5000);

    gf_emulated_memory_free(*state, GF_MEMORY_DEVICE, device);
    gf_emulated_memory_free(*state, GF_MEMORY_PINNED, pinned);
    assert_true(child_died_by(child_fork(read_byte, kernel), SIGSEGV));
    assert_true(child_died_by(child_fork(read_byte, pinned), SIGSEGV));
    assert_int_equal(query(*state, device).kind, GF_MEMORY_INVALID);
    assert_int_equal(query(*state, pinned).kind, GF_MEMORY_INVALID);
    assert_null(reach(*state, device, 1));
}

static void the_system_has_freed_memory_back_at_once(void **state)
{
    enum { BYTES = 8 << 20 };
    long before = blocks_of(*state);
    char *device = alloc(*state, GF_MEMORY_DEVICE, BYTES);

    memset(reach(*state, device, BYTES), 1, BYTES);
    assert_true(blocks_of(*state) >= before + BYTES / 512);
    assert_int_equal(gf_emulated_memory_free(*state, GF_MEMORY_DEVICE, device), GF_OK);
    assert_int_equal(blocks_of(*state), before);
}

static void the_same_address_gets_a_new_id(void **state)
{
    struct gf_emulated_memory *memory = *state;
    static const enum gf_memory_kind kinds[] = {GF_MEMORY_DEVICE, GF_MEMORY_PINNED, GF_MEMORY_MANAGED};

    for (int k = 0; k < 3; k++) {
        char *first = alloc(memory, kinds[k], 1000);
        uint64_t id = query(memory, first).buffer_id;
        assert_int_equal(query(memory, first + 999).buffer_id, id);
        assert_int_equal(gf_emulated_memory_free(memory, kinds[k], first), GF_OK);
        char *second = alloc(memory, kinds[k], 1000);
        assert_ptr_equal(second, first);
        assert_int_not_equal(query(memory, second).buffer_id, id);
        gf_emulated_memory_free(memory, kinds[k], second);
    }
}

static void ten_thousand_rounds_leave_nothing_behind(void **state)
{
    struct gf_emulated_memory *memory = *state;
    long before = blocks_of(memory);
    char *kept[8] = {NULL};
    uint64_t last_id = 0;

    for (int round = 0; round < 10000; round++) {
        char **slot = &kept[round * 5 % 8];
        if (*slot) {
            enum gf_memory_kind kind;
            assert_int_equal(*(char *)gf_emulated_memory_reach(memory, *slot, 1, &kind), (char)(round * 5 % 8));
            assert_int_equal(gf_emulated_memory_free(memory, GF_MEMORY_DEVICE, *slot), GF_OK);
        }
        *slot = alloc(memory, GF_MEMORY_DEVICE, 1 + (size_t)(round * 7919 % 20000));
        *reach(memory, *slot, 1) = (char)(round * 5 % 8);
        uint64_t id = query(memory, *slot).buffer_id;
        assert_true(id > last_id);
        last_id = id;
    }
    for (int i = 0; i < 8; i++) {
        gf_emulated_memory_free(memory, GF_MEMORY_DEVICE, kept[i]);
    }
    assert_int_equal(blocks_of(memory), before);
    assert_int_equal(memory->device.count, 0);
}

static void queries_tell_what_an_address_is(void **state)
{
    struct gf_emulated_memory *memory = *state;
    int on_stack;
    void *heap = malloc(100);
    char *device = alloc(memory, GF_MEMORY_DEVICE, 1000), *pinned = alloc(memory, GF_MEMORY_PINNED, 1000);
    char *managed = alloc(memory, GF_MEMORY_MANAGED, 1000);
    struct gf_pointer info = query(memory, device + 500);

    assert_int_equal(info.kind, GF_MEMORY_DEVICE);
    assert_int_equal(info.ordinal, 0);
    assert_ptr_equal(info.base, device);
    assert_int_equal(info.size, 1000);
    assert_true(info.ipc);

    info = query(memory, pinned + 999);
    assert_int_equal(info.kind, GF_MEMORY_PINNED);
    assert_int_equal(info.ordinal, -1);
    assert_ptr_equal(info.base, pinned);
    assert_false(info.ipc);

    info = query(memory, managed);
    assert_int_equal(info.kind, GF_MEMORY_MANAGED);
    assert_false(info.ipc);

    const void *host[] = {&on_stack, heap, NULL, (void *)1, (void *)UINTPTR_MAX, (char *)memory->base - 1,
                          (char *)memory->base + memory->bytes};
    for (size_t i = 0; i < sizeof host / sizeof host[0]; i++) {
        info = query(memory, host[i]);
        assert_int_equal(info.kind, GF_MEMORY_HOST);
        assert_int_equal(info.ordinal, -1);
        assert_null(info.base);
    }
    const void *invalid[] = {device + 1000, device - 1, device + MEMORY / 2, device + memory->distance, pinned + 1000,
                             managed - 1};
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++) {
        assert_int_equal(query(memory, invalid[i]).kind, GF_MEMORY_INVALID);
    }
    free(heap);
    gf_emulated_memory_free(memory, GF_MEMORY_DEVICE, device);
    gf_emulated_memory_free(memory, GF_MEMORY_PINNED, pinned);
    gf_emulated_memory_free(memory, GF_MEMORY_MANAGED, managed);
}

static void pinned_and_managed_memory_is_the_same_for_both_sides(void **state)
{
    char *pinned = alloc(*state, GF_MEMORY_PINNED, 5000), *managed = alloc(*state, GF_MEMORY_MANAGED, 5000);

    assert_ptr_equal(reach(*state, pinned, 5000), pinned);
    assert_ptr_equal(reach(*state, managed, 5000), managed);
    assert_int_equal((uintptr_t)pinned % PAGE, 0);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(pinned[i], 0);
    }
    memset(pinned, 3, 5000);
    memset(managed, 4, 5000);
    gf_emulated_memory_free(*state, GF_MEMORY_PINNED, pinned);
    gf_emulated_memory_free(*state, GF_MEMORY_MANAGED, managed);
    assert_int_equal(*(char *)alloc(*state, GF_MEMORY_PINNED, 5000), 0);
    gf_emulated_memory_free(*state, GF_MEMORY_PINNED, pinned);
}

static void no_bytes_need_no_memory(void **state)
{
    void *address = (void *)1;

    assert_int_equal(gf_emulated_memory_alloc(*state, GF_MEMORY_DEVICE, 0, &address, NULL), GF_OK);
    assert_null(address);
    assert_int_equal(gf_emulated_memory_free(*state, GF_MEMORY_DEVICE, NULL), GF_OK);
}

static void only_the_start_of_an_allocation_is_freed_and_once(void **state)
{
    char *device = alloc(*state, GF_MEMORY_DEVICE, 1000);
    int on_stack;

    assert_int_equal(gf_emulated_memory_free(*state, GF_MEMORY_DEVICE, device + 1), GF_ERR_INVALID);
    assert_int_equal(gf_emulated_memory_free(*state, GF_MEMORY_PINNED, device), GF_ERR_INVALID);
    assert_int_equal(gf_emulated_memory_free(*state, GF_MEMORY_DEVICE, &on_stack), GF_ERR_INVALID);
    assert_int_equal(gf_emulated_memory_free(*state, GF_MEMORY_HOST, device), GF_ERR_INVALID);
    assert_int_equal(gf_emulated_memory_free(*state, GF_MEMORY_DEVICE, device), GF_OK);
    assert_int_equal(gf_emulated_memory_free(*state, GF_MEMORY_DEVICE, device), GF_ERR_INVALID);
}

static void exhaustion_gives_the_figures_and_the_way_out(void **state)
{
    struct gf_emulated_memory *memory = *state;
    struct gf_reason why = {""};
    char text[64];
    void *address = (void *)1;
    char *half = alloc(memory, GF_MEMORY_DEVICE, MEMORY / 2);

    assert_int_equal(gf_emulated_memory_alloc(memory, GF_MEMORY_DEVICE, MEMORY / 2, &address, &why), GF_ERR_NO_MEMORY);
    assert_null(address);
    snprintf(text, sizeof text, "no room for %d bytes: %d of %d are free", MEMORY / 2, MEMORY / 2 - 2 * PAGE, MEMORY);
    if (!strstr(why.text, text) || !strstr(why.text, "GPUFIFO_EMULATED=memory=")) {
        fail_msg("%s", why.text);
    }
    gf_emulated_memory_free(memory, GF_MEMORY_DEVICE, half);
    gf_emulated_memory_free(memory, GF_MEMORY_DEVICE, alloc(memory, GF_MEMORY_DEVICE, MEMORY - PAGE));
}

static void too_many_addresses_are_refused_with_a_sentence(void **state)
{
    struct gf_emulated_memory *memory;
    struct gf_reason why = {""};

    (void)state;
    assert_int_equal(gf_emulated_memory_create((size_t)1 << 45, &memory, &why), GF_ERR_NO_MEMORY);
    assert_null(memory);
    assert_non_null(strstr(why.text, "GPUFIFO_EMULATED=memory="));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_dies_of_a_device_address),
        cmocka_unit_test(kernels_reach_it_at_a_fixed_distance),
        cmocka_unit_test(new_device_memory_holds_no_zeros),
        cmocka_unit_test(running_over_either_end_hits_a_guard_page),
        cmocka_unit_test(freed_memory_is_out_of_reach_of_kernels_too),
        cmocka_unit_test(the_system_has_freed_memory_back_at_once),
        cmocka_unit_test(the_same_address_gets_a_new_id),
        cmocka_unit_test(ten_thousand_rounds_leave_nothing_behind),
        cmocka_unit_test(queries_tell_what_an_address_is),
        cmocka_unit_test(pinned_and_managed_memory_is_the_same_for_both_sides),
        cmocka_unit_test(no_bytes_need_no_memory),
        cmocka_unit_test(only_the_start_of_an_allocation_is_freed_and_once),
        cmocka_unit_test(exhaustion_gives_the_figures_and_the_way_out),
        cmocka_unit_test(too_many_addresses_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests_name("emulated_memory", tests, create, destroy);
}
