/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verbs wire where something is wrong, or full: two wires on one adapter, run by verbs.sh where there is one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tests/support/wire_pair.h"
#include "transport/verbs_private.h"

enum { BYTES = 65536, LINES = 16 };

static struct gftest_wires wires;
static char around[3 * BYTES], target[BYTES];
static char *const source = around + BYTES;        /* BYTES of it */
static struct gf_wire_memory source_memory, target_memory;
static const struct gf_wire_ticket nobody = { NULL, 0 };

/* A peer that is gone is found after 17 ms · 7: rxe takes 7 retries for endless ones. */
static int open_wires(void **state)
{
    const struct gf_wire_config config = { .adapter = "rxe0", .port = 1, .gid_index = -1, .timeout = 12, .retries = 6 };

    (void)state;
    gftest_wires_open(&wires, &gf_wire_verbs, &config);
    return 0;
}

static int close_wires(void **state)
{
    (void)state;
    gftest_wires_close(&wires);
    return 0;
}

static void connect_lanes(struct gftest_lanes *lanes)
{
    gftest_lanes_connect(lanes, &wires, LINES);
    gftest_register(lanes, 0, source, BYTES, &source_memory);
    gftest_register(lanes, 1, target, BYTES, &target_memory);
}

static void destroy_lanes(struct gftest_lanes *lanes)
{
    gftest_lanes_destroy(lanes);
    wires.ops->forget(wires.wire[0], &source_memory);
    wires.ops->forget(wires.wire[1], &target_memory);
}

/* One message from end to end. */
static void expect_works(struct gftest_lanes *lanes)
{
    struct gf_wire_place place = gftest_place(&target_memory, target);
    uint64_t ended = 0;

    memset(target, 0, BYTES);
    memset(source, 'x', BYTES);
    assert_int_equal(lanes->ops->expect(lanes->lane[1]), GF_OK);
    assert_int_equal(lanes->ops->put_notify(lanes->lane[0], &source_memory, source, &place, 3000, 3000,
                                            &(struct gf_wire_ticket){ &ended, 1 }), GF_OK);
    assert_int_equal(gftest_await_notification(lanes, 1), 3000);
    assert_memory_equal(source, target, 3000);
    gftest_await_word(lanes, &ended, 1);
}

static void expect_says(const struct gf_reason *why, const char *text)
{
    if (!strstr(why->text, text)) {
        fail_msg("\"%s\" does not say \"%s\"", why->text, text);
    }
}

/* Every operation of a broken lane tells so. */
static void expect_refuses(const struct gftest_lanes *lanes, int end, gf_status status)
{
    struct gf_wire_place place = { 0, 0 };

    assert_int_equal(lanes->ops->put(lanes->lane[end], NULL, NULL, &place, 0, &nobody), status);
    assert_int_equal(lanes->ops->put_notify(lanes->lane[end], NULL, NULL, &place, 0, 0, &nobody), status);
    assert_int_equal(lanes->ops->put_lines(lanes->lane[end], 0, source, 1), status);
    assert_int_equal(lanes->ops->expect(lanes->lane[end]), status);
    assert_int_equal(lanes->ops->flush(lanes->lane[end], &source_memory, source, &nobody), status);
}

