/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shm_copy: for devices that cannot see each other and shall not store to host memory by kernels either. The sender's proxy
 * copies from its device into slots of shared host memory; the receiver's proxy copies from there into slots of its own device.
 * No kernel touches payload in host memory, and neither process touches the other's device.
 *
 *   receiver's segment:   the kernel's words | the wire's words | slots
 *
 * The kernel's words are between the receiver's kernel and its proxy, the wire's between the two proxies.
 */
#include "transport/transport.h"

#include <stdlib.h>
#include <string.h>

#include "core/host_ordered.h"
#include "kernels/mutants.h"
#include "transport/copy_engine.h"
#include "transport/part.h"

struct blob {
    struct gf_wire_shape shape;
    struct gf_segment_name memory;     /* of a receiver */
};
_Static_assert(sizeof(struct blob) <= GF_BLOB_BYTES, "the description fits a blob");

struct channel {
    struct shm_copy *end;
    int number;
    uint64_t copied;                   /* copies that have ended */
    struct gf_proxy_recv ladder;
};

/* Owner: the connector. The proxy's thread uses what a receiver has until the task is removed. */
struct shm_copy {
    struct gf_connector *c;
    struct gf_part memory;             /* the receiver's segment, at both ends */
    struct gf_copy_sender *sender;     /* null at the receiver; there: */
    void *slots;                       /* device memory */
    struct gf_copies copies;
    struct channel *channels;          /* [c->shape.channels] */
    struct gf_proxy_task task;
};

static char *kernel_words(const struct shm_copy *p) { return p->memory.segment.address; }
static char *wire_words(const struct shm_copy *p) { return kernel_words(p) + gf_words_bytes(&p->c->shape); }
static char *shared_slots(const struct shm_copy *p) { return wire_words(p) + gf_words_bytes(&p->c->shape); }

static size_t segment_bytes(const struct gf_connector_shape *shape)
{
    return 2 * gf_words_bytes(shape) + gf_layout_slots_bytes(shape);
}

/* The sender's proxy finds room for `step`, here and in the slot of the device behind it: so no step is ever held up between. */
static gf_status post(void *ctx, uint64_t step)
{
    const struct channel *channel = ctx;

    gf_host_publish(gf_words_head(wire_words(channel->end), &channel->end->c->shape, channel->number), gf_head_for(step));
    return GF_OK;
}

static gf_status arrive(void *ctx, uint64_t step)
{
    struct channel *channel = ctx;
    struct shm_copy *p = channel->end;
    const struct gf_connector_shape *shape = &p->c->shape;

    if (gf_host_observe(gf_words_tail(wire_words(p), channel->number)) <= step) {
        return GF_IN_PROGRESS;
    }
    uint32_t bytes = *gf_words_size(wire_words(p), channel->number, step);

    if (bytes > shape->slot_bytes) {
        return GF_ERR_PEER;
    }
    return gf_copies_start(&p->copies, gf_slot_of(p->slots, shape, channel->number, step),
                           gf_slot_of(shared_slots(p), shape, channel->number, step), bytes, &channel->copied);
}

/* The end of the copy is the flush: its data are in the device's memory then. */
static gf_status flush(void *ctx, uint64_t step)
{
    const struct channel *channel = ctx;

    return channel->copied > step || GF_MUTANT == GF_MUTANT_COPY_EARLY_READY ? GF_OK : GF_IN_PROGRESS;
}

static gf_status ready(void *ctx, uint64_t step)
{
    const struct channel *channel = ctx;
    const struct shm_copy *p = channel->end;

    gf_words_pass(kernel_words(p), wire_words(p), channel->number, step);
    return GF_OK;
}

static gf_status finish(void *ctx, uint64_t step)
{
    const struct channel *channel = ctx;
    const struct shm_copy *p = channel->end;

    return gf_host_observe(gf_words_head(kernel_words(p), &p->c->shape, channel->number)) > step ? GF_OK : GF_IN_PROGRESS;
}

static const struct gf_proxy_recv_stages stages = {
    .post = post, .arrive = arrive, .flush = flush, .ready = ready, .finish = finish,
};

