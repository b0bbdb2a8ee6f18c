/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sending end: what kernels have filled goes where credits allow it.
 *
 * The credit of a round says which channels it has, so the stage `grant` takes that; all of it is checked before anything is
 * put. Kernels do not wait for it, but where it decides whether they need the slot (net_loan.h).
 */
#include <stdlib.h>

#include "kernels/mutants.h"
#include "proxy/stages.h"
#include "transport/copy_engine.h"
#include "transport/net_credit.h"
#include "transport/net_end.h"
#include "transport/net_ends.h"
#include "transport/net_notice.h"

struct outgoing {
    struct gf_net_sender *sender;
    struct gf_net_lane *lane;
    uint64_t steps[GF_NET_GROUP];      /* of each channel, in rounds whose credits were taken */
    uint64_t credited;                 /* these rounds */
    uint32_t put;                      /* parts of the round being sent that are under way */
    struct gf_proxy_send ladder;
};

struct gf_net_sender {
    struct gf_net_end end;
    struct outgoing *lanes;            /* [end.lane_count] */
};

static gf_status refuse(struct gf_net_end *end, uint64_t round, const char *field, uint64_t value)
{
    gf_reason_set(&end->why, "rank %d sent a wrong credit for round %llu: its %s is %llu", end->c->peer,
                  (unsigned long long)round, field, (unsigned long long)value);
    return GF_ERR_PEER;
}

/* Line i of a credit of `count` lines, against what was agreed. */
static gf_status check_credit(struct outgoing *out, uint64_t round, uint32_t i, uint32_t count,
                              const struct gf_net_credit *credit)
{
    struct gf_net_end *end = &out->sender->end;
    const struct gf_net_lane *lane = out->lane;
    const struct gf_net_room *room = &end->peer;
    const struct gf_net_round *r = gf_net_round_of(out->lane, round);
    int first = i > 0 ? r->parts[i - 1].channel + 1 : lane->first;

    if (credit->count != count || count < 1 || count > (uint32_t)lane->width) {
        return refuse(end, round, "count", credit->count);
    }
    if (credit->channel < (uint32_t)first || credit->channel >= (uint32_t)(lane->first + lane->width)) {
        return refuse(end, round, "channel", credit->channel);
    }
    if (credit->flags & ~(uint32_t)GF_NET_CREDIT_OFFERS) {
        return refuse(end, round, "flags word", credit->flags);
    }
    if (credit->key != lane->peer.slots) {
        return refuse(end, round, "key", credit->key);
    }
    if (credit->bytes > end->c->shape.slot_bytes) {
        return refuse(end, round, "size", credit->bytes);
    }
    if (credit->address < room->slots || credit->address - room->slots > room->slots_bytes - credit->bytes) {
        return refuse(end, round, "address", credit->address);
    }
    return GF_OK;
}

/* Does this part go from buffer to buffer? */
static void answer_offer(const struct outgoing *out, const struct gf_net_credit *credit, struct gf_net_part *part)
{
    const struct gf_net_offer *offer = &credit->offer;

    if (credit->flags & GF_NET_CREDIT_OFFERS && gf_net_loan_place(&out->sender->end, part->channel, part->step, &part->own)
        && part->own.bytes == offer->bytes) {
        part->lent = true;
        part->bytes = offer->bytes;
        part->to = (struct gf_wire_place){ .address = offer->address, .key = offer->key };
    }
}

static void tell_kernel(struct outgoing *out, const struct gf_net_part *part)
{
    struct gf_net_end *end = &out->sender->end;

    gf_host_publish(gf_words_answer(end->words, &end->c->shape, part->channel, part->step), 2 * (part->step + 1) + part->lent);
    if (part->lent) {
        gf_host_publish_flag(&end->loan.agreed, 1);
    }
}

