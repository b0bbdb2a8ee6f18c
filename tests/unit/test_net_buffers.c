/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of the program that a wire knows (transport/net_buffers.h): what is registered, found again, told from what lies at its
 * place later, driven out, and given back when it has been freed. Allocations are what a table of the test says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/soft_wire.h"
#include "transport/net.h"
#include "transport/net_buffers.h"

enum { ALLOCATIONS = GF_NET_BUFFERS + 2, BYTES = 4096 };

static char memory[ALLOCATIONS][BYTES];
static uint64_t ids[ALLOCATIONS];      /* 0: freed */

static gf_status pointer(gf_driver *driver, const void *address, struct gf_pointer *info)
{
    size_t i = (size_t)((const char *)address - memory[0]) / BYTES;

    (void)driver;
    *info = (struct gf_pointer){ .kind = GF_MEMORY_HOST };
    if (i < ALLOCATIONS && ids[i] != 0) {
        *info = (struct gf_pointer){ .kind = GF_MEMORY_DEVICE, .base = memory[i], .size = BYTES, .buffer_id = ids[i] };
    }
    return GF_OK;
}

static void *kernel_address(gf_device *device, const void *address)
{
    (void)device;
    return (void *)(uintptr_t)address;
}

static const struct gf_driver_ops driver_ops = { .name = "table", .pointer = pointer };

static gf_status dmabuf_export(gf_device *made, const void *address, size_t bytes, struct gf_dmabuf *dmabuf,
                               struct gf_reason *why)
{
    (void)made;
    (void)address;
    (void)bytes;
    (void)dmabuf;
    gf_reason_set(why, "the table has none");
    return GF_ERR_UNSUPPORTED;
}

static const struct gf_device_ops device_ops = { .kernel_address = kernel_address, .dmabuf_export = dmabuf_export };
static gf_driver driver = { .ops = &driver_ops, .process = 1 };
static gf_device device = { .ops = &device_ops, .driver = &driver };

static const struct gf_wire_ops *const wires[] = { &gftest_soft_wire, NULL };

struct table {
    struct gf_net *net;
    struct gf_net_buffers *buffers;
    struct gf_fault fault;
};

static void table_open(struct table *t)
{
    gftest_soft_wants = (struct gftest_soft_wants){ .seed = 1 };
    *t = (struct table){ .net = NULL };
    for (uint64_t i = 0; i < ALLOCATIONS; i++) {
        ids[i] = i + 1;
    }
    assert_int_equal(gf_net_create(&(struct gf_net_config){ .wires = wires, .group = 1 }, &device, &t->net, NULL), GF_OK);
    t->buffers = gf_net_buffers_of(t->net);
}

/* The wire stops the program where memory has not been forgotten. */
static void table_close(struct table *t)
{
    gf_net_destroy(t->net);
}

static gf_status ask(struct table *t, size_t i, size_t at, size_t bytes, struct gf_net_buffer **buffer)
{
    const struct gf_net_range range = { .address = memory[i] + at, .bytes = bytes };

    return gf_net_buffers_get(t->buffers, &t->fault, &range, buffer, NULL);
}

static struct gf_net_buffer *get(struct table *t, size_t i, size_t at, size_t bytes)
{
    struct gf_net_buffer *buffer;

    assert_int_equal(ask(t, i, at, bytes, &buffer), GF_OK);
    return buffer;
}

static void expect_none(struct table *t, size_t i, size_t at, size_t bytes, gf_status expected)
{
    struct gf_net_buffer *buffer;

    assert_int_equal(ask(t, i, at, bytes, &buffer), expected);
    assert_null(buffer);
}

/* The whole allocation is registered, once, wherever in it a buffer lies; what is in none, or leaves it, is not. */
static void test_whole_allocations(void **state)
{
    struct table t;

    (void)state;
    table_open(&t);
    struct gf_net_buffer *buffer = get(&t, 0, 100, 200);

    assert_ptr_equal(buffer->wire.address, memory[0]);
    assert_int_equal(buffer->wire.bytes, BYTES);
    assert_ptr_equal(get(&t, 0, 0, BYTES), buffer);
    assert_int_equal(buffer->uses, 2);
    assert_ptr_not_equal(get(&t, 1, 0, 1), buffer);
    expect_none(&t, 1, 1, BYTES, GF_NO_RESOURCE);
    ids[2] = 0;
    expect_none(&t, 2, 0, 1, GF_NO_RESOURCE);
    assert_int_equal(gf_net_buffers_count(t.buffers, false), 2);
    table_close(&t);
}

