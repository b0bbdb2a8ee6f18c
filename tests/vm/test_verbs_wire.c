/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verbs wire where all goes well: two wires on one adapter, run by verbs.sh where there is one.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/host_ordered.h"
#include "tests/support/wire_pair.h"
#include "transport/verbs.h"

enum { MEBIBYTE = 1 << 20, LINES = 16, LINE_WORDS = GF_WIRE_LINE / 8 };

static struct gftest_wires wires;
static struct gftest_lanes lanes;
static unsigned char *source, *target;
static struct gf_wire_memory source_memory, target_memory;

static unsigned char byte_at(size_t i, unsigned seed)
{
    return (unsigned char)(i * 31 + i / 251 + seed);
}

static void fill(unsigned seed)
{
    for (size_t i = 0; i < MEBIBYTE; i++) {
        source[i] = byte_at(i, seed);
    }
    memset(target, 0, MEBIBYTE);
}

static void expect_bytes(const unsigned char *at, size_t from, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != byte_at(from + i, seed)) {
            fail_msg("byte %zu of %zu is %u, not %u", i, bytes, at[i], byte_at(from + i, seed));
        }
    }
}

static int open_wires(void **state)
{
    const struct gf_wire_config config = { .gid_index = -1, .timeout = 17 };

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

static int connect_lanes(void **state)
{
    (void)state;
    gftest_lanes_connect(&lanes, &wires, LINES);
    source = malloc(MEBIBYTE);
    target = malloc(MEBIBYTE);
    gftest_register(&lanes, 0, source, MEBIBYTE, &source_memory);
    gftest_register(&lanes, 1, target, MEBIBYTE, &target_memory);
    return 0;
}

static int destroy_lanes(void **state)
{
    (void)state;
    gftest_lanes_destroy(&lanes);
    wires.ops->forget(wires.wire[0], &source_memory);
    wires.ops->forget(wires.wire[1], &target_memory);
    free(source);
    free(target);
    return 0;
}

/* How many operations of each kind the first wire has begun since. */
static struct gf_wire_counts counts_since(const struct gf_wire_counts *before)
{
    struct gf_wire_counts now = *wires.ops->counts(wires.wire[0]);

    return (struct gf_wire_counts){ now.puts - before->puts, now.notifies - before->notifies, now.line_puts - before->line_puts,
                                    now.flushes - before->flushes };
}

static void expect_counts(const struct gf_wire_counts *before, uint64_t puts, uint64_t notifies, uint64_t line_puts)
{
    struct gf_wire_counts since = counts_since(before);

    assert_int_equal(since.puts, puts);
    assert_int_equal(since.notifies, notifies);
    assert_int_equal(since.line_puts, line_puts);
    assert_int_equal(since.flushes, 0);
}

static void test_gid_is_the_ipv4_one_of_roce_v2(void **state)
{
    char path[120], text[64] = "";
    int port, gid;

    (void)state;
    assert_int_equal(sscanf(wires.wire[0]->name, "verbs rxe0 port %d gid %d (RoCE v2)", &port, &gid), 2);
    snprintf(path, sizeof path, "/sys/class/infiniband/rxe0/ports/%d/gids/%d", port, gid);
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "0000:0000:0000:0000:0000:ffff:0a4d:0001\n");
}

static void test_put(void **state)
{
    struct gf_wire_counts before = *wires.ops->counts(wires.wire[0]);
    struct gf_wire_place place = gftest_place(&target_memory, target);
    uint64_t ended = 0;

    (void)state;
    fill(1);
    assert_int_equal(lanes.ops->put(lanes.lane[0], &source_memory, source, &place, MEBIBYTE, &(struct gf_wire_ticket){ &ended, 7 }),
                     GF_OK);
    gftest_await_word(&lanes, &ended, 7);
    expect_bytes(target, 0, MEBIBYTE, 1);
    expect_counts(&before, 1, 0, 0);
}