static void test_settings_are_checked(void **state)
{
    const struct { struct gf_wire_config config; gf_status status; const char *says; } cases[] = {
        { { .gid_index = -1, .timeout = 32 }, GF_ERR_INVALID, "the timeout is 32, but must be from 0 to 31" },
        { { .gid_index = -1, .retries = 8 }, GF_ERR_INVALID, "retries is 8" },
        { { .gid_index = -1, .service_level = 16 }, GF_ERR_INVALID, "service level is 16" },
        { { .gid_index = -1, .traffic_class = 256 }, GF_ERR_INVALID, "traffic class is 256" },
        { { .gid_index = -2 }, GF_ERR_INVALID, "GID index is -2" },
        { { .gid_index = -1, .adapter = "none0" }, GF_ERR_UNSUPPORTED, "no verbs adapter none0 here, but: rxe0" },
        { { .gid_index = -1, .port = 2 }, GF_ERR_UNSUPPORTED, "rxe0 has no port 2" },
        { { .gid_index = 200 }, GF_ERR_UNSUPPORTED, "has no GID 200" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gf_reason why = { "" };
        struct gf_wire *wire = NULL;

        assert_int_equal(gf_wire_verbs.open(&cases[i].config, &wire, &why), cases[i].status);
        expect_says(&why, cases[i].says);
    }
}

static void spoil_bytes(struct gf_wire_address *a, struct gf_verbs_end *e) { (void)e; a->bytes--; }
static void spoil_magic(struct gf_wire_address *a, struct gf_verbs_end *e) { (void)a; e->magic = __builtin_bswap32(e->magic); }
static void spoil_version(struct gf_wire_address *a, struct gf_verbs_end *e) { (void)a; e->version++; }
static void spoil_link(struct gf_wire_address *a, struct gf_verbs_end *e) { (void)a; e->link = IBV_LINK_LAYER_INFINIBAND; }
static void spoil_gid_type(struct gf_wire_address *a, struct gf_verbs_end *e) { (void)a; e->gid_type = IBV_GID_TYPE_ROCE_V1; }
static void spoil_gid(struct gf_wire_address *a, struct gf_verbs_end *e) { (void)a; memset(e->gid, 0, sizeof e->gid); }
static void spoil_mtu(struct gf_wire_address *a, struct gf_verbs_end *e) { (void)a; e->mtu = 6; }
static void spoil_no_pair(struct gf_wire_address *a, struct gf_verbs_end *e) { (void)a; e->pair = 0; }
static void spoil_pair(struct gf_wire_address *a, struct gf_verbs_end *e) { (void)a; e->pair |= 1 << 24; }
static void spoil_first(struct gf_wire_address *a, struct gf_verbs_end *e) { (void)a; e->first |= 1 << 24; }
static void spoil_lines(struct gf_wire_address *a, struct gf_verbs_end *e) { (void)a; e->lines = 0; }

static void test_what_the_peer_tells_is_checked(void **state)
{
    static const struct { void (*spoil)(struct gf_wire_address *, struct gf_verbs_end *); const char *says; } cases[] = {
        { spoil_bytes, "bytes instead of" }, { spoil_magic, "no address of this wire" }, { spoil_version, "version 2" },
        { spoil_link, "not of the same kind" }, { spoil_gid_type, "other version of RoCE" }, { spoil_gid, "GID is zero" },
        { spoil_mtu, "MTU code 6" }, { spoil_no_pair, "queue pair 0" }, { spoil_pair, "more than 24 bits" },
        { spoil_first, "more than 24 bits" }, { spoil_lines, "16 lines nowhere" },
    };
    struct gf_wire_lane *lane[2];
    struct gf_wire_address address[2];
    struct gf_reason why = { "" };

    (void)state;
    for (int end = 0; end < 2; end++) {
        assert_int_equal(wires.ops->create(wires.wire[end], LINES, &lane[end], &address[end], &why), GF_OK);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gf_wire_address spoilt = address[1];
        struct gf_verbs_end end;

        memcpy(&end, spoilt.data, sizeof end);
        cases[i].spoil(&spoilt, &end);
        memcpy(spoilt.data, &end, sizeof end);
        assert_int_equal(wires.ops->connect(lane[0], &spoilt, &why), GF_ERR_PEER);
        expect_says(&why, cases[i].says);
        expect_says(&why, "rxe0 port 1");
    }
    assert_int_equal(wires.ops->connect(lane[0], &address[1], &why), GF_OK);
    for (int end = 0; end < 2; end++) {
        wires.ops->destroy(lane[end]);
    }
}

static void test_memory_that_is_not_there_cannot_be_registered(void **state)
{
    void *nothing = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct gf_wire_range range = { .address = nothing, .bytes = BYTES, .dmabuf = -1 };
    struct gf_wire_memory memory;
    struct gftest_lanes lanes;
    struct gf_reason why = { "" };

    (void)state;
    assert_int_equal(wires.ops->register_memory(wires.wire[0], &range, &memory, &why), GF_ERR_UNSUPPORTED);
    expect_says(&why, "65536 bytes of host memory cannot be registered: ");
    range.device = true;
    assert_int_equal(wires.ops->register_memory(wires.wire[0], &range, &memory, &why), GF_ERR_UNSUPPORTED);
    expect_says(&why, "peer-memory module");
    munmap(nothing, BYTES);
    connect_lanes(&lanes);
    expect_works(&lanes);
    destroy_lanes(&lanes);
}

/* It breaks its lane at both ends, and no other one. */
static void test_wrong_key_breaks_the_lane_only(void **state)
{
    struct gftest_lanes lanes, others;
    struct gf_reason why = { "" };

    (void)state;
    connect_lanes(&lanes);
    gftest_lanes_connect(&others, &wires, 0);
    assert_int_equal(lanes.ops->expect(lanes.lane[1]), GF_OK);
    struct gf_wire_place place = { (uintptr_t)target, target_memory.key ^ 0x5a00 };

    assert_int_equal(lanes.ops->put(lanes.lane[0], &source_memory, source, &place, 100, &nobody), GF_OK);
    assert_int_equal(gftest_await_break(&lanes, 0, &why), GF_ERR_PEER);
    expect_says(&why, "verbs rxe0 port 1");
    expect_says(&why, "remote access error (vendor error 0x");
    expect_refuses(&lanes, 0, GF_ERR_PEER);
    assert_int_equal(gftest_await_break(&lanes, 1, &why), GF_ERR_PEER);
    expect_says(&why, "verbs rxe0 port 1");
    expect_refuses(&lanes, 1, GF_ERR_PEER);
    expect_works(&others);
    gftest_lanes_destroy(&others);
    destroy_lanes(&lanes);
}

/* As one whose process has ended: its queue pair does not answer. */
static void test_peer_that_is_gone_is_found(void **state)
{
    struct gf_wire_lane *lane[2];
    struct gf_wire_address address[2];
    struct gf_wire_place place = { 0, 0 };
    struct gf_reason why = { "" };

    (void)state;
    for (int end = 0; end < 2; end++) {
        assert_int_equal(wires.ops->create(wires.wire[end], LINES, &lane[end], &address[end], &why), GF_OK);
    }
    assert_int_equal(wires.ops->connect(lane[0], &address[1], &why), GF_OK);
    assert_int_equal(wires.ops->put(lane[0], NULL, NULL, &place, 0, &nobody), GF_OK);
    while (wires.ops->state(lane[0], &why) == GF_OK) {
        wires.ops->progress(wires.wire[0]);
    }
    assert_int_equal(wires.ops->state(lane[0], &why), GF_ERR_PEER);
    expect_says(&why, "transport retry counter exceeded");
    for (int end = 0; end < 2; end++) {
        wires.ops->destroy(lane[end]);
    }
}

/* What is still sent to it, such as credits that it needs no more, breaks nothing. */
static void test_peer_that_has_closed_still_answers(void **state)
{
    struct gftest_lanes lanes;
    uint64_t ended = 0;

    (void)state;
    connect_lanes(&lanes);
    expect_works(&lanes);
    struct gf_wire_place place = gftest_place(&target_memory, target);

    lanes.ops->destroy(lanes.lane[1]);
    assert_int_equal(lanes.ops->put_lines(lanes.lane[0], 0, source, 8), GF_OK);
    assert_int_equal(lanes.ops->put(lanes.lane[0], &source_memory, source, &place, 100, &(struct gf_wire_ticket){ &ended, 1 }), GF_OK);
    while (ended == 0) {
        wires.ops->progress(wires.wire[0]);
        assert_int_equal(wires.ops->state(lanes.lane[0], NULL), GF_OK);
    }
    lanes.ops->destroy(lanes.lane[0]);
    wires.ops->forget(wires.wire[0], &source_memory);
    wires.ops->forget(wires.wire[1], &target_memory);
}

static void test_notification_that_nobody_expects_breaks_the_lane(void **state)
{
    struct gftest_lanes lanes;
    struct gf_wire_place place = { 0, 0 };
    struct gf_reason why = { "" };

    (void)state;
    connect_lanes(&lanes);
    assert_int_equal(lanes.ops->put_notify(lanes.lane[0], NULL, NULL, &place, 0, 1, &nobody), GF_OK);
    assert_int_equal(gftest_await_break(&lanes, 0, &why), GF_ERR_PEER);
    expect_says(&why, "RNR retry counter exceeded");
    destroy_lanes(&lanes);
}

static void test_wrong_callers_are_told(void **state)
{
    struct gf_reason why = { "" };

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct gftest_lanes lanes;
        gf_status status;

        connect_lanes(&lanes);
        struct gf_wire_place place = gftest_place(&target_memory, target);

        switch (i) {
        case 0: status = lanes.ops->put(lanes.lane[0], &source_memory, source + 1, &place, BYTES, &nobody); break;
        case 1: status = lanes.ops->put(lanes.lane[0], &source_memory, source - 1, &place, 1, &nobody); break;
        case 2: status = lanes.ops->put_lines(lanes.lane[0], LINES - 1, source, 2); break;
        default: status = lanes.ops->flush(lanes.lane[0], &source_memory, source + BYTES, &nobody);
        }
        assert_int_equal(status, GF_ERR_INVALID);
        assert_int_equal(lanes.ops->state(lanes.lane[0], &why), GF_ERR_INVALID);
        expect_says(&why, i == 2 ? "beyond the peer's 16" : "outside of the memory");
        destroy_lanes(&lanes);
    }
}

