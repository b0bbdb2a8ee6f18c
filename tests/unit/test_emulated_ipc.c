/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device memory across processes. The other process is this program again: it obeys the commands below, one reply each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "tests/unit/ipc_peer.h"

enum { SIZE = 10000 };

static gf_device *device;

static char *alloc(size_t bytes)
{
    void *address;
    assert_int_equal(gf_device_alloc(device, bytes, &address, NULL), GF_OK);
    return address;
}

static struct gf_ipc_handle export(const void *address)
{
    struct gf_ipc_handle handle;
    assert_int_equal(gf_device_ipc_export(device, address, &handle, NULL), GF_OK);
    return handle;
}

static void both_processes_see_the_same_bytes(void **state)
{
    struct child peer = child_exec("peer", "");
    char *mine = alloc(SIZE);

    (void)state;
    *ipc_kernel_word(device, mine, 0) = 11;
    *ipc_kernel_word(device, mine, 8000) = 22;
    struct reply opened = ASK(&peer, OPEN, 0, .handle = export(mine));
    if (opened.status != GF_OK) {
        fail_msg("%s", opened.why.text);
    }
    assert_int_equal(ASK(&peer, READ, 0).value, 11);
    assert_int_equal(ASK(&peer, READ, 0, .offset = 8000).value, 22);
    ASK(&peer, WRITE, 0, .offset = 16, .value = 33);
    assert_int_equal(*ipc_kernel_word(device, mine, 16), 33);
    *ipc_kernel_word(device, mine, 0) = 44;
    assert_int_equal(ASK(&peer, READ, 0).value, 44);
    assert_int_equal(ASK(&peer, CLOSE, 0).status, GF_OK);
    assert_int_equal(child_wait(&peer), 0);
    gf_device_free(device, mine);
}

static void the_offset_of_the_exported_address_is_kept(void **state)
{
    struct child peer = child_exec("peer", "");
    char *mine = alloc(SIZE);

    (void)state;
    *ipc_kernel_word(device, mine, 4096) = 55;
    assert_int_equal(ASK(&peer, OPEN, 0, .handle = export(mine + 4096)).status, GF_OK);
    assert_int_equal(ASK(&peer, READ, 0).value, 55);
    struct reply queried = ASK(&peer, QUERY, 0);
    assert_int_equal(queried.info.kind, GF_MEMORY_DEVICE);
    assert_int_equal(queried.info.size, SIZE);
    assert_false(queried.info.ipc);
    assert_int_equal(child_wait(&peer), 0);
    gf_device_free(device, mine);
}

static void opens_of_one_allocation_are_counted(void **state)
{
    struct child peer = child_exec("peer", "");
    char *mine = alloc(SIZE);

    (void)state;
    *ipc_kernel_word(device, mine, 0) = 66;
    *ipc_kernel_word(device, mine, 512) = 77;
    ASK(&peer, OPEN, 0, .handle = export(mine));
    ASK(&peer, OPEN, 1, .handle = export(mine + 512));
    assert_ptr_equal((char *)ASK(&peer, QUERY, 0).info.base, (char *)ASK(&peer, QUERY, 1).info.base);
    assert_int_equal(ASK(&peer, CLOSE, 0).status, GF_OK);
    assert_int_equal(ASK(&peer, READ, 1).value, 77);
    assert_int_equal(ASK(&peer, QUERY, 0).info.kind, GF_MEMORY_DEVICE);
    assert_int_equal(ASK(&peer, CLOSE, 1).status, GF_OK);
    assert_int_equal(ASK(&peer, QUERY, 0).info.kind, GF_MEMORY_INVALID);
    assert_int_equal(ASK(&peer, CLOSE, 1).status, GF_ERR_INVALID);
    assert_int_equal(child_wait(&peer), 0);
    gf_device_free(device, mine);
}

