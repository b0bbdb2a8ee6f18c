/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wire for tests: sending. Receiving is in soft_receive.c.
 */
#include "tests/support/soft_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/host_ordered.h"
#include "tests/unit/scalar.h"

struct gftest_soft_wants gftest_soft_wants;

bool soft_chance(struct soft_wire *wire, unsigned of)
{
    return scalar_random(&wire->random) % of == 0;
}

void soft_break(struct soft_lane *lane, const char *text)
{
    struct soft_box *boxes[] = { lane->own.address, lane->peer.address };

    for (int i = 0; i < 2; i++) {
        if (boxes[i] && gf_host_claim(&boxes[i]->broken, SOFT_BREAKING)) {
            strncpy(boxes[i]->text, text, sizeof boxes[i]->text - 1);
            gf_host_publish_flag(&boxes[i]->broken, SOFT_BROKEN);
        }
    }
}

bool soft_is_broken(const struct soft_lane *lane)
{
    return gf_host_observe_flag(&((const struct soft_box *)lane->own.address)->broken) == SOFT_BROKEN;
}

bool soft_drops(struct soft_lane *lane, enum gftest_soft_kind kind)
{
    uint32_t *left = &gftest_soft_wants.drop[kind];

    if (__atomic_load_n(left, __ATOMIC_RELAXED) > 0 && __atomic_sub_fetch(left, 1, __ATOMIC_RELAXED) == 0) {
        soft_break(lane, "the test has dropped the lane");
    }
    return soft_is_broken(lane);
}

static gf_status wire_open(const struct gf_wire_config *config, struct gf_wire **made, struct gf_reason *why)
{
    (void)config;
    if (gftest_soft_wants.closed) {
        gf_reason_set(why, "the test has no such network");
        return GF_ERR_UNSUPPORTED;
    }
    struct soft_wire *wire = calloc(1, sizeof *wire);

    wire->base = (struct gf_wire){
        .ops = &gftest_soft_wire, .name = "soft wire",
        .caps = { .device_memory = !gftest_soft_wants.no_device_memory, .dmabuf = true, .flush = !gftest_soft_wants.no_flush,
                  .put_bytes = gftest_soft_wants.put_bytes ? gftest_soft_wants.put_bytes : 1u << 30,
                  .adapters = gftest_soft_wants.adapters > 0 ? gftest_soft_wants.adapters : SOFT_ADAPTERS },
    };
    wire->random = __atomic_add_fetch(&gftest_soft_wants.seed, 1, __ATOMIC_RELAXED);
    pthread_mutex_init(&wire->lock, NULL);
    *made = &wire->base;
    return GF_OK;
}

static void release(struct soft_lane *lane)
{
    soft_forget_hidden(lane);
    gf_segment_close(&lane->own);
    gf_segment_close(&lane->peer);
    free(lane);
}

static void wire_close(struct gf_wire *base)
{
    struct soft_wire *wire = (struct soft_wire *)base;

    while (wire->lanes && wire->lanes->closed) {
        struct soft_lane *lane = wire->lanes;

        wire->lanes = lane->next;
        release(lane);
    }
    if (wire->lanes || wire->memories > 0) {
        abort();
    }
    pthread_mutex_destroy(&wire->lock);
    free(wire);
}

/* A dma-buf of the test's device says where it begins (copied_device.c). */
static bool is_dmabuf_of(const struct gf_wire_range *range)
{
    const void *address = NULL;

    return pread(range->dmabuf, &address, sizeof address, (off_t)range->dmabuf_offset) == (ssize_t)sizeof address
        && address == range->address;
}

static bool refuses(const struct gf_wire_range *range)
{
    if (range->dmabuf < 0) {
        return range->device ? gftest_soft_wants.refuse_device : gftest_soft_wants.refuse_host;
    }
    if (!is_dmabuf_of(range)) {
        abort();
    }
    __atomic_fetch_add(&gftest_soft_wants.dmabufs, !gftest_soft_wants.refuse_dmabuf, __ATOMIC_RELAXED);
    return gftest_soft_wants.refuse_dmabuf;
}

static gf_status register_memory(struct gf_wire *base, const struct gf_wire_range *range, struct gf_wire_memory *memory,
                                 struct gf_reason *why)
{
    struct soft_wire *wire = (struct soft_wire *)base;
    struct soft_memory *handle = calloc(1, sizeof *handle);

