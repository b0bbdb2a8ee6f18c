/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of connections over a network: where slots are, and by which way the wire gets them. Two nodes in one process, as in
 * test_net.
 *   GPUFIFO_TEST_SEED, GPUFIFO_TEST_DEADLINE_MS: the seed; after how long a hang counts as a failure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/descriptors.h"
#include "tests/unit/net_world.h"
#include "transport/net_register.h"

static void expect_no_abort(struct net_world *w)
{
    struct gf_reason why = { "" };

    for (int end = 0; end < 2; end++) {
        if (w->play.failed || gf_abort_check(&w->nodes[end].abort, &why) != GF_OK) {
            fail_msg("%s", w->play.failed ? w->play.failed : why.text);
        }
    }
}

/* Where slots are, by what the wire can do. A flush tells that they are in device memory. */
static void test_places_of_slots(void **state)
{
    static const struct {
        struct net_want want;
        struct gftest_soft_wants wire;
        bool flushed;
        const char *refusal;           /* of the receiver */
    } cases[] = {
        { { 1, 1, GF_CHOICE_AUTO, GF_CHOICE_AUTO }, { .no_flush = false }, true, NULL },
        { { 1, 1, GF_CHOICE_AUTO, GF_CHOICE_AUTO }, { .no_device_memory = true }, false, NULL },
        { { 1, 1, GF_CHOICE_AUTO, GF_CHOICE_AUTO }, { .no_flush = true }, false, NULL },
        { { 1, 1, GF_CHOICE_AUTO, GF_CHOICE_AUTO }, { .refuse_device = true }, false, NULL },
        { { 1, 1, GF_CHOICE_YES, GF_CHOICE_AUTO }, { .no_device_memory = true }, false, "does not reach device memory" },
        { { 1, 1, GF_CHOICE_YES, GF_CHOICE_AUTO }, { .no_flush = true }, false, "has no flush" },
        { { 1, 1, GF_CHOICE_YES, GF_CHOICE_AUTO }, { .refuse_device = true }, false, "does not let this memory be registered" },
        { { 1, 1, GF_CHOICE_NO, GF_CHOICE_YES }, { .no_flush = true }, false, "net_flush" },
        { { 1, 1, GF_CHOICE_AUTO, GF_CHOICE_AUTO }, { .refuse_device = true, .refuse_host = true }, false, "be registered" },
        { { 1, 1, GF_CHOICE_AUTO, GF_CHOICE_AUTO }, { .put_bytes = PLAY_SLOT_BYTES }, true, NULL },
        { { 1, 1, GF_CHOICE_AUTO, GF_CHOICE_AUTO }, { .put_bytes = PLAY_SLOT_BYTES - 1 }, false, "simple_slot_bytes" },
        { { 1, 1, GF_CHOICE_AUTO, GF_CHOICE_AUTO }, { .closed = true }, false, "soft: the test has no such network" },
    };
    uint64_t seed = play_seed();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gf_reason why = { "" };
        struct net_world w;

        gftest_soft_wants = cases[i].wire;
        gftest_soft_wants.seed = seed;
        if (cases[i].refusal) {
            net_world_begin(&w, &cases[i].want);
            assert_int_equal(net_world_setup(&w, PLAY_RECEIVER, &why), GF_ERR_UNSUPPORTED);
            assert_non_null(strstr(why.text, cases[i].refusal));
        } else {
            net_world_open(&w, &cases[i].want);
            w.play.steps[0] = 10;
            play_launch(&w.play, PLAY_RECEIVER);
            expect_no_abort(&w);
            assert_int_equal(net_world_counts(&w, PLAY_RECEIVER).flushes > 0, cases[i].flushed);
        }
        net_world_close(&w);
    }
}

