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
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/layout.h"
#include "tests/support/descriptors.h"
#include "tests/support/gdrapi.h"
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
        { { 1, 1, GF_CHOICE_AUTO, GF_FLUSH_AUTO, GF_CHOICE_AUTO }, { .no_flush = false }, true, NULL },
        { { 1, 1, GF_CHOICE_AUTO, GF_FLUSH_AUTO, GF_CHOICE_AUTO }, { .no_device_memory = true }, false, NULL },
        { { 1, 1, GF_CHOICE_AUTO, GF_FLUSH_AUTO, GF_CHOICE_AUTO }, { .no_flush = true }, false, NULL },
        { { 1, 1, GF_CHOICE_AUTO, GF_FLUSH_AUTO, GF_CHOICE_AUTO }, { .refuse_device = true }, false, NULL },
        { { 1, 1, GF_CHOICE_YES, GF_FLUSH_AUTO, GF_CHOICE_AUTO },
          { .no_device_memory = true }, false, "does not reach device memory" },
        { { 1, 1, GF_CHOICE_YES, GF_FLUSH_AUTO, GF_CHOICE_AUTO }, { .no_flush = true }, false, "has no flush" },
        { { 1, 1, GF_CHOICE_YES, GF_FLUSH_AUTO, GF_CHOICE_AUTO },
          { .refuse_device = true }, false, "does not let this memory be registered" },
        { { 1, 1, GF_CHOICE_NO, GF_FLUSH_READ, GF_CHOICE_AUTO }, { .no_flush = true }, false, "net_flush" },
        { { 1, 1, GF_CHOICE_AUTO, GF_FLUSH_AUTO, GF_CHOICE_AUTO },
          { .refuse_device = true, .refuse_host = true }, false, "be registered" },
        { { 1, 1, GF_CHOICE_AUTO, GF_FLUSH_AUTO, GF_CHOICE_AUTO }, { .put_bytes = PLAY_SLOT_BYTES }, true, NULL },
        { { 1, 1, GF_CHOICE_AUTO, GF_FLUSH_AUTO, GF_CHOICE_AUTO },
          { .put_bytes = PLAY_SLOT_BYTES - 1 }, false, "simple_slot_bytes" },
        { { 1, 1, GF_CHOICE_AUTO, GF_FLUSH_AUTO, GF_CHOICE_AUTO },
          { .closed = true }, false, "soft: the test has no such network" },
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
        { .dmabuf = true, .wire = { .refuse_dmabuf = true, .refuse_device = true },
          .not_as_dmabuf = "let this dma-buf be registered",
          .not_in_device = "data go through host memory: the test does not let this memory be registered; as a dma-buf neither: "
                           "the test does not let this dma-buf be registered\n" },
        { .dmabuf = true, .wire = { .no_device_memory = true }, .not_in_device = "does not reach device memory" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct net_world w;

        gftest_soft_wants = cases[i].wire;
        gftest_soft_wants.seed = play_seed();
        net_world_begin(&w, &(struct net_want){ 1, 1, GF_CHOICE_AUTO, GF_FLUSH_AUTO, GF_CHOICE_NO });
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
    net_world_open(&w, &(struct net_want){ 1, 1, GF_CHOICE_AUTO, GF_FLUSH_AUTO, GF_CHOICE_AUTO });
    struct gf_connector *c = &w.play.ends[PLAY_RECEIVER];

    assert_int_equal(gf_net_open(c->net, &wire, NULL), GF_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(gf_net_register(c->net, NULL, &w, sizeof w, true, &memory, NULL), GF_OK);
        wire->ops->forget(wire, &memory);
        expect_said(w.nodes[PLAY_RECEIVER].said, "not as a dma-buf: ", "has no dma-buf");
    }
    int descriptors = gftest_open_descriptors();

    copied_device_give_dmabuf(true);
    assert_int_equal(gf_net_register(c->net, NULL, &w, sizeof w, true, &memory, NULL), GF_OK);
    assert_int_equal(gftest_open_descriptors(), descriptors);
    wire->ops->forget(wire, &memory);
    net_world_close(&w);
}

static struct net_world world;             /* of the tests below, whose hook has to find it */

/* The slot that is read is one of the receiver's; what was taken is visible then. */
static void read_by_processor(void *ctx, uintptr_t address)
{
    const struct gf_endpoint *end = &world.play.ends[PLAY_RECEIVER].endpoint;
    size_t bytes = gf_layout_slots_bytes(&world.play.ends[PLAY_RECEIVER].shape);

    if (address - (uintptr_t)end->slots >= bytes) {
        abort();
    }
    gftest_soft_show(ctx);
}

/* Where the library is not there, and no test has loaded the fake, whoever asks for it is told what to install. */
static void test_gdrcopy_is_missing(void **state)
{
    struct gf_reason why = { "" };

    (void)state;
    gftest_soft_wants = (struct gftest_soft_wants){ .seed = play_seed() };
    net_world_begin(&world, &(struct net_want){ 1, 1, GF_CHOICE_AUTO, GF_FLUSH_GDRCOPY, GF_CHOICE_AUTO });
    assert_int_equal(net_world_setup(&world, PLAY_RECEIVER, &why), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "the setting net_flush is gdrcopy, but gdrcopy is not to be had here"));
    assert_non_null(strstr(why.text, "install libgdrapi and gdrdrv-dkms"));
    assert_null(strstr(world.nodes[PLAY_RECEIVER].said, "through host memory"));
    net_world_close(&world);
}

