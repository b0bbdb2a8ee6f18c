/* SPDX-License-Identifier: BSD-3-Clause
 *
 * FIFOs whose slots the host copies, whole: two threads play the kernels, the proxy's thread the host, one more the copy engine.
 * Built from the sources under test, so that ThreadSanitizer sees all threads and mutants.sh can put faults in.
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

#include "core/abort.h"
#include "core/imports.h"
#include "proxy/place.h"
#include "proxy/proxy.h"
#include "tests/unit/copied_device.h"
#include "tests/unit/fifo_play.h"
#include "tests/unit/scalar.h"
#include "transport/transport.h"

enum { LAUNCHES = 12 };

static const struct gf_connector_shape shape = { .channels = 3, .slot_bytes = PLAY_SLOT_BYTES };

/* The harness has no hwloc. */
void gf_place_self(int node, char *text)
{
    snprintf(text, GF_PLACE_TEXT, "anywhere, not near node %d", node);
}

/* A connection with both its ends. */
struct world {
    gf_device *device;
    gf_proxy *proxy;
    struct gf_abort abort;
    uint32_t kernel_word;              /* the kernels' abort word */
    struct gf_fault fault;
    struct gf_imports *imports;
    struct play play;
};

static void open_world(struct world *w, const struct gf_transport *transport, uint64_t seed)
{
    struct gf_segment_name name;
    struct gf_blob blobs[2];

    memset(w, 0, sizeof *w);
    w->play.seed = seed;
    w->device = copied_device_open(seed);
    assert_int_equal(gf_proxy_create(w->device, &w->proxy, NULL), GF_OK);
    assert_int_equal(gf_abort_open(&w->abort, 0, 1, &name, NULL), GF_OK);
    w->abort.kernel_word = &w->kernel_word;
    assert_int_equal(gf_imports_create(w->device, &w->imports, NULL), GF_OK);
    for (int end = PLAY_RECEIVER; end <= PLAY_SENDER; end++) {
        struct gf_connector *c = &w->play.ends[end];

        gf_connector_init(c, end == PLAY_SENDER, end == PLAY_SENDER, end != PLAY_SENDER, &shape, w->device, NULL, &w->fault);
        c->imports = w->imports;
        c->proxy = w->proxy;
        c->abort = w->play.aborts[end] = &w->abort;
        assert_int_equal(gf_connector_setup(c, transport, &blobs[end], NULL), GF_OK);
    }
    for (int end = PLAY_RECEIVER; end <= PLAY_SENDER; end++) {
        assert_int_equal(gf_connector_connect(&w->play.ends[end], &blobs[!end], NULL), GF_OK);
    }
}

static void close_world(struct world *w)
{
    gf_connector_destroy(&w->play.ends[PLAY_SENDER]);
    gf_connector_destroy(&w->play.ends[PLAY_RECEIVER]);
    gf_imports_destroy(w->imports);
    gf_proxy_destroy(w->proxy);
    gf_abort_close(&w->abort);
    copied_device_close(w->device);
}

static void launch(struct world *w, uint64_t *random)
{
    int first = scalar_random(random) % 2;

    play_choose_steps(&w->play, random);
    play_launch(&w->play, first);
}

static void await_sleep(const struct world *w, uint64_t sleeps)
{
    while (gf_proxy_sleeps(w->proxy) <= sleeps) {
        sched_yield();
    }
}

static void run_launches(const struct gf_transport *transport, unsigned stall)
{
    uint64_t seed = play_seed(), random = seed + stall;
    struct world w;

    print_message("%s, seed %llu\n", transport->name, (unsigned long long)seed);
    open_world(&w, transport, seed);
    w.fault.left[GF_FAULT_PROXY_STALL] = stall;
    for (int i = 0; i < LAUNCHES; i++) {
        uint64_t sleeps = gf_proxy_sleeps(w.proxy);

        launch(&w, &random);
        if (w.play.failed) {
            fail_msg("%s: %s", transport->name, w.play.failed);
        }
        if (i % 3 == 0) {
            await_sleep(&w, sleeps);
        }
    }
    play_await_drained(&w.play);
    close_world(&w);
}

static void test_launches(void **state)
{
    (void)state;
    run_launches(&gf_transport_p2p_copy, 0);
    run_launches(&gf_transport_shm_copy, 0);
}

/* A turn is left out. */
static void test_slow_proxy(void **state)
{
    (void)state;
    run_launches(&gf_transport_p2p_copy, 3);
    run_launches(&gf_transport_shm_copy, 3);
}

