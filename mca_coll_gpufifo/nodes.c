/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Comparing the nodes that the cards name.
 */
#include "mca_coll_gpufifo/nodes.h"

#include "mca_coll_gpufifo/card.h"
#include "mca_coll_gpufifo/module.h"

static struct gf_cards *cards(void) { return mca_coll_gpufifo_component.pt2pt.cards; }

static bool is_same(const struct gf_card *a, const struct gf_card *b)
{
    return a->node.lowest_rank == b->node.lowest_rank && strncmp(a->node.name, b->node.name, sizeof a->node.name) == 0;
}

bool gf_node_is_ours(ompi_communicator_t *comm, int rank)
{
    const struct gf_card *card = cards() ? gf_card_of(cards(), comm, rank) : NULL;

    return card ? is_same(card, gf_card_mine(cards())) : gf_mpi_same_node(ompi_comm_peer_lookup(comm, rank));
}

/* The number of this card's node, which is `nodes` if it is a new one. Neighbours are mostly on one node. */
static int number_of(const struct gf_card *card, ompi_communicator_t *comm, const int *node, int rank, int nodes)
{
    for (int earlier = rank - 1; earlier >= 0; earlier--) {
        if (is_same(card, gf_card_of(cards(), comm, earlier))) {
            return node[earlier];
        }
    }
    return nodes;
}

bool gf_nodes_may_be_native(void)
{
    const struct gf_config *config = &mca_coll_gpufifo_component.config;

    return config->net != GF_NET_OFF || config->between_nodes != GF_BETWEEN_OFF;
}

int gf_nodes_number(ompi_communicator_t *comm, int *node)
{
    int nodes = 0;

    for (int rank = 0; rank < ompi_comm_size(comm); rank++) {
        const struct gf_card *card = cards() ? gf_card_of(cards(), comm, rank) : NULL;

        if (!card) {
            return 0;
        }
        node[rank] = number_of(card, comm, node, rank, nodes);
        nodes += node[rank] == nodes;
    }
    return nodes;
}
