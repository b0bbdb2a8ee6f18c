/* SPDX-License-Identifier: BSD-3-Clause
 *
 * FIFOs over a network, in trouble: lanes that break, peers that do not keep to the protocol or to what was agreed, and aborts
 * that the other node has to learn of. Two nodes in one process, as in test_net.
 *   GPUFIFO_TEST_SEED, GPUFIFO_TEST_DEADLINE_MS: the seed; after how long a hang counts as a failure.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/host_ordered.h"
#include "tests/unit/net_world.h"
#include "tests/unit/scalar.h"
#include "transport/net_buffers.h"
#include "transport/net_credit.h"

static void want_seed(void)
{
    gftest_soft_wants = (struct gftest_soft_wants){ .seed = play_seed() };
}

/* The buffers are the program's again: nothing is under way to or from them, also while another connection keeps one
 * registered. */
static void expect_untouched(struct net_world *w)
{
    for (int end = 0; end < 2 && w->play.buffers[end]; end++) {
        const struct gf_net_range range = { .address = w->play.buffers[end], .bytes = PLAY_BUFFER_BYTES };
        struct gf_net_buffers *buffers = gf_net_buffers_of(w->nodes[end].net);
        struct gf_net_buffer *other;
        struct gf_wire *wire;

        assert_int_equal(gf_net_buffers_get(buffers, NULL, &range, &other, NULL), GF_OK);
        play_give_up(&w->play, end);
        assert_int_equal(gf_net_open(w->nodes[end].net, &wire, NULL), GF_OK);
        assert_false(gftest_soft_may_touch(wire, w->play.buffers[end], PLAY_BUFFER_BYTES));
        gf_net_buffers_put(buffers, other, true);
        assert_int_equal(gf_net_buffers_count(buffers, false), 0);
    }
}

/* Launches until both nodes have an abort, which says `text` at either. */
static void expect_abort(struct net_world *w, const char *text)
{
    struct gf_reason whys[2] = { { "" }, { "" } };
    uint64_t random = w->play.seed;

    while (gf_abort_check(&w->nodes[0].abort, &whys[0]) == GF_OK || gf_abort_check(&w->nodes[1].abort, &whys[1]) == GF_OK) {
        play_choose_steps(&w->play, &random);
        play_launch(&w->play, PLAY_SENDER);
    }
    for (int end = 0; end < 2; end++) {
        if (!strstr(whys[end].text, text)) {
            fail_msg("node %d says \"%s\", not \"%s\"", end, whys[end].text, text);
        }
        assert_non_null(strstr(whys[end].text, "rank "));
    }
    expect_untouched(w);
}

/* The lane breaks with an operation of each kind, early and late. */
static void test_broken_lanes(void **state)
{
    static const struct net_want wants[] = {
        { 2, 1, GF_CHOICE_YES, GF_FLUSH_AUTO, GF_CHOICE_AUTO }, { 3, 2, GF_CHOICE_YES, GF_FLUSH_AUTO, GF_CHOICE_AUTO },
    };

    (void)state;
    for (int kind = 0; kind < GFTEST_SOFT_KINDS; kind++) {
        for (uint32_t at = 1; at < 60; at += 19) {
            /* Only groups put without a notification. */
            const struct net_want *want = &wants[kind == GFTEST_SOFT_PUT || at % 2];
            struct net_world w;

            want_seed();
            gftest_soft_wants.drop[kind] = at;
            net_world_open(&w, want);
            expect_abort(&w, "net: soft wire: the test has dropped the lane");
            net_world_close(&w);
        }
    }
}

/* What a peer that breaks the protocol does to the 4th credit, or notification. */
struct lie {
    const char *field;                 /* as the sentence has it */
    void (*tell)(struct gf_net_credit *credit);
};

