/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ends of lanes tell one another, made and checked.
 */
#include "transport/verbs_private.h"

#include <string.h>

enum {
    MAGIC = 0x67667662,            /* "gfvb" */
    VERSION = 2
};

void gf_verbs_end_describe(const struct gf_verbs_queue *queues, int count, struct gf_verbs_end *end)
{
    const struct gf_verbs_adapter *adapter = &queues[0].rail->adapter;

    *end = (struct gf_verbs_end){
        .magic = MAGIC, .version = VERSION,
        .link = adapter->attributes.link_layer, .gid_type = adapter->gid.gid_type,
        .mtu = adapter->mtu, .lid = adapter->attributes.lid, .pair_count = (uint32_t)count,
    };
    for (int i = 0; i < count; i++) {
        end->pairs[i].number = queues[i].pair->qp_num;
        end->pairs[i].first = queues[i].first;
    }
    memcpy(end->gid, adapter->gid.gid.raw, sizeof end->gid);
}

/* Where it is, in the network. */
static gf_status check_place(const struct gf_verbs_rail *rail, const struct gf_verbs_end *end, struct gf_reason *why)
{
    static const unsigned char none[16] = { 0 };
    const char *name = rail->name;

    if (end->link != rail->adapter.attributes.link_layer) {
        gf_reason_set(why,
                      "%s: the peer's port is not of the same kind of network (InfiniBand here, Ethernet there, or the reverse)",
                      name);
    } else if (rail->adapter.roce && end->gid_type != rail->adapter.gid.gid_type) {
        gf_reason_set(why, "%s: the peer uses the other version of RoCE: choose GIDs of one version", name);
    } else if (memcmp(end->gid, none, sizeof none) == 0) {
        gf_reason_set(why, "%s: the peer's GID is zero", name);
    } else if (!rail->adapter.roce && (end->lid == 0 || end->lid > UINT16_MAX)) {
        gf_reason_set(why, "%s: the peer's LID %u is none: has its port a subnet manager?", name, end->lid);
    } else {
        return GF_OK;
    }
    return GF_ERR_PEER;
}

static bool check_pairs(const char *name, const struct gf_verbs_end *end, struct gf_reason *why)
{
    for (uint32_t i = 0; i < end->pair_count; i++) {
        uint32_t number = end->pairs[i].number, first = end->pairs[i].first;

        if (number == 0 || number > GF_VERBS_LAST_PAIR || first > GF_VERBS_LAST_PAIR) {
            gf_reason_set(why, "%s: the peer's queue pair %u, packet %u has more than 24 bits or is zero", name, number, first);
            return false;
        }
    }
    return true;
}

gf_status gf_verbs_end_check(const struct gf_verbs_rail *rail, const struct gf_wire_address *address, struct gf_verbs_end *end,
                             struct gf_reason *why)
{
    const char *name = rail->name;

    *end = (struct gf_verbs_end){ .magic = 0 };
    if (address->bytes < gf_verbs_end_bytes(1) || address->bytes > sizeof *end) {
        gf_reason_set(why, "%s: the peer's address has %u bytes, which is none of this wire's", name, address->bytes);
        return GF_ERR_PEER;
    }
    memcpy(end, address->data, address->bytes);
    if (end->magic != MAGIC) {
        gf_reason_set(why, "%s: what the peer told is no address of this wire, or of a machine of the other byte order", name);
    } else if (end->version != VERSION) {
        gf_reason_set(why, "%s: the peer speaks version %u of the protocol, this one %d: use one gpufifo on all nodes", name,
                      end->version, VERSION);
    } else if (end->mtu < IBV_MTU_256 || end->mtu > IBV_MTU_4096) {
        gf_reason_set(why, "%s: the peer's MTU code %u is none", name, end->mtu);
    } else if (end->pair_count < 1 || end->pair_count > GF_WIRE_PAIRS || address->bytes != gf_verbs_end_bytes(end->pair_count)) {
        gf_reason_set(why, "%s: the peer told %u bytes for %u queue pairs", name, address->bytes, end->pair_count);
    } else if (!check_pairs(name, end, why)) {
        return GF_ERR_PEER;
    } else if (end->line_count > 0 && end->lines == 0) {
        gf_reason_set(why, "%s: the peer has %u lines nowhere", name, end->line_count);
    } else {
        return check_place(rail, end, why);
    }
    return GF_ERR_PEER;
}

enum ibv_mtu gf_verbs_end_mtu(const struct gf_verbs_rail *rail, const struct gf_verbs_end *peer)
{
    return peer->mtu < rail->adapter.mtu ? (enum ibv_mtu)peer->mtu : rail->adapter.mtu;
}