static void a_handle_to_freed_memory_is_stale(void **state)
{
    struct child peer = child_exec("peer", "lingering");
    char *mine = alloc(SIZE);
    struct gf_ipc_handle handle = export(mine);

    (void)state;
    gf_device_free(device, mine);
    struct reply opened = ASK(&peer, OPEN, 0, .handle = handle);
    assert_int_equal(opened.status, GF_ERR_INVALID);
    assert_non_null(strstr(opened.why.text, "stale"));

    /* The same place again is other memory, and so is a place that the peer still has mapped. */
    assert_ptr_equal(alloc(SIZE), mine);
    assert_int_equal(ASK(&peer, OPEN, 0, .handle = handle).status, GF_ERR_INVALID);
    handle = export(mine);
    assert_int_equal(ASK(&peer, OPEN, 0, .handle = handle).status, GF_OK);
    gf_device_free(device, mine);
    assert_ptr_equal(alloc(SIZE), mine);
    assert_int_equal(ASK(&peer, OPEN, 1, .handle = handle).status, GF_ERR_INVALID);

    /* What was freed and is mapped still is in the way, as on a GPU; elsewhere there is room. */
    opened = ASK(&peer, OPEN, 1, .handle = export(mine));
    assert_int_equal(opened.status, GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(opened.why.text, "is mapped here still"));
    char *beside = alloc(SIZE);
    assert_int_equal(ASK(&peer, OPEN, 3, .handle = export(beside)).status, GF_OK);
    uint64_t old_id = ASK(&peer, QUERY, 0).info.buffer_id;
    assert_int_equal(ASK(&peer, CLOSE, 0).status, GF_OK);
    assert_int_equal(ASK(&peer, OPEN, 1, .handle = export(mine)).status, GF_OK);
    *ipc_kernel_word(device, mine, 0) = 88;
    assert_int_equal(ASK(&peer, READ, 1).value, 88);
    assert_true(ASK(&peer, QUERY, 1).info.buffer_id != old_id);
    assert_int_equal(ASK(&peer, CLOSE, 1).status, GF_OK);
    assert_int_equal(ASK(&peer, CLOSE, 3).status, GF_OK);
    gf_device_free(device, beside);

    /* A little larger, at the same address. */
    gf_device_free(device, mine);
    assert_ptr_equal(alloc(SIZE + 100), mine);
    assert_int_equal(ASK(&peer, OPEN, 2, .handle = export(mine)).status, GF_OK);
    assert_int_equal(ASK(&peer, QUERY, 2).info.size, SIZE + 100);
    assert_int_equal(child_wait(&peer), 0);
    gf_device_free(device, mine);
}

static void freeing_and_allocating_again_never_shows_old_memory(void **state)
{
    struct child peer = child_exec("peer", "lingering");

    (void)state;
    for (uint64_t round = 0; round < 500; round++) {
        char *mine = alloc(SIZE);
        *ipc_kernel_word(device, mine, 0) = round;
        assert_int_equal(ASK(&peer, OPEN, (int)(round % IPC_PLACES), .handle = export(mine)).status, GF_OK);
        assert_int_equal(ASK(&peer, READ, (int)(round % IPC_PLACES)).value, round);
        gf_device_free(device, mine);
        assert_int_equal(ASK(&peer, CLOSE, (int)(round % IPC_PLACES)).status, GF_OK);
    }
    assert_int_equal(child_wait(&peer), 0);
}

static void mapped_memory_outlives_its_owner(void **state)
{
    struct child peer = child_exec("peer", "");
    void *theirs = NULL;

    (void)state;
    ASK(&peer, ALLOC, 0, .value = SIZE);
    ASK(&peer, WRITE, 0, .value = 99);
    struct gf_ipc_handle handle = ASK(&peer, EXPORT, 0).handle;
    assert_int_equal(gf_device_ipc_open(device, &handle, &theirs, NULL), GF_OK);
    assert_int_equal(child_wait(&peer), 0);
    assert_int_equal(*ipc_kernel_word(device, theirs, 0), 99);
    assert_int_equal(gf_device_ipc_close(device, theirs), GF_OK);

    struct gf_reason why = {""};
    assert_int_equal(gf_device_ipc_open(device, &handle, &theirs, &why), GF_ERR_UNSUPPORTED);
    assert_null(theirs);
    assert_non_null(strstr(why.text, "it ended"));
}

static void memory_goes_by_descriptor_where_its_allocator_wants_it(void **state)
{
    struct child peer = child_exec("peer", "");
    struct gf_pointer info;
    void *memory;

    (void)state;
    for (uint64_t round = 0; round < 20; round++) {
        assert_int_equal(gf_device_alloc_by(device, GF_ALLOCATOR_VMM_FD, SIZE, &memory, NULL), GF_OK);
        assert_int_equal(gf_driver_pointer(device->driver, memory, &info), GF_OK);
        assert_true(info.kind == GF_MEMORY_DEVICE && !info.ipc);
        struct gf_ipc_handle handle = export((char *)memory + 512);
        struct reply opened = ASK(&peer, OPEN, 0, .handle = handle);
        if (opened.status != GF_OK) {
            fail_msg("%s", opened.why.text);
        }
        *ipc_kernel_word(device, memory, 512) = round;
        assert_int_equal(ASK(&peer, READ, 0).value, round);
        assert_int_equal(ASK(&peer, CLOSE, 0).status, GF_OK);
        assert_int_equal(gf_device_free(device, memory), GF_OK);
        opened = ASK(&peer, OPEN, 1, .handle = handle);
        assert_int_equal(opened.status, GF_ERR_UNSUPPORTED);
        assert_non_null(strstr(opened.why.text, "freed this memory"));
        void *again;      /* other memory at the same place is not handed out in its stead */
        assert_int_equal(gf_device_alloc_by(device, GF_ALLOCATOR_VMM_FD, SIZE, &again, NULL), GF_OK);
        assert_ptr_equal(again, memory);
        assert_int_equal(ASK(&peer, OPEN, 1, .handle = handle).status, GF_ERR_UNSUPPORTED);
        assert_int_equal(gf_device_free(device, again), GF_OK);
    }
    assert_int_equal(child_wait(&peer), 0);
}