static void lie_about_count(struct gf_net_credit *credit) { credit->count = 2; }
static void lie_about_no_count(struct gf_net_credit *credit) { credit->count = 0; }
static void lie_about_channel(struct gf_net_credit *credit) { credit->channel ^= 1; }
static void lie_about_flags(struct gf_net_credit *credit) { credit->flags |= 2; }
static void lie_about_key(struct gf_net_credit *credit) { credit->key++; }
static void lie_about_size(struct gf_net_credit *credit) { credit->bytes = 1ull << 40; }
static void lie_about_small_size(struct gf_net_credit *credit) { credit->bytes = 0; }
static void lie_about_low_address(struct gf_net_credit *credit) { credit->address -= 1ull << 20; }
static void lie_about_high_address(struct gf_net_credit *credit) { credit->address += 1ull << 20; }
static void lie_about_index(struct gf_net_credit *credit) { credit->first = credit->last = credit->last + 1; }

static void lie_about_offer_key(struct gf_net_credit *credit) { credit->offer.key += 1000; }
static void lie_about_offer_address(struct gf_net_credit *credit) { credit->offer.address += 1ull << 40; }

static const struct lie *lie;
static int told;                       /* credits so far; under the lock of the receiver's wire */

static void tamper_with_credits(enum gftest_soft_kind kind, void *data, size_t bytes, uint32_t *immediate)
{
    (void)immediate;
    if (kind == GFTEST_SOFT_LINES && bytes == GF_WIRE_LINE && ++told == 4) {
        lie->tell(data);
    }
}

static void tamper_with_offers(enum gftest_soft_kind kind, void *data, size_t bytes, uint32_t *immediate)
{
    (void)immediate;
    if (kind == GFTEST_SOFT_LINES && bytes == GF_WIRE_LINE && ((struct gf_net_credit *)data)->flags & GF_NET_CREDIT_OFFERS) {
        lie->tell(data);
    }
}

/* Each in a world of its own, which aborts with the lie's sentence. */
static void expect_caught(const struct lie *lies, size_t count, gftest_soft_tamper *tamper, const struct net_want *want)
{
    for (lie = lies; lie < lies + count; lie++) {
        struct net_world w;

        want_seed();
        gftest_soft_wants.tamper = tamper;
        told = 0;
        net_world_open(&w, want);
        expect_abort(&w, lie->field);
        net_world_close(&w);
    }
}

static void test_wrong_credits(void **state)
{
    static const struct lie lies[] = {
        { "its count is 2", lie_about_count }, { "its count is 0", lie_about_no_count }, { "its channel is", lie_about_channel },
        { "its flags word is 2", lie_about_flags }, { "its key is", lie_about_key }, { "its size is", lie_about_size },
        { "has room for 0", lie_about_small_size }, { "its address is", lie_about_low_address },
        { "its address is", lie_about_high_address }, { "its index is", lie_about_index },
    };

    (void)state;
    expect_caught(lies, sizeof lies / sizeof lies[0], tamper_with_credits,
                  &(struct net_want){ .channels = 2, .group = 1, .device_memory = GF_CHOICE_NO });
}

/* What is offered and was not registered: the wire lets nothing through. */
static void test_wrong_offers(void **state)
{
    static const struct lie lies[] = {
        { "a put to where nothing was announced", lie_about_offer_key },
        { "a put to where nothing was announced", lie_about_offer_address },
    };

    (void)state;
    expect_caught(lies, sizeof lies / sizeof lies[0], tamper_with_offers,
                  &(struct net_want){ .channels = 2, .group = 1, .zero_copy = GF_CHOICE_YES });
}

static void tamper_with_flags(enum gftest_soft_kind kind, void *data, size_t bytes, uint32_t *immediate)
{
    (void)data;
    (void)bytes;
    if (kind == GFTEST_SOFT_NOTIFY) {
        *immediate |= GF_SIZE_LENT;
    }
}

static void tamper_with_immediates(enum gftest_soft_kind kind, void *data, size_t bytes, uint32_t *immediate)
{
    (void)data;
    (void)bytes;
    if (kind == GFTEST_SOFT_NOTIFY) {
        *immediate = PLAY_SLOT_BYTES + 1;
    }
}

static void tamper_with_sizes(enum gftest_soft_kind kind, void *data, size_t bytes, uint32_t *immediate)
{
    (void)immediate;
    if (kind == GFTEST_SOFT_NOTIFY && bytes == 2 * sizeof(uint32_t)) {
        ((uint32_t *)data)[1] = PLAY_SLOT_BYTES + 1;
    }
}

