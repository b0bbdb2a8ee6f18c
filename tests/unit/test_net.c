/* SPDX-License-Identifier: BSD-3-Clause
 *
 * FIFOs whose slots go over a network, whole: two threads play the kernels, two proxies the hosts of two nodes, and the soft
 * wire the network. Built from the sources under test, so that ThreadSanitizer sees all threads and mutants.sh can put faults in.
 *   GPUFIFO_TEST_SEED, GPUFIFO_TEST_DEADLINE_MS: the seed; after how long a hang counts as a failure.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/host_ordered.h"
#include "tests/unit/net_counts.h"
#include "tests/unit/net_world.h"
#include "tests/unit/scalar.h"
#include "transport/net_address.h"

enum { LAUNCHES = 6 };

/* As the host does that has waited for long, whatever the proxies are doing. */
struct asking {
    struct net_world *world;
    pthread_t thread;
    uint32_t over;                     /* atomic */
};

static void *ask(void *ctx)
{
    struct asking *asking = ctx;

    while (!gf_host_observe_flag(&asking->over)) {
        for (int end = 0; end < 2; end++) {
            gf_connector_ask(&asking->world->play.ends[end]);
        }
        sched_yield();
    }
    return NULL;
}

static void launch(struct net_world *w, uint64_t *random)
{
    struct asking asking = { .world = w };
    int first = scalar_random(random) % 2;

    play_choose_steps(&w->play, random);
    assert_int_equal(pthread_create(&asking.thread, NULL, ask, &asking), 0);
    play_launch(&w->play, first);
    gf_host_publish_flag(&asking.over, 1);
    pthread_join(asking.thread, NULL);
    net_world_expect_right(w);
}

static void want_seed(uint64_t seed)
{
    gftest_soft_wants = (struct gftest_soft_wants){ .seed = seed };
}

/* Launches with uneven steps, some with nothing to send; now and then all comes to rest. */
static void run_launches(const struct net_want *want)
{
    uint64_t seed = play_seed(), random = seed;
    struct net_world w;

    print_message("%d channels, %d a lane, %s memory%s, seed %llu\n", want->channels, want->group,
                  want->device_memory == GF_CHOICE_YES ? "device" : "host",
                  want->zero_copy == GF_CHOICE_YES ? ", without copies" : "", (unsigned long long)seed);
    want_seed(seed);
    net_world_open(&w, want);
    for (int i = 0; i < LAUNCHES; i++) {
        uint64_t sleeps = gf_proxy_sleeps(w.nodes[i % 2].proxy);

        launch(&w, &random);
        if (i % 3 == 0) {
            net_world_await_sleep(&w, i % 2, sleeps);
        }
    }
    play_await_drained(&w.play);
    assert_int_equal(w.play.lent > 0, want->zero_copy == GF_CHOICE_YES);
    net_world_close(&w);
}

/* With slots alone, and with every second step from buffer to buffer. */
static void run_both(int channels, int group, enum gf_choice device_memory)
{
    run_launches(&(struct net_want){ channels, group, device_memory, GF_FLUSH_AUTO, GF_CHOICE_NO });
    run_launches(&(struct net_want){ channels, group, device_memory, GF_FLUSH_AUTO, GF_CHOICE_YES });
}

static void test_a_lane_a_channel(void **state)
{
    (void)state;
    run_both(3, 1, GF_CHOICE_YES);
    run_both(2, 1, GF_CHOICE_NO);
}

static void test_groups(void **state)
{
    (void)state;
    run_both(3, 2, GF_CHOICE_NO);
    run_both(8, 8, GF_CHOICE_YES);
}

