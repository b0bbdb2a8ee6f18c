/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes of several queue pairs, on one adapter: what is spread over them arrives before its notification.
 */
#include "tests/unit/wire_ends.h"

#include <string.h>

#include "transport/verbs_private.h"

enum { PAIRS = 4, LONG = (1 << 20) + 5000 };

const struct gf_wire_ops *wire_tested = &gf_wire_verbs;

static void fill(const struct wire_end *end, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        end->memory.address[i] = (char)(i * 31 + i / 251 + seed);
    }
}

/* How many sends each queue pair of the lane has begun. */
static void count_sends(const struct wire_end *end, uint64_t sends[PAIRS])
{
    for (int i = 0; i < PAIRS; i++) {
        sends[i] = verbs_lane_of(end->lane)->queues[i].sent;
    }
}

static void expect_sends(const struct wire_end *end, const uint64_t before[PAIRS], const uint64_t expected[PAIRS])
{
    uint64_t after[PAIRS];

    count_sends(end, after);
    for (int i = 0; i < PAIRS; i++) {
        assert_int_equal(after[i] - before[i], expected[i]);
    }
}

static void test_lengths_around_what_is_spread(void **state)
{
    static const size_t lengths[] = { 0, 1, 65535, 65536, 65537, PAIRS * 16384 + 1, PAIRS * 20480 - 1, 300000, LONG };
    struct wire_pair *pair = *state;

    assert_int_equal(verbs_lane_of(pair->a.lane)->pairs, PAIRS);
    assert_non_null(strstr(pair->a.lane->name, ", 4 queue pairs"));
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint64_t word = 0;

        fill(&pair->a, WIRE_MEMORY, i);
        memset(pair->b.memory.address, 0x55, WIRE_MEMORY);
        wire_send(pair, 100, 4097, lengths[i], i, &(struct gf_wire_ticket){ &word, i + 1 });
        assert_int_equal(wire_take(pair), i);
        assert_memory_equal(pair->b.memory.address + 4097, pair->a.memory.address + 100, lengths[i]);
        assert_int_equal(pair->b.memory.address[4096], 0x55);
        assert_int_equal(pair->b.memory.address[4097 + lengths[i]], 0x55);
        WIRE_UNTIL(pair, word == i + 1);
    }
}

/* A notification is a send of each pair; long data are, too; short data and lines go over the first. */
static void test_what_goes_over_which_pair(void **state)
{
    struct wire_pair *pair = *state;
    char line[GF_WIRE_LINE] = { 0 };
    uint64_t before[PAIRS], word = 0;

    count_sends(&pair->a, before);
    wire_send(pair, 0, 0, 8, 1, NULL);
    expect_sends(&pair->a, before, (const uint64_t[PAIRS]){ 1, 1, 1, 1 });
    count_sends(&pair->a, before);
    wire_send(pair, 0, 0, LONG, 2, NULL);
    expect_sends(&pair->a, before, (const uint64_t[PAIRS]){ 1, 1, 1, 1 });
    count_sends(&pair->a, before);
    WIRE_BEGIN(pair, wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address, &pair->a.place, LONG, NULL));
    WIRE_BEGIN(pair, wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address, &pair->a.place, 1000, NULL));
    WIRE_BEGIN(pair, wire_tested->put_lines(pair->a.lane, 0, line, 1));
    expect_sends(&pair->a, before, (const uint64_t[PAIRS]){ 3, 1, 1, 1 });
    assert_int_equal(wire_take(pair), 1);
    assert_int_equal(wire_take(pair), 2);
    WIRE_BEGIN(pair, wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address, &pair->a.place, LONG,
                                      &(struct gf_wire_ticket){ &word, 9 }));
    WIRE_UNTIL(pair, word == 9);
}

/* b's lane, whose last pair takes part only when it is told to. */
static void connect_but_last(struct wire_pair *pair, struct gf_verbs_end *end)
{
    struct verbs_lane *lane = verbs_lane_of(pair->b.lane);
    struct gf_reason why;

    assert_int_equal(gf_verbs_end_check(lane->rail, &pair->a.address, end, &why), GF_OK);
    for (int i = 0; i < PAIRS - 1; i++) {
        assert_int_equal(gf_verbs_queue_connect(&lane->queues[i], end, i, &why), GF_OK);
    }
    lane->connected = true;
}

