/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is the same for all ranks, between nodes: it crosses to each other node once, to one rank there, which passes it on to the
 * others of its node.
 *
 *   broadcast   the nodes are a tree, or a chain where the data have many segments, from the root's node on; a node's lowest rank
 *               receives for it, or the root
 *   allgather   the i-th rank of a node has the blocks of the i-th ranks of the other nodes sent to it, or, where it has fewer
 *               ranks, of the next that there is: so the ranks of a node share its traffic
 */
#ifndef GF_MCA_BETWEEN_SPREAD_H
#define GF_MCA_BETWEEN_SPREAD_H

#include "core/exchange.h"
#include "mca_coll_gpufifo/agree_map.h"
#include "mca_coll_gpufifo/between/messages.h"

/* The ranks of all nodes, node by node. */
struct gf_places {
    int first[GF_MAX_RANKS + 1];       /* by node: where its ranks begin in `ranks` */
    int ranks[GF_MAX_RANKS];
    int place[GF_MAX_RANKS];           /* by rank: which of its node's it is */
};

void gf_places_find(struct gf_places *places, const struct gf_agree_map *map, int ranks);

static inline int gf_places_members(const struct gf_places *places, int node)
{
    return places->first[node + 1] - places->first[node];
}

/* How many ranks the node with the fewest has: so many ranks of each node share what crosses between nodes. */
int gf_places_rails(const struct gf_places *places, int nodes);

/* One call. */
struct gf_between {
    const struct gf_exchange *x;       /* whose own part is done elsewhere */
    const struct gf_agree_map *map;
    int rank, ranks;
    struct gf_messages messages;
};

/* Begin and carry on all messages; what is still under way when they return is gf_messages_finish's. */
void gf_between_broadcast(struct gf_between *between, int root);
void gf_between_allgather(struct gf_between *between);

#endif