/* One end says no, or cannot: all goes through slots, and comes right. */
static void test_one_end_says_no(void **state)
{
    static const struct {
        struct gftest_soft_wants wire;
        int refuses;                   /* an end, or -1 */
        enum gf_choice device_memory, zero_copy;
        bool lent;
    } cases[] = {
        { .refuses = PLAY_SENDER, .device_memory = GF_CHOICE_YES },
        { .refuses = PLAY_RECEIVER, .device_memory = GF_CHOICE_YES },
        { .wire = { .refuse_device = true }, .refuses = -1, .device_memory = GF_CHOICE_NO, .zero_copy = GF_CHOICE_YES },
        { .wire = { .no_flush = true }, .refuses = -1, .device_memory = GF_CHOICE_NO, .zero_copy = GF_CHOICE_YES },
        { .wire = { .no_device_memory = true }, .refuses = -1, .device_memory = GF_CHOICE_NO, .zero_copy = GF_CHOICE_YES },
        { .refuses = -1, .device_memory = GF_CHOICE_NO },
        { .refuses = -1, .device_memory = GF_CHOICE_YES, .lent = true },
    };
    uint64_t seed = play_seed();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct net_want want = { .channels = 1, .group = 1, .device_memory = cases[i].device_memory,
                                       .zero_copy = cases[i].zero_copy };
        struct net_world w;

        gftest_soft_wants = cases[i].wire;
        gftest_soft_wants.seed = seed;
        net_world_open(&w, &want);
        if (cases[i].refuses >= 0) {
            w.nodes[cases[i].refuses].fault.left[GF_FAULT_REGISTER] = 1;
        }
        w.play.steps[0] = 20;
        for (int k = 0; k < 2; k++) {
            play_launch(&w.play, k);
            net_world_expect_right(&w);
        }
        assert_int_equal(w.play.lent > 0, cases[i].lent);
        net_world_close(&w);
    }
}

