/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiving end: a posted round is the credit; what arrives is flushed where it must be, and the kernels are told.
 *
 * Which channels a round has. A lane of one channel posts as soon as there is room, ahead of launches, unless a credit may offer
 * the launch's buffer (net_loan.h). In a lane of several, round i of a launch has the channels with more than i steps in it, and
 * the next launch begins with a round of its own: so the rounds of all connections of a ring go in lockstep. Were channels to
 * join rounds as they have room, two could be a step apart here and the other way round elsewhere, and each wait for the other
 * round the ring.
 */
#include <assert.h>
#include <stdlib.h>

#include "kernels/mutants.h"
#include "proxy/stages.h"
#include "transport/copy_engine.h"
#include "transport/net_credit.h"
#include "transport/net_end.h"
#include "transport/net_ends.h"
#include "transport/net_notice.h"

/* A launch as the host announces it. Calls of a communicator come one after the other, and one ends when all of its rounds were
 * posted; so there is never more than one that the proxy has not looked at. */
struct launch {
    uint64_t count;                    /* atomic; of all so far that have steps; the host's */
    uint64_t taken;                    /* atomic; the proxy's */
    uint64_t steps[GF_NET_GROUP];      /* of the last one */
};

struct incoming {
    struct gf_net_receiver *receiver;
    struct gf_net_lane *lane;
    struct launch launch;
    uint64_t left[GF_NET_GROUP];       /* steps of the launch under way that have no round yet */
    uint64_t steps[GF_NET_GROUP];      /* of each channel that have one */
    uint64_t planned;                  /* rounds so far that have their channels, */
    uint64_t expected, taken;          /* whose notification the wire expects, and told */
    bool slots_announced, sizes_announced, buffer_announced;
    struct gf_proxy_recv ladder;
};

struct gf_net_receiver {
    struct gf_net_end end;
    struct incoming *lanes;            /* [end.lane_count] */
};

/* Before the first credit. */
static gf_status announce(struct incoming *in)
{
    const struct gf_net_end *end = &in->receiver->end;
    const struct gf_wire_ops *ops = end->wire->ops;
    gf_status status = in->slots_announced ? GF_OK : ops->announce(in->lane->wire, &end->slots.wire);

    in->slots_announced = status == GF_OK;
    if (status == GF_OK && end->group > 1 && !in->sizes_announced) {
        status = ops->announce(in->lane->wire, &end->sizes.wire);
        in->sizes_announced = status == GF_OK;
    }
    return status;
}

/* The next launch, if there is one and the last one has its rounds. */
static void take_launch(struct incoming *in)
{
    if (gf_host_observe(&in->launch.count) > in->launch.taken) {
        for (int i = 0; i < in->lane->width; i++) {
            in->left[i] = in->launch.steps[i];
        }
        in->buffer_announced = false;
        gf_host_publish(&in->launch.taken, in->launch.taken + 1);
    }
}

static void add_part(struct incoming *in, struct gf_net_round *r, int i)
{
    r->parts[r->count++] = (struct gf_net_part){ .channel = in->lane->first + i, .step = in->steps[i]++ };
}

/* Do rounds follow launches? */
static bool follows(const struct incoming *in)
{
    return in->lane->width > 1 || in->receiver->end.loan.on;
}

/* False: there is no round to come as yet. */
static bool plan(struct incoming *in, struct gf_net_round *r)
{
    r->count = 0;
    if (!follows(in)) {
        add_part(in, r, 0);
        return true;
    }
    for (int tries = 0; r->count == 0 && tries < 2; tries++) {
        for (int i = 0; i < in->lane->width; i++) {
            if (in->left[i] > 0) {
                in->left[i]--;
                add_part(in, r, i);
            }
        }
        if (r->count == 0) {
            take_launch(in);
        }
    }
    return r->count > 0;
}

/* For each part, its place in the buffer of the launch, if it has one. */
static gf_status make_offers(struct incoming *in, struct gf_net_round *r)
{
    const struct gf_net_end *end = &in->receiver->end;
    gf_status status = GF_OK;

    for (uint32_t i = 0; i < r->count && status == GF_OK; i++) {
        struct gf_net_part *part = &r->parts[i];

        if (gf_net_loan_place(end, part->channel, part->step, &part->own)) {
            part->own.key = gf_wire_key(in->lane->wire, &end->loan.buffer->wire);
            status = in->buffer_announced ? GF_OK : end->wire->ops->announce(in->lane->wire, &end->loan.buffer->wire);
            in->buffer_announced = status == GF_OK;
        }
    }
    return status;
}

