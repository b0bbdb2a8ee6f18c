/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two nodes in one process, and one connection between them over a wire: each node has a proxy, a net and an abort page
 * of its own, and knows of the other what the wire brings.
 */
#ifndef GF_TESTS_UNIT_NET_WORLD_H
#define GF_TESTS_UNIT_NET_WORLD_H

#include "proxy/proxy.h"
#include "tests/support/soft_wire.h"
#include "tests/unit/copied_device.h"
#include "tests/unit/fifo_play.h"
#include "transport/net.h"
#include "transport/transport.h"

struct net_node {
    gf_proxy *proxy;
    struct gf_net *net;
    struct gf_abort abort;
    uint32_t kernel_word;              /* the kernels' abort word */
    struct gf_fault fault;
    struct gf_log log;
    char said[1000];                   /* the net's lines of GF_LOG_PATH */
};

struct net_world {
    gf_device *device;
    struct net_node nodes[2];          /* by end, as play.ends; the receiver is rank 0 */
    struct gf_blob blobs[2];           /* what the ends told */
    struct play play;
};

/* How a world is to be. */
struct net_want {
    int channels, group;
    enum gf_choice device_memory;
    enum gf_flush_choice flush;
    enum gf_choice zero_copy;
};

/* The wire of worlds to come, the soft one unless a test has another; and its settings. */
extern const struct gf_wire_ops *net_world_wires[];
extern struct gf_wire_config net_world_wire_config;

/* As net_world_open, up to a connection that is set up at neither end. */
void net_world_begin(struct net_world *w, const struct net_want *want);
/* What is left to do then. */
void net_world_join(struct net_world *w);
/* Both. gftest_soft_wants are the caller's. */
void net_world_open(struct net_world *w, const struct net_want *want);
void net_world_close(struct net_world *w);

/* Sets up one end, or connects it to what the other told. */
gf_status net_world_setup(struct net_world *w, int end, struct gf_reason *why);
gf_status net_world_connect(struct net_world *w, int end, struct gf_reason *why);

/* The test fails if the receiver complained, or one of them was aborted. */
void net_world_expect_right(struct net_world *w);

/* Until that end's proxy has gone to sleep once more than it had before. */
void net_world_await_sleep(const struct net_world *w, int end, uint64_t sleeps);

/* Ends the connection at that end, and tells the operations of its wire. */
struct gf_wire_counts net_world_counts(struct net_world *w, int end);

#endif
