/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Comparing what the cards say: the nodes that they name, and settings.
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

/* The value of a setting of the card's, in `room` or elsewhere. */
typedef const char *setting_text(const struct gf_card *card, char *room, size_t bytes);

static const char *net_of(const struct gf_card *card, char *room, size_t bytes)
{
    (void)room, (void)bytes;
    return gf_net_name((enum gf_force_net)card->net);
}

/* Between the other values ranks settle each call: what one of them does not send by messages is staged. */
static const char *between_of(const struct gf_card *card, char *room, size_t bytes)
{
    (void)room, (void)bytes;
    return card->between_nodes == GF_BETWEEN_OFF ? "off" : "messages or auto";
}

static const char *net_bytes_of(const struct gf_card *card, char *room, size_t bytes)
{
    snprintf(room, bytes, "%llu", (unsigned long long)card->net_bytes);
    return card->net == GF_NET_OFF ? "" : room;
}

static bool differs(ompi_communicator_t *comm, const char *name, setting_text *text, struct gf_reason *why)
{
    char first_room[24], other_room[24];
    const char *first = text(gf_card_of(cards(), comm, 0), first_room, sizeof first_room);

    for (int rank = 1; rank < ompi_comm_size(comm); rank++) {
        const char *other = text(gf_card_of(cards(), comm, rank), other_room, sizeof other_room);

        if (strcmp(first, other) != 0) {
            gf_reason_set(why, "its ranks are on several nodes, and differ in coll_gpufifo_%s: rank %d has %s, but rank 0 has "
                          "%s: give all the same", name, rank, other, first);
            return true;
        }
    }
    return false;
}

bool gf_nodes_differ(ompi_communicator_t *comm, struct gf_reason *why)
{
    return cards() && (differs(comm, "net", net_of, why) || differs(comm, "between_nodes", between_of, why) ||
                       differs(comm, "net_bytes", net_bytes_of, why));
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