/* The line that begins so is there, with that reason, and only one; or none is. */
static void expect_said(const char *said, const char *begin, const char *reason)
{
    const char *there = strstr(said, begin);

    if (!reason) {
        assert_null(there);
        return;
    }
    if (!there || !strstr(there, reason) || strstr(there + 1, begin)) {
        fail_msg("\"%s\" is not said once, with \"%s\", but \"%s\"", begin, reason, said);
    }
}

/* Why the first way failed is said, and why the second; then there is host memory. */
static void test_ways_to_register(void **state)
{
    static const struct {
        bool dmabuf;
        struct gftest_soft_wants wire;
        unsigned fault;
        uint32_t dmabufs;              /* of the two ends */
        const char *not_as_dmabuf, *not_in_device;     /* what the receiver says; null: nothing */
    } cases[] = {
        { .dmabuf = true, .dmabufs = 2 },
        { .not_as_dmabuf = "the test's device has no dma-buf" },
        { .dmabuf = true, .wire = { .refuse_dmabuf = true }, .not_as_dmabuf = "let this dma-buf be registered" },
        { .dmabuf = true, .fault = 1, .dmabufs = 1, .not_as_dmabuf = "fault" },
        { .dmabuf = true, .wire = { .refuse_dmabuf = true, .refuse_device = true }, .not_as_dmabuf = "let this dma-buf be registered",
          .not_in_device = "data go through host memory: the test does not let this memory be registered; as a dma-buf neither: the "
                           "test does not let this dma-buf be registered\n" },
        { .dmabuf = true, .wire = { .no_device_memory = true }, .not_in_device = "does not reach device memory" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct net_world w;

        gftest_soft_wants = cases[i].wire;
        gftest_soft_wants.seed = play_seed();
        net_world_begin(&w, &(struct net_want){ 1, 1, GF_CHOICE_AUTO, GF_CHOICE_AUTO });
        copied_device_give_dmabuf(cases[i].dmabuf);
        w.nodes[PLAY_RECEIVER].fault.left[GF_FAULT_DMABUF] = cases[i].fault;
        net_world_join(&w);
        w.play.steps[0] = 10;
        play_launch(&w.play, PLAY_RECEIVER);
        expect_no_abort(&w);
        assert_int_equal(gftest_soft_wants.dmabufs, cases[i].dmabufs);
        expect_said(w.nodes[PLAY_RECEIVER].said, "not as a dma-buf: ", cases[i].not_as_dmabuf);
        expect_said(w.nodes[PLAY_RECEIVER].said, "data go through host memory: ", cases[i].not_in_device);
        assert_int_equal(net_world_counts(&w, PLAY_RECEIVER).flushes > 0, !cases[i].not_in_device);
        net_world_close(&w);
    }
}

/* ... once, however much is registered; a descriptor does not stay open. */
static void test_ways_are_told_once(void **state)
{
    struct gf_wire_memory memory;
    struct gf_wire *wire;
    struct net_world w;

    (void)state;
    gftest_soft_wants = (struct gftest_soft_wants){ .seed = play_seed() };
    net_world_open(&w, &(struct net_want){ 1, 1, GF_CHOICE_AUTO, GF_CHOICE_AUTO });
    struct gf_connector *c = &w.play.ends[PLAY_RECEIVER];

    assert_int_equal(gf_net_open(c->net, &wire, NULL), GF_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(gf_net_register(c, wire, &w, sizeof w, true, &memory, NULL), GF_OK);
        wire->ops->forget(wire, &memory);
        expect_said(w.nodes[PLAY_RECEIVER].said, "not as a dma-buf: ", "has no dma-buf");
    }
    int descriptors = gftest_open_descriptors();

    copied_device_give_dmabuf(true);
    assert_int_equal(gf_net_register(c, wire, &w, sizeof w, true, &memory, NULL), GF_OK);
    assert_int_equal(gftest_open_descriptors(), descriptors);
    wire->ops->forget(wire, &memory);
    net_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_of_slots),
        cmocka_unit_test(test_ways_to_register),
        cmocka_unit_test(test_ways_are_told_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
