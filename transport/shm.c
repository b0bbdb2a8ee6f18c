/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared host memory, reached by kernels: each end makes a segment of what core/layout.h places there, and registers both with
 * its device.
 */
#include "transport/transport.h"

#include <stdlib.h>
#include <string.h>

#include "transport/part.h"

struct shm_blob {
    struct gf_wire_shape shape;
    struct gf_segment_name memory;     /* if shape.bytes > 0 */
};
_Static_assert(sizeof(struct shm_blob) <= GF_BLOB_BYTES, "the description fits a blob");

/* Owner: the connector. */
struct shm {
    struct gf_part own, peer;
};

static gf_status shm_setup(struct gf_connector *c, struct gf_blob *mine, struct gf_reason *why)
{
    struct shm *shm = calloc(1, sizeof *shm);
    struct shm_blob blob = { 0 };
    size_t bytes = gf_connector_own_bytes(c);

    if (!shm) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    c->private = shm;
    gf_connector_describe(c, bytes, &blob.shape);
    if (bytes > 0) {
        gf_status status = gf_part_create(c, bytes, &shm->own, &blob.memory, why);

        if (status != GF_OK) {
            return status;
        }
    }
    memcpy(mine->bytes, &blob, sizeof blob);
    return GF_OK;
}

static gf_status shm_connect(struct gf_connector *c, const struct gf_blob *blob, struct gf_reason *why)
{
    struct shm *shm = c->private;
    struct shm_blob theirs;

    memcpy(&theirs, blob->bytes, sizeof theirs);
    gf_status status = gf_connector_check(c, &theirs.shape, why);

    if (status == GF_OK && theirs.shape.bytes > 0) {
        status = gf_part_attach(c, &theirs.memory, theirs.shape.bytes, &shm->peer, why);
    }
    if (status != GF_OK) {
        return status;
    }
    char *own = gf_part_kernel_address(c, &shm->own), *peer = gf_part_kernel_address(c, &shm->peer);

    if ((shm->own.segment.address && !own) || (shm->peer.segment.address && !peer)) {
        gf_reason_set(why, "kernels cannot reach the shared memory of the connection with rank %d", c->peer);
        return GF_ERR_UNSUPPORTED;
    }
    gf_connector_fill_endpoint(c, c->is_sender ? peer : own, c->is_sender ? own : peer);
    c->endpoint.memory = shm->own.segment.address;
    c->endpoint.lines = c->is_sender ? shm->peer.segment.address : shm->own.segment.address;
    return GF_OK;
}

static void shm_destroy(struct gf_connector *c)
{
    struct shm *shm = c->private;

    if (!shm) {
        return;
    }
    gf_part_release(c, &shm->peer);
    gf_part_release(c, &shm->own);
    free(shm);
    c->private = NULL;
}

const struct gf_transport gf_transport_shm = {
    .name = "shm", .id = GF_TRANSPORT_SHM,
    .setup = shm_setup, .connect = shm_connect, .destroy = shm_destroy,
};
