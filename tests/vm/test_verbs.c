/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is the verbs wire's own, beside the cases of all wires (tests/unit/test_wire): two wires on one adapter, run by verbs.sh
 * where there is one.
 */
#define _GNU_SOURCE 1      /* memfd_create */
#include "tests/unit/wire_ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/host_ordered.h"
#include "transport/verbs_private.h"

const struct gf_wire_ops *wire_tested = &gf_wire_verbs;

static void fill(const struct wire_end *end, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        end->memory.address[i] = (char)(i * 31 + i / 251 + seed);
    }
}

static void expect_says(const struct gf_reason *why, const char *text)
{
    if (!strstr(why->text, text)) {
        fail_msg("\"%s\" does not say \"%s\"", why->text, text);
    }
}

/* One message from a to b. */
static void expect_works(struct wire_pair *pair)
{
    uint64_t word = 0;

    fill(&pair->a, 3000, 7);
    memset(pair->b.memory.address, 0, 3000);
    wire_send(pair, 0, 0, 3000, 3000, &(struct gf_wire_ticket){ &word, 1 });
    assert_int_equal(wire_take(pair), 3000);
    assert_memory_equal(pair->a.memory.address, pair->b.memory.address, 3000);
    WIRE_UNTIL(pair, word == 1);
}

/* Makes progress until the lane, of either end, is broken, which has to come. */
static void expect_breaks(struct wire_pair *pair, struct gf_wire_lane *lane, const char *says)
{
    struct gf_reason why = { "" };
    struct gf_wire_place place = { 0, 0 };
    char line[GF_WIRE_LINE] = { 0 };

    WIRE_UNTIL(pair, wire_tested->state(lane, &why) != GF_OK);
    assert_int_equal(wire_tested->state(lane, &why), GF_ERR_PEER);
    expect_says(&why, "verbs rxe0 port 1");
    expect_says(&why, says);
    assert_int_equal(wire_tested->put(lane, NULL, NULL, &place, 0, NULL), GF_ERR_PEER);
    assert_int_equal(wire_tested->put_notify(lane, NULL, NULL, &place, 0, 0, NULL), GF_ERR_PEER);
    assert_int_equal(wire_tested->put_lines(lane, 0, line, 1), GF_ERR_PEER);
    assert_int_equal(wire_tested->expect(lane), GF_ERR_PEER);
    assert_int_equal(wire_tested->flush(lane, &pair->a.memory, pair->a.memory.address, NULL), GF_ERR_PEER);
}

static void test_gid_is_the_ipv4_one_of_roce_v2(void **state)
{
    struct wire_pair *pair = *state;
    char path[120], text[64] = "";
    int port, gid;

    assert_int_equal(sscanf(pair->a.wire->name, "verbs rxe0 port %d gid %d (RoCE v2)", &port, &gid), 2);
    snprintf(path, sizeof path, "/sys/class/infiniband/rxe0/ports/%d/gids/%d", port, gid);
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "0000:0000:0000:0000:0000:ffff:0a4d:0001\n");
}

static void test_flush_is_one_read(void **state)
{
    struct wire_pair *pair = *state;
    const struct gf_wire_counts *counts = wire_tested->counts(pair->b.wire);
    uint64_t word = 0;

    assert_true(pair->b.wire->caps.flush);
    for (uint64_t i = 1; i <= 20; i++) {
        wire_send(pair, 0, 0, 1000, 0, NULL);
        wire_take(pair);
        WIRE_BEGIN(pair, wire_tested->flush(pair->b.lane, &pair->b.memory, pair->b.memory.address + i,
                                            &(struct gf_wire_ticket){ &word, i }));
        WIRE_UNTIL(pair, word == i);
        assert_int_equal(counts->flushes, i);
    }
}

