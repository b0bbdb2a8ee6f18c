/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two carriers and the messages between them.
 */
#include "tests/unit/carrier_world.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proxy/place.h"
#include "tests/support/soft_wire.h"
#include "tests/unit/copied_device.h"

enum { LIMIT_S = 120 };

static const struct gf_wire_ops *const wires[] = { &gftest_soft_wire, NULL };

/* The harness has no hwloc. */
void gf_place_self(int node, char *text)
{
    snprintf(text, GF_PLACE_TEXT, "anywhere, not near node %d", node);
}

static void open_lane(struct carrier_world *w, int from)
{
    struct gf_wire_address sender, receiver;

    assert_int_equal(gf_carrier_lane_create(w->carriers[from], 7 - from, true, 2, &w->out[from], &sender, NULL), GF_OK);
    assert_int_equal(gf_carrier_lane_create(w->carriers[!from], 6 + from, false, 2, &w->in[from], &receiver, NULL), GF_OK);
    assert_int_equal(gf_carrier_lane_connect(w->in[from], &sender, NULL), GF_OK);
    assert_int_equal(gf_carrier_lane_connect(w->out[from], &receiver, NULL), GF_OK);
}

void carrier_world_begin(struct carrier_world *w, enum gf_choice device_memory, enum gf_flush_choice flush, uint64_t seed)
{
    const struct gf_net_config config = { .wires = wires, .group = 1, .device_memory = device_memory, .flush = flush };

    alarm(LIMIT_S);
    *w = (struct carrier_world){ .device = copied_device_open(seed) };
    gftest_soft_wants.seed = seed;
    for (int end = 0; end < 2; end++) {
        assert_int_equal(gf_net_create(&config, w->device, &w->nets[end], NULL), GF_OK);
    }
}

gf_status carrier_world_create(struct carrier_world *w, int end, struct gf_reason *why)
{
    const struct gf_carrier_config config = { .device = w->device, .net = w->nets[end], .rank = 6 + end,
                                              .piece_bytes = PIECE_BYTES, .fault = &w->faults[end] };

    return gf_carrier_create(&config, &w->carriers[end], why);
}

void carrier_world_join(struct carrier_world *w)
{
    open_lane(w, 0);
    open_lane(w, 1);
}

void carrier_world_open(struct carrier_world *w, enum gf_choice device_memory, uint64_t seed)
{
    carrier_world_begin(w, device_memory, GF_FLUSH_AUTO, seed);
    for (int end = 0; end < 2; end++) {
        assert_int_equal(carrier_world_create(w, end, NULL), GF_OK);
        assert_string_equal(gf_carrier_wire(w->carriers[end]), "soft");
    }
    carrier_world_join(w);
}

void carrier_world_close(struct carrier_world *w)
{
    for (int end = 0; end < 2; end++) {
        gf_carrier_destroy(w->carriers[end]);
        gf_net_destroy(w->nets[end]);
    }
    copied_device_close(w->device);
    gftest_soft_wants = (struct gftest_soft_wants){ .seed = 0 };
}

void message_make(struct carrier_world *w, struct message *m, int from, uint64_t id, size_t bytes, size_t wanted)
{
    *m = (struct message){ .from = from, .id = id, .bytes = bytes, .wanted = wanted, .sent = GF_IN_PROGRESS,
                           .received = GF_IN_PROGRESS };
    assert_int_equal(gf_device_alloc(w->device, bytes, (void **)&m->source, NULL), GF_OK);
    assert_int_equal(gf_device_alloc(w->device, wanted + AFTER, (void **)&m->target, NULL), GF_OK);
    for (size_t i = 0; i < bytes; i++) {
        m->source[i] = (unsigned char)(i * 131 + i / 251 + id * 17);
    }
    memset(m->target, UNTOUCHED, wanted + AFTER);
}

void message_unmake(struct carrier_world *w, struct message *m)
{
    gf_device_free(w->device, m->source);
    gf_device_free(w->device, m->target);
}

gf_status message_send(struct carrier_world *w, struct message *m)
{
    const struct gf_carrier_data data = { .address = (char *)m->source, .bytes = m->bytes, .device = true };

    return gf_carrier_send(w->out[m->from], m->id, &data, &m->out, &m->out_why);
}

gf_status message_receive(struct carrier_world *w, struct message *m)
{
    const struct gf_carrier_data data = { .address = (char *)m->target, .bytes = m->wanted, .device = !m->to_host };

    return gf_carrier_receive(w->in[m->from], m->id, &data, &m->in, &m->in_why);
}

static bool has_ended(struct message *m)
{
    if (m->sent == GF_IN_PROGRESS) {
        m->sent = gf_carrier_send_poll(&m->out, &m->out_why);
    }
    if (m->received == GF_IN_PROGRESS) {
        m->received = gf_carrier_receive_poll(&m->in, &m->in_why);
    }
    return m->sent != GF_IN_PROGRESS && m->received != GF_IN_PROGRESS;
}

void messages_await(struct carrier_world *w, struct message *m, int count)
{
    for (int i = 0; i < count; ) {
        for (int end = 0; end < 2 && w->program; end++) {
            gf_carrier_progress(w->carriers[end]);
        }
        if (has_ended(&m[i])) {
            i++;
        } else {
            sched_yield();
        }
    }
}

void message_expect_data(const struct message *m)
{
    assert_memory_equal(m->target, m->source, m->wanted);
    for (size_t i = 0; i < AFTER; i++) {
        assert_int_equal(m->target[m->wanted + i], UNTOUCHED);
    }
}

void expect_rank(const struct gf_reason *why, int rank)
{
    char text[16];

    snprintf(text, sizeof text, "rank %d", rank);
    if (!strstr(why->text, text)) {
        fail_msg("\"%s\" does not name %s", why->text, text);
    }
}