static void test_message_is_one_put_that_tells_its_length(void **state)
{
    struct gf_wire_counts before = *wires.ops->counts(wires.wire[0]);
    const size_t lengths[] = { 1, 4096, 77777, MEBIBYTE };
    uint64_t ended = 0;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct gf_wire_place place = gftest_place(&target_memory, target + MEBIBYTE - lengths[i]);

        fill(i);
        assert_int_equal(lanes.ops->expect(lanes.lane[1]), GF_OK);
        assert_int_equal(lanes.ops->put_notify(lanes.lane[0], &source_memory, source + MEBIBYTE - lengths[i], &place, lengths[i],
                                               (uint32_t)lengths[i], &(struct gf_wire_ticket){ &ended, i + 1 }), GF_OK);
        assert_int_equal(gftest_await_notification(&lanes, 1), lengths[i]);
        expect_bytes(target + MEBIBYTE - lengths[i], MEBIBYTE - lengths[i], lengths[i], i);
        gftest_await_word(&lanes, &ended, i + 1);
        assert_true(lengths[i] == MEBIBYTE || target[MEBIBYTE - lengths[i] - 1] == 0);
    }
    expect_counts(&before, 0, 4, 0);
}

static void test_group_is_its_puts_and_one_array_of_sizes(void **state)
{
    enum { GROUP = 8, APART = 100000 };
    struct gf_wire_counts before = *wires.ops->counts(wires.wire[0]);
    uint32_t sizes[GROUP], there[GROUP] = { 0 };
    struct gf_wire_memory sizes_memory, there_memory;
    const struct gf_wire_ticket nobody = { NULL, 0 };
    uint64_t ended = 0;

    (void)state;
    fill(3);
    gftest_register(&lanes, 0, sizes, sizeof sizes, &sizes_memory);
    gftest_register(&lanes, 1, there, sizeof there, &there_memory);
    assert_int_equal(lanes.ops->expect(lanes.lane[1]), GF_OK);
    for (unsigned i = 0; i < GROUP; i++) {
        struct gf_wire_place place = gftest_place(&target_memory, target + i * APART);

        sizes[i] = i * 12345 + 1;
        assert_int_equal(lanes.ops->put(lanes.lane[0], &source_memory, source + i * APART, &place, sizes[i], &nobody), GF_OK);
    }
    struct gf_wire_place place = gftest_place(&there_memory, there);

    assert_int_equal(lanes.ops->put_notify(lanes.lane[0], &sizes_memory, sizes, &place, sizeof sizes, 0,
                                           &(struct gf_wire_ticket){ &ended, 1 }), GF_OK);
    gftest_await_notification(&lanes, 1);
    assert_memory_equal(there, sizes, sizeof sizes);
    for (unsigned i = 0; i < GROUP; i++) {
        expect_bytes(target + i * APART, i * APART, sizes[i], 3);
        assert_int_equal(target[i * APART + sizes[i]], 0);
    }
    gftest_await_word(&lanes, &ended, 1);
    expect_counts(&before, GROUP, 1, 0);
    lanes.ops->forget(lanes.wire[0], &sizes_memory);
    lanes.ops->forget(lanes.wire[1], &there_memory);
}

static uint64_t line_word(unsigned number, unsigned word)
{
    return ((uint64_t)number << 8) + word + 1;
}

/* Waits until the line has come, by its first and its last word, and looks at all of it. */
static void expect_line(unsigned at, unsigned number)
{
    const uint64_t *line = (const uint64_t *)(lanes.lane[1]->lines + (size_t)at * GF_WIRE_LINE);

    while (gf_host_observe(&line[0]) != line_word(number, 0) || gf_host_observe(&line[LINE_WORDS - 1]) != line_word(number, LINE_WORDS - 1)) {
        gftest_progress(&lanes);
    }
    for (unsigned word = 0; word < LINE_WORDS; word++) {
        assert_int_equal(line[word], line_word(number, word));
    }
}

static void test_lines_come_whole_for_many_laps(void **state)
{
    struct gf_wire_counts before = *wires.ops->counts(wires.wire[0]);
    uint64_t lines[8][LINE_WORDS];
    unsigned number = 0, puts = 0;

    (void)state;
    while (number < 40 * LINES) {
        unsigned count = puts % 8 + 1, at = number % LINES;

        count = count < LINES - at ? count : LINES - at;
        for (unsigned i = 0; i < count * LINE_WORDS; i++) {
            lines[i / LINE_WORDS][i % LINE_WORDS] = line_word(number + i / LINE_WORDS, i % LINE_WORDS);
        }
        while (lanes.ops->put_lines(lanes.lane[0], at, lines, count) == GF_NO_RESOURCE) {
            gftest_progress(&lanes);
        }
        memset(lines, 0, sizeof lines);
        for (unsigned i = 0; i < count; i++) {
            expect_line(at + i, number + i);
        }
        number += count;
        puts++;
    }
    expect_counts(&before, 0, 0, puts);
}

