/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a lane of the UCX wire receives: keys, notifications, which may carry short data, and lines. Nothing is written before
 * all that the peer says has been held against what was agreed: what does not agree breaks the lane.
 */
#include <stdlib.h>
#include <string.h>

#include "core/host_ordered.h"
#include "transport/ucx_private.h"

enum {
    FIRST_RING = 16,
    KEY_MAX = 16384                /* bytes of a packed key: UCX's have some dozen for each adapter */
};

/* Room for one more that is expected. */
static bool ring_grow(struct gf_ucx_lane *lane)
{
    uint64_t size = lane->ring_size == 0 ? FIRST_RING : 2 * lane->ring_size;
    struct gf_ucx_notification *ring = calloc(size, sizeof *ring);

    if (ring == NULL) {
        return false;
    }
    for (uint64_t step = lane->taken; step < lane->expected; step++) {
        ring[step & (size - 1)] = lane->ring[step & (lane->ring_size - 1)];
    }
    free(lane->ring);
    lane->ring = ring;
    lane->ring_size = size;
    return true;
}

gf_status gf_ucx_expect(struct gf_wire_lane *base)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);
    gf_status status = GF_OK;

    if (gf_host_observe_flag(&lane->broken)) {
        return lane->status;
    }
    if (!gf_ucx_try_lock(gf_ucx_of(lane))) {
        return GF_NO_RESOURCE;
    }
    if (lane->expected - lane->taken == lane->ring_size && !ring_grow(lane)) {
        status = GF_NO_RESOURCE;
    } else {
        lane->expected++;
    }
    gf_ucx_unlock(gf_ucx_of(lane));
    return status;
}

bool gf_ucx_take(struct gf_wire_lane *base, uint32_t *immediate)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);
    bool some = false;

    if (!gf_ucx_try_lock(gf_ucx_of(lane))) {
        return false;
    }
    if (lane->taken < lane->expected) {
        struct gf_ucx_notification *next = &lane->ring[lane->taken & (lane->ring_size - 1)];

        if (next->here) {
            *immediate = next->immediate;
            next->here = false;
            lane->taken++;
            some = true;
        }
    }
    gf_ucx_unlock(gf_ucx_of(lane));
    return some;
}

static void key_receive(struct gf_ucx_lane *lane, const struct gf_ucx_header *header, const void *packed, size_t bytes)
{
    struct gf_ucx_key *key;

    if (bytes == 0 || bytes > KEY_MAX || header->bytes == 0 || header->address + header->bytes < header->address ||
        gf_key_table_find(&lane->keys, header->key) != NULL) {
        gf_ucx_lane_break(lane, GF_ERR_PEER, "the peer announced key %u twice, or with nothing to put into", header->key);
        return;
    }
    key = malloc(sizeof *key + bytes);
    if (key == NULL || !gf_key_table_add(&lane->keys, header->key, key)) {
        free(key);
        gf_ucx_lane_break(lane, GF_ERR_NO_MEMORY, "no memory for a key of the peer");
        return;
    }
    key->address = header->address;
    key->bytes = header->bytes;
    key->rkey = NULL;
    memcpy(key->packed, packed, bytes);
}

/* Short data: false if they do not go where we said that they may. */
static bool data_receive(struct gf_ucx_lane *lane, const struct gf_ucx_header *header, const void *data, size_t bytes)
{
    const struct gf_wire_memory *memory;
    uint64_t offset;

    if (bytes != header->bytes) {
        return false;
    }
    if (bytes == 0) {
        return true;
    }
    memory = gf_key_table_find(&lane->announced, header->key);
    if (memory == NULL) {
        return false;
    }
    offset = header->address - (uintptr_t)memory->address;
    if (header->address < (uintptr_t)memory->address || bytes > memory->bytes || offset > memory->bytes - bytes) {
        return false;
    }
    memcpy(memory->address + offset, data, bytes);
    return true;
}

static void notification_receive(struct gf_ucx_lane *lane, const struct gf_ucx_header *header, const void *data, size_t bytes)
{
    struct gf_ucx_notification *slot;

    if (header->step < lane->taken || header->step >= lane->expected) {
        gf_ucx_lane_break(lane, GF_ERR_PEER, "the peer sent a notification that nobody expects");
        return;
    }
    slot = &lane->ring[header->step & (lane->ring_size - 1)];
    if (slot->here || !data_receive(lane, header, data, bytes)) {
        gf_ucx_lane_break(lane, GF_ERR_PEER, "the peer sent %zu bytes to where it may not put any", bytes);
        return;
    }
    slot->immediate = (uint32_t)header->immediate;
    slot->here = true;
}

/* The words between the first and the last are there when either is found new. */
static void line_store(char *line, const char *from)
{
    uint64_t words[GF_WIRE_LINE / sizeof(uint64_t)];
    uint64_t *to = (uint64_t *)(void *)line;
    size_t last = GF_WIRE_LINE / sizeof(uint64_t) - 1;

    memcpy(words, from, sizeof words);
    memcpy(to + 1, words + 1, (last - 1) * sizeof *to);
    gf_host_publish(to, words[0]);
    gf_host_publish(to + last, words[last]);
}

static void lines_receive(struct gf_ucx_lane *lane, const struct gf_ucx_header *header, const char *data, size_t bytes)
{
    size_t count = bytes / GF_WIRE_LINE;

    if (bytes % GF_WIRE_LINE != 0 || count == 0 || count > GF_UCX_LINES || count > lane->base.line_count ||
        header->step > lane->base.line_count - count) {
        gf_ucx_lane_break(lane, GF_ERR_PEER, "the peer sent %zu bytes for lines from number %llu on, and there are %u", bytes,
                          (unsigned long long)header->step, lane->base.line_count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        line_store(lane->base.lines + (header->step + i) * GF_WIRE_LINE, data + i * GF_WIRE_LINE);
    }
}

ucs_status_t gf_ucx_receive(void *argument, const void *bytes_of_header, size_t header_bytes, void *data, size_t bytes,
                            const ucp_am_recv_param_t *param)
{
    struct gf_ucx_wire *wire = argument;
    struct gf_ucx_header header;
    struct gf_ucx_lane *lane;

    if (header_bytes != sizeof header || (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
        gf_log(wire->log, GF_LOG_WARN, "%s: a message that is none of gpufifo's came, and is ignored", wire->base.name);
        return UCS_OK;
    }
    memcpy(&header, bytes_of_header, sizeof header);
    lane = gf_ucx_lane_find(wire, header.lane);
    /* Late messages for a lane that is destroyed, or broken, are nobody's. */
    if (lane == NULL || lane->broken) {
        return UCS_OK;
    }
    switch (header.kind) {
    case GF_UCX_KIND_KEY:
        key_receive(lane, &header, data, bytes);
        break;
    case GF_UCX_KIND_NOTIFY:
        notification_receive(lane, &header, data, bytes);
        break;
    case GF_UCX_KIND_LINES:
        lines_receive(lane, &header, data, bytes);
        break;
    default:
        gf_ucx_lane_break(lane, GF_ERR_PEER, "the peer sent a message of unknown kind %u", header.kind);
    }
    return UCS_OK;
}
