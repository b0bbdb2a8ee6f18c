/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device memory, mapped by the other process: each end allocates on its device what core/layout.h places there, exports it, and
 * opens the peer's.
 */
#include "transport/transport.h"

#include <stdlib.h>
#include <string.h>

#include "transport/device_part.h"

struct p2p_blob {
    struct gf_wire_shape shape;
    struct gf_device_part memory;  /* if shape.bytes > 0 */
};
_Static_assert(sizeof(struct p2p_blob) <= GF_BLOB_BYTES, "the description fits a blob");

/* Null where there is none. Owner: the connector. */
struct p2p {
    void *own;                     /* user address */
    struct gf_import *peer;
};

static bool p2p_probe(const struct gf_peer_info *a, const struct gf_peer_info *b, struct gf_reason *why)
{
    if (!a->ipc || !b->ipc) {
        gf_reason_set(why, "a device's memory cannot be mapped by other processes here");
        return false;
    }
    return true;
}

/* Allocates this end's memory zeroed: a flag or counter from an earlier life would be taken for a message. */
static gf_status allocate(struct gf_connector *c, struct p2p *p2p, size_t bytes, struct gf_reason *why)
{
    if (gf_fault_hits(c->fault, GF_FAULT_DEVICE_ALLOC, why)) {
        return GF_ERR_NO_MEMORY;
    }
    gf_status status = gf_device_alloc(c->device, bytes, &p2p->own, why);

    if (status != GF_OK) {
        p2p->own = NULL;
        return status;
    }
    status = gf_device_fill(c->device, c->stream, p2p->own, 0, bytes);
    if (status == GF_OK) {
        status = gf_device_stream_sync(c->device, c->stream);
    }
    if (status != GF_OK) {
        gf_reason_set(why, "%zu bytes of device memory for a connection could not be zeroed: %s", bytes,
                      gf_status_string(status));
    }
    return status;
}

static gf_status p2p_setup(struct gf_connector *c, struct gf_blob *mine, struct gf_reason *why)
{
    struct p2p *p2p = calloc(1, sizeof *p2p);
    struct p2p_blob blob = { 0 };
    size_t bytes = gf_connector_own_bytes(c);

    if (!p2p) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    c->private = p2p;
    gf_connector_describe(c, bytes, &blob.shape);
    if (bytes > 0) {
        gf_status status = allocate(c, p2p, bytes, why);

        if (status == GF_OK) {
            status = gf_device_part_export(c, p2p->own, bytes, &blob.memory, why);
        }
        if (status != GF_OK) {
            return status;
        }
    }
    memcpy(mine->bytes, &blob, sizeof blob);
    return GF_OK;
}

static gf_status p2p_connect(struct gf_connector *c, const struct gf_blob *blob, struct gf_reason *why)
{
    struct p2p *p2p = c->private;
    struct p2p_blob theirs;

    memcpy(&theirs, blob->bytes, sizeof theirs);
    gf_status status = gf_connector_check(c, &theirs.shape, why);

    if (status == GF_OK && theirs.shape.bytes > 0) {
        status = gf_device_part_import(c, &theirs.memory, &p2p->peer, why);
    }
    if (status != GF_OK) {
        return status;
    }
    char *own = p2p->own ? gf_device_kernel_address(c->device, p2p->own) : NULL;
    char *peer = p2p->peer ? p2p->peer->kernel_address : NULL;

    if (p2p->own && !own) {
        gf_reason_set(why, "kernels cannot reach the memory of the connection with rank %d", c->peer);
        return GF_ERR_UNSUPPORTED;
    }
    gf_connector_fill_endpoint(c, c->is_sender ? peer : own, c->is_sender ? own : peer);
    c->endpoint.memory = p2p->own;
    c->endpoint.lines = !c->is_sender ? p2p->own : p2p->peer ? p2p->peer->address : NULL;
    return GF_OK;
}

static void p2p_destroy(struct gf_connector *c)
{
    struct p2p *p2p = c->private;

    if (!p2p) {
        return;
    }
    gf_imports_drop(c->imports, p2p->peer);
    if (p2p->own) {
        gf_device_free(c->device, p2p->own);
    }
    free(p2p);
    c->private = NULL;
}

const struct gf_transport gf_transport_p2p = {
    .name = "p2p", .id = GF_TRANSPORT_P2P,
    .probe = p2p_probe, .setup = p2p_setup, .connect = p2p_connect, .destroy = p2p_destroy,
    .whole_lines = true,
};
