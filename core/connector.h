/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A connector is the host side of one direction to one peer: where the kernels' FIFOs and LL slots are, and who made them.
 * A transport makes its memory reachable; core/connector.c drives the life cycle and exchanges the blobs.
 *
 *   NEW → SETTING_UP → CONNECTING → READY → DRAINING → DEAD        any state → DEAD on an error
 *
 * Where things live: slots, tail and size near the receiver, head near the sender.
 */
#ifndef GF_CORE_CONNECTOR_H
#define GF_CORE_CONNECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "core/config.h"
#include "core/segment.h"
#include "device/device.h"

/* What a rank tells about itself, once, by allgather; plain bytes. */
struct gf_peer_info {
    char host[64];                 /* for messages only */
    unsigned char boot_id[16];     /* same kernel? */
    uint64_t pid_namespace;        /* inode of the PID namespace */
    int32_t pid;
    int32_t ordinal;
    unsigned char device_uuid[16];
    struct gf_segment_name probe;  /* a page that peers try to attach: shared memory is tried, not assumed */
    uint8_t ipc;                   /* device capability */
    uint8_t concurrent_processes;  /* device capability */
    uint8_t reserved[6];
    int32_t blocks;
    uint32_t config_hash;          /* of the settings that affect the choice of a path */
};

enum gf_connector_state { GF_CONN_NEW, GF_CONN_SETTING_UP, GF_CONN_CONNECTING, GF_CONN_READY, GF_CONN_DRAINING, GF_CONN_DEAD };

/* What a connection must offer. Zero: not needed. */
struct gf_connector_shape {
    size_t ll_bytes;               /* bytes of LL lines for each of the two one-shot slots */
    int channels;                  /* number of Simple FIFOs */
    size_t slot_bytes;             /* of each FIFO slot */
};

#define GF_BLOB_BYTES 256
struct gf_blob { unsigned char bytes[GF_BLOB_BYTES]; };

/* The kernel addresses at this end, valid when READY. Sender: as mapped here, of the peer's memory, but head is ours;
 * receiver: our own memory, but head is the sender's as mapped here. Layout of FIFO memory: core/layout.h. */
struct gf_endpoint {
    char *ll_slots;                /* two slots of ll_bytes each, or null */
    char *slots;                   /* channels × GF_FIFO_DEPTH × slot_bytes, or null */
    char *tails;                   /* channels × GF_LINE: tail, then sizes */
    char *heads;                   /* channels × GF_LINE */
};

struct gf_connector {
    enum gf_connector_state state;
    bool is_sender;
    int me, peer;                               /* ranks in the communicator */
    struct gf_connector_shape shape;
    const struct gf_transport *transport;       /* null while NEW */
    void *private;                              /* the transport's */
    struct gf_endpoint endpoint;
    gf_device *device;
};

/* How two ranks share a FIFO. Implementations are in transport/. Errors leave the connector as destroy left it. */
struct gf_transport {
    const char *name;
    enum gf_force_transport id;
    /* Might these two use it? Cheap and symmetrical: a pure function of both infos. The proof is connect. */
    bool (*probe)(const struct gf_peer_info *a, const struct gf_peer_info *b, struct gf_reason *why);
    /* Allocates this end's memory by c->shape and describes it for the peer. */
    gf_status (*setup)(struct gf_connector *c, struct gf_blob *mine, struct gf_reason *why);
    /* Maps what the peer described and fills c->endpoint. The blob is checked against the shape before use. */
    gf_status (*connect)(struct gf_connector *c, const struct gf_blob *theirs, struct gf_reason *why);
    /* Unmaps and frees whatever setup and connect made, also after their failure. Idempotent. */
    void (*destroy)(struct gf_connector *c);
};

#endif
