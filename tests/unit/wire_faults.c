/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What must not be written, and what breaks a lane.
 */
#include "wire_ends.h"

#include <string.h>

#include "wire_cases.h"

/* Either end may notice. */
static bool broken(struct wire_pair *pair)
{
    return wire_tested->state(pair->a.lane, NULL) != GF_OK || wire_tested->state(pair->b.lane, NULL) != GF_OK;
}

void wire_test_lines_beyond_the_last_break_the_lane(void **state)
{
    struct wire_pair *pair = *state;
    char lines[2 * GF_WIRE_LINE];
    struct gf_reason why = {""};

    memset(lines, 1, sizeof lines);
    if (wire_tested->put_lines(pair->a.lane, WIRE_LINES - 1, lines, 2) == GF_OK) {
        WIRE_UNTIL(pair, broken(pair));
    }
    for (size_t i = 0; i < WIRE_LINES * GF_WIRE_LINE; i++) {
        assert_int_equal(pair->b.lane->lines[i], 0);
    }
    if (wire_tested->state(pair->b.lane, &why) != GF_OK) {
        assert_true(why.text[0] != '\0');
    }
}

/* Makes some turns in which nothing may happen, however many. */
static void turns(struct wire_pair *pair)
{
    for (int i = 0; i < 2000; i++) {
        wire_pair_progress(pair);
    }
}

static void assert_untouched(struct wire_pair *pair)
{
    for (size_t i = 0; i < WIRE_MEMORY; i++) {
        if (pair->b.memory.address[i] != 0) {
            fail_msg("byte %zu was written", i);
        }
    }
}

void wire_test_a_key_of_nothing_writes_nothing(void **state)
{
    struct wire_pair *pair = *state;
    struct gf_wire_place place = {pair->a.place.address, pair->a.place.key + 12345};

    memset(pair->a.memory.address, 1, WIRE_MEMORY);
    for (int i = 0; i < 2; i++) {
        gf_status status = wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address, &place, i ? 8 : 100000, NULL);

        if (status == GF_OK) {
            WIRE_UNTIL(pair, broken(pair));
        } else {
            assert_true(status == GF_NO_RESOURCE || broken(pair));
        }
        turns(pair);
    }
    assert_untouched(pair);
}

/* Short and long, before and behind. */
void wire_test_a_put_outside_of_the_range_breaks_the_lane(void **state)
{
    static const struct { long offset; size_t bytes; } puts[] = {
        {WIRE_MEMORY - 4, 8}, {WIRE_MEMORY - 4, 100000}, {-4, 8}, {-4, 100000}, {WIRE_MEMORY, 1}, {1, WIRE_MEMORY},
    };

    wire_pair_close(state);
    for (size_t i = 0; i < sizeof puts / sizeof puts[0]; i++) {
        struct gf_reason why = {""};

        wire_pair_open(state);
        struct wire_pair *pair = *state;
        struct gf_wire_place place = {pair->a.place.address + (uint64_t)puts[i].offset, pair->a.place.key};
        gf_status status = GF_NO_RESOURCE;

        memset(pair->a.memory.address, 1, WIRE_MEMORY);
        WIRE_BEGIN(pair, wire_tested->expect(pair->b.lane));
        WIRE_UNTIL(pair, (status = wire_tested->put_notify(pair->a.lane, &pair->a.memory, pair->a.memory.address, &place,
                                                          puts[i].bytes, 0, NULL)) != GF_NO_RESOURCE);
        WIRE_UNTIL(pair, wire_tested->state(pair->a.lane, &why) != GF_OK);
        assert_true(why.text[0] != '\0');
        assert_true(wire_tested->put(pair->a.lane, &pair->a.memory, pair->a.memory.address, &pair->a.place, 8, NULL) < 0);
        turns(pair);
        assert_untouched(pair);
        if (i + 1 < sizeof puts / sizeof puts[0]) {
            wire_pair_close(state);
        }
    }
}

void wire_test_a_lane_that_was_never_connected_is_destroyed(void **state)
{
    struct wire_pair *pair = *state;
    struct gf_wire_lane *lane;
    struct gf_wire_address address;

    for (uint32_t lines = 0; lines < 3; lines++) {
        assert_int_equal(wire_tested->create(pair->a.wire, 0, lines, &lane, &address, NULL), GF_OK);
        assert_true(address.bytes > 0 && address.bytes <= sizeof address.data);
        wire_tested->destroy(lane, false);
    }
}

void wire_test_an_address_that_was_spoilt_is_refused(void **state)
{
    struct wire_pair *pair = *state;
    struct gf_wire_lane *lane;
    struct gf_wire_address mine, spoilt[3] = {pair->b.address, pair->b.address, pair->b.address};

    spoilt[0].bytes = 0;
    spoilt[1].bytes -= 1;
    spoilt[2].data[0] ^= 1;
    for (size_t i = 0; i < 3; i++) {
        struct gf_reason why = {""};

        assert_int_equal(wire_tested->create(pair->a.wire, 0, 1, &lane, &mine, NULL), GF_OK);
        assert_true(wire_tested->connect(lane, &spoilt[i], &why) < 0);
        assert_true(why.text[0] != '\0');
        wire_tested->destroy(lane, false);
    }
}

/* Two lanes of the pair's wires, of which the second is about to get data. */
static void begin_to_send(struct wire_pair *pair, struct gf_wire_lane *lane[2])
{
    struct gf_wire_address address[2];

    assert_int_equal(wire_tested->create(pair->a.wire, 0, 0, &lane[0], &address[0], NULL), GF_OK);
    assert_int_equal(wire_tested->create(pair->b.wire, 0, 0, &lane[1], &address[1], NULL), GF_OK);
    assert_int_equal(wire_tested->connect(lane[0], &address[1], NULL), GF_OK);
    assert_int_equal(wire_tested->connect(lane[1], &address[0], NULL), GF_OK);
    WIRE_BEGIN(pair, wire_tested->announce(lane[1], &pair->b.memory));
    WIRE_BEGIN(pair, wire_tested->expect(lane[1]));
    WIRE_BEGIN(pair, wire_tested->put_notify(lane[0], &pair->a.memory, pair->a.memory.address, &pair->a.place, WIRE_MEMORY / 2, 5,
                                             NULL));
}

/* ... while its peer goes on: whenever that is, both wires can be used afterwards. */
void wire_test_a_lane_is_destroyed_while_data_come(void **state)
{
    struct wire_pair *pair = *state;
    struct gf_wire_lane *lane[2];
    uint32_t immediate;

    for (int begun = 1; begun <= 12; begun++) {
        begin_to_send(pair, lane);
        for (int i = 0; i < begun; i++) {
            wire_pair_progress(pair);
        }
        struct wire_thread *peer = wire_thread_start(pair->a.wire);

        wire_tested->destroy(lane[1], false);
        wire_thread_stop(peer);
        wire_tested->progress(pair->b.wire);
        wire_tested->destroy(lane[0], false);
    }
    begin_to_send(pair, lane);
    WIRE_UNTIL(pair, wire_tested->take(lane[1], &immediate));
    assert_int_equal(immediate, 5);
    wire_tested->destroy(lane[1], false);
    wire_tested->destroy(lane[0], false);
}