/* The predicates, and the settings that force each. */
static void test_needs_flush(void **state)
{
    static const struct { enum gf_flush_choice setting; bool device_slots; enum gf_arrivals arrivals; const char *spared; }
    cases[] = {
        { GF_FLUSH_AUTO, false, GF_ARRIVALS_UNORDERED, "kernels load it" },
        { GF_FLUSH_AUTO, false, GF_ARRIVALS_BY_DRIVER, "kernels load it" },
        { GF_FLUSH_AUTO, true, GF_ARRIVALS_UNORDERED, NULL }, { GF_FLUSH_AUTO, true, GF_ARRIVALS_BY_DRIVER, "driver" },
        { GF_FLUSH_AUTO, true, GF_ARRIVALS_BY_COHERENT_LINK, "coherent link" },
        { GF_FLUSH_AUTO, true, GF_ARRIVALS_BY_CAPABILITY, "capability 9.0" },
        { GF_FLUSH_READ, false, GF_ARRIVALS_UNORDERED, NULL }, { GF_FLUSH_READ, true, GF_ARRIVALS_UNORDERED, NULL },
        { GF_FLUSH_READ, false, GF_ARRIVALS_BY_DRIVER, NULL }, { GF_FLUSH_READ, true, GF_ARRIVALS_BY_DRIVER, NULL },
        { GF_FLUSH_READ, true, GF_ARRIVALS_BY_COHERENT_LINK, NULL }, { GF_FLUSH_READ, true, GF_ARRIVALS_BY_CAPABILITY, NULL },
        { GF_FLUSH_NO, false, GF_ARRIVALS_UNORDERED, "setting" }, { GF_FLUSH_NO, true, GF_ARRIVALS_UNORDERED, "setting" },
        { GF_FLUSH_NO, true, GF_ARRIVALS_BY_DRIVER, "setting" },
        { GF_FLUSH_GDRCOPY, false, GF_ARRIVALS_UNORDERED, "kernels load it" },
        { GF_FLUSH_GDRCOPY, true, GF_ARRIVALS_UNORDERED, NULL }, { GF_FLUSH_GDRCOPY, true, GF_ARRIVALS_BY_DRIVER, NULL },
        { GF_FLUSH_GDRCOPY, true, GF_ARRIVALS_BY_COHERENT_LINK, NULL },
        { GF_FLUSH_GDRCOPY, true, GF_ARRIVALS_BY_CAPABILITY, NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gf_device device = { .caps = { .arrivals = cases[i].arrivals } };
        struct gf_net_config config = { .group = 1, .flush = cases[i].setting };
        struct gf_net *net;

        assert_int_equal(gf_net_create(&config, &device, &net, NULL), GF_OK);
        const char *spared = gf_net_flush_spared(net, cases[i].device_slots);

        assert_int_equal(!spared, !cases[i].spared);
        assert_true(!spared || strstr(spared, cases[i].spared));
        assert_int_equal(gf_net_needs_flush(net, cases[i].device_slots), !cases[i].spared);
        gf_net_destroy(net);
    }
}

static gf_status refuse_open(const struct gf_wire_config *config, struct gf_wire **wire, struct gf_reason *why)
{
    (void)config;
    (void)wire;
    gf_reason_set(why, "no adapter");
    return GF_ERR_UNSUPPORTED;
}

static gf_status refuse_setting(const struct gf_wire_config *config, struct gf_wire **wire, struct gf_reason *why)
{
    (void)config;
    (void)wire;
    gf_reason_set(why, "the setting is wrong");
    return GF_ERR_INVALID;
}

static void keep_line(void *ctx, enum gf_log_level level, const char *line)
{
    (void)level;
    snprintf(ctx, sizeof ((struct gf_reason *)0)->text, "%s", line);
}

/* Which wire it is, and why not one before it, is said to who asks for paths; where a setting is wrong, to all. */
static void test_wires_left_out_are_told(void **state)
{
    const struct gf_wire_ops absent = { .name = "first", .open = refuse_open };
    const struct gf_wire_ops wrong = { .name = "first", .open = refuse_setting };
    const struct { const struct gf_wire_ops *first; int verbose; const char *says; } cases[] = {
        { &absent, GF_LOG_WARN, "" }, { &absent, GF_LOG_PATH, ", not first: no adapter" },
        { &wrong, GF_LOG_WARN, ", not first: the setting is wrong" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct gf_wire_ops *const wires[] = { cases[i].first, &gftest_soft_wire, NULL };
        struct gf_reason line = { "" };
        const struct gf_log log = { .write = keep_line, .ctx = line.text, .verbose = cases[i].verbose };
        const struct gf_net_config config = { .wires = wires, .group = 1, .wire = { .log = &log } };
        struct gf_wire *wire;
        struct gf_net *net;

        want_seed(1);
        assert_int_equal(gf_net_create(&config, NULL, &net, NULL), GF_OK);
        assert_int_equal(gf_net_open(net, &wire, NULL), GF_OK);
        if (cases[i].says[0]) {
            assert_non_null(strstr(line.text, cases[i].says));
        } else {
            assert_string_equal(line.text, "");
        }
        gf_net_destroy(net);
    }
}

/* The first wire that opens is the net's; without any, all say why. */
static void test_choice_of_the_wire(void **state)
{
    const struct gf_wire_ops none = { .name = "first", .open = refuse_open }, neither = { .name = "second", .open = refuse_open };
    const struct gf_wire_ops *const some[] = { &none, &gftest_soft_wire, NULL }, *const nothing[] = { &none, &neither, NULL };
    const struct gf_wire_ops *const empty[] = { NULL };
    struct gf_reason why = { "" };
    struct gf_wire *wire, *again;
    struct gf_net *net;

    (void)state;
    want_seed(1);
    assert_int_equal(gf_net_create(&(struct gf_net_config){ .wires = some, .group = 1 }, NULL, &net, NULL), GF_OK);
    assert_int_equal(gf_net_open(net, &wire, &why), GF_OK);
    assert_ptr_equal(wire->ops, &gftest_soft_wire);
    assert_int_equal(gf_net_open(net, &again, &why), GF_OK);
    assert_ptr_equal(again, wire);
    gf_net_destroy(net);

    assert_int_equal(gf_net_create(&(struct gf_net_config){ .wires = nothing, .group = 8 }, NULL, &net, NULL), GF_OK);
    assert_int_equal(gf_net_open(net, &wire, &why), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "first: no adapter; second: no adapter"));
    gf_net_destroy(net);

    assert_int_equal(gf_net_create(&(struct gf_net_config){ .wires = empty, .group = 1 }, NULL, &net, NULL), GF_OK);
    assert_int_equal(gf_net_open(net, &wire, &why), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "was built without"));
    gf_net_destroy(net);

    for (int group = 0; group <= 9; group += 9) {
        struct gf_net_config config = { .wires = empty, .group = group };

        assert_int_equal(gf_net_create(&config, NULL, &net, &why), GF_ERR_INVALID);
        assert_non_null(strstr(why.text, "net_group"));
    }
    gf_net_destroy(NULL);
}

