/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How messages that arrive in device memory are flushed: by the wire, or by the processor through gdrcopy.
 *   GPUFIFO_TEST_SEED: the seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/gdrapi.h"
#include "tests/support/soft_wire.h"
#include "tests/unit/carrier_world.h"
#include "tests/unit/fifo_play.h"
#include "transport/gdrcopy.h"

enum { MESSAGES = 12, BYTES = 3 * PIECE_BYTES };

static struct carrier_world world;         /* the hook has to find it */

static struct gf_wire *wire_of(int end)
{
    struct gf_wire *wire;

    assert_int_equal(gf_net_open(world.nets[end], &wire, NULL), GF_OK);
    return wire;
}

/* The page that is mapped is all of one allocation of the device; what was taken is visible then. */
static void read_by_processor(void *ctx, uintptr_t address)
{
    struct gf_pointer info;

    if (gf_driver_pointer(world.device->driver, (const void *)address, &info) != GF_OK || info.kind != GF_MEMORY_DEVICE
        || address + GF_GDRCOPY_PAGE > (uintptr_t)info.base + info.size) {
        abort();
    }
    gftest_soft_show(ctx);
}

static void watch_reads(struct fake_gdrapi *gdr, int end)
{
    gdr->read = read_by_processor;
    gdr->ctx = wire_of(end);
    gdr->reads = 0;
}

/* Messages to end 1 into device memory, among them one of no bytes, and every fourth into host memory: all are right. *how: of
 * the last one into device memory. */
static void run_messages(struct gf_reason *how)
{
    struct message m[MESSAGES];

    for (int i = 0; i < MESSAGES; i++) {
        message_make(&world, &m[i], 0, (uint64_t)i + 1, BYTES, i == 0 ? 0 : BYTES);
        m[i].to_host = i % 4 == 3;
        assert_int_equal(message_send(&world, &m[i]), GF_OK);
        assert_int_equal(message_receive(&world, &m[i]), GF_OK);
        if (!m[i].to_host) {
            *how = m[i].in_why;
        }
    }
    messages_await(&world, m, MESSAGES);
    for (int i = 0; i < MESSAGES; i++) {
        assert_int_equal(m[i].sent, GF_OK);
        assert_int_equal(m[i].received, GF_OK);
        message_expect_data(&m[i]);
        message_unmake(&world, &m[i]);
    }
}

static void create_both(void)
{
    for (int end = 0; end < 2; end++) {
        struct gf_reason why = { "" };

        if (carrier_world_create(&world, end, &why) != GF_OK) {
            fail_msg("%s", why.text);
        }
    }
    carrier_world_join(&world);
}

/* The carrier is not to be had, for that reason. */
static void expect_no_carrier(enum gf_flush_choice flush, bool no_flush, const char *reason)
{
    struct gf_reason why = { "" };

    gftest_soft_wants = (struct gftest_soft_wants){ .no_flush = no_flush };
    carrier_world_begin(&world, GF_CHOICE_AUTO, flush, play_seed());
    assert_int_equal(carrier_world_create(&world, 1, &why), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, reason));
    assert_null(world.carriers[1]);
    carrier_world_close(&world);
}

/* The wire has no flush, and gdrcopy cannot take its place: the sender's memory is reached, the receiver's is not, and it says
 * why. */
static void expect_pieces(const char *reason)
{
    struct gf_reason why = { "" }, how = { "" };

    gftest_soft_wants = (struct gftest_soft_wants){ .no_flush = true };
    carrier_world_begin(&world, GF_CHOICE_AUTO, GF_FLUSH_AUTO, play_seed());
    create_both();
    assert_true(gf_carrier_reaches_device(world.carriers[1], false, NULL));
    assert_false(gf_carrier_reaches_device(world.carriers[1], true, &why));
    assert_non_null(strstr(why.text, "soft wire has no flush, which device memory needs, and "));
    assert_non_null(strstr(why.text, reason));
    run_messages(&how);
    assert_non_null(strstr(how.text, "by way of pinned memory here: soft wire has no flush"));
    carrier_world_close(&world);
}

/* As long as no test has loaded the library. */
static void test_library_is_missing(void **state)
{
    (void)state;
    expect_no_carrier(GF_FLUSH_GDRCOPY, false, "the setting net_flush is gdrcopy, but gdrcopy is not to be had here");
    expect_no_carrier(GF_FLUSH_GDRCOPY, true, "install libgdrapi and gdrdrv-dkms");
    expect_no_carrier(GF_FLUSH_READ, true, "soft wire has no flush: leave the setting net_flush at auto, gdrcopy or no");
    expect_pieces("gdrcopy is not to be had here");
}