/* Who destroys a lane may free the word that its flush would have got. */
static void test_flush_says_nothing_when_its_lane_is_gone(void **state)
{
    struct wire_pair *pair = *state;
    const struct gf_wire_memory *memory = &pair->b.memory;
    struct gf_wire_lane *lane[2];
    struct gf_wire_address address[2];
    uint64_t word = 0, later = 0;

    assert_int_equal(wire_tested->create(pair->a.wire, 0, 0, &lane[0], &address[0], NULL), GF_OK);
    assert_int_equal(wire_tested->create(pair->b.wire, 0, 0, &lane[1], &address[1], NULL), GF_OK);
    assert_int_equal(wire_tested->connect(lane[0], &address[1], NULL), GF_OK);
    assert_int_equal(wire_tested->connect(lane[1], &address[0], NULL), GF_OK);
    assert_int_equal(wire_tested->flush(lane[1], memory, memory->address, &(struct gf_wire_ticket){ &word, 1 }), GF_OK);
    wire_tested->destroy(lane[1], false);
    wire_tested->destroy(lane[0], false);
    WIRE_BEGIN(pair, wire_tested->flush(pair->b.lane, memory, memory->address, &(struct gf_wire_ticket){ &later, 1 }));
    WIRE_UNTIL(pair, later == 1);
    assert_int_equal(word, 0);
}

/* The peer's end takes part later: what was sent before is sent again. */
static void test_peer_may_connect_later(void **state)
{
    struct wire_pair *pair = *state;
    struct gf_wire_lane *lane[2];
    struct gf_wire_address address[2];
    uint64_t word = 0;
    struct gf_wire_ticket ticket = { &word, 1 };

    fill(&pair->a, 5000, 9);
    assert_int_equal(wire_tested->create(pair->a.wire, 0, 0, &lane[0], &address[0], NULL), GF_OK);
    assert_int_equal(wire_tested->create(pair->b.wire, 0, 0, &lane[1], &address[1], NULL), GF_OK);
    assert_int_equal(wire_tested->put(lane[0], &pair->a.memory, pair->a.memory.address, &pair->a.place, 5000, &ticket),
                     GF_NO_RESOURCE);
    assert_int_equal(wire_tested->connect(lane[0], &address[1], NULL), GF_OK);
    assert_int_equal(wire_tested->put(lane[0], &pair->a.memory, pair->a.memory.address, &pair->a.place, 5000, &ticket), GF_OK);
    for (unsigned i = 0; i < 100; i++) {
        wire_pair_progress(pair);
    }
    assert_int_equal(word, 0);
    assert_int_equal(wire_tested->connect(lane[1], &address[0], NULL), GF_OK);
    WIRE_UNTIL(pair, word == 1);
    assert_memory_equal(pair->a.memory.address, pair->b.memory.address, 5000);
    wire_tested->destroy(lane[0], false);
    wire_tested->destroy(lane[1], false);
}