/* Lines, of which nobody asks for the end, and puts fill the queue in turn; nothing is lost. */
static void test_full_queue_asks_to_come_back(void **state)
{
    struct gftest_lanes lanes;
    const uint64_t before = wires.ops->counts(wires.wire[0])->line_puts;
    uint64_t ended = 0, begun = 0;

    (void)state;
    connect_lanes(&lanes);
    struct gf_wire_place place = gftest_place(&target_memory, target);

    for (int lap = 0; lap < 3; lap++) {
        uint64_t lines = 0;

        while (lanes.ops->put_lines(lanes.lane[0], 0, source, 1) == GF_OK) {
            lines++;
        }
        assert_int_equal(lines, GF_VERBS_SENDS);
        assert_int_equal(lanes.ops->put(lanes.lane[0], &source_memory, source, &place, 8, &nobody), GF_NO_RESOURCE);
        while (lanes.ops->put(lanes.lane[0], &source_memory, source, &place, 8, &(struct gf_wire_ticket){ &ended, begun + 1 }) != GF_OK) {
            gftest_progress(&lanes);
        }
        for (begun++; lanes.ops->put(lanes.lane[0], &source_memory, source, &place, 8,
                                     &(struct gf_wire_ticket){ &ended, begun + 1 }) == GF_OK; begun++) {
        }
        gftest_await_word(&lanes, &ended, begun);
    }
    assert_int_equal(wires.ops->counts(wires.wire[0])->line_puts, before + 3 * GF_VERBS_SENDS);
    destroy_lanes(&lanes);
}