/* All lines of the credit of a round become its parts. */
static gf_status take_credit(struct outgoing *out, uint64_t round)
{
    struct gf_net_lane *lane = out->lane;
    struct gf_net_round *r = gf_net_round_of(lane, round);
    const char *lines = lane->wire->lines + (GF_NET_NOTICE_LINES + round % GF_FIFO_DEPTH * (uint64_t)lane->width) * GF_WIRE_LINE;
    uint32_t count = 1;

    for (uint32_t i = 0; i < count; i++) {
        struct gf_net_credit credit;
        gf_status status = gf_net_credit_take(lines + i * GF_WIRE_LINE, round, &credit);

        if (status < 0) {
            return refuse(&out->sender->end, round, "index", ((const struct gf_net_credit *)(const void *)lines)[i].first);
        }
        if (status != GF_OK) {
            return status;
        }
        count = i == 0 ? credit.count : count;
        status = check_credit(out, round, i, count, &credit);
        if (status != GF_OK) {
            return status;
        }
        r->parts[i] = (struct gf_net_part){
            .channel = (int)credit.channel, .step = out->steps[(int)credit.channel - lane->first],
            .bytes = (uint32_t)credit.bytes, .to = { .address = credit.address, .key = credit.key },
        };
        answer_offer(out, &credit, &r->parts[i]);
    }
    r->count = count;
    r->ended = 0;
    for (uint32_t i = 0; i < count; i++) {
        out->steps[r->parts[i].channel - lane->first]++;
        tell_kernel(out, &r->parts[i]);
    }
    out->credited = round + 1;
    return GF_OK;
}

/* Has the receiver room for the round? Whether this end's buffer will do is known when its launch is. */
static gf_status grant(void *ctx, uint64_t round)
{
    struct outgoing *out = ctx;

    if (out->sender->end.loan.on && round >= gf_host_observe(&out->ladder.target)) {
        return GF_IN_PROGRESS;
    }
    return take_credit(out, round);
}

/* Have the kernels filled all slots of the round? Then its parts have the lengths. */
static gf_status fill(void *ctx, uint64_t round)
{
    struct outgoing *out = ctx;
    struct gf_net_end *end = &out->sender->end;
    struct gf_net_round *r = gf_net_round_of(out->lane, round);
    gf_status status = GF_OK;

    for (uint32_t i = 0; i < r->count && status == GF_OK; i++) {
        bool filled = gf_host_observe(gf_words_tail(end->words, r->parts[i].channel)) > r->parts[i].step;

        status = filled ? GF_OK : GF_IN_PROGRESS;
    }
    for (uint32_t i = 0; i < r->count && status == GF_OK; i++) {
        uint32_t bytes = *gf_words_size(end->words, r->parts[i].channel, r->parts[i].step);

        if (bytes > r->parts[i].bytes) {
            gf_reason_set(&end->why, "a kernel filled %u bytes, and rank %d has room for %u", bytes, end->c->peer,
                          r->parts[i].bytes);
            return GF_ERR_INVALID;
        }
        r->parts[i].bytes = bytes;
    }
    return status;
}

/* As the receiver is told it. */
static uint32_t length_of(const struct gf_net_part *part)
{
    return part->bytes | (part->lent ? GF_SIZE_LENT : 0);
}

/* One step: with the notification, which carries its length. */
static gf_status send_one(struct outgoing *out, uint64_t round, struct gf_net_part *part)
{
    const struct gf_net_end *end = &out->sender->end;
    const struct gf_wire_ticket ticket = { &part->ended, round + 1 };
    const struct gf_wire_memory *memory;
    const char *from = gf_net_end_data(end, part, &memory);

    return end->wire->ops->put_notify(out->lane->wire, memory, from, &part->to, part->bytes, length_of(part), &ticket);
}

/* The lengths of several, with a notification. */
static gf_status send_sizes(struct outgoing *out, uint64_t round, struct gf_net_round *r)
{
    const struct gf_net_end *end = &out->sender->end;
    size_t offset = gf_net_sizes_offset(end, out->lane, round);
    const struct gf_wire_place to = { .address = end->peer.sizes + offset, .key = out->lane->peer.sizes };
    const struct gf_wire_ticket ticket = { &r->ended, round + 1 };
    uint32_t *sizes = (uint32_t *)(void *)(end->sizes.wire.address + offset);

    for (uint32_t i = 0; i < r->count; i++) {
        sizes[i] = length_of(&r->parts[i]);
    }
    return end->wire->ops->put_notify(out->lane->wire, &end->sizes.wire, sizes, &to, r->count * sizeof *sizes, r->count, &ticket);
}

