/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cards: what each process of a job tells the others in MPI_Init's exchange of addresses, namely that its messages pass this
 * component, a random cookie, and a page of memory by which its peers try whether they can share any. A card is looked up when
 * the first message needs it. Who has published none (it runs without the component or without a device, or in another job) is
 * never sent an RTS, and what it sends is none.
 */
#ifndef GF_MCA_CARD_H
#define GF_MCA_CARD_H

#include "core/config.h"
#include "core/segment.h"
#include "mca_coll_gpufifo/ompi_abi.h"

enum { GF_COOKIE_BYTES = 16 };

/* Names a node within the job (nodes.h). Plain bytes. */
struct gf_node_name {
    int32_t lowest_rank;                           /* in MPI_COMM_WORLD, of those that Open MPI counts to this node */
    char name[GF_NODE_BYTES];                      /* coll_gpufifo_node */
};

/* Plain bytes. */
struct gf_card {
    unsigned char cookie[GF_COOKIE_BYTES];
    struct gf_node_name node;
    int32_t net;                                   /* coll_gpufifo_net: enum gf_force_net */
    int32_t between_nodes;                         /* coll_gpufifo_between_nodes: enum gf_between_nodes */
    uint64_t net_bytes;                            /* coll_gpufifo_net_bytes */
    int32_t deterministic;                         /* coll_gpufifo_deterministic */
    int32_t reserved;
    struct gf_segment_name page;                   /* bytes 0: it could not be made, and so nothing else could */
};

/* Cards that this process knows, its own included; one a process; any thread. */
struct gf_cards;

/* While the component opens: makes this process's card, of what config says, and publishes it. From then on its peers may send
 * RTSs: the interposition must follow. Null: nothing was published. */
struct gf_cards *gf_cards_publish(const mca_base_component_t *component, const struct gf_config *config);
void gf_cards_destroy(struct gf_cards *cards);

const struct gf_card *gf_card_mine(const struct gf_cards *cards);

/* The card of that rank (of the remote group, on an intercommunicator); null: it has none. The first time it may ask the
 * process's local server. */
const struct gf_card *gf_card_of(struct gf_cards *cards, ompi_communicator_t *comm, int rank);

/* Can that rank of this node, which has a card, and this process share host memory? Tried once, by attaching its page; what one
 * of two can, so can the other. Containers with PID namespaces of their own cannot, nor processes of different users. *why is set
 * where they cannot. */
bool gf_card_shares_memory(struct gf_cards *cards, ompi_communicator_t *comm, int rank, struct gf_reason *why);

#endif
