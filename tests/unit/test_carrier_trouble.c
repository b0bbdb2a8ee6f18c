/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes of messages over a network that break: at each kind of operation, by an end that gives up, by words that are wrong.
 *   GPUFIFO_TEST_SEED: the seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/soft_wire.h"
#include "tests/unit/carrier_world.h"
#include "tests/unit/fifo_play.h"
#include "transport/net_buffers.h"

/* The lane has broken, and its sender has told so or not: then the next message does. After that it takes none. */
static void expect_closed(struct carrier_world *w, bool told)
{
    struct message late[2];

    for (int i = told; i < 2; i++) {
        message_make(w, &late[i], 0, 99 + (uint64_t)i, 100, 100);
        if (i == 0) {
            assert_int_equal(message_send(w, &late[i]), GF_OK);
            late[i].received = GF_ERR_PEER;
            messages_await(w, &late[i], 1);
            assert_int_equal(late[i].sent, GF_ERR_PEER);
        } else {
            assert_int_equal(message_send(w, &late[i]), GF_ERR_UNSUPPORTED);
        }
        expect_rank(&late[i].out_why, 7);
        assert_int_equal(message_receive(w, &late[i]), GF_ERR_PEER);
        expect_rank(&late[i].in_why, 6);
        message_unmake(w, &late[i]);
    }
}

/* What the peer of the broken lane has under way reaches nothing any more: neither the program's memory nor pieces, which go to
 * the messages of other lanes. */
static void expect_idle(struct carrier_world *w, int end)
{
    struct gf_wire *wire;

    assert_int_equal(gf_net_open(w->nets[end], &wire, NULL), GF_OK);
    assert_true(gftest_soft_is_idle(wire));
}

/* Afterwards each message has ended at both ends, right or with an error that names the peer, and the lane is closed. */
static void expect_trouble(struct carrier_world *w, bool certain)
{
    enum { COUNT = 5 };
    struct message m[COUNT];
    int failures = 0, told = 0, kept = 0;

    for (int i = 0; i < COUNT; i++) {
        message_make(w, &m[i], 0, (uint64_t)i + 1, 15000, 15000);
        m[i].began = message_send(w, &m[i]) == GF_OK;
        if (!m[i].began || message_receive(w, &m[i]) != GF_OK) {
            m[i].received = GF_ERR_PEER;
            kept++;
        }
        m[i].sent = m[i].began ? GF_IN_PROGRESS : GF_ERR_PEER;
    }
    messages_await(w, m, COUNT);
    for (int i = 0; i < COUNT; i++) {
        if (m[i].received == GF_OK) {
            message_expect_data(&m[i]);
            kept++;
        } else if (m[i].began) {
            assert_int_equal(m[i].received, GF_ERR_PEER);
            expect_rank(&m[i].in_why, 6);
        }
        if (m[i].sent != GF_OK) {
            assert_int_equal(m[i].sent, GF_ERR_PEER);
            expect_rank(&m[i].out_why, 7);
            told++;
        }
        failures += m[i].received != GF_OK;
    }
    if (failures > 0) {
        expect_idle(w, 1);
        assert_true(gf_net_buffers_count(gf_net_buffers_of(w->nets[1]), false) <= kept);
    }
    for (int i = 0; i < COUNT; i++) {
        message_unmake(w, &m[i]);
    }
    if (certain) {
        assert_true(failures > 0);
    }
    if (failures > 0) {
        expect_closed(w, told > 0);
        expect_idle(w, 0);
    }
}