/* A flush for each message that arrives where it needs one, and by whom. */
static void test_who_flushes(void **state)
{
    enum { TO_HOST = MESSAGES / 4, TO_DEVICE = MESSAGES - TO_HOST - 1 };
    static const struct {
        enum gf_choice device_memory;
        enum gf_flush_choice flush;
        struct gftest_soft_wants wire;
        uint32_t by_processor;
        uint64_t by_wire;
    } cases[] = {
        { GF_CHOICE_AUTO, GF_FLUSH_GDRCOPY, { .no_flush = false }, TO_DEVICE, 0 },
        { GF_CHOICE_YES, GF_FLUSH_GDRCOPY, { .no_flush = true }, TO_DEVICE, 0 },
        { GF_CHOICE_AUTO, GF_FLUSH_AUTO, { .no_flush = true }, TO_DEVICE, 0 },
        { GF_CHOICE_AUTO, GF_FLUSH_AUTO, { .no_flush = false }, 0, TO_DEVICE },
        { GF_CHOICE_AUTO, GF_FLUSH_READ, { .no_flush = false }, 0, TO_DEVICE + TO_HOST },
        { GF_CHOICE_NO, GF_FLUSH_GDRCOPY, { .no_flush = true }, 0, 0 },
        { GF_CHOICE_AUTO, GF_FLUSH_GDRCOPY, { .no_device_memory = true }, 0, 0 },
    };
    struct fake_gdrapi *gdr = gftest_gdrapi_load();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gf_reason how = { "" };

        gftest_soft_wants = cases[i].wire;
        carrier_world_begin(&world, cases[i].device_memory, cases[i].flush, play_seed() + i);
        create_both();
        watch_reads(gdr, 1);
        assert_int_equal(gdr->mapped, cases[i].by_processor > 0 ? 2 : 0);
        run_messages(&how);
        assert_int_equal(gdr->reads, cases[i].by_processor);
        assert_int_equal(wire_of(1)->ops->counts(wire_of(1))->flushes, cases[i].by_wire);
        assert_int_equal(strstr(how.text, "registered") != NULL, cases[i].by_processor + cases[i].by_wire > 0);
        carrier_world_close(&world);
        gftest_gdrapi_expect_closed(gdr);
    }
}

/* What fails when the carrier is made. */
static void test_window_fails(void **state)
{
    static const struct { const char *function, *says; } cases[] = {
        { "gdr_open", "load gdrdrv" }, { "gdr_pin_buffer", "gdr_pin_buffer says 12" }, { "gdr_map", "gdr_map says 22" },
    };
    struct fake_gdrapi *gdr = gftest_gdrapi_load();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gdr->fail_function = cases[i].function;
        expect_no_carrier(GF_FLUSH_GDRCOPY, false, "the setting net_flush is gdrcopy, but ");
        gftest_gdrapi_expect_closed(gdr);
        expect_no_carrier(GF_FLUSH_GDRCOPY, true, cases[i].says);
        gftest_gdrapi_expect_closed(gdr);
        expect_pieces(cases[i].says);
        gftest_gdrapi_expect_closed(gdr);
    }
    gdr->fail_function = NULL;
}

/* A read that fails breaks its lane, with the sentence; the next message tells the sender if this one has not. The other lane
 * goes on. */
static void test_read_fails(void **state)
{
    struct fake_gdrapi *gdr = gftest_gdrapi_load();
    struct message m[3];

    (void)state;
    carrier_world_begin(&world, GF_CHOICE_AUTO, GF_FLUSH_GDRCOPY, play_seed());
    create_both();
    gdr->fail_function = "gdr_copy_from_mapping";
    for (int i = 0; i < 3; i++) {
        message_make(&world, &m[i], i == 2, (uint64_t)i + 1, BYTES, BYTES);
    }
    assert_int_equal(message_send(&world, &m[0]), GF_OK);
    assert_int_equal(message_receive(&world, &m[0]), GF_OK);
    messages_await(&world, m, 1);
    assert_int_equal(m[0].received, GF_ERR_PEER);
    expect_rank(&m[0].in_why, 6);
    assert_non_null(strstr(m[0].in_why.text, "gdr_copy_from_mapping says 5"));
    if (m[0].sent == GF_OK) {
        assert_int_equal(message_send(&world, &m[1]), GF_OK);
        m[1].received = GF_ERR_PEER;
        messages_await(&world, &m[1], 1);
        m[0].sent = m[1].sent;
        m[0].out_why = m[1].out_why;
    }
    assert_int_equal(m[0].sent, GF_ERR_PEER);
    expect_rank(&m[0].out_why, 7);
    assert_non_null(strstr(m[0].out_why.text, "gdrcopy cannot read device memory"));
    gdr->fail_function = NULL;
    watch_reads(gdr, 0);
    assert_int_equal(message_send(&world, &m[2]), GF_OK);
    assert_int_equal(message_receive(&world, &m[2]), GF_OK);
    messages_await(&world, &m[2], 1);
    message_expect_data(&m[2]);
    assert_int_equal(gdr->reads, 1);
    for (int i = 0; i < 3; i++) {
        message_unmake(&world, &m[i]);
    }
    carrier_world_close(&world);
    gftest_gdrapi_expect_closed(gdr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library_is_missing), cmocka_unit_test(test_who_flushes), cmocka_unit_test(test_window_fails),
        cmocka_unit_test(test_read_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