/* Of a group the value of the immediate means nothing. */
static void test_wrong_lengths(void **state)
{
    struct net_world w;

    (void)state;
    want_seed();
    gftest_soft_wants.tamper = tamper_with_immediates;
    net_world_open(&w, &(struct net_want){ .channels = 1, .group = 1 });
    expect_abort(&w, "rank 1 sent 257 bytes into a slot of 256");
    net_world_close(&w);

    net_world_open(&w, &(struct net_want){ .channels = 2, .group = 2 });
    w.play.steps[0] = w.play.steps[1] = 30;
    play_launch(&w.play, PLAY_SENDER);
    assert_null(w.play.failed);
    assert_int_equal(gf_abort_check(&w.nodes[PLAY_RECEIVER].abort, NULL), GF_OK);
    net_world_close(&w);

    gftest_soft_wants.tamper = tamper_with_flags;
    net_world_open(&w, &(struct net_want){ .channels = 1, .group = 1, .zero_copy = GF_CHOICE_NO });
    expect_abort(&w, "bytes into a buffer of 0");
    net_world_close(&w);

    gftest_soft_wants.tamper = tamper_with_sizes;
    net_world_open(&w, &(struct net_want){ .channels = 2, .group = 2 });
    expect_abort(&w, "rank 1 sent 257 bytes into a slot of 256");
    net_world_close(&w);
}

/* A kernel of this end that waits for a peer whose own kernel never comes. */
static void *wait_for_abort(void *ctx)
{
    struct net_node *node = ctx;

    while (gf_abort_check(&node->abort, NULL) == GF_OK) {
        sched_yield();
    }
    return NULL;
}

/* Raised on one node, whose proxy sleeps, while the other one waits: it learns of it, with the whole sentence. */
static void test_aborts_are_told(void **state)
{
    char text[sizeof ((struct gf_abort_page *)0)->text];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "rank 7 has had enough", strlen("rank 7 has had enough"));
    text[sizeof text - 1] = '\0';
    for (int end = 0; end < 2; end++) {
        struct gf_reason why = { "" };
        struct net_world w;
        pthread_t waiting;

        want_seed();
        net_world_open(&w, &(struct net_want){ .channels = 3, .group = 2 });
        net_world_await_sleep(&w, end, 0);
        w.play.steps[2] = 20;
        gf_connector_expect(&w.play.ends[!end], w.play.steps);
        assert_int_equal(pthread_create(&waiting, NULL, wait_for_abort, &w.nodes[!end]), 0);
        gf_abort_raise(&w.nodes[end].abort, GF_ERR_TIMEOUT, text);
        pthread_join(waiting, NULL);
        assert_int_equal(gf_abort_check(&w.nodes[!end].abort, &why), GF_ERR_TIMEOUT);
        assert_string_equal(why.text, text);
        assert_int_equal(gf_host_observe_flag(&w.nodes[!end].kernel_word), 1);
        net_world_close(&w);
    }
}

/* An end on which nothing is under way, its proxy asleep, is asked by who waits: a line goes out, and tells that the lane is
 * gone. */
static void test_an_idle_lane_is_asked(void **state)
{
    (void)state;
    for (int end = 0; end < 2; end++) {
        struct gf_reason why = { "" };
        struct net_world w;

        want_seed();
        net_world_open(&w, &(struct net_want){ .channels = 3, .group = 1 });
        for (uint64_t sleeps = 0; sleeps < 3; sleeps++) {
            net_world_await_sleep(&w, end, sleeps);
            gf_connector_ask(&w.play.ends[end]);
        }
        assert_int_equal(gf_abort_check(&w.nodes[end].abort, &why), GF_OK);
        assert_true(net_world_counts(&w, end).line_puts > 0);
        net_world_close(&w);

        want_seed();
        gftest_soft_wants.drop[GFTEST_SOFT_LINES] = 1;
        net_world_open(&w, &(struct net_want){ .channels = 3, .group = 1 });
        net_world_await_sleep(&w, end, 0);
        while (gf_abort_check(&w.nodes[end].abort, &why) == GF_OK) {
            gf_connector_ask(&w.play.ends[end]);
            sched_yield();
        }
        assert_non_null(strstr(why.text, end == PLAY_SENDER ? "the connection to rank 0 by net: soft wire: the test has dropped"
                                                            : "the connection from rank 1 by net: soft wire: the test has"));
        net_world_close(&w);
    }
}