static enum gf_proxy_turn turn(void *ctx)
{
    struct shm_copy *p = ctx;
    enum gf_proxy_turn most = GF_PROXY_IDLE;

    if (!gf_copies_alive(&p->copies)) {
        return GF_PROXY_IDLE;
    }
    gf_status status = gf_copies_collect(&p->copies);

    for (int i = 0; i < p->c->shape.channels && status == GF_OK; i++) {
        enum gf_proxy_turn one = gf_proxy_recv_turn(&p->channels[i].ladder, &status);

        most = one > most ? one : most;
    }
    if (status != GF_OK) {
        gf_copies_fail(&p->copies, status);
        return GF_PROXY_IDLE;
    }
    return most;
}

static gf_status open_receiver(struct shm_copy *p, struct blob *blob, struct gf_reason *why)
{
    struct gf_connector *c = p->c;
    gf_status status = gf_copies_check(c, why);

    p->task = (struct gf_proxy_task){ .turn = turn, .ctx = p };
    if (status != GF_OK) {
        return status;
    }
    p->channels = calloc((size_t)c->shape.channels, sizeof *p->channels);
    if (!p->channels) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    for (int i = 0; i < c->shape.channels; i++) {
        p->channels[i] = (struct channel){
            .end = p, .number = i, .ladder = { .stages = &stages, .ctx = &p->channels[i], .depth = GF_FIFO_DEPTH },
        };
    }
    status = gf_slots_alloc(c, &p->slots, why);
    if (status == GF_OK) {
        status = gf_part_create(c, segment_bytes(&c->shape), &p->memory, &blob->memory, why);
    }
    return status == GF_OK ? gf_copies_open(&p->copies, c, why) : status;
}

static gf_status setup(struct gf_connector *c, struct gf_blob *mine, struct gf_reason *why)
{
    struct shm_copy *p = calloc(1, sizeof *p);
    struct blob blob = { 0 };

    if (!p) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    c->private = p;
    p->c = c;
    gf_connector_describe(c, gf_connector_own_bytes(c), &blob.shape);
    gf_status status = c->is_sender ? gf_copy_sender_open(c, &p->sender, why) : open_receiver(p, &blob, why);

    memcpy(mine->bytes, &blob, sizeof blob);
    return status;
}

static gf_status connect(struct gf_connector *c, const struct gf_blob *blob, struct gf_reason *why)
{
    struct shm_copy *p = c->private;
    struct blob theirs;

    memcpy(&theirs, blob->bytes, sizeof theirs);
    gf_status status = gf_connector_check(c, &theirs.shape, why);

    if (status != GF_OK) {
        return status;
    }
    if (c->is_sender) {
        status = gf_part_attach(c, &theirs.memory, segment_bytes(&c->shape), &p->memory, why);
        return status == GF_OK ? gf_copy_sender_connect(p->sender, shared_slots(p), wire_words(p), why) : status;
    }
    status = gf_copied_endpoint(c, p->slots, kernel_words(p), why);
    return status == GF_OK ? gf_proxy_add(c->proxy, &p->task, why) : status;
}

static void expect(struct gf_connector *c, const uint64_t *steps)
{
    struct shm_copy *p = c->private;

    if (p->sender) {
        gf_copy_sender_expect(p->sender, steps);
        return;
    }
    for (int i = 0; i < c->shape.channels; i++) {
        gf_proxy_expect(&p->channels[i].ladder.target, steps[i]);
    }
    gf_proxy_wake(c->proxy);
}

static void destroy(struct gf_connector *c)
{
    struct shm_copy *p = c->private;

    if (!p) {
        return;
    }
    gf_copy_sender_close(p->sender);
    if (c->proxy) {
        gf_proxy_remove(c->proxy, &p->task);
    }
    gf_copies_close(&p->copies);
    if (p->slots) {
        gf_device_free(c->device, p->slots);
    }
    gf_part_release(c, &p->memory);
    free(p->channels);
    free(p);
    c->private = NULL;
}

const struct gf_transport gf_transport_shm_copy = {
    .name = "shm_copy", .id = GF_TRANSPORT_SHM_COPY, .on_request = true,
    .setup = setup, .connect = connect, .expect = expect, .destroy = destroy,
};
