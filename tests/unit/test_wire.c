/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What transport/wire.h promises, held against the wire that the first argument names ("ucx"). The network has to be there:
 * tests/unit/wire_ucx.sh chooses one that always is. Two wires of one process here and in wire_faults.c, two processes in
 * wire_processes.c.
 */
#include "wire_ends.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/host_ordered.h"
#include "transport/wires.h"
#include "wire_cases.h"

const struct gf_wire_ops *wire_tested;

static void fill(struct wire_end *end, uint32_t seed)
{
    for (size_t i = 0; i < WIRE_MEMORY; i++) {
        seed = seed * 1664525u + 1013904223u;
        end->memory.address[i] = (char)(seed >> 24);
    }
}

static void test_wire_introduces_itself(void **state)
{
    struct wire_pair *pair = *state;

    assert_ptr_equal(pair->a.wire->ops, wire_tested);
    assert_true(strncmp(pair->a.wire->name, wire_tested->name, strlen(wire_tested->name)) == 0);
    assert_true(pair->a.wire->caps.put_bytes >= WIRE_MEMORY);
    assert_int_equal(pair->a.lane->line_count, WIRE_LINES);
    assert_ptr_equal(pair->a.lane->wire, pair->a.wire);
    assert_int_equal((uintptr_t)pair->a.lane->lines % GF_WIRE_LINE, 0);
    assert_int_equal(wire_tested->state(pair->a.lane, NULL), GF_OK);
}

static void test_data_are_there_when_the_notification_is(void **state)
{
    static const size_t sizes[] = {1, 8, 100, 4095, 4096, 4097, 65536, (1 << 20) + 3};
    struct wire_pair *pair = *state;
    const size_t at = 4097;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t word = 0;

        fill(&pair->a, (uint32_t)i + 1);
        memset(pair->b.memory.address, 0x55, WIRE_MEMORY);
        wire_send(pair, 0, at, sizes[i], 1000 + (uint32_t)i, &(struct gf_wire_ticket){&word, i + 7});
        assert_int_equal(wire_take(pair), 1000 + i);
        assert_memory_equal(pair->b.memory.address + at, pair->a.memory.address, sizes[i]);
        assert_int_equal(pair->b.memory.address[at - 1], 0x55);
        assert_int_equal(pair->b.memory.address[at + sizes[i]], 0x55);
        WIRE_UNTIL(pair, word == i + 7);
    }
}

/* The group of the net transport: data of up to 8, then their sizes with the notification. */
static void test_group_is_there_when_its_notification_is(void **state)
{
    struct wire_pair *pair = *state;
    uint64_t word = 0;

    for (uint32_t round = 0; round < 20; round++) {
        fill(&pair->a, round);
        for (size_t i = 0; i < 8; i++) {
            struct gf_wire_place place = {pair->a.place.address + i * 100000, pair->a.place.key};

            WIRE_BEGIN(pair, wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address + i * 100000, &place,
                                              1 + i * 14000, NULL));
        }
        wire_send(pair, 900000, 900000, 32, round, &(struct gf_wire_ticket){&word, round + 1});
        assert_int_equal(wire_take(pair), round);
        for (size_t i = 0; i < 8; i++) {
            assert_memory_equal(pair->b.memory.address + i * 100000, pair->a.memory.address + i * 100000, 1 + i * 14000);
        }
        assert_memory_equal(pair->b.memory.address + 900000, pair->a.memory.address + 900000, 32);
        WIRE_UNTIL(pair, word == round + 1);
    }
}

static void test_nothing_can_be_put_and_notified(void **state)
{
    struct wire_pair *pair = *state;
    uint64_t words[2] = {0, 0};

    WIRE_BEGIN(pair, wire_tested->put(pair->a.lane, NULL, NULL, &pair->a.place, 0, &(struct gf_wire_ticket){&words[0], 3}));
    WIRE_BEGIN(pair, wire_tested->expect(pair->b.lane));
    WIRE_BEGIN(pair, wire_tested->put_notify(pair->a.lane, NULL, NULL, &pair->a.place, 0, 0xfedcba98u,
                                             &(struct gf_wire_ticket){&words[1], 4}));
    assert_int_equal(wire_take(pair), 0xfedcba98u);
    WIRE_UNTIL(pair, words[0] == 3 && words[1] == 4);
}