static void what_others_cannot_have_is_not_exported(void **state)
{
    static const struct { enum gf_allocator by; const char *says; } cases[] = {
        { GF_ALLOCATOR_VMM, "without a file descriptor" }, { GF_ALLOCATOR_POOL, "pool" },
    };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct gf_ipc_handle handle;
        struct gf_reason why = {""};
        void *memory;

        assert_int_equal(gf_device_alloc_by(device, cases[i].by, SIZE, &memory, NULL), GF_OK);
        assert_int_equal(gf_device_ipc_export(device, memory, &handle, &why), GF_ERR_UNSUPPORTED);
        assert_non_null(strstr(why.text, cases[i].says));
        *ipc_kernel_word(device, memory, 0) = 5;
        assert_int_equal(gf_device_free(device, memory), GF_OK);
    }
}

static void imported_memory_is_copied_to_and_from(void **state)
{
    struct child peer = child_exec("peer", "");
    gf_stream *stream;
    void *theirs;
    uint64_t word = 123;

    (void)state;
    ASK(&peer, ALLOC, 0, .value = SIZE);
    struct gf_ipc_handle handle = ASK(&peer, EXPORT, 0, .offset = 1024).handle;
    assert_int_equal(gf_device_ipc_open(device, &handle, &theirs, NULL), GF_OK);
    assert_int_equal(gf_device_stream_create(device, &stream, NULL), GF_OK);
    assert_int_equal(gf_device_copy(device, stream, theirs, &word, sizeof word), GF_OK);
    assert_int_equal(gf_device_stream_sync(device, stream), GF_OK);
    assert_int_equal(ASK(&peer, READ, 0, .offset = 1024).value, 123);
    assert_int_equal(gf_device_copy(device, stream, theirs, &word, SIZE - 1024 + 1), GF_ERR_INVALID);
    gf_device_stream_destroy(device, stream);
    gf_device_ipc_close(device, theirs);
    assert_int_equal(child_wait(&peer), 0);
}

static void what_cannot_be_shared_says_why(void **state)
{
    struct child peer = child_exec("peer", "");
    char *mine = alloc(SIZE);
    void *pinned, *address = mine;
    struct gf_ipc_handle handle = export(mine);
    struct gf_reason why = {""};
    int on_stack;

    (void)state;
    assert_int_equal(gf_device_ipc_open(device, &handle, &address, &why), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "this process's own"));
    assert_null(address);
    assert_int_equal(gf_device_ipc_export(device, &on_stack, &handle, &why), GF_ERR_INVALID);
    gf_device_pinned_alloc(device, 10, &pinned, NULL);
    assert_int_equal(gf_device_ipc_export(device, pinned, &handle, &why), GF_ERR_INVALID);
    gf_device_pinned_free(device, pinned);
    assert_int_equal(gf_device_ipc_close(device, mine), GF_ERR_INVALID);

    handle = export(mine);
    ASK(&peer, OPEN, 0, .handle = handle);
    assert_int_equal(ASK(&peer, EXPORT, 0).status, GF_ERR_UNSUPPORTED);
    assert_int_equal(ASK(&peer, FREE, 0).status, GF_ERR_INVALID);
    for (size_t i = 0; i < 64; i++) {
        struct gf_ipc_handle broken = handle;
        broken.bytes[i] ^= 0x40;
        struct reply opened = ASK(&peer, OPEN, 1, .handle = broken);
        bool offset = opened.status == GF_OK && i >= 56;   /* another offset into the allocation is legal */
        if (opened.status >= 0 && !offset) {
            fail_msg("a handle with byte %zu broken was taken", i);
        }
        assert_true(offset || opened.why.text[0]);
    }
    assert_int_equal(child_wait(&peer), 0);
    gf_device_free(device, mine);
}

