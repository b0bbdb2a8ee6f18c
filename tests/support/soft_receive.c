/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wire for tests: receiving.
 */
#include <stdlib.h>
#include <string.h>

#include "core/host_ordered.h"
#include "tests/support/soft_private.h"
#include "tests/unit/scalar.h"

enum { RUBBISH = 0xd5 };

gf_status soft_announce(struct gf_wire_lane *base, const struct gf_wire_memory *memory)
{
    struct soft_wire *wire = (struct soft_wire *)base->wire;
    struct soft_lane *lane = (struct soft_lane *)base;

    pthread_mutex_lock(&wire->lock);
    bool later = soft_chance(wire, 3), known = false;

    for (int i = 0; i < lane->announcements; i++) {
        known = known || lane->announced[i].memory == memory;
    }
    if (!later && !known) {
        if (lane->announcements == SOFT_ANNOUNCED) {
            abort();
        }
        lane->announced[lane->announcements++] = *(struct soft_memory *)memory->handle;
    }
    pthread_mutex_unlock(&wire->lock);
    return later ? GF_NO_RESOURCE : GF_OK;
}

void soft_withdraw(struct soft_lane *lane, const struct gf_wire_memory *memory)
{
    for (int i = 0; i < lane->announcements; i++) {
        if (lane->announced[i].memory == memory) {
            lane->announced[i] = lane->announced[--lane->announcements];
            return;
        }
    }
}

gf_status soft_expect(struct gf_wire_lane *base)
{
    struct soft_wire *wire = (struct soft_wire *)base->wire;
    struct soft_lane *lane = (struct soft_lane *)base;

    pthread_mutex_lock(&wire->lock);
    bool later = soft_chance(wire, 8);

    lane->expected += !later;
    pthread_mutex_unlock(&wire->lock);
    return later ? GF_NO_RESOURCE : GF_OK;
}

bool soft_take(struct gf_wire_lane *base, uint32_t *immediate)
{
    struct soft_wire *wire = (struct soft_wire *)base->wire;
    struct soft_lane *lane = (struct soft_lane *)base;

    pthread_mutex_lock(&wire->lock);
    bool there = lane->taken < lane->delivered && !soft_drops(lane, GFTEST_SOFT_TAKE);

    if (there) {
        *immediate = lane->immediates[lane->taken++ % 64];
    }
    pthread_mutex_unlock(&wire->lock);
    return there;
}

static void hide(struct soft_lane *lane, char *to, const char *data, size_t bytes)
{
    struct soft_hidden *hidden = malloc(sizeof *hidden + bytes);

    *hidden = (struct soft_hidden){ .next = lane->hidden, .to = to, .bytes = bytes, .notification = lane->delivered };
    memcpy(hidden->data, data, bytes);
    lane->hidden = hidden;
    memset(to, RUBBISH, bytes);
}

void soft_show_hidden(struct soft_lane *lane, uint64_t taken)
{
    for (struct soft_hidden **link = &lane->hidden; *link; ) {
        struct soft_hidden *hidden = *link;

        if (hidden->notification >= taken) {
            link = &hidden->next;
            continue;
        }
        memcpy(hidden->to, hidden->data, hidden->bytes);
        *link = hidden->next;
        free(hidden);
    }
}

void gftest_soft_show(struct gf_wire *base)
{
    struct soft_wire *wire = (struct soft_wire *)base;

    pthread_mutex_lock(&wire->lock);
    for (struct soft_lane *lane = wire->lanes; lane; lane = lane->next) {
        soft_show_hidden(lane, lane->taken);
    }
    pthread_mutex_unlock(&wire->lock);
}