/* Data of one pair come late: neither the notification is taken nor the put ended before. */
static void test_notification_waits_for_every_pair(void **state)
{
    struct wire_pair pair = { .a = { .wire = NULL } };
    struct gf_verbs_end end;
    struct gf_reason why;
    uint32_t immediate = 0;
    uint64_t word = 0;

    (void)state;
    wire_end_open(&pair.a);
    wire_end_open(&pair.b);
    pair.a.place = (struct gf_wire_place){ (uintptr_t)pair.b.memory.address, pair.b.memory.key[0] };
    wire_end_connect(&pair.a, &pair.b.address, pair.b.wire);
    connect_but_last(&pair, &end);
    fill(&pair.a, LONG, 3);
    wire_send(&pair, 0, 0, LONG, 77, &(struct gf_wire_ticket){ &word, 1 });
    const struct verbs_lane *there = verbs_lane_of(pair.b.lane), *here = verbs_lane_of(pair.a.lane);

    for (int i = 0; i < PAIRS - 1; i++) {
        WIRE_UNTIL(&pair, there->queues[i].arrived == 1 && here->queues[i].done == 1);
    }
    assert_false(wire_tested->take(pair.b.lane, &immediate));
    assert_int_equal(word, 0);
    assert_int_equal(pair.b.memory.address[LONG - 1], 0);
    assert_int_equal(gf_verbs_queue_connect(&verbs_lane_of(pair.b.lane)->queues[PAIRS - 1], &end, PAIRS - 1, &why), GF_OK);
    assert_int_equal(wire_take(&pair), 77);
    assert_memory_equal(pair.a.memory.address, pair.b.memory.address, LONG);
    WIRE_UNTIL(&pair, word == 1);
    wire_end_close(&pair.a);
    wire_end_close(&pair.b);
}

/* Ends that were told different numbers use the fewer pairs. */
static void test_ends_agree_on_the_fewer(void **state)
{
    struct wire_pair pair = { .a = { .wire = NULL } };
    uint64_t word = 0;

    (void)state;
    wire_end_open(&pair.a);
    wire_config.queue_pairs = 2;
    wire_end_open(&pair.b);
    wire_config.queue_pairs = PAIRS;
    pair.a.place = (struct gf_wire_place){ (uintptr_t)pair.b.memory.address, pair.b.memory.key[0] };
    wire_end_connect(&pair.a, &pair.b.address, pair.b.wire);
    wire_end_connect(&pair.b, &pair.a.address, pair.a.wire);
    assert_int_equal(verbs_lane_of(pair.a.lane)->pairs, 2);
    assert_int_equal(verbs_lane_of(pair.b.lane)->pairs, 2);
    fill(&pair.a, LONG, 5);
    wire_send(&pair, 0, 0, LONG, 5, &(struct gf_wire_ticket){ &word, 1 });
    assert_int_equal(wire_take(&pair), 5);
    assert_memory_equal(pair.a.memory.address, pair.b.memory.address, LONG);
    WIRE_UNTIL(&pair, word == 1);
    wire_end_close(&pair.a);
    wire_end_close(&pair.b);
}

/* Whichever pair it is. */
static void test_a_broken_pair_breaks_the_lane(void **state)
{
    struct wire_pair *pair = *state;
    struct verbs_lane *lane = verbs_lane_of(pair->a.lane);
    struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
    struct gf_reason why = { "" };

    assert_int_equal(ibv_modify_qp(lane->queues[2].pair, &error, IBV_QP_STATE), 0);
    WIRE_BEGIN(pair, wire_tested->expect(pair->b.lane));
    (void)wire_tested->put_notify(pair->a.lane, &pair->a.memory, pair->a.memory.address, &pair->a.place, LONG, 0, NULL);
    WIRE_UNTIL(pair, wire_tested->state(pair->a.lane, &why) != GF_OK);
    assert_non_null(strstr(why.text, "verbs rxe0 port 1"));
    assert_true(wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address, &pair->a.place, 8, NULL) < 0);
}

