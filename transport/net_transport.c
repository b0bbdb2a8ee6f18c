/* SPDX-License-Identifier: BSD-3-Clause
 *
 * net, as core meets it: for two ranks that share no memory.
 */
#include "transport/transport.h"

#include <stdlib.h>

#include "transport/net_end.h"
#include "transport/net_ends.h"

/* Owner: the connector. One of the two. */
struct net {
    struct gf_net_sender *sender;
    struct gf_net_receiver *receiver;
};

static gf_status setup(struct gf_connector *c, struct gf_blob *mine, struct gf_reason *why)
{
    struct net *net = calloc(1, sizeof *net);

    if (!net) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    c->private = net;
    if (!c->net) {
        gf_reason_set(why, "the setting net is off");
        return GF_ERR_UNSUPPORTED;
    }
    return c->is_sender ? gf_net_sender_open(c, &net->sender, mine, why) : gf_net_receiver_open(c, &net->receiver, mine, why);
}

static gf_status connect(struct gf_connector *c, const struct gf_blob *theirs, struct gf_reason *why)
{
    struct net *net = c->private;

    return c->is_sender ? gf_net_sender_connect(net->sender, theirs, why) : gf_net_receiver_connect(net->receiver, theirs, why);
}

static void expect(struct gf_connector *c, const uint64_t *steps)
{
    struct net *net = c->private;

    if (c->is_sender) {
        gf_net_sender_expect(net->sender, steps);
    } else {
        gf_net_receiver_expect(net->receiver, steps);
    }
}

static struct gf_net_end *end_of(struct gf_connector *c)
{
    struct net *net = c->private;

    return c->is_sender ? gf_net_sender_end(net->sender) : gf_net_receiver_end(net->receiver);
}

static void ask(struct gf_connector *c)
{
    gf_net_end_ask(end_of(c));
}

static bool lend(struct gf_connector *c, const struct gf_loan *loan)
{
    return gf_net_end_lend(end_of(c), loan);
}

static void reclaim(struct gf_connector *c, bool failed)
{
    gf_net_end_reclaim(end_of(c), failed);
}

static void destroy(struct gf_connector *c)
{
    struct net *net = c->private;

    if (!net) {
        return;
    }
    gf_net_sender_close(net->sender);
    gf_net_receiver_close(net->receiver);
    free(net);
    c->private = NULL;
}

const struct gf_transport gf_transport_net = {
    .name = "net", .id = GF_TRANSPORT_NET, .on_request = true, .between_nodes = true, .long_blobs = true,
    .setup = setup, .connect = connect, .expect = expect, .ask = ask, .lend = lend, .reclaim = reclaim, .destroy = destroy,
};