static gf_status put_credit(struct incoming *in, uint64_t round, const struct gf_net_round *r)
{
    const struct gf_net_end *end = &in->receiver->end;
    struct gf_net_credit lines[GF_NET_GROUP];
    uint32_t index = GF_NET_NOTICE_LINES + (uint32_t)(round % GF_FIFO_DEPTH) * (uint32_t)in->lane->width;

    for (uint32_t i = 0; i < r->count; i++) {
        lines[i] = (struct gf_net_credit){
            .first = round + 1, .address = (uintptr_t)gf_net_end_slot(end, &r->parts[i]), .bytes = end->c->shape.slot_bytes,
            .key = gf_wire_key(in->lane->wire, &end->slots.wire), .count = r->count,
            .channel = (uint32_t)r->parts[i].channel, .last = round + 1,
            .flags = r->parts[i].own.bytes > 0 ? GF_NET_CREDIT_OFFERS : 0, .offer = r->parts[i].own,
        };
    }
    return end->wire->ops->put_lines(in->lane->wire, index, lines, r->count);
}

static gf_status post(void *ctx, uint64_t round)
{
    struct incoming *in = ctx;
    struct gf_net_round *r = gf_net_round_of(in->lane, round);
    gf_status status = announce(in);

    if (status == GF_OK && in->planned == round) {
        status = plan(in, r) ? GF_OK : GF_IN_PROGRESS;
        in->planned += status == GF_OK;
    }
    if (status == GF_OK && in->expected == round && GF_MUTANT != GF_MUTANT_NET_UNEXPECTED) {
        status = in->receiver->end.wire->ops->expect(in->lane->wire);
        in->expected += status == GF_OK;
    }
    status = status == GF_OK ? make_offers(in, r) : status;
    return status == GF_OK ? put_credit(in, round, r) : status;
}

/* The lengths that came with the notification. */
static gf_status take_sizes(struct incoming *in, uint64_t round, struct gf_net_round *r, uint32_t immediate)
{
    struct gf_net_end *end = &in->receiver->end;
    const uint32_t *sizes = (const void *)(end->sizes.wire.address + gf_net_sizes_offset(end, in->lane, round));

    for (uint32_t i = 0; i < r->count; i++) {
        struct gf_net_part *part = &r->parts[i];
        uint32_t length = r->count == 1 ? immediate : sizes[i];

        part->lent = GF_MUTANT == GF_MUTANT_NET_IMPLIED ? part->own.bytes > 0 : (length & GF_SIZE_LENT) != 0;
        part->bytes = length & ~GF_SIZE_LENT;
        size_t most = part->lent ? part->own.bytes : end->c->shape.slot_bytes;

        if (part->bytes > most || (part->lent && most == 0)) {
            gf_reason_set(&end->why, "rank %d sent %u bytes into a %s of %zu", end->c->peer, part->bytes,
                          part->lent ? "buffer" : "slot", most);
            return GF_ERR_PEER;
        }
        if (part->lent) {
            gf_host_publish_flag(&end->loan.agreed, 1);
        }
    }
    return GF_OK;
}

/* What makes the round visible to the device. Nothing to do: it has ended. Its parts are one step of a launch each, so all of
 * those that are not empty are in slots or all in the buffer. */
static gf_status start_flush(struct incoming *in, uint64_t round, struct gf_net_round *r)
{
    struct gf_net_end *end = &in->receiver->end;
    const struct gf_wire_ticket ticket = { &r->ended, round + 1 };
    const struct gf_net_part *last = NULL;

    for (uint32_t i = 0; i < r->count; i++) {
        last = r->parts[i].bytes > 0 ? &r->parts[i] : last;
    }
    enum gf_net_flush_way way = !last ? GF_NET_FLUSH_NONE : last->lent ? end->flush.buffers : end->flush.slots;

    if (way == GF_NET_FLUSH_NONE) {
        r->ended = round + 1;
        return GF_OK;
    }
    const struct gf_wire_memory *memory;
    const char *at = gf_net_end_data(end, last, &memory);

    return gf_net_flush_begin(&end->flush.window, way, in->lane->wire, memory, at, gf_net_end_slot(end, last), &ticket,
                              &end->why);
}

static gf_status arrive(void *ctx, uint64_t round)
{
    struct incoming *in = ctx;
    struct gf_net_round *r = gf_net_round_of(in->lane, round);

    if (in->taken == round) {
        uint32_t immediate;

        if (!in->receiver->end.wire->ops->take(in->lane->wire, &immediate)) {
            return GF_IN_PROGRESS;
        }
        in->taken++;
        r->ended = 0;
        gf_status status = take_sizes(in, round, r, immediate);

        if (status != GF_OK) {
            return status;
        }
    }
    return start_flush(in, round, r);
}