static bool overlap(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

static bool lane_may_touch(const struct soft_lane *lane, const char *begin, size_t bytes)
{
    bool may = false;

    for (uint64_t i = lane->ended; i < lane->begun; i++) {
        const struct soft_op *op = &lane->ops[i % SOFT_OPS];

        may = may || (op->kind != SOFT_FREE && op->from && overlap(op->from, op->bytes, begin, bytes));
    }
    for (const struct soft_hidden *hidden = lane->hidden; hidden; hidden = hidden->next) {
        may = may || overlap(hidden->to, hidden->bytes, begin, bytes);
    }
    for (int i = 0; i < lane->announcements; i++) {
        const struct gf_wire_memory *memory = lane->announced[i].memory;

        may = may || overlap(memory->address, memory->bytes, begin, bytes);
    }
    return may;
}

bool gftest_soft_may_touch(struct gf_wire *base, const char *begin, size_t bytes)
{
    struct soft_wire *wire = (struct soft_wire *)base;
    bool may = false;

    pthread_mutex_lock(&wire->lock);
    for (const struct soft_lane *lane = wire->lanes; lane; lane = lane->next) {
        may = may || lane_may_touch(lane, begin, bytes);
    }
    pthread_mutex_unlock(&wire->lock);
    return may;
}

bool gftest_soft_is_idle(struct gf_wire *base)
{
    struct soft_wire *wire = (struct soft_wire *)base;
    bool idle = true;

    pthread_mutex_lock(&wire->lock);
    for (const struct soft_lane *lane = wire->lanes; lane; lane = lane->next) {
        idle = idle && lane->ended == lane->begun && !lane->hidden && lane->announcements == 0;
    }
    pthread_mutex_unlock(&wire->lock);
    return idle;
}

void soft_forget_hidden(struct soft_lane *lane)
{
    while (lane->hidden) {
        struct soft_hidden *hidden = lane->hidden;

        lane->hidden = hidden->next;
        free(hidden);
    }
}

static void store(struct soft_lane *lane, const struct soft_packet *packet)
{
    for (int i = 0; i < lane->announcements && packet->bytes > 0; i++) {
        const struct gf_wire_memory *memory = lane->announced[i].memory;
        uint64_t begin = packet->address - (uintptr_t)memory->address;

        if (gf_wire_key(&lane->base, memory) == packet->key && begin <= memory->bytes && packet->bytes <= memory->bytes - begin) {
            if (lane->announced[i].device) {
                hide(lane, memory->address + begin, packet->data, packet->bytes);
            } else {
                memcpy(memory->address + begin, packet->data, packet->bytes);
            }
            return;
        }
    }
    if (packet->bytes > 0) {
        soft_break(lane, "a put to where nothing was announced");
    }
}

static void deliver(struct soft_lane *lane, const struct soft_packet *packet)
{
    if (lane->expected == lane->delivered) {
        soft_break(lane, "a notification that nobody expects");
        return;
    }
    store(lane, packet);
    lane->immediates[lane->delivered++ % 64] = packet->immediate;
}

/* Of the packets that are there, up to the first that notifies, stores one that chance finds, or gives the notification when it
 * is alone. */
bool soft_receive(struct soft_lane *lane)
{
    struct soft_wire *wire = (struct soft_wire *)lane->base.wire;
    struct soft_box *box = lane->own.address;
    uint64_t there = gf_host_observe(&box->sent) - box->taken, puts = 0, left = 0, first = 0;

    while (puts < there && !box->packets[(box->taken + puts) % SOFT_PACKETS].notifies) {
        left += !(lane->stored >> puts & 1);
        puts++;
    }
    if (there == 0 || soft_chance(wire, 3)) {
        return false;
    }
    uint64_t chosen = left ? scalar_random(&wire->random) % left : 0;

    for (uint64_t i = 0; i < puts && left; i++) {
        if (!(lane->stored >> i & 1) && chosen-- == 0) {
            store(lane, &box->packets[(box->taken + i) % SOFT_PACKETS]);
            lane->stored |= 1ull << i;
            break;
        }
    }
    if (left == 0 && puts < there) {
        deliver(lane, &box->packets[(box->taken + puts) % SOFT_PACKETS]);
        lane->stored |= 1ull << puts;
    }
    while (lane->stored >> first & 1) {
        first++;
    }
    lane->stored >>= first;
    gf_host_publish(&box->taken, box->taken + first);
    return true;
}