/* Each of its pairs is shut. */
static void test_a_lane_that_was_given_up_is_shut_whole(void **state)
{
    struct wire_pair *pair = *state;
    struct verbs_lane *lane = verbs_lane_of(pair->b.lane);

    wire_tested->destroy(pair->b.lane, true);
    pair->b.lane = NULL;
    for (int i = 0; i < PAIRS; i++) {
        struct ibv_qp_init_attr made;
        struct ibv_qp_attr now;

        assert_int_equal(ibv_query_qp(lane->queues[i].pair, &now, IBV_QP_STATE, &made), 0);
        assert_int_equal(now.qp_state, IBV_QPS_ERR);
    }
}

/* A lane to itself; false: there is no room for it. */
static bool make_lane(struct gf_wire *wire, struct gf_wire_lane **lane)
{
    struct gf_wire_address address;
    struct gf_reason why = { "" };

    if (wire_tested->create(wire, 0, 0, lane, &address, &why) != GF_OK) {
        assert_non_null(strstr(why.text, "verbs rxe0 port 1"));
        return false;
    }
    assert_int_equal(wire_tested->connect(*lane, &address, NULL), GF_OK);
    return true;
}

/* As if they had been closed long ago. */
static void let_age(struct gf_verbs_closed *list)
{
    for (struct verbs_lane *lane = list->first; lane; lane = lane->next) {
        lane->closed_at = 0;
    }
}

/* An adapter has so much room; lanes that broke keep none of it from others, nor does it take time to destroy one after them. */
static void test_broken_lanes_make_room(void **state)
{
    enum { MOST = GF_VERBS_QUEUES / PAIRS };
    static struct gf_wire_lane *lanes[MOST + 1];
    struct wire_pair *pair = *state;
    struct gf_verbs_rail *rail = verbs_lane_of(pair->a.lane)->rail;
    int count = 0;

    while (make_lane(pair->a.wire, &lanes[count])) {
        count++;
    }
    assert_in_range(count, 4, MOST);
    for (int i = 0; i < count; i++) {
        wire_tested->destroy(lanes[i], true);
        if (i < count - 1) {
            let_age(&rail->broken);
        }
    }
    assert_int_equal(rail->broken.count, count);
    for (int i = 0; i < count; i++) {
        assert_true(make_lane(pair->a.wire, &lanes[i]));
    }
    assert_int_equal(rail->broken.count, 0);
    for (int i = 0; i < count; i++) {
        wire_tested->destroy(lanes[i], false);
        assert_int_equal(rail->closed.count, i < 3 ? i + 1 : 3);
        if (i >= 2) {
            let_age(&rail->closed);
        }
    }
}

/* Puts of which nobody asks for the end, and others, until the queues are full, and on; no word is lost. */
static void test_many_at_once(void **state)
{
    struct wire_pair *pair = *state;
    uint64_t words[200] = { 0 };

    for (size_t i = 0; i < 200; i++) {
        size_t bytes = i % 3 == 0 ? 65536 : i % 3 == 1 ? 100 : 70000;
        const struct gf_wire_ticket ticket = { i % 2 ? &words[i] : NULL, 1 };

        WIRE_BEGIN(pair, wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address, &pair->a.place, bytes, &ticket));
    }
    for (size_t i = 1; i < 200; i += 2) {
        WIRE_UNTIL(pair, words[i] == 1);
    }
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, wire_pair_open, wire_pair_close)
    const struct CMUnitTest tests[] = {
        CASE(test_lengths_around_what_is_spread),
        CASE(test_what_goes_over_which_pair),
        cmocka_unit_test(test_notification_waits_for_every_pair),
        cmocka_unit_test(test_ends_agree_on_the_fewer),
        CASE(test_a_broken_pair_breaks_the_lane),
        CASE(test_a_lane_that_was_given_up_is_shut_whole),
        CASE(test_broken_lanes_make_room),
        CASE(test_many_at_once),
    };

    wire_config.adapters = "rxe0";
    wire_config.queue_pairs = PAIRS;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