/* Sizes at random: short ones must not overtake long ones. The sender runs as far ahead as the wire lets it. */
static void test_notifications_keep_their_order(void **state)
{
    enum { COUNT = 400, DEPTH = 8, SLOT = 65536 };
    struct wire_pair *pair = *state;
    unsigned seed = (unsigned)getpid(), draw = seed;
    uint64_t words[DEPTH] = {0};
    uint32_t bytes[COUNT];

    print_message("seed %u\n", seed);
    fill(&pair->a, seed);
    for (uint32_t taken = 0, sent = 0; taken < COUNT;) {
        while (sent < COUNT && sent < taken + DEPTH) {
            size_t slot = sent % DEPTH;

            /* A slot is written anew: its last content has left. */
            WIRE_UNTIL(pair, sent < DEPTH || words[slot] == sent - DEPTH + 1);
            bytes[sent] = 4 + (rand_r(&draw) % 2 ? rand_r(&draw) % 64 : rand_r(&draw) % (SLOT - 4));
            memcpy(pair->a.memory.address + slot * SLOT, &sent, sizeof sent);
            wire_send(pair, slot * SLOT, slot * SLOT, bytes[sent], sent, &(struct gf_wire_ticket){&words[slot], sent + 1});
            sent++;
        }
        assert_int_equal(wire_take(pair), taken);
        assert_memory_equal(pair->b.memory.address + taken % DEPTH * SLOT, &taken, sizeof taken);
        assert_memory_equal(pair->b.memory.address + taken % DEPTH * SLOT + 4, pair->a.memory.address + taken % DEPTH * SLOT + 4,
                            bytes[taken] - 4);
        taken++;
    }
}

static void test_lines_arrive_whole(void **state)
{
    struct wire_pair *pair = *state;
    uint64_t lines[8][8];

    for (uint32_t count = 1; count <= 8; count++) {
        for (uint32_t index = 0; index + count <= WIRE_LINES; index++) {
            uint64_t tag = (uint64_t)count << 32 | (index + 1);
            const uint64_t *there = (const uint64_t *)(void *)pair->b.lane->lines + index * 8;

            for (uint32_t i = 0; i < count * 8; i++) {
                lines[i / 8][i % 8] = tag << 8 | i;
            }
            WIRE_BEGIN(pair, wire_tested->put_lines(pair->a.lane, index, lines, count));
            uint64_t sent[8][8];
            memcpy(sent, lines, sizeof sent);
            memset(lines, 0xff, sizeof lines);
            for (uint32_t i = 0; i < count; i++) {
                WIRE_UNTIL(pair,
                           gf_host_observe(there + i * 8) == sent[i][0] && gf_host_observe(there + i * 8 + 7) == sent[i][7]);
                assert_memory_equal(there + i * 8, sent[i], GF_WIRE_LINE);
            }
        }
    }
}

