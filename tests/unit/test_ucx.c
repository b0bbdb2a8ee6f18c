/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the UCX wire does with messages that no peer of ours sends: the lane breaks, or nobody is meant, and nothing is written;
 * and with messages that come in another order than they were sent. Run by wire_ucx.sh.
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
    struct gf_ucx_header notify, lines;
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
        .key = pair->b.memory.key[0],
        .address = (uintptr_t)pair->b.memory.address,
        .bytes = 8,
        .step = lane->taken,
    };
    victim.lines = (struct gf_ucx_header){.lane = lane->number, .kind = GF_UCX_KIND_LINES};
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
    other.lane = UINT64_MAX;
    receive(&victim, &other, 8);
    assert_int_equal(wire_tested->create(victim.pair->b.wire, 0, 1, &lane, &address, NULL), GF_OK);
    other.lane = gf_ucx_lane_of(lane)->number;
    wire_tested->destroy(lane, false);
    receive(&victim, &other, 8);
    assert_int_equal(wire_tested->create(victim.pair->b.wire, 0, 1, &lane, &address, NULL), GF_OK);
    receive(&victim, &other, 8);
    assert_int_equal(wire_tested->state(lane, NULL), GF_OK);
    wire_tested->destroy(lane, false);
    assert_int_equal(wire_tested->state(victim.pair->b.lane, NULL), GF_OK);
    assert_untouched(&victim);
}

static void test_messages_out_of_turn(void **state)
{
    static const int64_t steps[] = {4096, 1000000, -1, INT64_MIN};

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct victim victim = victim_of(state);

        victim.notify.step += (uint64_t)steps[i];
        receive(&victim, &victim.notify, 8);
        assert_broken(&victim);
        wire_pair_close(state);
        wire_pair_open(state);
    }
}

static void test_notifications_that_nobody_expects(void **state)
{
    struct victim victim = victim_of(state);

    victim.notify.bytes = 0;
    victim.notify.step += 100;
    receive(&victim, &victim.notify, 0);
    assert_int_equal(wire_tested->state(victim.pair->b.lane, NULL), GF_OK);
    victim.notify.step -= 100;
    receive(&victim, &victim.notify, 0);
    assert_broken(&victim);
}

static void test_word_of_the_arrival_of_what_was_never_sent(void **state)
{
    struct victim victim = victim_of(state);

    victim.lines.arrived = victim.lane->sent + 1;
    receive(&victim, &victim.lines, GF_WIRE_LINE);
    assert_broken(&victim);
}