/* Goes on where it had to stop. */
static gf_status send(void *ctx, uint64_t round)
{
    struct outgoing *out = ctx;
    const struct gf_net_end *end = &out->sender->end;
    struct gf_net_round *r = gf_net_round_of(out->lane, round);
    gf_status status = GF_OK;

    if (r->count == 1) {
        return send_one(out, round, &r->parts[0]);
    }
    for (; out->put < r->count && status == GF_OK; out->put += status == GF_OK) {
        struct gf_net_part *part = &r->parts[out->put];
        const struct gf_wire_ticket ticket = { &part->ended, round + 1 };
        const struct gf_wire_memory *memory;
        const char *from = gf_net_end_data(end, part, &memory);

        status = end->wire->ops->put(out->lane->wire, memory, from, &part->to, part->bytes, &ticket);
    }
    status = status == GF_OK ? send_sizes(out, round, r) : status;
    out->put = status == GF_OK ? 0 : out->put;
    return status;
}

/* The kernels get back what was put. */
static gf_status finish(void *ctx, uint64_t round)
{
    const struct outgoing *out = ctx;
    const struct gf_net_end *end = &out->sender->end;
    const struct gf_net_round *r = gf_net_round_of(out->lane, round);
    bool ended = r->count == 1 || r->ended == round + 1;

    for (uint32_t i = 0; i < r->count; i++) {
        ended = ended && r->parts[i].ended == round + 1;
    }
    if (!ended && GF_MUTANT != GF_MUTANT_NET_EARLY_HEAD) {
        return GF_IN_PROGRESS;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        gf_host_publish(gf_words_head(end->words, &end->c->shape, r->parts[i].channel), r->parts[i].step + 1);
    }
    return GF_OK;
}

static const struct gf_proxy_send_stages stages = { .grant = grant, .fill = fill, .send = send, .finish = finish };

static enum gf_proxy_turn climb(void *ctx, int lane, gf_status *status)
{
    struct gf_net_sender *s = ctx;

    return gf_proxy_send_turn(&s->lanes[lane].ladder, status);
}

static enum gf_proxy_turn turn(void *ctx)
{
    struct gf_net_sender *s = ctx;

    return gf_net_end_turn(&s->end, climb, s);
}

gf_status gf_net_sender_open(struct gf_connector *c, struct gf_net_sender **made, struct gf_blob *mine, struct gf_reason *why)
{
    struct gf_net_sender *s = calloc(1, sizeof *s);

    *made = s;
    if (!s) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    gf_status status = gf_net_end_open(&s->end, c, GF_FIFO_DEPTH, mine, why);

    if (status != GF_OK) {
        return status;
    }
    s->lanes = calloc((size_t)s->end.lane_count, sizeof *s->lanes);
    if (!s->lanes) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    for (int i = 0; i < s->end.lane_count; i++) {
        s->lanes[i] = (struct outgoing){
            .sender = s, .lane = &s->end.lanes[i], .ladder = { .stages = &stages, .ctx = &s->lanes[i], .depth = GF_FIFO_DEPTH },
        };
    }
    return GF_OK;
}

gf_status gf_net_sender_connect(struct gf_net_sender *s, const struct gf_blob *theirs, struct gf_reason *why)
{
    s->end.task = (struct gf_proxy_task){ .turn = turn, .ctx = s };
    return gf_net_end_connect(&s->end, theirs, why);
}

void gf_net_sender_expect(struct gf_net_sender *s, const uint64_t *steps)
{
    gf_net_loan_expect(&s->end, steps);
    for (int i = 0; i < s->end.lane_count; i++) {
        gf_proxy_expect(&s->lanes[i].ladder.target, gf_net_rounds(s->lanes[i].lane, steps));
    }
    gf_host_publish_flag(&s->end.used, 1);
    gf_proxy_wake(s->end.c->proxy);
}

void gf_net_sender_close(struct gf_net_sender *s)
{
    if (!s) {
        return;
    }
    gf_net_end_close(&s->end);
    free(s->lanes);
    free(s);
}

struct gf_net_end *gf_net_sender_end(struct gf_net_sender *s)
{
    return &s->end;
}