    if (refuses(range)) {
        free(handle);
        gf_reason_set(why, "the test does not let this %s be registered", range->dmabuf >= 0 ? "dma-buf" : "memory");
        return GF_ERR_UNSUPPORTED;
    }
    pthread_mutex_lock(&wire->lock);
    *handle = (struct soft_memory){ .memory = memory, .device = range->device };
    __atomic_fetch_add(&gftest_soft_wants.registrations, 1, __ATOMIC_RELAXED);
    *memory = (struct gf_wire_memory){ .address = range->address, .bytes = range->bytes, .handle = handle };
    for (int i = 0; i < SOFT_ADAPTERS; i++) {
        memory->key[i] = ++wire->keys;
    }
    wire->memories++;
    pthread_mutex_unlock(&wire->lock);
    return GF_OK;
}

static void forget(struct gf_wire *base, struct gf_wire_memory *memory)
{
    struct soft_wire *wire = (struct soft_wire *)base;

    pthread_mutex_lock(&wire->lock);
    wire->memories--;
    for (struct soft_lane *lane = wire->lanes; lane; lane = lane->next) {
        soft_withdraw(lane, memory);
    }
    pthread_mutex_unlock(&wire->lock);
    free(memory->handle);
}

static gf_status create(struct gf_wire *base, unsigned number, uint32_t line_count, struct gf_wire_lane **made,
                        struct gf_wire_address *mine, struct gf_reason *why)
{
    struct soft_wire *wire = (struct soft_wire *)base;
    struct soft_lane *lane = calloc(1, sizeof *lane);
    struct gf_segment_name name;
    gf_status status = gf_segment_create(sizeof(struct soft_box) + line_count * GF_WIRE_LINE, &lane->own, &name, why);

    if (status != GF_OK) {
        free(lane);
        return status;
    }
    lane->base = (struct gf_wire_lane){ .wire = base, .lines = ((struct soft_box *)lane->own.address)->lines,
                                        .line_count = line_count, .adapter = (int)(number % (unsigned)base->caps.adapters) };
    ((struct soft_box *)lane->own.address)->adapter = lane->base.adapter;
    snprintf(lane->base.name, sizeof lane->base.name, "%s", base->name);
    memcpy(mine->data, &name, sizeof name);
    mine->bytes = sizeof name;
    pthread_mutex_lock(&wire->lock);
    lane->next = wire->lanes;
    wire->lanes = lane;
    pthread_mutex_unlock(&wire->lock);
    *made = &lane->base;
    return GF_OK;
}

static gf_status connect(struct gf_wire_lane *base, const struct gf_wire_address *theirs, struct gf_reason *why)
{
    struct soft_wire *wire = (struct soft_wire *)base->wire;
    struct soft_lane *lane = (struct soft_lane *)base;
    struct gf_segment_name name;

    if (theirs->bytes != sizeof name) {
        gf_reason_set(why, "this is no address of a soft wire");
        return GF_ERR_PEER;
    }
    memcpy(&name, theirs->data, sizeof name);
    pthread_mutex_lock(&wire->lock);
    gf_status status = gf_segment_attach(&name, &lane->peer, why);

    pthread_mutex_unlock(&wire->lock);
    if (status == GF_OK && ((struct soft_box *)lane->peer.address)->adapter != base->adapter) {
        gf_reason_set(why, "soft adapter %d is not on the network of the peer's", base->adapter);
        return GF_ERR_PEER;
    }
    return status;
}

/* One that has not broken goes on to take what the peer puts; what this end has begun is lost. */
static void destroy(struct gf_wire_lane *base, bool broken)
{
    struct soft_wire *wire = (struct soft_wire *)base->wire;
    struct soft_lane *lane = (struct soft_lane *)base, **link = &wire->lanes;

    pthread_mutex_lock(&wire->lock);
    while (*link != lane) {
        link = &(*link)->next;
    }
    *link = lane->next;
    lane->closed = lane->peer.address && !broken && !soft_is_broken(lane);
    if (lane->closed) {
        lane->ended = lane->begun;
        for (link = &wire->lanes; *link; link = &(*link)->next) {
        }
        lane->next = NULL;
        *link = lane;
    }
    pthread_mutex_unlock(&wire->lock);
    if (!lane->closed) {
        release(lane);
    }
}

/* A new operation, or null: there is no room for it, or it is broken. */
static struct soft_op *begin(struct soft_lane *lane, enum gftest_soft_kind kind, gf_status *status)
{
    struct soft_wire *wire = (struct soft_wire *)lane->base.wire;