/* While a child has the same pages, the parent's new data go, and what comes is seen by the parent. */
static void test_parent_of_a_child_goes_on(void **state)
{
    struct wire_pair *pair = *state;
    uint64_t line[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, word = 0;
    const uint64_t *there = (const uint64_t *)pair->b.lane->lines;
    int hold[2];

    fill(&pair->a, WIRE_MEMORY, 1);
    assert_int_equal(pipe(hold), 0);
    pid_t child = fork();

    if (child == 0) {
        char byte;

        close(hold[1]);
        _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
    }
    assert_true(child > 0);
    close(hold[0]);
    fill(&pair->a, WIRE_MEMORY, 2);
    memset(pair->b.memory.address, 0, WIRE_MEMORY);
    wire_send(pair, 0, 0, WIRE_MEMORY, 1, &(struct gf_wire_ticket){ &word, 1 });
    wire_take(pair);
    assert_memory_equal(pair->a.memory.address, pair->b.memory.address, WIRE_MEMORY);
    WIRE_BEGIN(pair, wire_tested->put_lines(pair->a.lane, 0, line, 1));
    WIRE_UNTIL(pair, gf_host_observe(&there[7]) == 8);
    close(hold[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    WIRE_UNTIL(pair, word == 1);
}

/* A descriptor that is no dma-buf is refused, by itself; the address is enough for memory that the system knows. */
static void test_device_memory_by_either_way(void **state)
{
    struct wire_pair *pair = *state;
    int descriptor = memfd_create("device", 0);
    struct gf_reason why = { "" };
    struct gf_wire_memory memory;
    uint64_t word = 0;

    assert_int_equal(ftruncate(descriptor, 65536), 0);
    char *address = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    struct gf_wire_range range = { .address = address, .bytes = 65536, .device = true, .dmabuf = descriptor };

    assert_true(pair->b.wire->caps.device_memory && pair->b.wire->caps.dmabuf);
    assert_int_equal(wire_tested->register_memory(pair->b.wire, &range, &memory, &why), GF_ERR_UNSUPPORTED);
    expect_says(&why, "65536 bytes of a dma-buf cannot be registered: ");
    range.dmabuf = -1;
    assert_int_equal(wire_tested->register_memory(pair->b.wire, &range, &memory, &why), GF_OK);
    struct gf_wire_place place = { (uintptr_t)address + 1000, memory.key[0] };

    fill(&pair->a, 2000, 4);
    WIRE_BEGIN(pair, wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address, &place, 2000,
                                      &(struct gf_wire_ticket){ &word, 1 }));
    WIRE_UNTIL(pair, word == 1);
    assert_memory_equal(address + 1000, pair->a.memory.address, 2000);
    wire_tested->forget(pair->b.wire, &memory);
    munmap(address, 65536);
    close(descriptor);
}

static void test_memory_that_is_not_there_cannot_be_registered(void **state)
{
    struct wire_pair *pair = *state;
    void *nothing = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct gf_wire_range range = { .address = nothing, .bytes = 65536, .dmabuf = -1 };
    struct gf_wire_memory memory;
    struct gf_reason why = { "" };

    assert_int_equal(wire_tested->register_memory(pair->a.wire, &range, &memory, &why), GF_ERR_UNSUPPORTED);
    expect_says(&why, "65536 bytes of host memory cannot be registered: ");
    range.device = true;
    assert_int_equal(wire_tested->register_memory(pair->a.wire, &range, &memory, &why), GF_ERR_UNSUPPORTED);
    expect_says(&why, "peer-memory module");
    munmap(nothing, 65536);
    expect_works(pair);
}

static void test_settings_are_checked(void **state)
{
    const struct { struct gf_wire_config config; gf_status status; const char *says; } cases[] = {
        { { .gid_index = -1, .timeout = 32 }, GF_ERR_INVALID, "the timeout is 32, but must be from 0 to 31" },
        { { .gid_index = -1, .retries = 8 }, GF_ERR_INVALID, "retries is 8" },
        { { .gid_index = -1, .service_level = 16 }, GF_ERR_INVALID, "service level is 16" },
        { { .gid_index = -1, .traffic_class = 256 }, GF_ERR_INVALID, "traffic class is 256" },
        { { .gid_index = -1, .queue_pairs = 9 }, GF_ERR_INVALID, "queue pairs of a lane is 9, but must be from 0 to 8" },
        { { .gid_index = -2 }, GF_ERR_INVALID, "GID index is -2" },
        { { .gid_index = -1, .adapters = "none0" }, GF_ERR_INVALID, "no verbs adapter none0 here, but: rxe0" },
        { { .gid_index = -1, .port = 2 }, GF_ERR_UNSUPPORTED, "rxe0 has no port 2, its last is 1: set net_port" },
        { { .gid_index = 200 }, GF_ERR_UNSUPPORTED, "has no GID 200: set gid_index" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gf_reason why = { "" };
        struct gf_wire *wire = NULL;

        assert_int_equal(wire_tested->open(&cases[i].config, &wire, &why), cases[i].status);
        expect_says(&why, cases[i].says);
    }
}

static void spoil_magic(struct gf_verbs_end *end) { end->magic = __builtin_bswap32(end->magic); }
static void spoil_version(struct gf_verbs_end *end) { end->version++; }
static void spoil_link(struct gf_verbs_end *end) { end->link = IBV_LINK_LAYER_INFINIBAND; }
static void spoil_gid_type(struct gf_verbs_end *end) { end->gid_type = IBV_GID_TYPE_ROCE_V1; }
static void spoil_gid(struct gf_verbs_end *end) { memset(end->gid, 0, sizeof end->gid); }
static void spoil_mtu(struct gf_verbs_end *end) { end->mtu = 6; }
static void spoil_no_pair(struct gf_verbs_end *end) { end->pairs[0].number = 0; }
static void spoil_pair(struct gf_verbs_end *end) { end->pairs[0].number |= 1 << 24; }
static void spoil_first(struct gf_verbs_end *end) { end->pairs[0].first |= 1 << 24; }
static void spoil_count(struct gf_verbs_end *end) { end->pair_count++; }
static void spoil_lines(struct gf_verbs_end *end) { end->lines = 0; }

static void test_what_the_peer_tells_is_checked(void **state)
{
    static const struct { void (*spoil)(struct gf_verbs_end *); const char *says; } cases[] = {
        { spoil_magic, "no address of this wire" }, { spoil_version, "version 3" }, { spoil_link, "not of the same kind" },
        { spoil_gid_type, "other version of RoCE" }, { spoil_gid, "GID is zero" }, { spoil_mtu, "MTU code 6" },
        { spoil_no_pair, "queue pair 0" }, { spoil_pair, "more than 24 bits" }, { spoil_first, "more than 24 bits" },
        { spoil_count, "bytes for 2 queue pairs" }, { spoil_lines, "16 lines nowhere" },
    };
    struct wire_pair *pair = *state;
    struct gf_wire_lane *lane;
    struct gf_wire_address mine;
    struct gf_reason why = { "" };

    assert_int_equal(wire_tested->create(pair->a.wire, 0, 0, &lane, &mine, &why), GF_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gf_wire_address spoilt = pair->b.address;
        struct gf_verbs_end end;

        memcpy(&end, spoilt.data, spoilt.bytes);
        cases[i].spoil(&end);
        memcpy(spoilt.data, &end, spoilt.bytes);
        assert_int_equal(wire_tested->connect(lane, &spoilt, &why), GF_ERR_PEER);
        expect_says(&why, cases[i].says);
        expect_says(&why, "rxe0 port 1");
    }
    wire_tested->destroy(lane, false);
}

/* It breaks its lane at both ends, and no other one. */
static void test_wrong_key_breaks_the_lane_only(void **state)
{
    struct wire_pair *pair = *state;
    struct gf_wire_lane *lane[2];
    struct gf_wire_address address[2];
    struct gf_wire_place place = { pair->a.place.address, pair->a.place.key ^ 0x5a00 };

    assert_int_equal(wire_tested->create(pair->a.wire, 0, 1, &lane[0], &address[0], NULL), GF_OK);
    assert_int_equal(wire_tested->create(pair->b.wire, 0, 1, &lane[1], &address[1], NULL), GF_OK);
    assert_int_equal(wire_tested->connect(lane[0], &address[1], NULL), GF_OK);
    assert_int_equal(wire_tested->connect(lane[1], &address[0], NULL), GF_OK);
    assert_int_equal(wire_tested->expect(lane[1]), GF_OK);
    assert_int_equal(wire_tested->put(lane[0], &pair->a.memory, pair->a.memory.address, &place, 100, NULL), GF_OK);
    expect_breaks(pair, lane[0], "remote access error (vendor error 0x");
    expect_breaks(pair, lane[1], "queue pair");
    expect_works(pair);
    wire_tested->destroy(lane[0], false);
    wire_tested->destroy(lane[1], false);
}

/* As one whose process has ended: its queue pair does not answer. */
static void test_peer_that_is_gone_is_found(void **state)
{
    struct wire_pair *pair = *state;
    struct gf_wire_lane *lane[2];
    struct gf_wire_address address[2];
    struct gf_wire_place place = { 0, 0 };

    assert_int_equal(wire_tested->create(pair->a.wire, 0, 1, &lane[0], &address[0], NULL), GF_OK);
    assert_int_equal(wire_tested->create(pair->b.wire, 0, 1, &lane[1], &address[1], NULL), GF_OK);
    assert_int_equal(wire_tested->connect(lane[0], &address[1], NULL), GF_OK);
    assert_int_equal(wire_tested->put(lane[0], NULL, NULL, &place, 0, NULL), GF_OK);
    expect_breaks(pair, lane[0], "transport retry counter exceeded");
    wire_tested->destroy(lane[0], false);
    wire_tested->destroy(lane[1], false);
}

/* What is still sent to it, such as credits that it needs no more, breaks nothing. */
static void test_peer_that_has_closed_still_answers(void **state)
{
    struct wire_pair *pair = *state;
    char lines[8 * GF_WIRE_LINE] = { 0 };
    uint64_t word = 0;

    expect_works(pair);
    wire_tested->destroy(pair->b.lane, false);
    pair->b.lane = NULL;
    WIRE_BEGIN(pair, wire_tested->put_lines(pair->a.lane, 0, lines, 8));
    WIRE_BEGIN(pair, wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address, &pair->a.place, 100,
                                      &(struct gf_wire_ticket){ &word, 1 }));
    WIRE_UNTIL(pair, word == 1);
    assert_int_equal(wire_tested->state(pair->a.lane, NULL), GF_OK);
}

/* ... but one that has given up takes nothing any more, though nothing is wrong with its queue pair: neither what was under way
 * nor what comes later. */
static void test_peer_that_has_given_up_takes_nothing(void **state)
{
    struct wire_pair *pair = *state;

    expect_works(pair);
    fill(&pair->a, WIRE_MEMORY, 5);
    for (int i = 0; i < 3; i++) {
        WIRE_BEGIN(pair, wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address, &pair->a.place, WIRE_MEMORY,
                                          NULL));
    }
    assert_int_equal(wire_tested->state(pair->b.lane, NULL), GF_OK);
    wire_tested->destroy(pair->b.lane, true);
    pair->b.lane = NULL;
    for (unsigned i = 0; i < 100; i++) {
        wire_pair_progress(pair);
    }
    memset(pair->b.memory.address, 0x5a, WIRE_MEMORY);
    WIRE_BEGIN(pair, wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address, &pair->a.place, WIRE_MEMORY, NULL));
    expect_breaks(pair, pair->a.lane, "transport retry counter exceeded");
    assert_int_equal(pair->b.memory.address[0], 0x5a);
    assert_memory_equal(pair->b.memory.address, pair->b.memory.address + 1, WIRE_MEMORY - 1);
}