static void test_flush_is_one_read(void **state)
{
    struct gf_wire_place place = gftest_place(&target_memory, target);
    const struct gf_wire_ticket nobody = { NULL, 0 };
    uint64_t before = wires.ops->counts(wires.wire[1])->flushes, ended = 0;

    (void)state;
    fill(5);
    for (unsigned i = 1; i <= 20; i++) {
        assert_int_equal(lanes.ops->expect(lanes.lane[1]), GF_OK);
        assert_int_equal(lanes.ops->put_notify(lanes.lane[0], &source_memory, source, &place, 1000, i, &nobody), GF_OK);
        assert_int_equal(gftest_await_notification(&lanes, 1), i);
        assert_int_equal(lanes.ops->flush(lanes.lane[1], &target_memory, target + i, &(struct gf_wire_ticket){ &ended, i }), GF_OK);
        gftest_await_word(&lanes, &ended, i);
        assert_int_equal(wires.ops->counts(wires.wire[1])->flushes, before + i);
    }
    expect_bytes(target, 0, 1000, 5);
}

static void test_nothing_can_be_sent(void **state)
{
    const struct gf_wire_place nowhere = { 0, 0 };
    uint64_t ended = 0;

    (void)state;
    assert_int_equal(lanes.ops->expect(lanes.lane[1]), GF_OK);
    assert_int_equal(lanes.ops->put(lanes.lane[0], NULL, NULL, &nowhere, 0, &(struct gf_wire_ticket){ &ended, 1 }), GF_OK);
    gftest_await_word(&lanes, &ended, 1);
    assert_int_equal(lanes.ops->put_notify(lanes.lane[0], NULL, NULL, &nowhere, 0, 4711, &(struct gf_wire_ticket){ &ended, 2 }), GF_OK);
    assert_int_equal(gftest_await_notification(&lanes, 1), 4711);
    gftest_await_word(&lanes, &ended, 2);
}

/* As many are expected as the net transport would, and each has its data when it is taken. */
static void test_notifications_keep_their_order_behind_their_data(void **state)
{
    enum { MESSAGES = 1000, DEPTH = 32 };
    uint64_t *words = (uint64_t *)source, *there = (uint64_t *)target, ended = 0;
    uint32_t sent = 0, taken = 0;

    (void)state;
    memset(target, 0, MEBIBYTE);
    for (unsigned i = 0; i < DEPTH; i++) {
        assert_int_equal(lanes.ops->expect(lanes.lane[1]), GF_OK);
    }
    while (taken < MESSAGES) {
        for (; sent < MESSAGES && sent < taken + DEPTH && ended + DEPTH > sent; sent++) {
            struct gf_wire_place place = gftest_place(&target_memory, there + sent % DEPTH);

            words[sent % DEPTH] = sent + 1;
            assert_int_equal(lanes.ops->put_notify(lanes.lane[0], &source_memory, words + sent % DEPTH, &place, 8, sent,
                                                   &(struct gf_wire_ticket){ &ended, sent + 1 }), GF_OK);
        }
        assert_int_equal(gftest_await_notification(&lanes, 1), taken);
        assert_int_equal(there[taken % DEPTH], taken + 1);
        taken++;
        assert_int_equal(lanes.ops->expect(lanes.lane[1]), GF_OK);
    }
    gftest_await_word(&lanes, &ended, MESSAGES);
}