/* Freed and allocated again at the same place it is another one; the old one goes when nobody uses it any more. */
static void test_freed(void **state)
{
    struct table t;

    (void)state;
    table_open(&t);
    struct gf_net_buffer *buffer = get(&t, 0, 0, 1);
    uint32_t key = buffer->wire.key[0];

    ids[0] = 1000;
    assert_int_not_equal(get(&t, 0, 0, 1)->wire.key[0], key);
    gf_net_buffers_look(t.buffers);
    assert_int_equal(buffer->wire.key[0], key);
    assert_int_equal(gf_net_buffers_count(t.buffers, false), 2);
    gf_net_buffers_put(t.buffers, buffer, false);
    gf_net_buffers_look(t.buffers);
    assert_int_equal(gf_net_buffers_count(t.buffers, false), 1);
    gf_net_buffers_put(t.buffers, NULL, false);
    table_close(&t);
}

/* Uses of others find out in time, too. */
static void test_freed_is_found_by_uses(void **state)
{
    struct table t;

    (void)state;
    table_open(&t);
    gf_net_buffers_put(t.buffers, get(&t, 0, 0, 1), false);
    gf_net_buffers_put(t.buffers, get(&t, 1, 0, 1), false);
    ids[0] = 0;
    for (int i = 0; i < GF_NET_BUFFERS; i++) {
        gf_net_buffers_put(t.buffers, get(&t, 1, 0, 1), false);
    }
    assert_int_equal(gf_net_buffers_count(t.buffers, false), 1);
    table_close(&t);
}

/* A full table drives out the one that was not used for the longest time and is not in use; none: there is no room. */
static void test_room(void **state)
{
    struct gf_net_buffer *buffers[GF_NET_BUFFERS];
    struct table t;

    (void)state;
    table_open(&t);
    for (size_t i = 0; i < GF_NET_BUFFERS; i++) {
        buffers[i] = get(&t, i, 0, 1);
    }
    expect_none(&t, GF_NET_BUFFERS, 0, 1, GF_NO_RESOURCE);
    gf_net_buffers_put(t.buffers, buffers[5], false);
    gf_net_buffers_put(t.buffers, buffers[3], false);
    gf_net_buffers_put(t.buffers, get(&t, 3, 0, 1), false);
    assert_ptr_equal(get(&t, GF_NET_BUFFERS, 0, 1), buffers[5]);
    assert_int_equal(buffers[5]->id, ids[GF_NET_BUFFERS]);
    assert_ptr_equal(get(&t, 3, 0, 1), buffers[3]);
    expect_none(&t, 5, 0, 1, GF_NO_RESOURCE);
    table_close(&t);
}

/* What was refused is not asked for again, as long as it lives. */
static void test_refused(void **state)
{
    struct table t;

    (void)state;
    table_open(&t);
    t.fault.left[GF_FAULT_REGISTER] = 1;
    expect_none(&t, 0, 0, 1, GF_ERR_UNSUPPORTED);
    expect_none(&t, 0, 0, 1, GF_ERR_UNSUPPORTED);
    ids[0] = 1000;
    (void)get(&t, 0, 0, 1);
    table_close(&t);
}

/* After a use that failed it is forgotten, but not while others use it. */
static void test_spoilt(void **state)
{
    struct table t;

    (void)state;
    table_open(&t);
    struct gf_net_buffer *buffer = get(&t, 0, 0, 1);

    assert_ptr_equal(get(&t, 0, 0, 1), buffer);
    gf_net_buffers_put(t.buffers, buffer, true);
    assert_int_equal(gf_net_buffers_count(t.buffers, true), 1);
    gf_net_buffers_put(t.buffers, buffer, false);
    assert_int_equal(gf_net_buffers_count(t.buffers, false), 0);
    table_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_allocations), cmocka_unit_test(test_freed), cmocka_unit_test(test_freed_is_found_by_uses),
        cmocka_unit_test(test_room), cmocka_unit_test(test_refused), cmocka_unit_test(test_spoilt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