static void test_notification_that_nobody_expects_breaks_the_lane(void **state)
{
    struct wire_pair *pair = *state;
    struct gf_wire_place place = { 0, 0 };

    assert_int_equal(wire_tested->put_notify(pair->a.lane, NULL, NULL, &place, 0, 1, NULL), GF_OK);
    expect_breaks(pair, pair->a.lane, "RNR retry counter exceeded");
}

static void test_flush_outside_of_the_memory_is_the_callers_fault(void **state)
{
    struct wire_pair *pair = *state;
    struct gf_reason why = { "" };

    assert_int_equal(wire_tested->flush(pair->a.lane, &pair->a.memory, pair->a.memory.address + WIRE_MEMORY, NULL),
                     GF_ERR_INVALID);
    assert_int_equal(wire_tested->state(pair->a.lane, &why), GF_ERR_INVALID);
    expect_says(&why, "outside of the memory");
}

/* Lines, of which nobody asks for the end, and puts fill the queue in turn; nothing is lost. */
static void test_full_queue_asks_to_come_back(void **state)
{
    struct wire_pair *pair = *state;
    char line[GF_WIRE_LINE] = { 1 };
    uint64_t ended = 0, begun = 0;

    for (int lap = 0; lap < 3; lap++) {
        gf_status status;
        int lines = 0;

        while (wire_tested->put_lines(pair->a.lane, 0, line, 1) == GF_OK) {
            lines++;
        }
        assert_true(lines <= GF_VERBS_SENDS && lines >= GF_VERBS_SENDS / 2);
        WIRE_UNTIL(pair, (status = wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address, &pair->a.place, 8,
                                                    &(struct gf_wire_ticket){ &ended, begun + 1 })) != GF_NO_RESOURCE);
        for (; status == GF_OK; begun++) {
            status = wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address, &pair->a.place, 8,
                                      &(struct gf_wire_ticket){ &ended, begun + 2 });
        }
        assert_int_equal(status, GF_NO_RESOURCE);
        WIRE_UNTIL(pair, ended == begun);
    }
}