    *status = GF_NO_RESOURCE;
    if (lane->begun - lane->ended == SOFT_OPS || soft_chance(wire, 6)) {
        return NULL;
    }
    if (soft_drops(lane, kind)) {
        *status = GF_ERR_PEER;
        return NULL;
    }
    struct soft_op *op = &lane->ops[lane->begun++ % SOFT_OPS];

    *op = (struct soft_op){ .kind = kind, .delay = (unsigned)scalar_random(&wire->random) % 4 };
    *status = GF_OK;
    return op;
}

static gf_status begin_put(struct gf_wire_lane *base, const struct gf_wire_memory *memory, const void *from,
                           const struct gf_wire_place *to, size_t bytes, enum gftest_soft_kind kind, uint32_t immediate,
                           const struct gf_wire_ticket *ticket)
{
    struct soft_wire *wire = (struct soft_wire *)base->wire;
    struct soft_lane *lane = (struct soft_lane *)base;
    const char *source = from;
    gf_status status;

    if (bytes > 0 && (source < memory->address || source + bytes > memory->address + memory->bytes)) {
        abort();
    }
    pthread_mutex_lock(&wire->lock);
    struct soft_op *op = begin(lane, kind, &status);

    if (op) {
        op->from = source;
        op->to = *to;
        op->bytes = bytes;
        op->immediate = immediate;
        op->ticket = *ticket;
        wire->counts.puts += kind == GFTEST_SOFT_PUT;
        wire->counts.notifies += kind == GFTEST_SOFT_NOTIFY;
    }
    pthread_mutex_unlock(&wire->lock);
    return status;
}

static gf_status put(struct gf_wire_lane *lane, const struct gf_wire_memory *memory, const void *from,
                     const struct gf_wire_place *to, size_t bytes, const struct gf_wire_ticket *ticket)
{
    return begin_put(lane, memory, from, to, bytes, GFTEST_SOFT_PUT, 0, ticket);
}

static gf_status put_notify(struct gf_wire_lane *lane, const struct gf_wire_memory *memory, const void *from,
                            const struct gf_wire_place *to, size_t bytes, uint32_t immediate, const struct gf_wire_ticket *ticket)
{
    return begin_put(lane, memory, from, to, bytes, GFTEST_SOFT_NOTIFY, immediate, ticket);
}

static gf_status put_lines(struct gf_wire_lane *base, uint32_t index, const void *lines, uint32_t count)
{
    struct soft_wire *wire = (struct soft_wire *)base->wire;
    struct soft_lane *lane = (struct soft_lane *)base;
    gf_status status;

    pthread_mutex_lock(&wire->lock);
    struct soft_op *op = begin(lane, GFTEST_SOFT_LINES, &status);

    if (op) {
        op->index = index;
        op->bytes = (size_t)count * GF_WIRE_LINE;
        memcpy(op->lines, lines, op->bytes);
        wire->counts.line_puts++;
    }
    pthread_mutex_unlock(&wire->lock);
    return status;
}

static gf_status flush(struct gf_wire_lane *base, const struct gf_wire_memory *memory, const void *at,
                       const struct gf_wire_ticket *ticket)
{
    struct soft_wire *wire = (struct soft_wire *)base->wire;
    struct soft_lane *lane = (struct soft_lane *)base;
    gf_status status;

    (void)memory;
    (void)at;
    pthread_mutex_lock(&wire->lock);
    struct soft_op *op = begin(lane, GFTEST_SOFT_FLUSH, &status);

    if (op) {
        op->ticket = *ticket;
        op->taken = lane->taken;
        wire->counts.flushes++;
    }
    pthread_mutex_unlock(&wire->lock);
    return status;
}

/* Into the peer's ring, as far as there is room. True: all of it is out. */
static bool transmit(struct soft_lane *lane, struct soft_op *op)
{
    struct soft_box *box = lane->peer.address;
    bool notifies = op->kind == GFTEST_SOFT_NOTIFY;

    do {
        uint64_t sent = box->sent;

        if (sent - gf_host_observe(&box->taken) == SOFT_PACKETS) {
            return false;
        }
        struct soft_packet *packet = &box->packets[sent % SOFT_PACKETS];
        size_t left = op->bytes - op->moved, bytes = left < SOFT_PAYLOAD ? left : SOFT_PAYLOAD;

        *packet = (struct soft_packet){ .bytes = (uint32_t)bytes, .notifies = notifies && bytes == left, .key = op->to.key,
                                        .address = op->to.address + op->moved, .immediate = op->immediate };
        memcpy(packet->data, bytes > 0 ? op->from + op->moved : packet->data, bytes);
        if (gftest_soft_wants.tamper) {
            gftest_soft_wants.tamper(op->kind, packet->data, bytes, &packet->immediate);
        }
        op->moved += bytes;
        gf_host_publish(&box->sent, sent + 1);
    } while (op->moved < op->bytes);
    return true;
}