static void test_many_lanes_do_not_mix(void **state)
{
    enum { LANES = 40 };
    struct wire_pair *pair = *state;
    struct gf_wire_lane *here[LANES], *there[LANES];
    struct gf_wire_address mine[LANES], theirs[LANES];
    uint32_t immediate;

    for (uint32_t i = 0; i < LANES; i++) {
        assert_int_equal(wire_tested->create(pair->a.wire, 0, 1, &here[i], &mine[i], NULL), GF_OK);
        assert_int_equal(wire_tested->create(pair->b.wire, 0, 1, &there[LANES - 1 - i], &theirs[LANES - 1 - i], NULL), GF_OK);
    }
    for (uint32_t i = 0; i < LANES; i++) {
        assert_int_equal(wire_tested->connect(here[i], &theirs[i], NULL), GF_OK);
        assert_int_equal(wire_tested->connect(there[i], &mine[i], NULL), GF_OK);
        WIRE_BEGIN(pair, wire_tested->announce(there[i], &pair->b.memory));
        WIRE_BEGIN(pair, wire_tested->expect(there[i]));
        pair->a.memory.address[i] = (char)(i + 1);
    }
    for (uint32_t i = 0; i < LANES; i++) {
        struct gf_wire_place place = {pair->a.place.address + i, pair->a.place.key};

        WIRE_BEGIN(pair, wire_tested->put_notify(here[i], &pair->a.memory, pair->a.memory.address + i, &place, 1, i, NULL));
    }
    for (uint32_t i = 0; i < LANES; i++) {
        WIRE_UNTIL(pair, wire_tested->take(there[i], &immediate));
        assert_int_equal(immediate, i);
        assert_int_equal(pair->b.memory.address[i], i + 1);
        assert_false(wire_tested->take(there[i], &immediate));
        wire_tested->destroy(there[i], false);
        wire_tested->destroy(here[i], false);
    }
    wire_send(pair, 0, 0, 1, 77, NULL);
    assert_int_equal(wire_take(pair), 77);
}

/* After its ticket the sender may leave at once. */
static void test_what_has_a_ticket_arrives_though_the_lane_is_destroyed(void **state)
{
    static const size_t sizes[] = {8, 200000};

    for (size_t i = 0; i < 2; i++) {
        struct wire_pair *pair = *state;
        uint64_t word = 0;

        fill(&pair->a, (uint32_t)i);
        wire_send(pair, 0, 0, sizes[i], 5, &(struct gf_wire_ticket){&word, 1});
        struct wire_thread *peer = wire_thread_start(pair->b.wire);
        WIRE_UNTIL(pair, word == 1);
        wire_tested->destroy(pair->a.lane, false);
        wire_thread_stop(peer);
        pair->a.lane = NULL;
        assert_int_equal(wire_take(pair), 5);
        assert_memory_equal(pair->b.memory.address, pair->a.memory.address, sizes[i]);
        wire_pair_close(state);
        wire_pair_open(state);
    }
}

/* What arrives after all is what was sent. */
static void test_a_destroyed_lane_reads_its_memory_no_more(void **state)
{
    struct wire_pair *pair = *state;

    memset(pair->a.memory.address, 1, WIRE_MEMORY);
    wire_send(pair, 0, 0, WIRE_MEMORY, 5, NULL);
    struct wire_thread *peer = wire_thread_start(pair->b.wire);
    wire_tested->destroy(pair->a.lane, false);
    wire_thread_stop(peer);
    pair->a.lane = NULL;
    memset(pair->a.memory.address, 2, WIRE_MEMORY);
    for (int i = 0; i < 2000; i++) {
        wire_pair_progress(pair);
    }
    assert_null(memchr(pair->b.memory.address, 2, WIRE_MEMORY));
}

/* Then the sender's proxy may sleep. */
static void test_what_has_a_ticket_needs_its_sender_no_more(void **state)
{
    static const size_t sizes[] = {8, 3000, 20000, 200000, 1 << 20};
    struct wire_pair *pair = *state;
    uint32_t immediate;

    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        time_t start = wire_now();
        uint64_t word = 0;

        wire_send(pair, 0, 0, sizes[i], i, &(struct gf_wire_ticket){&word, 1});
        WIRE_UNTIL(pair, word == 1);
        while (!wire_tested->take(pair->b.lane, &immediate)) {
            wire_tested->progress(pair->b.wire);
            assert_true(wire_now() - start < WIRE_PATIENCE);
        }
        assert_int_equal(immediate, i);
    }
}

static void test_operations_are_counted(void **state)
{
    struct wire_pair *pair = *state;
    const struct gf_wire_counts *counts = wire_tested->counts(pair->a.wire);
    struct gf_wire_counts before = *counts;
    char line[GF_WIRE_LINE] = {1};

    for (int i = 0; i < 3; i++) {
        WIRE_BEGIN(pair, wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address, &pair->a.place, 70000, NULL));
    }
    for (int i = 0; i < 2; i++) {
        wire_send(pair, 0, 0, i ? 8 : 70000, 1, NULL);
        wire_take(pair);
    }
    WIRE_BEGIN(pair, wire_tested->put_lines(pair->a.lane, 0, line, 1));
    assert_int_equal(counts->puts - before.puts, 3);
    assert_int_equal(counts->notifies - before.notifies, 2);
    assert_int_equal(counts->line_puts - before.line_puts, 1);
    assert_int_equal(counts->flushes - before.flushes, 0);
}

