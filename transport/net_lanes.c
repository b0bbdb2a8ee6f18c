/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lanes of an end: made, told to the peer, and connected.
 */
#include "transport/net_lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/net_address.h"
#include "transport/net_notice.h"

static gf_status no_memory(struct gf_reason *why)
{
    gf_reason_set(why, "out of host memory");
    return GF_ERR_NO_MEMORY;
}

/* Keys and addresses of the lanes become the rest of the blob. */
static void describe_lanes(const struct gf_net_end *end, const struct gf_wire_address *addresses, struct gf_blob *mine)
{
    size_t bytes = 0;

    for (int i = 0; i < end->lane_count; i++, bytes += sizeof(struct gf_net_keys)) {
        const struct gf_wire_lane *lane = end->lanes[i].wire;
        const struct gf_net_keys keys = { .slots = gf_wire_key(lane, &end->slots.wire),
                                          .sizes = gf_wire_key(lane, &end->sizes.wire) };

        memcpy(mine->rest + bytes, &keys, sizeof keys);
    }
    mine->rest_bytes = (uint32_t)(bytes + gf_net_addresses_pack(addresses, end->lane_count, mine->rest + bytes));
}

/* Both ends know the sender's rank: connections of the same lanes begin with different adapters. Where one end has more of them
 * than the other, these lie idle: they may be on a network that the other end has no adapter on. */
static unsigned spread(const struct gf_net_end *end, int lane)
{
    unsigned number = (unsigned)(end->c->is_sender ? end->c->me : end->c->peer) + (unsigned)lane;

    return end->c->net_adapters > 0 ? number % (unsigned)end->c->net_adapters : number;
}

gf_status gf_net_lanes_open(struct gf_net_end *end, uint32_t line_count, struct gf_blob *mine, struct gf_reason *why)
{
    int channels = end->c->shape.channels;
    struct gf_wire_address *addresses = calloc((size_t)end->lane_count, sizeof *addresses);
    gf_status status = GF_OK;

    end->lanes = calloc((size_t)end->lane_count, sizeof *end->lanes);
    mine->rest = malloc((size_t)end->lane_count * sizeof(struct gf_net_keys) + gf_net_addresses_most(end->lane_count));
    if (!addresses || !end->lanes || !mine->rest) {
        free(addresses);
        return no_memory(why);
    }
    for (int i = 0; i < end->lane_count && status == GF_OK; i++) {
        struct gf_net_lane *lane = &end->lanes[i];

        lane->number = i;
        lane->first = i * end->group;
        lane->width = channels - lane->first < end->group ? channels - lane->first : end->group;
        status = end->wire->ops->create(end->wire, spread(end, i), GF_NET_NOTICE_LINES + line_count * (uint32_t)lane->width,
                                        &lane->wire, &addresses[i], why);
    }
    if (status == GF_OK) {
        describe_lanes(end, addresses, mine);
    }
    free(addresses);
    return status;
}

/* False: this is not what describe_lanes has made of as many. */
static bool take_lanes(struct gf_net_end *end, const struct gf_blob *theirs, struct gf_wire_address *addresses)
{
    size_t bytes = (size_t)end->lane_count * sizeof(struct gf_net_keys);

    if (!theirs->rest || theirs->rest_bytes < bytes) {
        return false;
    }
    for (int i = 0; i < end->lane_count; i++) {
        memcpy(&end->lanes[i].peer, theirs->rest + (size_t)i * sizeof(struct gf_net_keys), sizeof(struct gf_net_keys));
    }
    return gf_net_addresses_unpack(theirs->rest + bytes, theirs->rest_bytes - bytes, addresses, end->lane_count);
}

/* For people: which lanes go by each adapter, where a lane knows more of it than the wire. */
static void tell_adapters(const struct gf_net_end *end)
{
    for (int first = 0; first < end->lane_count; first++) {
        const struct gf_wire_lane *lane = end->lanes[first].wire;
        struct gf_reason numbers = { "" };
        size_t length = 0;
        bool told = strcmp(lane->name, end->wire->name) == 0;

        for (int i = 0; i < end->lane_count && length < sizeof numbers.text; i++) {
            if (end->lanes[i].wire->adapter == lane->adapter) {
                told = told || i < first;
                length += (size_t)snprintf(numbers.text + length, sizeof numbers.text - length, " %d", i);
            }
        }
        if (!told) {
            gf_log(gf_net_config_of(end->c->net)->wire.log, GF_LOG_PATH, "net: %s rank %d, lanes%s by %s",
                   end->c->is_sender ? "to" : "from", end->c->peer, numbers.text, lane->name);
        }
    }
}

gf_status gf_net_lanes_connect(struct gf_net_end *end, const struct gf_blob *theirs, struct gf_reason *why)
{
    struct gf_wire_address *addresses = calloc((size_t)end->lane_count, sizeof *addresses);
    gf_status status = GF_OK;

    if (!addresses) {
        return no_memory(why);
    }
    if (!take_lanes(end, theirs, addresses)) {
        gf_reason_set(why, "rank %d told no addresses of its %d lanes", end->c->peer, end->lane_count);
        status = GF_ERR_PEER;
    }
    for (int i = 0; i < end->lane_count && status == GF_OK; i++) {
        status = end->wire->ops->connect(end->lanes[i].wire, &addresses[i], why);
    }
    if (status == GF_OK) {
        tell_adapters(end);
    }
    free(addresses);
    return status;
}
