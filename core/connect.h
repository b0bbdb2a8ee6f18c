/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes the connections that one algorithm needs, between all ranks together.
 *
 *   GF_PATTERN_DIRECT   LL slots from every rank to every other
 *   GF_PATTERN_RING     Simple FIFOs from every rank to the one that follows it in peers->ring
 *
 * Per pair and direction the first transport is taken whose setup and connect work at both ends; each end tells the other
 * how it went, so both take the next one together.
 */
#ifndef GF_CORE_CONNECT_H
#define GF_CORE_CONNECT_H

#include "base/log.h"
#include "core/bootstrap.h"
#include "core/connector.h"

enum gf_pattern_kind { GF_PATTERN_DIRECT, GF_PATTERN_RING };

/* Does this pattern connect rank `from` to rank `to`? */
bool gf_pattern_connects(enum gf_pattern_kind kind, int from, int to, const struct gf_peers *peers);

/* What connecting needs; everything outlives the call, and device, stream, fault, proxy and net the pattern. */
struct gf_connect_setup {
    const struct gf_config *config;
    const struct gf_log *log;
    const char *name;                              /* of the communicator, for messages */
    const struct gf_bootstrap *bootstrap;
    const struct gf_peers *peers;
    const struct gf_transport *const *transports;  /* null-terminated, best first */
    gf_device *device;
    gf_stream *stream;
    struct gf_fault *fault;
    struct gf_imports *imports;                    /* of the device; null: none, and no memory of peers is mapped */
    struct gf_proxy *proxy;                        /* null: none, and no transport that needs one */
    struct gf_net *net;                            /* likewise */
    struct gf_abort *abort;                        /* may be null without a proxy; outlives the pattern */
};

/* One end of a connection while and after it is made. */
struct gf_link {
    struct gf_connector connector;
    bool wanted;
    int choice;                    /* index of the transport in use or to be tried next */
};

/* Owned by the communicator. send[q] leads to rank q, recv[q] comes from it; those not wanted hold nothing. */
struct gf_pattern {
    enum gf_pattern_kind kind;
    int rank, ranks;
    struct gf_link *send, *recv;   /* [ranks] each; null: not connected */
};

/* Collective; the same result on all ranks. GF_ERR_UNSUPPORTED: no transport works for some pair, nothing is left behind; *why
 * has the reason of the lowest rank that failed. With config->strict a fall-back gives GF_ERR_DEVICE. */
gf_status gf_pattern_connect(struct gf_pattern *pattern, enum gf_pattern_kind kind, const struct gf_connector_shape *shape,
                             const struct gf_connect_setup *setup, struct gf_reason *why);

/* By which transports this rank sends, in words: "by p2p", or "by p2p to 1 2, by shm to 3" where they differ;
 * and whether the receivers fetch it. Cut to `bytes` bytes. */
void gf_pattern_describe(const struct gf_pattern *pattern, char *text, size_t bytes);

/* Gives all memory back. Idempotent; a pattern of zeros is allowed. */
void gf_pattern_destroy(struct gf_pattern *pattern);

#endif