/* A read by the processor for each message, in slots or in buffers, and none by the wire: where that is asked for, and where the
 * wire has none. */
static void test_gdrcopy_flushes(void **state)
{
    static const struct { struct net_want want; bool no_flush, by_processor, lent; } cases[] = {
        { { 2, 1, GF_CHOICE_AUTO, GF_FLUSH_GDRCOPY, GF_CHOICE_AUTO }, false, true, true },
        { { 3, 2, GF_CHOICE_YES, GF_FLUSH_GDRCOPY, GF_CHOICE_NO }, false, true, false },
        { { 2, 1, GF_CHOICE_AUTO, GF_FLUSH_AUTO, GF_CHOICE_AUTO }, true, true, true },
        { { 1, 1, GF_CHOICE_AUTO, GF_FLUSH_AUTO, GF_CHOICE_AUTO }, false, false, true },
        { { 1, 1, GF_CHOICE_NO, GF_FLUSH_GDRCOPY, GF_CHOICE_YES }, false, false, false },
        { { 1, 1, GF_CHOICE_AUTO, GF_FLUSH_READ, GF_CHOICE_AUTO }, false, false, true },
    };
    struct fake_gdrapi *gdr = gftest_gdrapi_load();
    struct gf_wire *wire;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t random = play_seed();

        gftest_soft_wants = (struct gftest_soft_wants){ .seed = random, .no_flush = cases[i].no_flush };
        net_world_open(&world, &cases[i].want);
        assert_int_equal(gf_net_open(world.nodes[PLAY_RECEIVER].net, &wire, NULL), GF_OK);
        *gdr = (struct fake_gdrapi){ .opened = gdr->opened, .pinned = gdr->pinned, .mapped = gdr->mapped, .misuses = gdr->misuses,
                                     .read = read_by_processor, .ctx = wire };
        assert_int_equal(gdr->mapped, cases[i].by_processor);
        for (int launch = 0; launch < 3; launch++) {
            play_choose_steps(&world.play, &random);
            world.play.steps[0] += world.play.steps[0] == 0;
            play_launch(&world.play, PLAY_SENDER);
            expect_no_abort(&world);
        }
        play_await_drained(&world.play);
        assert_int_equal(world.play.lent > 0, cases[i].lent);
        bool by_wire = !cases[i].by_processor && cases[i].want.device_memory != GF_CHOICE_NO;

        assert_int_equal(net_world_counts(&world, PLAY_RECEIVER).flushes > 0, by_wire);
        assert_int_equal(gdr->reads > 0, cases[i].by_processor);
        net_world_close(&world);
        gftest_gdrapi_expect_closed(gdr);
    }
}

/* What fails is told; asked for by nobody, it leaves host memory. */
static void test_gdrcopy_fails(void **state)
{
    static const struct { const char *function, *says; } cases[] = {
        { "gdr_open", "load gdrdrv" }, { "gdr_pin_buffer", "gdr_pin_buffer says 12" }, { "gdr_map", "gdr_map says 22" },
    };
    struct fake_gdrapi *gdr = gftest_gdrapi_load();

    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        bool forced = i % 2;
        struct gf_reason why = { "" };

        gdr->fail_function = cases[i / 2].function;
        gftest_soft_wants = (struct gftest_soft_wants){ .seed = play_seed(), .no_flush = true };
        net_world_begin(&world, &(struct net_want){ 1, 1, GF_CHOICE_AUTO, forced ? GF_FLUSH_GDRCOPY : GF_FLUSH_AUTO,
                                                    GF_CHOICE_AUTO });
        assert_int_equal(net_world_setup(&world, PLAY_RECEIVER, &why), forced ? GF_ERR_UNSUPPORTED : GF_OK);
        assert_non_null(strstr(forced ? why.text : world.nodes[PLAY_RECEIVER].said, cases[i / 2].says));
        net_world_close(&world);
        gftest_gdrapi_expect_closed(gdr);
    }
    gdr->fail_function = NULL;
}

/* A read that fails ends the communicator. */
static void test_gdrcopy_read_fails(void **state)
{
    struct fake_gdrapi *gdr = gftest_gdrapi_load();
    struct gf_reason why = { "" };

    (void)state;
    gftest_soft_wants = (struct gftest_soft_wants){ .seed = play_seed() };
    net_world_open(&world, &(struct net_want){ 1, 1, GF_CHOICE_AUTO, GF_FLUSH_GDRCOPY, GF_CHOICE_AUTO });
    gdr->fail_function = "gdr_copy_from_mapping";
    world.play.steps[0] = 20;
    play_launch(&world.play, PLAY_SENDER);
    assert_int_equal(gf_abort_check(&world.nodes[PLAY_RECEIVER].abort, &why), GF_ERR_DEVICE);
    assert_non_null(strstr(why.text, "gdr_copy_from_mapping says 5"));
    net_world_close(&world);
    gdr->fail_function = NULL;
    gftest_gdrapi_expect_closed(gdr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_of_slots),
        cmocka_unit_test(test_ways_to_register),
        cmocka_unit_test(test_ways_are_told_once),
        cmocka_unit_test(test_gdrcopy_is_missing),
        cmocka_unit_test(test_gdrcopy_flushes),
        cmocka_unit_test(test_gdrcopy_fails),
        cmocka_unit_test(test_gdrcopy_read_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