/* The lane breaks with the n-th operation of each kind. */
static void test_dropped(void **state)
{
    static const enum gftest_soft_kind kinds[] = { GFTEST_SOFT_PUT, GFTEST_SOFT_NOTIFY, GFTEST_SOFT_LINES, GFTEST_SOFT_FLUSH,
                                                   GFTEST_SOFT_TAKE };

    (void)state;
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        for (uint32_t n = 1; n <= 4; n++) {
            struct carrier_world w;

            gftest_soft_wants = (struct gftest_soft_wants){ .put_bytes = 4000 };
            carrier_world_open(&w, n % 2 || kinds[kind] == GFTEST_SOFT_FLUSH ? GF_CHOICE_YES : GF_CHOICE_NO, play_seed() + n);
            gftest_soft_wants.drop[kinds[kind]] = n;
            expect_trouble(&w, kinds[kind] != GFTEST_SOFT_PUT || n % 2);
            carrier_world_close(&w);
        }
    }
}

/* One end gives up by itself: the other one learns of it. */
static void test_gives_up(void **state)
{
    (void)state;
    for (int choice = 0; choice < 2; choice++) {
        struct carrier_world w;

        carrier_world_open(&w, choice ? GF_CHOICE_YES : GF_CHOICE_NO, play_seed());
        assert_int_equal(gf_fault_parse("wire:3", 0, &w.faults[0], NULL), GF_OK);
        expect_trouble(&w, true);
        carrier_world_close(&w);
    }
}

/* The lane breaks while its sender has nothing under way: one message tells, those behind it find it closed. */
static void test_breaks_idle(void **state)
{
    struct carrier_world w;
    struct message m;

    (void)state;
    carrier_world_open(&w, GF_CHOICE_YES, play_seed());
    message_make(&w, &m, 0, 1, 15000, 15000);
    assert_int_equal(message_send(&w, &m), GF_OK);
    assert_int_equal(message_receive(&w, &m), GF_OK);
    messages_await(&w, &m, 1);
    message_expect_data(&m);
    gftest_soft_wants.drop[GFTEST_SOFT_LINES] = 1;
    gf_carrier_refuse(w.in[0], 98, false);
    while (__atomic_load_n(&gftest_soft_wants.drop[GFTEST_SOFT_LINES], __ATOMIC_RELAXED) != 0) {
        gf_carrier_progress(w.carriers[1]);
    }
    expect_closed(&w, false);
    message_unmake(&w, &m);
    carrier_world_close(&w);
}

/* What is added to a word of each credit. */
static const struct spoilt { int word; uint64_t by; } spoilt_words[] = {
    { 1, 1000 },                       /* the message's number */
    { 2, 1 << 20 }, { 3, 1 << 20 },    /* which part of it: its offset and bytes */
    { 4, 1ull << 40 },                 /* the address of where it goes, */
    { 5, 1000 }, { 5, 7ull << 32 },    /* its key, and what kind of credit this is */
    { 6, 1 << 20 },                    /* bytes of all of it */
};
static const struct spoilt *spoilt;

static void spoil_credit(enum gftest_soft_kind kind, void *data, size_t bytes, uint32_t *immediate)
{
    (void)bytes;
    (void)immediate;
    if (kind == GFTEST_SOFT_LINES) {
        ((uint64_t *)data)[spoilt->word] += spoilt->by;
    }
}

static void spoil_notification(enum gftest_soft_kind kind, void *data, size_t bytes, uint32_t *immediate)
{
    (void)data;
    (void)bytes;
    *immediate += kind == GFTEST_SOFT_NOTIFY ? 2 : 0;
}

static void expect_noticed(gftest_soft_tamper *tamper)
{
    struct carrier_world w;

    carrier_world_open(&w, GF_CHOICE_YES, play_seed());
    gftest_soft_wants.tamper = tamper;
    expect_trouble(&w, true);
    carrier_world_close(&w);
}

static void test_wrong_words(void **state)
{
    enum { COUNT = sizeof spoilt_words / sizeof *spoilt_words };

    (void)state;
    for (spoilt = spoilt_words; spoilt < spoilt_words + COUNT; spoilt++) {
        expect_noticed(spoil_credit);
    }
    expect_noticed(spoil_notification);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dropped), cmocka_unit_test(test_gives_up), cmocka_unit_test(test_breaks_idle),
        cmocka_unit_test(test_wrong_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