static void test_so_many_notifications_can_be_expected(void **state)
{
    struct gftest_lanes lanes;
    struct gf_wire_place place = { 0, 0 };

    (void)state;
    connect_lanes(&lanes);
    for (uint32_t i = 0; i < GF_VERBS_RECEIVES; i++) {
        assert_int_equal(lanes.ops->expect(lanes.lane[1]), GF_OK);
        assert_int_equal(lanes.ops->put_notify(lanes.lane[0], NULL, NULL, &place, 0, i, &nobody), GF_OK);
    }
    assert_int_equal(lanes.ops->expect(lanes.lane[1]), GF_NO_RESOURCE);
    for (uint32_t i = 0; i < GF_VERBS_RECEIVES; i++) {
        assert_int_equal(gftest_await_notification(&lanes, 1), i);
        assert_int_equal(lanes.ops->expect(lanes.lane[1]), GF_OK);
    }
    assert_int_equal(lanes.ops->expect(lanes.lane[1]), GF_NO_RESOURCE);
    destroy_lanes(&lanes);
}

/* The completion queue grows with the lanes; what is under way on some that are destroyed is not taken for that of others. */
static void test_lanes_come_and_go(void **state)
{
    enum { MANY = 24 };
    static struct gftest_lanes lanes[MANY];
    struct gf_wire_place place;
    uint64_t lost = 0, ended = 0;

    (void)state;
    connect_lanes(&lanes[0]);
    place = gftest_place(&target_memory, target);
    for (int i = 1; i < MANY; i++) {
        gftest_lanes_connect(&lanes[i], &wires, LINES);
    }
    for (int i = 1; i < MANY; i++) {
        while (lanes[i].ops->put(lanes[i].lane[0], &source_memory, source, &place, 8, &(struct gf_wire_ticket){ &lost, 1 }) == GF_OK) {
        }
    }
    for (int i = 1; i < MANY; i += 2) {
        gftest_lanes_destroy(&lanes[i]);
        gftest_lanes_connect(&lanes[i], &wires, LINES);
        assert_int_equal(lanes[i].ops->put(lanes[i].lane[0], &source_memory, source, &place, 8,
                                           &(struct gf_wire_ticket){ &ended, (uint64_t)i }), GF_OK);
        gftest_await_word(&lanes[i], &ended, (uint64_t)i);
    }
    for (int i = 0; i < MANY; i++) {
        expect_works(&lanes[i]);
    }
    for (int i = 1; i < MANY; i++) {
        gftest_lanes_destroy(&lanes[i]);
    }
    destroy_lanes(&lanes[0]);
}

