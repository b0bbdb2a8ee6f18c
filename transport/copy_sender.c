/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sending end of FIFOs that the host copies: a send ladder (proxy/stages.h) a channel.
 */
#include <stdlib.h>

#include "core/host_ordered.h"
#include "kernels/mutants.h"
#include "transport/copy_engine.h"

struct channel {
    struct gf_copy_sender *sender;
    int number;
    uint64_t copied;                   /* copies that have ended */
    struct gf_proxy_send ladder;
};

/* Fixed when connected, but for what the ladders say. The proxy's thread uses it until the task is removed. */
struct gf_copy_sender {
    struct gf_connector *c;
    void *slots;                       /* device memory */
    void *words;                       /* pinned: the kernel's tails, sizes and heads */
    char *peer_slots, *peer_words;
    struct gf_copies copies;
    struct channel *channels;          /* [c->shape.channels] */
    struct gf_proxy_task task;
};

/* The kernel finds room for `step`. */
static gf_status grant(void *ctx, uint64_t step)
{
    const struct channel *channel = ctx;
    const struct gf_copy_sender *s = channel->sender;

    gf_host_publish(gf_words_head(s->words, &s->c->shape, channel->number), gf_head_for(step));
    return GF_OK;
}

static gf_status fill(void *ctx, uint64_t step)
{
    const struct channel *channel = ctx;

    return gf_host_observe(gf_words_tail(channel->sender->words, channel->number)) > step ? GF_OK : GF_IN_PROGRESS;
}

static gf_status send(void *ctx, uint64_t step)
{
    struct channel *channel = ctx;
    struct gf_copy_sender *s = channel->sender;
    const struct gf_connector_shape *shape = &s->c->shape;
    uint32_t bytes = *gf_words_size(s->words, channel->number, step);

    if (bytes > shape->slot_bytes) {
        return GF_ERR_INVALID;
    }
    if (GF_MUTANT != GF_MUTANT_COPY_NO_CREDIT
        && gf_host_observe(gf_words_head(s->peer_words, shape, channel->number)) < gf_head_for(step)) {
        return GF_IN_PROGRESS;
    }
    return gf_copies_start(&s->copies, gf_slot_of(s->peer_slots, shape, channel->number, step),
                           gf_slot_of(s->slots, shape, channel->number, step), bytes, &channel->copied);
}

static gf_status finish(void *ctx, uint64_t step)
{
    const struct channel *channel = ctx;
    const struct gf_copy_sender *s = channel->sender;

    if (channel->copied <= step && GF_MUTANT != GF_MUTANT_COPY_EARLY_TAIL) {
        return GF_IN_PROGRESS;
    }
    gf_words_pass(s->peer_words, s->words, channel->number, step);
    return GF_OK;
}

static const struct gf_proxy_send_stages stages = { .grant = grant, .fill = fill, .send = send, .finish = finish };

static enum gf_proxy_turn turn(void *ctx)
{
    struct gf_copy_sender *s = ctx;
    enum gf_proxy_turn most = GF_PROXY_IDLE;

    if (!gf_copies_alive(&s->copies)) {
        return GF_PROXY_IDLE;
    }
    gf_status status = gf_copies_collect(&s->copies);

    for (int i = 0; i < s->c->shape.channels && status == GF_OK; i++) {
        enum gf_proxy_turn one = gf_proxy_send_turn(&s->channels[i].ladder, &status);

        most = one > most ? one : most;
    }
    if (status != GF_OK) {
        gf_copies_fail(&s->copies, status);
        return GF_PROXY_IDLE;
    }
    return most;
}

static gf_status make_channels(struct gf_copy_sender *s, struct gf_reason *why)
{
    s->channels = calloc((size_t)s->c->shape.channels, sizeof *s->channels);
    if (!s->channels) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    for (int i = 0; i < s->c->shape.channels; i++) {
        s->channels[i] = (struct channel){
            .sender = s, .number = i,
            .ladder = { .stages = &stages, .ctx = &s->channels[i], .depth = GF_FIFO_DEPTH },
        };
    }
    return GF_OK;
}

gf_status gf_copy_sender_open(struct gf_connector *c, struct gf_copy_sender **made, struct gf_reason *why)
{
    struct gf_copy_sender *s = calloc(1, sizeof *s);

    *made = s;
    if (!s) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    s->c = c;
    s->task = (struct gf_proxy_task){ .turn = turn, .ctx = s };
    gf_status status = gf_copies_check(c, why);

    if (status == GF_OK) {
        status = make_channels(s, why);
    }
    if (status == GF_OK) {
        status = gf_slots_alloc(c, &s->slots, why);
    }
    if (status == GF_OK) {
        status = gf_device_pinned_alloc(c->device, gf_words_bytes(&c->shape), &s->words, why);
        s->words = status == GF_OK ? s->words : NULL;
    }
    return status == GF_OK ? gf_copies_open(&s->copies, c, why) : status;
}

gf_status gf_copy_sender_connect(struct gf_copy_sender *s, char *peer_slots, char *peer_words, struct gf_reason *why)
{
    gf_status status = gf_copied_endpoint(s->c, s->slots, s->words, why);

    s->peer_slots = peer_slots;
    s->peer_words = peer_words;
    return status == GF_OK ? gf_proxy_add(s->c->proxy, &s->task, why) : status;
}

void gf_copy_sender_expect(struct gf_copy_sender *s, const uint64_t *steps)
{
    for (int i = 0; i < s->c->shape.channels; i++) {
        gf_proxy_expect(&s->channels[i].ladder.target, steps[i]);
    }
    gf_proxy_wake(s->c->proxy);
}

void gf_copy_sender_close(struct gf_copy_sender *s)
{
    if (!s) {
        return;
    }
    if (s->c->proxy) {
        gf_proxy_remove(s->c->proxy, &s->task);
    }
    gf_copies_close(&s->copies);
    if (s->words) {
        gf_device_pinned_free(s->c->device, s->words);
    }
    if (s->slots) {
        gf_device_free(s->c->device, s->slots);
    }
    free(s->channels);
    free(s);
}
