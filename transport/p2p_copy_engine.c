/* SPDX-License-Identifier: BSD-3-Clause
 *
 * p2p_copy: the sender's proxy copies from device to device, into the receiver's slots, which it has mapped. Tail, sizes and head
 * are in shared host memory, the receiver's: the proxy writes tail, the receiver's kernel polls it and stores head. The receiver
 * has no proxy.
 *
 * Not between two ranks of one device that makes copies within itself wait for the kernels that run: those wait for the copies.
 */
#include "transport/transport.h"

#include <stdlib.h>
#include <string.h>

#include "transport/copy_engine.h"
#include "transport/device_part.h"
#include "transport/part.h"

struct blob {
    struct gf_wire_shape shape;
    struct gf_segment_name words;      /* of a receiver, as the next */
    struct gf_device_part slots;
};
_Static_assert(sizeof(struct blob) <= GF_BLOB_BYTES, "the description fits a blob");

/* Owner: the connector. */
struct p2p_copy {
    struct gf_copy_sender *sender;     /* null at the receiver */
    struct gf_part words;              /* the receiver's, at both ends */
    void *slots;                       /* user address, the receiver's own */
    struct gf_import *peer_slots;      /* the same, as the sender has mapped them */
};

static bool probe(const struct gf_peer_info *a, const struct gf_peer_info *b, struct gf_reason *why)
{
    bool same_device = memcmp(a->device_uuid, b->device_uuid, sizeof a->device_uuid) == 0;

    if (!a->ipc || !b->ipc) {
        gf_reason_set(why, "a device's memory cannot be mapped by other processes here");
        return false;
    }
    if (same_device && !(a->copies_beside_kernels && b->copies_beside_kernels)) {
        gf_reason_set(why, "both share one device, and there a copy within the device would wait for the kernel that "
                      "waits for it");
        return false;
    }
    return true;
}

static gf_status open_receiver(struct gf_connector *c, struct p2p_copy *p, struct blob *blob, struct gf_reason *why)
{
    gf_status status = gf_copies_check(c, why);

    if (status == GF_OK) {
        status = gf_slots_alloc(c, &p->slots, why);
    }
    if (status == GF_OK) {
        status = gf_part_create(c, gf_words_bytes(&c->shape), &p->words, &blob->words, why);
    }
    return status == GF_OK ? gf_device_part_export(c, p->slots, gf_layout_slots_bytes(&c->shape), &blob->slots, why) : status;
}

static gf_status setup(struct gf_connector *c, struct gf_blob *mine, struct gf_reason *why)
{
    struct p2p_copy *p = calloc(1, sizeof *p);
    struct blob blob = { 0 };

    if (!p) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    c->private = p;
    gf_connector_describe(c, gf_connector_own_bytes(c), &blob.shape);
    gf_status status = c->is_sender ? gf_copy_sender_open(c, &p->sender, why) : open_receiver(c, p, &blob, why);

    memcpy(mine->bytes, &blob, sizeof blob);
    return status;
}

static gf_status map_receiver(struct gf_connector *c, struct p2p_copy *p, const struct blob *theirs, struct gf_reason *why)
{
    gf_status status = gf_part_attach(c, &theirs->words, gf_words_bytes(&c->shape), &p->words, why);

    return status == GF_OK ? gf_device_part_import(c, &theirs->slots, &p->peer_slots, why) : status;
}

static gf_status connect(struct gf_connector *c, const struct gf_blob *blob, struct gf_reason *why)
{
    struct p2p_copy *p = c->private;
    struct blob theirs;

    memcpy(&theirs, blob->bytes, sizeof theirs);
    gf_status status = gf_connector_check(c, &theirs.shape, why);

    if (status != GF_OK) {
        return status;
    }
    if (!c->is_sender) {
        return gf_copied_endpoint(c, p->slots, p->words.segment.address, why);
    }
    status = map_receiver(c, p, &theirs, why);
    return status == GF_OK ? gf_copy_sender_connect(p->sender, p->peer_slots->address, p->words.segment.address, why) : status;
}

static void expect(struct gf_connector *c, const uint64_t *steps)
{
    struct p2p_copy *p = c->private;

    if (p->sender) {
        gf_copy_sender_expect(p->sender, steps);
    }
}

static void destroy(struct gf_connector *c)
{
    struct p2p_copy *p = c->private;

    if (!p) {
        return;
    }
    gf_copy_sender_close(p->sender);
    gf_imports_drop(c->imports, p->peer_slots);
    if (p->slots) {
        gf_device_free(c->device, p->slots);
    }
    gf_part_release(c, &p->words);
    free(p);
    c->private = NULL;
}

const struct gf_transport gf_transport_p2p_copy = {
    .name = "p2p_copy", .id = GF_TRANSPORT_P2P_COPY, .on_request = true,
    .probe = probe, .setup = setup, .connect = connect, .expect = expect, .destroy = destroy,
};