static gf_status flush(void *ctx, uint64_t round)
{
    const struct incoming *in = ctx;
    bool ended = gf_net_round_of(in->lane, round)->ended == round + 1;

    return ended || GF_MUTANT == GF_MUTANT_NET_EARLY_READY ? GF_OK : GF_IN_PROGRESS;
}

static gf_status ready(void *ctx, uint64_t round)
{
    const struct incoming *in = ctx;
    const struct gf_net_round *r = gf_net_round_of(in->lane, round);

    for (uint32_t i = 0; i < r->count; i++) {
        const struct gf_net_part *part = &r->parts[i];

        gf_words_publish(in->receiver->end.words, part->channel, part->step, part->bytes | (part->lent ? GF_SIZE_LENT : 0));
    }
    return GF_OK;
}

static gf_status finish(void *ctx, uint64_t round)
{
    const struct incoming *in = ctx;
    const struct gf_net_end *end = &in->receiver->end;
    const struct gf_net_round *r = gf_net_round_of(in->lane, round);

    for (uint32_t i = 0; i < r->count; i++) {
        if (gf_host_observe(gf_words_head(end->words, &end->c->shape, r->parts[i].channel)) <= r->parts[i].step) {
            return GF_IN_PROGRESS;
        }
    }
    return GF_OK;
}

static const struct gf_proxy_recv_stages stages = {
    .post = post, .arrive = arrive, .flush = flush, .ready = ready, .finish = finish,
};

static enum gf_proxy_turn climb(void *ctx, int lane, gf_status *status)
{
    struct gf_net_receiver *p = ctx;

    return gf_proxy_recv_turn(&p->lanes[lane].ladder, status);
}

static enum gf_proxy_turn turn(void *ctx)
{
    struct gf_net_receiver *p = ctx;

    return gf_net_end_turn(&p->end, climb, p);
}

gf_status gf_net_receiver_open(struct gf_connector *c, struct gf_net_receiver **made, struct gf_blob *mine,
                               struct gf_reason *why)
{
    struct gf_net_receiver *p = calloc(1, sizeof *p);

    *made = p;
    if (!p) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    gf_status status = gf_net_end_open(&p->end, c, 0, mine, why);

    if (status != GF_OK) {
        return status;
    }
    p->lanes = calloc((size_t)p->end.lane_count, sizeof *p->lanes);
    if (!p->lanes) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    for (int i = 0; i < p->end.lane_count; i++) {
        p->lanes[i] = (struct incoming){
            .receiver = p, .lane = &p->end.lanes[i], .ladder = { .stages = &stages, .ctx = &p->lanes[i], .depth = GF_FIFO_DEPTH },
        };
    }
    return GF_OK;
}

gf_status gf_net_receiver_connect(struct gf_net_receiver *p, const struct gf_blob *theirs, struct gf_reason *why)
{
    p->end.task = (struct gf_proxy_task){ .turn = turn, .ctx = p };
    return gf_net_end_connect(&p->end, theirs, why);
}

/* A lane whose rounds follow launches learns how many steps its channels have. */
static void announce_launch(struct incoming *in, const uint64_t *steps)
{
    assert(gf_host_observe(&in->launch.taken) == in->launch.count && "one launch at a time");
    for (int i = 0; i < in->lane->width; i++) {
        in->launch.steps[i] = steps[in->lane->first + i];
    }
    gf_host_publish(&in->launch.count, in->launch.count + 1);
}

void gf_net_receiver_expect(struct gf_net_receiver *p, const uint64_t *steps)
{
    gf_net_loan_expect(&p->end, steps);
    for (int i = 0; i < p->end.lane_count; i++) {
        uint64_t rounds = gf_net_rounds(p->lanes[i].lane, steps);

        if (rounds > 0 && follows(&p->lanes[i])) {
            announce_launch(&p->lanes[i], steps);
        }
        gf_proxy_expect(&p->lanes[i].ladder.target, rounds);
    }
    gf_host_publish_flag(&p->end.used, 1);
    gf_proxy_wake(p->end.c->proxy);
}

void gf_net_receiver_close(struct gf_net_receiver *p)
{
    if (!p) {
        return;
    }
    gf_net_end_close(&p->end);
    free(p->lanes);
    free(p);
}

struct gf_net_end *gf_net_receiver_end(struct gf_net_receiver *p)
{
    return &p->end;
}