/* One of the two outer words first, all else of the lines, in the end the other outer word. True: they are whole. */
static bool write_lines(struct soft_lane *lane, struct soft_op *op)
{
    uint64_t *to = (uint64_t *)(void *)(((struct soft_box *)lane->peer.address)->lines + (size_t)op->index * GF_WIRE_LINE);
    uint64_t *from = op->lines;
    size_t words = op->bytes / sizeof *from, a_line = GF_WIRE_LINE / sizeof *from;
    bool backwards = op->index % 2;

    if (op->moved == 0 && gftest_soft_wants.tamper) {
        gftest_soft_wants.tamper(op->kind, from, op->bytes, &op->immediate);
    }
    for (size_t i = 0; i < words; i++) {
        bool outer = i % a_line == (backwards ? a_line - 1 : 0), last = i % a_line == (backwards ? 0 : a_line - 1);

        if (op->moved == 0 ? outer : op->moved == 1 ? !outer && !last : last) {
            gf_host_publish(&to[i], from[i]);
        }
    }
    return ++op->moved == 3;
}

/* An operation goes a step further. True: it has ended. */
static bool carry_on(struct soft_lane *lane, struct soft_op *op)
{
    if (op->delay > 0) {
        op->delay--;
        return false;
    }
    if (op->out) {
        return true;
    }
    if (op->kind == GFTEST_SOFT_FLUSH) {
        soft_show_hidden(lane, op->taken);
        return true;
    }
    op->out = op->kind == GFTEST_SOFT_LINES ? write_lines(lane, op) : transmit(lane, op);
    op->delay = op->out ? (unsigned)scalar_random(&((struct soft_wire *)lane->base.wire)->random) % 6 : 1;
    return false;
}

/* Data leave in the order of their operations; lines and flushes do not wait for them. */
static bool move_operations(struct soft_lane *lane)
{
    bool moved = false, waits = false;

    for (uint64_t i = lane->ended; i < lane->begun && !soft_is_broken(lane); i++) {
        struct soft_op *op = &lane->ops[i % SOFT_OPS];
        bool data = op->kind == GFTEST_SOFT_PUT || op->kind == GFTEST_SOFT_NOTIFY;

        if (op->kind == SOFT_FREE || (data && waits)) {
            continue;
        }
        if (carry_on(lane, op)) {
            if (op->ticket.word) {
                *op->ticket.word = op->ticket.value;
            }
            op->kind = SOFT_FREE;
            moved = true;
        }
        waits = waits || (data && op->kind != SOFT_FREE && !op->out);
    }
    while (lane->ended < lane->begun && lane->ops[lane->ended % SOFT_OPS].kind == SOFT_FREE) {
        lane->ended++;
    }
    return moved;
}

static bool progress(struct gf_wire *base)
{
    struct soft_wire *wire = (struct soft_wire *)base;
    bool moved = false;

    pthread_mutex_lock(&wire->lock);
    for (struct soft_lane *lane = wire->lanes; lane; lane = lane->next) {
        if (lane->peer.address && !soft_is_broken(lane)) {
            moved |= move_operations(lane);
            moved |= soft_receive(lane);
        }
    }
    pthread_mutex_unlock(&wire->lock);
    return moved;
}

static gf_status state(struct gf_wire_lane *base, struct gf_reason *why)
{
    const struct soft_lane *lane = (const struct soft_lane *)base;

    if (!soft_is_broken(lane)) {
        return GF_OK;
    }
    gf_reason_set(why, "soft wire: %s", ((const struct soft_box *)lane->own.address)->text);
    return GF_ERR_PEER;
}

static const struct gf_wire_counts *counts(const struct gf_wire *base)
{
    return &((const struct soft_wire *)base)->counts;
}

const struct gf_wire_ops gftest_soft_wire = {
    .name = "soft", .open = wire_open, .close = wire_close, .register_memory = register_memory, .forget = forget,
    .create = create, .connect = connect, .destroy = destroy, .announce = soft_announce, .put = put,
    .put_notify = put_notify, .put_lines = put_lines, .expect = soft_expect, .take = soft_take, .flush = flush,
    .state = state, .progress = progress, .counts = counts,
};
