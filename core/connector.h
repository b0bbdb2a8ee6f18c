/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A connector is the host side of one direction to one peer: where the kernels' FIFOs and LL slots are, and who made them.
 * A transport makes its memory reachable; core/connector.c drives the life cycle and exchanges the blobs.
 *
 *   NEW → SETTING_UP → CONNECTING → READY → DRAINING → DEAD        an error leads to DEAD from any state before READY
 *
 * Where things live: LL slots, tail and size near the receiver, head near the sender; FIFO slots near either, as the shape says.
 */
#ifndef GF_CORE_CONNECTOR_H
#define GF_CORE_CONNECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "core/config.h"
#include "core/fault.h"
#include "core/peers.h"
#include "device/device.h"

enum gf_connector_state { GF_CONN_NEW, GF_CONN_SETTING_UP, GF_CONN_CONNECTING, GF_CONN_READY, GF_CONN_DRAINING, GF_CONN_DEAD };

/* What a connection must offer. Zero: not needed. */
struct gf_connector_shape {
    size_t ll_bytes;               /* bytes of lines for each of the two one-shot slots */
    bool whole_lines;              /* these are LL128 lines: only over transports where such a line can arrive whole */
    int channels;                  /* number of Simple FIFOs */
    size_t slot_bytes;             /* of each FIFO slot */
    bool sender_buffer;            /* FIFO slots are in the sender's memory, where the receiver reads them; else in the
                                      receiver's */
};

#define GF_WIRE_MAGIC 0x67664331u
#define GF_BLOB_BYTES 320

/* What one end tells the other: plain bytes and, from a transport with long_blobs, as many more as it needs, made by its setup
 * with malloc. Whoever called setup frees them. */
struct gf_blob {
    unsigned char bytes[GF_BLOB_BYTES];
    uint32_t rest_bytes;
    unsigned char *rest;           /* null: none */
};

/* The kernel addresses at this end, valid when READY: of what lives near this end its own memory, of the rest the peer's as
 * mapped here. Layout of the memory: core/layout.h. */
struct gf_endpoint {
    void *memory;                  /* user address of this end's own memory: LL slots and what follows, or heads and what
                                      follows; null if it needs none */
    char *ll_slots;                /* two slots of ll_bytes each, or null */
    char *lines;                   /* their user address, at whichever end they are */
    char *slots;                   /* channels × GF_FIFO_DEPTH × slot_bytes, or null */
    char *tails;                   /* channels × GF_LINE: tail, then sizes */
    char *heads;                   /* channels × GF_LINE */
};

/* Bytes of a buffer. */
struct gf_span {
    uint64_t at;                   /* from its start */
    uint32_t bytes;
};

/* The buffer of the program that FIFO steps of one launch may go from, or to, without a slot: whose data are there at both
 * ends. */
struct gf_loan {
    void *buffer;                  /* user address */
    const struct gf_pointer *where;    /* what gf_driver_pointer says of it; null: not asked yet. Used by lend only */
    char *kernel_address;
    size_t bytes;
    /* The data that step `step` of the launch, counted from 0, has there at this end on that channel; 0 bytes: none. Any thread,
     * as long as the loan lasts. */
    struct gf_span (*span)(const void *ctx, int channel, uint64_t step);
    const void *ctx;
};

struct gf_abort;                                /* core/abort.h */
struct gf_bootstrap;                            /* core/bootstrap.h */
struct gf_imports;                              /* core/imports.h */
struct gf_proxy;                                /* proxy/proxy.h; core passes it on to transports */
struct gf_net;                                  /* transport/net.h; the same */

/* Owned by its pattern (core/connect.h); state, transport and shape are written by core/connector.c only, private and
 * endpoint by the transport between setup and destroy. Used by one thread at a time. */
struct gf_connector {
    enum gf_connector_state state;
    bool is_sender;
    int me, peer;                               /* ranks in the communicator */
    struct gf_connector_shape shape;
    const struct gf_transport *transport;       /* null while NEW */
    void *private;                              /* the transport's */
    struct gf_endpoint endpoint;
    gf_device *device;
    gf_stream *stream;                          /* for fills while setting up */
    struct gf_fault *fault;                     /* null in production; each step by one thread at a time */
    struct gf_imports *imports;                 /* this device's; set after gf_connector_init, as the next ones */
    const struct gf_bootstrap *bootstrap;       /* whose progress is made while a mapping waits, or null */
    struct gf_proxy *proxy;                     /* this device's, or null */
    struct gf_net *net;                         /* this device's, or null */
    int net_adapters;                           /* that the nets of both ends have; 0: not known */
    struct gf_abort *abort;                     /* whom a proxy tells of its failures, or null */
};