/* Somebody who only waits hears of it, too. */
static void test_port_that_goes_down_breaks_the_lanes(void **state)
{
    const struct gf_wire_config config = { .gid_index = -1, .timeout = 1, .retries = 1 };
    struct gftest_wires impatient;
    struct gftest_lanes lanes;
    struct gf_reason why = { "" };

    (void)state;
    gftest_wires_open(&impatient, &gf_wire_verbs, &config);
    gftest_lanes_connect(&lanes, &impatient, LINES);
    assert_int_equal(lanes.ops->expect(lanes.lane[1]), GF_OK);
    assert_int_equal(system("ip link set eth0 down"), 0);
    assert_int_equal(gftest_await_break(&lanes, 1, &why), GF_ERR_PEER);
    expect_says(&why, "verbs rxe0 port 1");
    expect_says(&why, "the port is down");
    struct gf_wire *wire = NULL;

    assert_int_equal(gf_wire_verbs.open(&config, &wire, &why), GF_ERR_UNSUPPORTED);
    expect_says(&why, "port 1 of the verbs adapter rxe0 is not active");
    gftest_lanes_destroy(&lanes);
    gftest_wires_close(&impatient);
    assert_int_equal(system("ip link set eth0 up"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_are_checked),
        cmocka_unit_test(test_what_the_peer_tells_is_checked),
        cmocka_unit_test(test_memory_that_is_not_there_cannot_be_registered),
        cmocka_unit_test(test_wrong_key_breaks_the_lane_only),
        cmocka_unit_test(test_peer_that_is_gone_is_found),
        cmocka_unit_test(test_peer_that_has_closed_still_answers),
        cmocka_unit_test(test_notification_that_nobody_expects_breaks_the_lane),
        cmocka_unit_test(test_wrong_callers_are_told),
        cmocka_unit_test(test_full_queue_asks_to_come_back),
        cmocka_unit_test(test_so_many_notifications_can_be_expected),
        cmocka_unit_test(test_lanes_come_and_go),
        cmocka_unit_test(test_port_that_goes_down_breaks_the_lanes),
    };

    return cmocka_run_group_tests(tests, open_wires, close_wires);
}
