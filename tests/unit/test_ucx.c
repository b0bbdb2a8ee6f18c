/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the UCX wire does with messages that no peer of ours sends: the lane breaks, or nobody is meant, and nothing is written.
 * Run by wire_ucx.sh.
 */
#include "wire_ends.h"

#include <stdio.h>
#include <string.h>

#include "transport/ucx_private.h"

const struct gf_wire_ops *wire_tested = &gf_wire_ucx;

enum { STRANGE = 4096 };           /* memory that is registered, but announced to nobody */

/* The lane of end b of a pair, and what is right about a message for it. */
struct victim {
    struct wire_pair *pair;
    struct gf_ucx_lane *lane;
    struct gf_ucx_header notify, lines, key;
};

static char payload[20 * GF_WIRE_LINE];

static struct victim victim_of(void **state)
{
    struct wire_pair *pair = *state;
    struct gf_ucx_lane *lane = gf_ucx_lane_of(pair->b.lane);
    struct victim victim = {.pair = pair, .lane = lane};

    memset(payload, 0x77, sizeof payload);
    memset(pair->b.memory.address, 0, WIRE_MEMORY);
    victim.notify = (struct gf_ucx_header){
        .lane = lane->number,
        .kind = GF_UCX_KIND_NOTIFY,
        .key = pair->b.memory.key,
        .address = (uintptr_t)pair->b.memory.address,
        .bytes = 8,
        .step = lane->expected,
    };
    victim.lines = (struct gf_ucx_header){.lane = lane->number, .kind = GF_UCX_KIND_LINES};
    victim.key = (struct gf_ucx_header){
        .lane = lane->number, .kind = GF_UCX_KIND_KEY, .key = 1000, .address = 4096, .bytes = 4096,
    };
    assert_int_equal(wire_tested->expect(pair->b.lane), GF_OK);
    return victim;
}

static void receive(const struct victim *victim, const struct gf_ucx_header *header, size_t bytes)
{
    ucp_am_recv_param_t param = {0};

    assert_int_equal(gf_ucx_receive(victim->pair->b.wire, header, sizeof *header, payload, bytes, &param), UCS_OK);
}

static void assert_untouched(const struct victim *victim)
{
    for (size_t i = 0; i < WIRE_MEMORY; i++) {
        if (victim->pair->b.memory.address[i] != 0) {
            fail_msg("byte %zu of the memory was written", i);
        }
    }
    for (size_t i = 0; i < WIRE_LINES * GF_WIRE_LINE; i++) {
        if (victim->pair->b.lane->lines[i] != 0) {
            fail_msg("byte %zu of the lines was written", i);
        }
    }
}

static void assert_broken(const struct victim *victim)
{
    struct gf_reason why = {""};
    uint32_t immediate;

    assert_int_equal(wire_tested->state(victim->pair->b.lane, &why), GF_ERR_PEER);
    assert_true(strlen(why.text) > 10);
    assert_false(wire_tested->take(victim->pair->b.lane, &immediate));
    assert_untouched(victim);
}

static void test_what_is_right_is_taken(void **state)
{
    struct victim victim = victim_of(state);
    uint32_t immediate;

    victim.notify.immediate = 5;
    receive(&victim, &victim.notify, 8);
    assert_true(wire_tested->take(victim.pair->b.lane, &immediate));
    assert_int_equal(immediate, 5);
    assert_memory_equal(victim.pair->b.memory.address, payload, 8);
    victim.lines.step = WIRE_LINES - 8;
    receive(&victim, &victim.lines, 8 * GF_WIRE_LINE);
    assert_memory_equal(victim.pair->b.lane->lines + (WIRE_LINES - 8) * GF_WIRE_LINE, payload, 8 * GF_WIRE_LINE);
    receive(&victim, &victim.key, 20);
    assert_non_null(gf_key_table_find(&victim.lane->keys, 1000));
    assert_int_equal(wire_tested->state(victim.pair->b.lane, NULL), GF_OK);
}

static void test_messages_for_nobody_are_ignored(void **state)
{
    struct victim victim = victim_of(state);
    ucp_am_recv_param_t param = {0};
    struct gf_ucx_header other = victim.notify;
    struct gf_wire_lane *lane;
    struct gf_wire_address address;

    assert_int_equal(gf_ucx_receive(victim.pair->b.wire, &other, sizeof other - 1, payload, 8, &param), UCS_OK);
    param.recv_attr = UCP_AM_RECV_ATTR_FLAG_RNDV;
    assert_int_equal(gf_ucx_receive(victim.pair->b.wire, &other, sizeof other, payload, 8, &param), UCS_OK);
    other.lane = UINT64_MAX;
    receive(&victim, &other, 8);
    assert_int_equal(wire_tested->create(victim.pair->b.wire, 1, &lane, &address, NULL), GF_OK);
    other.lane = gf_ucx_lane_of(lane)->number;
    wire_tested->destroy(lane);
    receive(&victim, &other, 8);
    assert_int_equal(wire_tested->create(victim.pair->b.wire, 1, &lane, &address, NULL), GF_OK);
    receive(&victim, &other, 8);
    assert_int_equal(wire_tested->state(lane, NULL), GF_OK);
    wire_tested->destroy(lane);
    assert_int_equal(wire_tested->state(victim.pair->b.lane, NULL), GF_OK);
    assert_untouched(&victim);
}

static void test_notifications_that_nobody_expects(void **state)
{
    static const int64_t steps[] = {1, 2, 1000000, -1, INT64_MIN};

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct victim victim = victim_of(state);

        victim.notify.step += (uint64_t)steps[i];
        receive(&victim, &victim.notify, 8);
        assert_broken(&victim);
        wire_pair_close(state);
        wire_pair_open(state);
    }
}