/* The peer's end takes part later: what was sent before is sent again. */
static void test_peer_may_connect_later(void **state)
{
    struct gf_wire_lane *end[2];
    struct gf_wire_address address[2];
    struct gf_wire_place place = gftest_place(&target_memory, target);
    struct gf_reason why = { "" };
    uint64_t ended = 0;

    (void)state;
    fill(9);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(wires.ops->create(wires.wire[i], 0, &end[i], &address[i], &why), GF_OK);
    }
    assert_int_equal(wires.ops->put(end[0], &source_memory, source, &place, 5000, &(struct gf_wire_ticket){ &ended, 1 }),
                     GF_NO_RESOURCE);
    assert_int_equal(wires.ops->connect(end[0], &address[1], &why), GF_OK);
    assert_int_equal(wires.ops->put(end[0], &source_memory, source, &place, 5000, &(struct gf_wire_ticket){ &ended, 1 }), GF_OK);
    for (unsigned i = 0; i < 100; i++) {
        gftest_progress(&lanes);
    }
    assert_int_equal(ended, 0);
    assert_int_equal(wires.ops->connect(end[1], &address[0], &why), GF_OK);
    gftest_await_word(&lanes, &ended, 1);
    expect_bytes(target, 0, 5000, 9);
    wires.ops->destroy(end[0]);
    wires.ops->destroy(end[1]);
}

/* While a child has the same pages, the parent's new data go, and what comes is seen by the parent. */
static void test_parent_of_a_child_goes_on(void **state)
{
    struct gf_wire_place place = gftest_place(&target_memory, target);
    uint64_t line[LINE_WORDS], ended = 0;
    int hold[2];

    (void)state;
    fill(1);
    assert_int_equal(pipe(hold), 0);
    pid_t child = fork();

    if (child == 0) {
        char byte;

        close(hold[1]);
        _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
    }
    assert_true(child > 0);
    close(hold[0]);
    fill(2);
    assert_int_equal(lanes.ops->put(lanes.lane[0], &source_memory, source, &place, MEBIBYTE, &(struct gf_wire_ticket){ &ended, 1 }),
                     GF_OK);
    gftest_await_word(&lanes, &ended, 1);
    expect_bytes(target, 0, MEBIBYTE, 2);
    for (unsigned i = 0; i < LINE_WORDS; i++) {
        line[i] = line_word(99, i);
    }
    assert_int_equal(lanes.ops->put_lines(lanes.lane[0], 3, line, 1), GF_OK);
    expect_line(3, 99);
    close(hold[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* A descriptor that is no dma-buf: then the address itself is tried, which is enough for memory that the system knows. */
static void test_device_memory_is_tried_both_ways(void **state)
{
    int descriptor = memfd_create("device", 0);
    struct gf_reason why = { "" };
    struct gf_wire_memory memory;

    (void)state;
    assert_int_equal(ftruncate(descriptor, MEBIBYTE), 0);
    char *address = mmap(NULL, MEBIBYTE, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    const struct gf_wire_range range = { .address = address, .bytes = MEBIBYTE, .device = true, .dmabuf = descriptor };

    assert_true(wires.wire[1]->caps.device_memory);
    assert_int_equal(wires.ops->register_memory(wires.wire[1], &range, &memory, &why), GF_OK);
    struct gf_wire_place place = gftest_place(&memory, address + 1000);
    uint64_t ended = 0;

    fill(4);
    assert_int_equal(lanes.ops->put(lanes.lane[0], &source_memory, source, &place, 2000, &(struct gf_wire_ticket){ &ended, 1 }), GF_OK);
    gftest_await_word(&lanes, &ended, 1);
    expect_bytes((unsigned char *)address + 1000, 0, 2000, 4);
    wires.ops->forget(wires.wire[1], &memory);
    munmap(address, MEBIBYTE);
    close(descriptor);
}

int main(void)
{
#define WITH_LANES(test) cmocka_unit_test_setup_teardown(test, connect_lanes, destroy_lanes)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gid_is_the_ipv4_one_of_roce_v2),
        WITH_LANES(test_put),
        WITH_LANES(test_message_is_one_put_that_tells_its_length),
        WITH_LANES(test_group_is_its_puts_and_one_array_of_sizes),
        WITH_LANES(test_lines_come_whole_for_many_laps),
        WITH_LANES(test_flush_is_one_read),
        WITH_LANES(test_nothing_can_be_sent),
        WITH_LANES(test_notifications_keep_their_order_behind_their_data),
        WITH_LANES(test_peer_may_connect_later),
        WITH_LANES(test_parent_of_a_child_goes_on),
        WITH_LANES(test_device_memory_is_tried_both_ways),
    };

    return cmocka_run_group_tests(tests, open_wires, close_wires);
}