static void choose_address(struct gf_wire_address *address, const struct gf_wire_address *first, uint64_t *random)
{
    uint32_t same = first ? (uint32_t)(scalar_random(random) % (first->bytes + 1)) : 0;

    address->bytes = same + (uint32_t)(scalar_random(random) % (GF_WIRE_ADDRESS_BYTES + 1 - same));
    for (uint32_t i = 0; i < address->bytes; i++) {
        address->data[i] = i < same ? first->data[i] : (unsigned char)scalar_random(random);
    }
}

/* Packed and unpacked they are what they were; what is cut, longer, or lies is refused. */
static void test_addresses(void **state)
{
    enum { COUNT = 5 };
    uint64_t random = play_seed();
    unsigned char *packed = malloc(gf_net_addresses_most(COUNT));

    (void)state;
    for (int run = 0; run < 200; run++) {
        struct gf_wire_address addresses[COUNT] = { { .bytes = 0 } }, again[COUNT];

        for (int i = 0; i < COUNT; i++) {
            choose_address(&addresses[i], i > 0 ? &addresses[0] : NULL, &random);
        }
        size_t bytes = gf_net_addresses_pack(addresses, COUNT, packed), cut = scalar_random(&random) % bytes;

        assert_in_range(bytes, 1, gf_net_addresses_most(COUNT));
        assert_true(gf_net_addresses_unpack(packed, bytes, again, COUNT));
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(again[i].bytes, addresses[i].bytes);
            assert_memory_equal(again[i].data, addresses[i].data, addresses[i].bytes);
        }
        assert_false(gf_net_addresses_unpack(packed, cut, again, COUNT));
        assert_false(gf_net_addresses_unpack(packed, bytes, again, COUNT - 1));
        packed[1] = 0xff;
        assert_false(gf_net_addresses_unpack(packed, bytes, again, COUNT));
    }
    free(packed);
}

/* Lanes that share all but a few bytes cost these. */
static void test_addresses_share(void **state)
{
    enum { COUNT = 64 };
    static struct gf_wire_address addresses[COUNT];
    unsigned char *packed = malloc(gf_net_addresses_most(COUNT));

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        addresses[i].bytes = 408;
        memset(addresses[i].data, 7, 400);
        memset(addresses[i].data + 400, i + 100, 8);
    }
    assert_int_equal(gf_net_addresses_pack(addresses, COUNT, packed), 4 + 408 + 63 * (4 + 8));
    free(packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lane_a_channel), cmocka_unit_test(test_groups), cmocka_unit_test(test_one_end_says_no),
        cmocka_unit_test(net_test_operations_are_counted),
        cmocka_unit_test(test_needs_flush), cmocka_unit_test(test_choice_of_the_wire),
        cmocka_unit_test(test_wires_left_out_are_told),
        cmocka_unit_test(test_addresses), cmocka_unit_test(test_addresses_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