/* What cannot be served is refused when it is set up, with a sentence. */
static void test_refusals(void **state)
{
    const struct gf_connector_shape lines = { .ll_bytes = 1024 };

    (void)state;
    for (int end = 0; end < 2; end++) {
        for (int trouble = 0; trouble < 3; trouble++) {
            static const char *const texts[] = { "net is off", "no proxy", "flags" };
            struct gf_reason why = { "" };
            struct net_world w;

            want_seed();
            net_world_begin(&w, &(struct net_want){ .channels = 1, .group = 1 });
            struct gf_connector *c = &w.play.ends[end];

            c->net = trouble == 0 ? NULL : c->net;
            c->proxy = trouble == 1 ? NULL : c->proxy;
            c->shape = trouble == 2 ? lines : c->shape;
            assert_int_equal(net_world_setup(&w, end, &why), GF_ERR_UNSUPPORTED);
            assert_non_null(strstr(why.text, texts[trouble]));
            net_world_close(&w);
        }
    }
}

/* Sets up both ends and lets `spoil` change what this end hears of the other. */
static void expect_disagreement(int end, void (*spoil)(struct gf_blob *), const char *text)
{
    struct gf_reason why = { "" };
    struct net_world w;

    want_seed();
    net_world_begin(&w, &(struct net_want){ .channels = 3, .group = 1 });
    assert_int_equal(net_world_setup(&w, PLAY_RECEIVER, NULL), GF_OK);
    assert_int_equal(net_world_setup(&w, PLAY_SENDER, NULL), GF_OK);
    spoil(&w.blobs[!end]);
    assert_int_equal(net_world_connect(&w, end, &why), GF_ERR_PEER);
    if (!strstr(why.text, text)) {
        fail_msg("it says \"%s\", not \"%s\"", why.text, text);
    }
    net_world_close(&w);
}

static void spoil_magic(struct gf_blob *blob) { blob->bytes[0] ^= 1; }
static void spoil_wire(struct gf_blob *blob) { memcpy(blob->bytes + sizeof(struct gf_wire_shape), "verbs", 6); }
static void spoil_group(struct gf_blob *blob) { blob->bytes[sizeof(struct gf_wire_shape) + 16] ^= 2; }
static void spoil_lanes(struct gf_blob *blob) { blob->bytes[sizeof(struct gf_wire_shape) + 20] ^= 1; }
static void spoil_slots_bytes(struct gf_blob *blob) { blob->bytes[sizeof(struct gf_wire_shape) + 32] ^= 1; }
static void spoil_rest(struct gf_blob *blob) { blob->rest_bytes--; }
static void spoil_all_rest(struct gf_blob *blob) { blob->rest_bytes = 0; }

static void test_disagreements(void **state)
{
    (void)state;
    for (int end = 0; end < 2; end++) {
        expect_disagreement(end, spoil_magic, "unknown form");
        expect_disagreement(end, spoil_wire, "uses verbs");
        expect_disagreement(end, spoil_group, "has the setting net_group = 3, but rank");
        expect_disagreement(end, spoil_lanes, "2 lanes of 1 channels");
        expect_disagreement(end, spoil_slots_bytes, "3 lanes of 1 channels");
        expect_disagreement(end, spoil_rest, "told no addresses");
        expect_disagreement(end, spoil_all_rest, "told no addresses");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broken_lanes), cmocka_unit_test(test_wrong_credits), cmocka_unit_test(test_wrong_lengths),
        cmocka_unit_test(test_wrong_offers),
        cmocka_unit_test(test_aborts_are_told), cmocka_unit_test(test_an_idle_lane_is_asked), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_disagreements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