/* How two ranks share a FIFO. Implementations are in transport/. Errors leave the connector as destroy left it. */
struct gf_transport {
    const char *name;
    enum gf_force_transport id;
    bool on_request;               /* taken only where the setting names it, never by "auto" */
    bool between_nodes;            /* connects ranks of different nodes, which no other does, whatever the setting says */
    bool long_blobs;               /* its blobs may have a rest */
    /* Might these two use it? Cheap and symmetrical: a pure function of both infos. The proof is connect. Null: nothing is known
     * against it. */
    bool (*probe)(const struct gf_peer_info *a, const struct gf_peer_info *b, struct gf_reason *why);
    /* Allocates this end's memory by c->shape and describes it for the peer. */
    gf_status (*setup)(struct gf_connector *c, struct gf_blob *mine, struct gf_reason *why);
    /* Maps what the peer described and fills c->endpoint. The blob is checked against the shape before use. */
    gf_status (*connect)(struct gf_connector *c, const struct gf_blob *theirs, struct gf_reason *why);
    /* A kernel that makes steps[i] steps on FIFO i of this end, i < c->shape.channels, is about to be launched. Null: the host
     * has no part in it. */
    void (*expect)(struct gf_connector *c, const uint64_t *steps);
    /* The other end has been waited for, for long: is it still there? If not, all waits of the communicator end, sooner or later.
     * Never waits. Any thread. Null: the host finds out otherwise. */
    void (*ask)(struct gf_connector *c);
    /* Lends it the buffer of a launch, before expect. True: a kernel that sends is answered for each step that has a span
     * (struct gf_conn), one that receives looks for GF_SIZE_LENT. Null: never. */
    bool (*lend)(struct gf_connector *c, const struct gf_loan *loan);
    /* The launch has ended, and nothing touches the buffer when this returns. failed: and the communicator was aborted: the
     * connection is of no use any more, and its peer may be waited for, for about a second at most. */
    void (*reclaim)(struct gf_connector *c, bool failed);
    /* Unmaps and frees whatever setup and connect made, also after their failure. Idempotent. */
    void (*destroy)(struct gf_connector *c);
    /* A line of 128 bytes that a warp stores at once arrives whole if it does so in the peer's memory (gf_device_whole_lines). */
    bool whole_lines;
};

/* The shape as it travels in a blob, so that both ends can see that they mean the same memory. */
struct gf_wire_shape {
    uint32_t magic;                /* GF_WIRE_MAGIC; wrong: the blob is not one of this version */
    uint32_t is_sender;
    uint64_t sender_buffer;
    uint64_t ll_bytes, slot_bytes, channels;
    uint64_t bytes;                /* of the memory that the blob describes; 0: none is needed */
};

/* Is this step of the life cycle legal? A connector on which gf_connector_move is asked for another one is a defect of ours:
 * builds with assertions stop there. */
bool gf_connector_may_move(enum gf_connector_state from, enum gf_connector_state to);
void gf_connector_move(struct gf_connector *c, enum gf_connector_state to);
const char *gf_connector_state_name(enum gf_connector_state state);

/* A NEW connector without memory. device, stream and fault must outlive it. */
void gf_connector_init(struct gf_connector *c, bool is_sender, int me, int peer, const struct gf_connector_shape *shape,
                       gf_device *device, gf_stream *stream, struct gf_fault *fault);

/* NEW → SETTING_UP, and CONNECTING when *mine is ready for the peer. After an error the connector is DEAD and holds no memory. */
gf_status gf_connector_setup(struct gf_connector *c, const struct gf_transport *transport, struct gf_blob *mine,
                             struct gf_reason *why);

/* CONNECTING → READY. After an error the connector is DEAD and holds no memory. */
gf_status gf_connector_connect(struct gf_connector *c, const struct gf_blob *theirs, struct gf_reason *why);

/* Before each launch that uses the FIFOs of a READY connector: see gf_transport.expect. */
void gf_connector_expect(struct gf_connector *c, const uint64_t *steps);

/* Of a READY connector: see gf_transport.ask. */
void gf_connector_ask(struct gf_connector *c);

/* Before that and after the launch: see gf_transport.lend and reclaim. */
bool gf_connector_lend(struct gf_connector *c, const struct gf_loan *loan);
void gf_connector_reclaim(struct gf_connector *c, bool failed);

/* Any state → DEAD (by DRAINING when READY); all memory goes back at once. The caller knows that no kernel of ours uses it.
 * Idempotent. */
void gf_connector_destroy(struct gf_connector *c);

/* For transports: describes memory of `bytes` at this end; checks a peer's description against what this connector needs of
 * its other end; fills the endpoint from the kernel addresses of both ends' memory, laid out by core/layout.h; an end that
 * needs none has null. */
void gf_connector_describe(const struct gf_connector *c, size_t bytes, struct gf_wire_shape *shape);
gf_status gf_connector_check(const struct gf_connector *c, const struct gf_wire_shape *theirs, struct gf_reason *why);
void gf_connector_fill_endpoint(struct gf_connector *c, char *receiver_memory, char *sender_memory);

/* Bytes of this connector's own end and of its peer's: 0 where that end needs no memory. */
size_t gf_connector_own_bytes(const struct gf_connector *c);
size_t gf_connector_peer_bytes(const struct gf_connector *c);

#endif
