/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two kinds of ends of a connection over a network: each a ladder (proxy/stages.h) a lane, whose steps are the lane's rounds.
 */
#ifndef GF_TRANSPORT_NET_ENDS_H
#define GF_TRANSPORT_NET_ENDS_H

#include "core/connector.h"

struct gf_net_end;
struct gf_net_sender;
struct gf_net_receiver;

/* As the functions of struct gf_transport. *made is to be closed after an error, too; close accepts null. */
gf_status gf_net_sender_open(struct gf_connector *c, struct gf_net_sender **made, struct gf_blob *mine, struct gf_reason *why);
gf_status gf_net_sender_connect(struct gf_net_sender *sender, const struct gf_blob *theirs, struct gf_reason *why);
void gf_net_sender_expect(struct gf_net_sender *sender, const uint64_t *steps);
void gf_net_sender_close(struct gf_net_sender *sender);
struct gf_net_end *gf_net_sender_end(struct gf_net_sender *sender);

gf_status gf_net_receiver_open(struct gf_connector *c, struct gf_net_receiver **made, struct gf_blob *mine,
                               struct gf_reason *why);
gf_status gf_net_receiver_connect(struct gf_net_receiver *receiver, const struct gf_blob *theirs, struct gf_reason *why);
void gf_net_receiver_expect(struct gf_net_receiver *receiver, const uint64_t *steps);
void gf_net_receiver_close(struct gf_net_receiver *receiver);
struct gf_net_end *gf_net_receiver_end(struct gf_net_receiver *receiver);

#endif
