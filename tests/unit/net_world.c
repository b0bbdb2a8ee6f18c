/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two nodes and a connection.
 */
#include "tests/unit/net_world.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/place.h"

const struct gf_wire_ops *net_world_wires[] = { &gftest_soft_wire, NULL };
struct gf_wire_config net_world_wire_config;

/* The harness has no hwloc. */
void gf_place_self(int node, char *text)
{
    snprintf(text, GF_PLACE_TEXT, "anywhere, not near node %d", node);
}

static void note_line(void *ctx, enum gf_log_level level, const char *line)
{
    struct net_node *node = ctx;
    size_t length = strlen(node->said);

    (void)level;
    snprintf(node->said + length, sizeof node->said - length, "%s\n", line);
}

static void open_node(struct net_world *w, int end, const struct net_want *want)
{
    const struct gf_connector_shape shape = { .channels = want->channels, .slot_bytes = PLAY_SLOT_BYTES };
    struct net_node *node = &w->nodes[end];
    struct gf_net_config config = { .wires = net_world_wires, .wire = net_world_wire_config, .group = want->group,
                                    .device_memory = want->device_memory, .flush = want->flush, .zero_copy = want->zero_copy };
    struct gf_connector *c = &w->play.ends[end];
    struct gf_segment_name name;

    node->log = (struct gf_log){ .write = note_line, .ctx = node, .verbose = GF_LOG_PATH };
    config.wire.log = &node->log;
    assert_int_equal(gf_proxy_create(w->device, &node->proxy, NULL), GF_OK);
    assert_int_equal(gf_net_create(&config, w->device, &node->net, NULL), GF_OK);
    assert_int_equal(gf_abort_open(&node->abort, 0, 1, &name, NULL), GF_OK);
    node->abort.kernel_word = &node->kernel_word;
    gf_connector_init(c, end == PLAY_SENDER, end == PLAY_SENDER, end != PLAY_SENDER, &shape, w->device, NULL, &node->fault);
    c->proxy = node->proxy;
    c->net = node->net;
    c->abort = w->play.aborts[end] = &node->abort;
}

void net_world_begin(struct net_world *w, const struct net_want *want)
{
    memset(w, 0, sizeof *w);
    w->play.seed = gftest_soft_wants.seed;
    w->device = copied_device_open(w->play.seed);
    open_node(w, PLAY_RECEIVER, want);
    open_node(w, PLAY_SENDER, want);
    for (int end = 0; end < 2 && want->zero_copy != GF_CHOICE_NO; end++) {
        void *buffer;

        assert_int_equal(gf_device_alloc(w->device, PLAY_BUFFER_BYTES, &buffer, NULL), GF_OK);
        w->play.buffers[end] = buffer;
    }
}

gf_status net_world_setup(struct net_world *w, int end, struct gf_reason *why)
{
    return gf_connector_setup(&w->play.ends[end], &gf_transport_net, &w->blobs[end], why);
}

gf_status net_world_connect(struct net_world *w, int end, struct gf_reason *why)
{
    return gf_connector_connect(&w->play.ends[end], &w->blobs[!end], why);
}

void net_world_join(struct net_world *w)
{
    for (int end = PLAY_RECEIVER; end <= PLAY_SENDER; end++) {
        assert_int_equal(net_world_setup(w, end, NULL), GF_OK);
    }
    for (int end = PLAY_RECEIVER; end <= PLAY_SENDER; end++) {
        assert_int_equal(net_world_connect(w, end, NULL), GF_OK);
    }
}

void net_world_open(struct net_world *w, const struct net_want *want)
{
    net_world_begin(w, want);
    net_world_join(w);
}

void net_world_close(struct net_world *w)
{
    for (int end = PLAY_RECEIVER; end <= PLAY_SENDER; end++) {
        gf_connector_destroy(&w->play.ends[end]);
        gf_proxy_destroy(w->nodes[end].proxy);
        gf_net_destroy(w->nodes[end].net);
        gf_abort_close(&w->nodes[end].abort);
        free(w->blobs[end].rest);
    }
    for (int end = 0; end < 2; end++) {
        if (w->play.buffers[end]) {
            gf_device_free(w->device, w->play.buffers[end]);
        }
    }
    copied_device_close(w->device);
}

void net_world_expect_right(struct net_world *w)
{
    struct gf_reason why = { "" };

    for (int end = 0; end < 2; end++) {
        if (w->play.failed || gf_abort_check(&w->nodes[end].abort, &why) != GF_OK) {
            fail_msg("%s", w->play.failed ? w->play.failed : why.text);
        }
    }
}

void net_world_await_sleep(const struct net_world *w, int end, uint64_t sleeps)
{
    while (gf_proxy_sleeps(w->nodes[end].proxy) <= sleeps) {
        sched_yield();
    }
}

struct gf_wire_counts net_world_counts(struct net_world *w, int end)
{
    struct gf_wire *wire;

    gf_connector_destroy(&w->play.ends[end]);
    assert_int_equal(gf_net_open(w->nodes[end].net, &wire, NULL), GF_OK);
    return *wire->ops->counts(wire);
}
