/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host memory of the program that is registered with the emulated device: pinned meanwhile, and its table.
 */
#include "config.h"

#include <string.h>
#include <sys/mman.h>

#include "tests/unit/emulated_memory.h"

static void registered_host_memory_is_pinned_until_it_is_unregistered(void **state)
{
    struct gf_emulated_memory *memory = *state;
    struct gf_reason why = {""};
    char *host = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_int_equal(gf_emulated_memory_register(memory, host, 2 * PAGE, &why), GF_OK);
    struct gf_pointer info = query(memory, host + PAGE + 5);
    assert_int_equal(info.kind, GF_MEMORY_PINNED);
    assert_ptr_equal(info.base, host);
    assert_int_equal(info.size, 2 * PAGE);
    assert_int_equal(query(memory, host + 2 * PAGE).kind, GF_MEMORY_HOST);
    assert_ptr_equal(reach(memory, host + 8, 8), host + 8);
    assert_null(reach(memory, host + 8, 2 * PAGE));

    assert_int_equal(gf_emulated_memory_register(memory, host + PAGE, PAGE, &why), GF_ERR_INVALID);
    assert_non_null(strstr(why.text, "registered already"));
    assert_int_equal(gf_emulated_memory_unregister(memory, host + PAGE), GF_ERR_INVALID);
    assert_int_equal(gf_emulated_memory_unregister(memory, host), GF_OK);
    assert_int_equal(gf_emulated_memory_unregister(memory, host), GF_ERR_INVALID);
    assert_int_equal(query(memory, host).kind, GF_MEMORY_HOST);
    assert_int_equal(gf_emulated_memory_register(memory, host, 4 * PAGE, &why), GF_OK);
    assert_true(query(memory, host).buffer_id > info.buffer_id);
    assert_int_equal(gf_emulated_memory_unregister(memory, host), GF_OK);
    munmap(host, 4 * PAGE);
}

static void registering_nonsense_is_refused_with_a_sentence(void **state)
{
    struct gf_emulated_memory *memory = *state;
    char *host = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *device = alloc(memory, GF_MEMORY_DEVICE, PAGE);

    munmap(host + PAGE, PAGE);
    const struct { void *address; size_t bytes; const char *says; } cases[] = {
        {NULL, PAGE, "page-aligned"},
        {host, 0, "page-aligned"},
        {host + 8, 8, "page-aligned"},
        {host, 2 * PAGE, "map all of it first"},
        {device, PAGE, "belongs to the emulated device"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gf_reason why = {""};
        assert_int_equal(gf_emulated_memory_register(memory, cases[i].address, cases[i].bytes, &why), GF_ERR_INVALID);
        assert_non_null(strstr(why.text, cases[i].says));
    }
    munmap(host, PAGE);
    gf_emulated_memory_free(memory, GF_MEMORY_DEVICE, device);
}

static void a_full_table_of_registrations_says_so(void **state)
{
    struct gf_emulated_memory *memory = *state;
    struct gf_reason why = {""};
    size_t bytes = (GF_REGISTERED_ROOM + 1) * (size_t)PAGE;
    char *host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (int i = 0; i < GF_REGISTERED_ROOM; i++) {
        assert_int_equal(gf_emulated_memory_register(memory, host + i * PAGE, PAGE, &why), GF_OK);
    }
    assert_int_equal(gf_emulated_memory_register(memory, host + GF_REGISTERED_ROOM * PAGE, PAGE, &why), GF_ERR_NO_MEMORY);
    assert_non_null(strstr(why.text, "unregister what is not used"));
    for (int i = 0; i < GF_REGISTERED_ROOM; i++) {
        assert_int_equal(query(memory, host + i * PAGE).kind, GF_MEMORY_PINNED);
        assert_int_equal(gf_emulated_memory_unregister(memory, host + i * PAGE), GF_OK);
    }
    munmap(host, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registered_host_memory_is_pinned_until_it_is_unregistered),
        cmocka_unit_test(registering_nonsense_is_refused_with_a_sentence),
        cmocka_unit_test(a_full_table_of_registrations_says_so),
    };
    return cmocka_run_group_tests_name("emulated_registered", tests, create, destroy);
}