/* What one thread sets up while another one sends. */
static void *set_up_again_and_again(void *argument)
{
    struct gf_wire *wire = argument;
    static char spare[65536];

    for (int i = 0; i < 50; i++) {
        struct gf_wire_range range = {.address = spare, .bytes = sizeof spare, .dmabuf = -1};
        struct gf_wire_memory memory;
        struct gf_wire_lane *lane;
        struct gf_wire_address address;

        if (wire_tested->register_memory(wire, &range, &memory, NULL) != GF_OK ||
            wire_tested->create(wire, 0, 4, &lane, &address, NULL) != GF_OK) {
            return "failed";
        }
        wire_tested->destroy(lane, false);
        wire_tested->forget(wire, &memory);
    }
    return NULL;
}

static void test_other_threads_may_set_up_meanwhile(void **state)
{
    struct wire_pair *pair = *state;
    pthread_t threads[2];
    void *trouble;

    pthread_create(&threads[0], NULL, set_up_again_and_again, pair->a.wire);
    pthread_create(&threads[1], NULL, set_up_again_and_again, pair->b.wire);
    for (uint32_t i = 0; i < 200; i++) {
        memcpy(pair->a.memory.address, &i, sizeof i);
        wire_send(pair, 0, 0, i % 2 ? 8 : 100000, i, NULL);
        assert_int_equal(wire_take(pair), i);
        assert_memory_equal(pair->b.memory.address, &i, sizeof i);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], &trouble);
        assert_null(trouble);
    }
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, wire_pair_open, wire_pair_close)

int main(int count, char **arguments)
{
    static const struct CMUnitTest tests[] = {
        CASE(test_wire_introduces_itself),
        CASE(test_data_are_there_when_the_notification_is),
        CASE(test_group_is_there_when_its_notification_is),
        CASE(test_nothing_can_be_put_and_notified),
        CASE(test_notifications_keep_their_order),
        CASE(test_lines_arrive_whole),
        CASE(wire_test_lines_beyond_the_last_break_the_lane),
        CASE(wire_test_a_key_of_nothing_writes_nothing),
        CASE(wire_test_a_put_outside_of_the_range_breaks_the_lane),
        CASE(wire_test_a_lane_that_was_never_connected_is_destroyed),
        CASE(wire_test_an_address_that_was_spoilt_is_refused),
        CASE(wire_test_a_lane_is_destroyed_while_data_come),
        CASE(test_many_lanes_do_not_mix),
        CASE(test_what_has_a_ticket_arrives_though_the_lane_is_destroyed),
        CASE(test_a_destroyed_lane_reads_its_memory_no_more),
        CASE(test_what_has_a_ticket_needs_its_sender_no_more),
        CASE(test_operations_are_counted),
        CASE(test_other_threads_may_set_up_meanwhile),
        cmocka_unit_test(wire_test_two_processes),
        CASE(wire_test_a_killed_peer_breaks_its_lanes_alone),
        cmocka_unit_test(wire_test_a_peer_that_is_killed_while_it_sends),
        cmocka_unit_test(wire_test_a_stopped_peer_does_not_keep_us),
    };
    const char *name = count > 1 ? arguments[1] : "";
    bool peer = strncmp(name, WIRE_PEER, strlen(WIRE_PEER)) == 0;

    const struct gf_wire_ops *const *found = gf_wires_named(name + (peer ? strlen(WIRE_PEER) : 0));

    if (found == NULL) {
        fprintf(stderr, "%s: there is no wire \"%s\" in this build\n", arguments[0], name);
        return 2;
    }
    wire_tested = found[0];
    return peer ? wire_peer_run() : cmocka_run_group_tests(tests, NULL, NULL);
}