static void without_ipc_nothing_is_exported_or_opened(void **state)
{
    struct child peer = child_exec("peer", "noipc");
    char *mine = alloc(SIZE);

    (void)state;
    assert_int_equal(ASK(&peer, ALLOC, 0, .value = SIZE).status, GF_OK);
    assert_false(ASK(&peer, QUERY, 0).info.ipc);
    assert_int_equal(ASK(&peer, EXPORT, 0).status, GF_ERR_UNSUPPORTED);
    struct reply opened = ASK(&peer, OPEN, 1, .handle = export(mine));
    assert_int_equal(opened.status, GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(opened.why.text, "noipc"));
    assert_int_equal(child_wait(&peer), 0);
    gf_device_free(device, mine);
}

static void a_peer_with_no_addresses_left_says_so(void **state)
{
    struct child peer = child_exec("peer", "memory=1M");
    char *mine = alloc(8 << 20);

    (void)state;
    struct reply opened = ASK(&peer, OPEN, 0, .handle = export(mine));
    assert_int_equal(opened.status, GF_ERR_NO_MEMORY);
    assert_non_null(strstr(opened.why.text, "GPUFIFO_EMULATED=memory="));
    assert_int_equal(child_wait(&peer), 0);
    gf_device_free(device, mine);
}

/* Larger than what is left once it is there; nothing of it is touched. */
enum { MOST_GIB = 40 };

static gf_status alloc_most(enum gf_allocator allocator, void **address, struct gf_reason *why)
{
    return gf_device_alloc_by(device, allocator, (size_t)MOST_GIB << 30, address, why);
}

static void freed_memory_is_back_when_no_peer_has_it_mapped(void **state)
{
    static const enum gf_allocator allocators[] = {GF_ALLOCATOR_PLAIN, GF_ALLOCATOR_VMM_FD};

    (void)state;
    for (size_t i = 0; i < sizeof allocators / sizeof allocators[0]; i++) {
        struct child peer = child_exec("peer", "");
        struct gf_reason why;
        void *most;

        for (int by_its_end = 0; by_its_end < 2; by_its_end++) {
            assert_int_equal(alloc_most(allocators[i], &most, NULL), GF_OK);
            assert_int_equal(ASK(&peer, OPEN, 0, .handle = export(most)).status, GF_OK);
            assert_int_equal(ASK(&peer, OPEN, 0, .handle = export(most)).status, GF_OK);
            gf_device_free(device, most);
            assert_int_equal(alloc_most(allocators[i], &most, &why), GF_ERR_NO_MEMORY);
            assert_non_null(strstr(why.text, "still mapped by other processes"));
            gf_device_free(device, alloc(SIZE));
            if (by_its_end) {
                assert_int_equal(child_wait(&peer), 0);
            } else {
                assert_int_equal(ASK(&peer, CLOSE, 0).status, GF_OK);
                assert_int_equal(alloc_most(allocators[i], &most, &why), GF_ERR_NO_MEMORY);
                assert_int_equal(ASK(&peer, CLOSE, 0).status, GF_OK);
            }
            assert_int_equal(alloc_most(allocators[i], &most, NULL), GF_OK);
            gf_device_free(device, most);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "peer") == 0) {
        return ipc_peer_run();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_processes_see_the_same_bytes),
        cmocka_unit_test(the_offset_of_the_exported_address_is_kept),
        cmocka_unit_test(opens_of_one_allocation_are_counted),
        cmocka_unit_test(a_handle_to_freed_memory_is_stale),
        cmocka_unit_test(freeing_and_allocating_again_never_shows_old_memory),
        cmocka_unit_test(mapped_memory_outlives_its_owner),
        cmocka_unit_test(memory_goes_by_descriptor_where_its_allocator_wants_it),
        cmocka_unit_test(what_others_cannot_have_is_not_exported),
        cmocka_unit_test(imported_memory_is_copied_to_and_from),
        cmocka_unit_test(what_cannot_be_shared_says_why),
        cmocka_unit_test(without_ipc_nothing_is_exported_or_opened),
        cmocka_unit_test(a_peer_with_no_addresses_left_says_so),
        cmocka_unit_test(freed_memory_is_back_when_no_peer_has_it_mapped),
    };
    unsetenv("GPUFIFO_EMULATED");
    if (ipc_open_device(&device) != GF_OK) {
        return 1;
    }
    int failed = cmocka_run_group_tests_name("emulated_ipc", tests, NULL, NULL);
    gf_device_close(device);
    return failed;
}