static void test_a_notification_that_comes_twice(void **state)
{
    struct victim victim = victim_of(state);

    /* One more is expected. */
    assert_int_equal(wire_tested->expect(victim.pair->b.lane), GF_OK);
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
        assert_int_equal(memory.key[0], victim.notify.key + 1);
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
    struct gf_wire_memory memory, kept;
    struct gf_wire_range range = {.address = strange, .bytes = STRANGE, .dmabuf = -1};

    assert_int_equal(wire_tested->register_memory(victim.pair->b.wire, &range, &memory, NULL), GF_OK);
    WIRE_BEGIN(victim.pair, wire_tested->announce(victim.pair->b.lane, &memory));
    victim.notify.address = (uintptr_t)strange;
    victim.notify.key = memory.key[0];
    kept = memory;
    wire_tested->forget(victim.pair->b.wire, &memory);
    memory = kept;
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

static void test_a_message_of_no_known_kind_breaks_both_ends(void **state)
{
    struct victim victim = victim_of(state);
    struct gf_reason why = {""};

    victim.notify.kind = 77;
    receive(&victim, &victim.notify, 8);
    assert_broken(&victim);
    WIRE_UNTIL(victim.pair, wire_tested->state(victim.pair->a.lane, &why) == GF_ERR_PEER);
    assert_non_null(strstr(why.text, "refused"));
}

/* Networks of these tests keep order by themselves; UCX promises none. */
static void test_what_comes_out_of_order_is_taken_in_order(void **state)
{
    enum { COUNT = 50 };
    struct victim victim = victim_of(state);
    uint64_t first = victim.notify.step;
    uint32_t immediate;

    for (int i = 0; i < COUNT; i++) {
        WIRE_BEGIN(victim.pair, wire_tested->expect(victim.pair->b.lane));
    }
    /* Every third is a notification; the others are puts. */
    for (uint32_t i = 3 * COUNT; i-- > 0;) {
        assert_false(wire_tested->take(victim.pair->b.lane, &immediate));
        victim.notify.kind = i % 3 == 2 ? GF_UCX_KIND_NOTIFY : GF_UCX_KIND_PUT;
        victim.notify.immediate = i;
        victim.notify.step = first + i;
        receive(&victim, &victim.notify, 8);
    }
    for (uint32_t i = 2; i < 3 * COUNT; i += 3) {
        assert_true(wire_tested->take(victim.pair->b.lane, &immediate));
        assert_int_equal(immediate, i);
    }
    assert_false(wire_tested->take(victim.pair->b.lane, &immediate));
    assert_int_equal(wire_tested->state(victim.pair->b.lane, NULL), GF_OK);
}

/* UCX's call for data that come by rendezvous, which end when the test says so. */
static struct {
    ucp_request_param_t param[4];
    void *to[4];
    unsigned count;
} fetched;

static ucs_status_ptr_t fetch(ucp_worker_h worker, void *description, void *to, size_t bytes, const ucp_request_param_t *param)
{
    (void)worker, (void)description, (void)bytes;
    fetched.param[fetched.count] = *param;
    fetched.to[fetched.count] = to;
    return &fetched.param[fetched.count++];
}

static void free_nothing(void *request)
{
    (void)request;
}

static void fetch_ends(struct victim *victim, unsigned i, ucs_status_t status)
{
    struct gf_ucx_library *ucx = &gf_ucx_of(victim->lane)->ucx, kept = *ucx;

    ucx->ucp_request_free = free_nothing;
    fetched.param[i].cb.recv_am(&fetched.param[i], status, 8, fetched.param[i].user_data);
    *ucx = kept;
}

/* Three messages, of which the first two come by rendezvous. */
static struct victim fetch_two(void **state)
{
    struct victim victim = victim_of(state);
    struct gf_ucx_library *ucx = &gf_ucx_of(victim.lane)->ucx, kept = *ucx;
    ucp_am_recv_param_t param = {.recv_attr = UCP_AM_RECV_ATTR_FLAG_RNDV};

    fetched.count = 0;
    ucx->ucp_am_recv_data_nbx = fetch;
    WIRE_BEGIN(victim.pair, wire_tested->expect(victim.pair->b.lane));
    for (unsigned i = 0; i < 2; i++, victim.notify.step++) {
        victim.notify.kind = i == 0 ? GF_UCX_KIND_PUT : GF_UCX_KIND_NOTIFY;
        assert_int_equal(gf_ucx_receive(victim.pair->b.wire, &victim.notify, sizeof victim.notify, payload, 8, &param), UCS_OK);
    }
    *ucx = kept;
    assert_int_equal(fetched.count, 2);
    assert_ptr_equal(fetched.to[0], victim.pair->b.memory.address);
    receive(&victim, &victim.notify, 8);
    return victim;
}

static void test_notifications_wait_for_data_that_are_fetched(void **state)
{
    struct victim victim = fetch_two(state);
    uint32_t immediate;

    assert_false(wire_tested->take(victim.pair->b.lane, &immediate));
    fetch_ends(&victim, 1, UCS_OK);
    assert_false(wire_tested->take(victim.pair->b.lane, &immediate));
    fetch_ends(&victim, 0, UCS_OK);
    assert_true(wire_tested->take(victim.pair->b.lane, &immediate));
    assert_true(wire_tested->take(victim.pair->b.lane, &immediate));
    assert_false(wire_tested->take(victim.pair->b.lane, &immediate));
}

static void test_data_that_cannot_be_fetched_break_the_lane(void **state)
{
    struct victim victim = fetch_two(state);
    uint32_t immediate;

    fetch_ends(&victim, 1, UCS_OK);
    fetch_ends(&victim, 0, UCS_ERR_IO_ERROR);
    assert_false(wire_tested->take(victim.pair->b.lane, &immediate));
    assert_int_equal(wire_tested->state(victim.pair->b.lane, NULL), GF_ERR_PEER);
}

static void test_a_rendezvous_of_anything_else_is_refused(void **state)
{
    struct victim victim = victim_of(state);
    ucp_am_recv_param_t param = {.recv_attr = UCP_AM_RECV_ATTR_FLAG_RNDV};

    assert_true(gf_ucx_receive(victim.pair->b.wire, &victim.lines, sizeof victim.lines, payload, 64, &param) != UCS_OK);
    assert_broken(&victim);
}

/* UCX believes an address that it is given. */
static void test_a_spoilt_address_of_a_worker_is_refused(void **state)
{
    struct wire_pair *pair = *state;
    struct gf_wire_lane *lane;
    struct gf_wire_address mine, spoilt;

    assert_int_equal(wire_tested->create(pair->a.wire, 0, 1, &lane, &mine, NULL), GF_OK);
    for (size_t i = sizeof(struct gf_ucx_address_head); i < pair->b.address.bytes - sizeof(uint64_t); i++) {
        spoilt = pair->b.address;
        spoilt.data[i] ^= 0x10;
        assert_int_equal(wire_tested->connect(lane, &spoilt, NULL), GF_ERR_PEER);
    }
    wire_tested->destroy(lane, false);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, wire_pair_open, wire_pair_close)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(test_what_is_right_is_taken),
        CASE(test_messages_for_nobody_are_ignored),
        CASE(test_messages_out_of_turn),
        CASE(test_notifications_that_nobody_expects),
        CASE(test_word_of_the_arrival_of_what_was_never_sent),
        CASE(test_a_notification_that_comes_twice),
        CASE(test_short_data_that_go_elsewhere),
        CASE(test_short_data_for_memory_that_was_forgotten),
        CASE(test_lines_that_do_not_fit),
        CASE(test_a_message_of_no_known_kind_breaks_both_ends),
        CASE(test_what_comes_out_of_order_is_taken_in_order),
        CASE(test_notifications_wait_for_data_that_are_fetched),
        CASE(test_data_that_cannot_be_fetched_break_the_lane),
        CASE(test_a_rendezvous_of_anything_else_is_refused),
        CASE(test_a_spoilt_address_of_a_worker_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