static void test_a_notification_that_comes_twice(void **state)
{
    struct victim victim = victim_of(state);

    victim.notify.bytes = 0;
    receive(&victim, &victim.notify, 0);
    assert_int_equal(wire_tested->state(victim.pair->b.lane, NULL), GF_OK);
    victim.notify.bytes = 8;
    receive(&victim, &victim.notify, 8);
    assert_int_equal(wire_tested->state(victim.pair->b.lane, NULL), GF_ERR_PEER);
    assert_untouched(&victim);
}

/* What is wrong with a notification's data: added to the address, to the length it tells, to the length that came, to the key. */
static void test_short_data_that_go_elsewhere(void **state)
{
    static const struct { int64_t address; uint64_t told, came; uint32_t key; } wrong[] = {
        {-1, 8, 8, 0}, {WIRE_MEMORY - 7, 8, 8, 0}, {WIRE_MEMORY, 1, 1, 0}, {INT64_MIN, 8, 8, 0}, {1 << 30, 8, 8, 0},
        {0, 9, 8, 0}, {0, 8, 9, 0}, {0, 0, 8, 0}, {0, 8, 0, 0}, {0, 8, 8, 1}, {0, 8, 8, 77},
    };
    static char strange[STRANGE];

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct victim victim = victim_of(state);
        struct gf_wire_memory memory;
        struct gf_wire_range range = {.address = strange, .bytes = STRANGE, .dmabuf = -1};

        assert_int_equal(wire_tested->register_memory(victim.pair->b.wire, &range, &memory, NULL), GF_OK);
        assert_int_equal(memory.key, victim.notify.key + 1);
        victim.notify.address += (uint64_t)wrong[i].address;
        victim.notify.bytes = wrong[i].told;
        victim.notify.key += wrong[i].key;
        if (wrong[i].key == 1) {
            victim.notify.address = (uintptr_t)strange;
        }
        receive(&victim, &victim.notify, wrong[i].came);
        assert_broken(&victim);
        assert_int_equal(strange[0], 0);
        wire_tested->forget(victim.pair->b.wire, &memory);
        wire_pair_close(state);
        wire_pair_open(state);
    }
}

static void test_short_data_for_memory_that_was_forgotten(void **state)
{
    struct victim victim = victim_of(state);
    static char strange[STRANGE];
    struct gf_wire_memory memory;
    struct gf_wire_range range = {.address = strange, .bytes = STRANGE, .dmabuf = -1};

    assert_int_equal(wire_tested->register_memory(victim.pair->b.wire, &range, &memory, NULL), GF_OK);
    WIRE_BEGIN(victim.pair, wire_tested->announce(victim.pair->b.lane, &memory));
    victim.notify.address = (uintptr_t)strange;
    victim.notify.key = memory.key;
    wire_tested->forget(victim.pair->b.wire, &memory);
    receive(&victim, &victim.notify, 8);
    assert_broken(&victim);
    assert_int_equal(strange[0], 0);
}

static void test_lines_that_do_not_fit(void **state)
{
    static const struct { uint64_t index; size_t bytes; } wrong[] = {
        {0, 0}, {0, 63}, {0, 65}, {0, 9 * GF_WIRE_LINE}, {WIRE_LINES, GF_WIRE_LINE}, {WIRE_LINES - 1, 2 * GF_WIRE_LINE},
        {UINT64_MAX, GF_WIRE_LINE}, {UINT64_MAX, 2 * GF_WIRE_LINE}, {1ull << 58, GF_WIRE_LINE},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct victim victim = victim_of(state);

        victim.lines.step = wrong[i].index;
        receive(&victim, &victim.lines, wrong[i].bytes);
        assert_broken(&victim);
        wire_pair_close(state);
        wire_pair_open(state);
    }
}

static void test_keys_of_nothing(void **state)
{
    for (int i = 0; i < 5; i++) {
        struct victim victim = victim_of(state);

        victim.key.key = i == 0 ? victim.pair->b.place.key : victim.key.key;
        victim.key.bytes = i == 1 ? 0 : i == 2 ? UINT64_MAX : victim.key.bytes;
        receive(&victim, &victim.key, i == 3 ? 0 : i == 4 ? 1 << 20 : 20);
        assert_broken(&victim);
        wire_pair_close(state);
        wire_pair_open(state);
    }
}

static void test_messages_of_no_known_kind(void **state)
{
    struct victim victim = victim_of(state);

    victim.notify.kind = 77;
    receive(&victim, &victim.notify, 8);
    assert_broken(&victim);
}

static void test_keys_are_found_in_any_order(void **state)
{
    struct gf_key_table table = {0};
    int values[1000];

    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t key = i * 733 % 1000;

        assert_null(gf_key_table_find(&table, key));
        assert_true(gf_key_table_add(&table, key, &values[key]));
    }
    for (uint32_t key = 0; key < 1000; key += 3) {
        gf_key_table_remove(&table, key);
        gf_key_table_remove(&table, key);
    }
    for (uint32_t key = 0; key < 1000; key++) {
        assert_ptr_equal(gf_key_table_find(&table, key), key % 3 == 0 ? NULL : &values[key]);
    }
    gf_key_table_release(&table);
    assert_null(gf_key_table_find(&table, 1));
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, wire_pair_open, wire_pair_close)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(test_what_is_right_is_taken),
        CASE(test_messages_for_nobody_are_ignored),
        CASE(test_notifications_that_nobody_expects),
        CASE(test_a_notification_that_comes_twice),
        CASE(test_short_data_that_go_elsewhere),
        CASE(test_short_data_for_memory_that_was_forgotten),
        CASE(test_lines_that_do_not_fit),
        CASE(test_keys_of_nothing),
        CASE(test_messages_of_no_known_kind),
        cmocka_unit_test(test_keys_are_found_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