/* One copy fails, of the sender or of the receiver: the kernels are told, and why. */
static void test_failing_copy(void **state)
{
    static const struct gf_transport *const transports[] = { &gf_transport_p2p_copy, &gf_transport_shm_copy };
    uint64_t seed = play_seed();

    (void)state;
    for (unsigned at = 1; at < 20; at += 6) {
        for (int t = 0; t < 2; t++) {
            struct gf_reason why = { "" };
            struct world w;
            uint64_t random = seed;

            open_world(&w, transports[t], seed);
            w.fault.left[GF_FAULT_PROXY_COPY] = at;
            while (gf_abort_check(&w.abort, &why) == GF_OK) {
                launch(&w, &random);
            }
            assert_non_null(strstr(why.text, "a copy of its proxy"));
            assert_non_null(strstr(why.text, transports[t]->name));
            close_world(&w);
        }
    }
}

/* A proxy that never copies again: nothing moves, and whoever aborts gets all to leave. */
static void *abort_later(void *ctx)
{
    struct world *w = ctx;

    for (int i = 0; i < 3000; i++) {
        sched_yield();
    }
    gf_abort_raise(&w->abort, GF_ERR_TIMEOUT, "the test has had enough");
    return NULL;
}

static void test_stalled_proxy(void **state)
{
    uint64_t seed = play_seed(), random = seed;
    struct world w;
    pthread_t thread;

    (void)state;
    open_world(&w, &gf_transport_shm_copy, seed);
    w.fault.left[GF_FAULT_PROXY_STALL] = 1;
    w.fault.for_good[GF_FAULT_PROXY_STALL] = true;
    assert_int_equal(pthread_create(&thread, NULL, abort_later, &w), 0);
    while (gf_abort_check(&w.abort, NULL) == GF_OK) {
        launch(&w, &random);
    }
    pthread_join(thread, NULL);
    close_world(&w);
}

/* What they cannot serve they refuse, with a sentence. */
static void test_refusals(void **state)
{
    static const struct gf_transport *const transports[] = { &gf_transport_p2p_copy, &gf_transport_shm_copy };
    const struct gf_connector_shape lines = { .ll_bytes = 1024 }, at_sender = { .channels = 1, .slot_bytes = 128,
                                                                               .sender_buffer = true };
    gf_device *device = copied_device_open(1);
    gf_proxy *proxy;

    (void)state;
    assert_int_equal(gf_proxy_create(NULL, &proxy, NULL), GF_OK);
    for (int i = 0; i < 4; i++) {
        const struct { const struct gf_connector_shape *shape; gf_proxy *proxy; const char *text; } cases[] = {
            { &lines, proxy, "flags" }, { &at_sender, proxy, "simple_buffer" }, { &shape, NULL, "no proxy" },
        };

        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
            struct gf_connector c;
            struct gf_blob blob;
            struct gf_reason why = { "" };

            gf_connector_init(&c, i / 2, 0, 1, cases[k].shape, device, NULL, NULL);
            c.proxy = cases[k].proxy;
            assert_int_equal(gf_connector_setup(&c, transports[i % 2], &blob, &why), GF_ERR_UNSUPPORTED);
            assert_non_null(strstr(why.text, cases[k].text));
        }
    }
    gf_proxy_destroy(proxy);
    copied_device_close(device);
}

/* One device whose copies wait for kernels that run. */
static void test_same_device(void **state)
{
    struct gf_peer_info a = { .ipc = true, .device_uuid = "one" }, b = { .ipc = true, .device_uuid = "one" };
    struct gf_reason why = { "" };

    (void)state;
    assert_false(gf_transport_p2p_copy.probe(&a, &b, &why));
    assert_non_null(strstr(why.text, "share one device"));
    a.copies_beside_kernels = b.copies_beside_kernels = true;
    assert_true(gf_transport_p2p_copy.probe(&a, &b, &why));
    a.copies_beside_kernels = false;
    assert_false(gf_transport_p2p_copy.probe(&a, &b, &why));
    b.device_uuid[0] = 'x';
    assert_true(gf_transport_p2p_copy.probe(&a, &b, &why));
    b.ipc = false;
    assert_false(gf_transport_p2p_copy.probe(&a, &b, &why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launches), cmocka_unit_test(test_slow_proxy), cmocka_unit_test(test_failing_copy),
        cmocka_unit_test(test_stalled_proxy), cmocka_unit_test(test_refusals), cmocka_unit_test(test_same_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