static void test_so_many_notifications_can_be_expected(void **state)
{
    struct wire_pair *pair = *state;
    struct gf_wire_place place = { 0, 0 };

    for (uint32_t i = 0; i < GF_VERBS_RECEIVES; i++) {
        assert_int_equal(wire_tested->expect(pair->b.lane), GF_OK);
        WIRE_BEGIN(pair, wire_tested->put_notify(pair->a.lane, NULL, NULL, &place, 0, i, NULL));
    }
    assert_int_equal(wire_tested->expect(pair->b.lane), GF_NO_RESOURCE);
    for (uint32_t i = 0; i < GF_VERBS_RECEIVES; i++) {
        assert_int_equal(wire_take(pair), i);
        assert_int_equal(wire_tested->expect(pair->b.lane), GF_OK);
    }
    assert_int_equal(wire_tested->expect(pair->b.lane), GF_NO_RESOURCE);
}

/* Somebody who only waits hears of it, too. */
static void test_port_that_goes_down_breaks_the_lanes(void **state)
{
    struct wire_pair *pair = *state;
    struct gf_reason why = { "" };
    struct gf_wire *wire = NULL;

    assert_int_equal(wire_tested->expect(pair->b.lane), GF_OK);
    assert_int_equal(system("ip link set eth0 down"), 0);
    expect_breaks(pair, pair->b.lane, "the port is down");
    assert_int_equal(wire_tested->open(&wire_config, &wire, &why), GF_ERR_UNSUPPORTED);
    expect_says(&why, "port 1 of the verbs adapter rxe0 is not active");
    assert_int_equal(system("ip link set eth0 up"), 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, wire_pair_open, wire_pair_close)
    const struct CMUnitTest tests[] = {
        CASE(test_gid_is_the_ipv4_one_of_roce_v2),
        CASE(test_flush_is_one_read),
        CASE(test_flush_says_nothing_when_its_lane_is_gone),
        CASE(test_peer_may_connect_later),
        CASE(test_parent_of_a_child_goes_on),
        CASE(test_device_memory_by_either_way),
        CASE(test_memory_that_is_not_there_cannot_be_registered),
        cmocka_unit_test(test_settings_are_checked),
        CASE(test_what_the_peer_tells_is_checked),
        CASE(test_wrong_key_breaks_the_lane_only),
        CASE(test_peer_that_is_gone_is_found),
        CASE(test_peer_that_has_closed_still_answers),
        CASE(test_peer_that_has_given_up_takes_nothing),
        CASE(test_notification_that_nobody_expects_breaks_the_lane),
        CASE(test_flush_outside_of_the_memory_is_the_callers_fault),
        CASE(test_full_queue_asks_to_come_back),
        CASE(test_so_many_notifications_can_be_expected),
        CASE(test_port_that_goes_down_breaks_the_lanes),
    };

    /* What is gone is found after about 134 ms · 7. */
    wire_config.adapters = "rxe0";
    wire_config.port = 1;
    wire_config.timeout = 15;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
