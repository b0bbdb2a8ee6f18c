/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who of a communicator is where, for the agreement between its ranks.
 */
#ifndef GF_MCA_AGREE_MAP_H
#define GF_MCA_AGREE_MAP_H

#include "mca_coll_gpufifo/module.h"

/* Owned by the module; fixed. Ranks are those of the communicator, an intracommunicator. */
struct gf_agree_map {
    int nodes;                           /* 0: not known: a rank has no card (card.h), or too many are on several nodes */
    int node;                            /* this rank's; 0 is that of rank 0 */
    int members;                         /* ranks on this node */
    int place;                           /* this rank's among them: its line on the board */
    int *leaders;                        /* by node: its lowest rank */
    int *node_of;                        /* by rank: its node */
    int ranks[];                         /* those on this node, in their order */
};

/* The module's, made on first use; any thread. Null: no memory. The first time it looks up the cards of all ranks. */
const struct gf_agree_map *gf_agree_map_of(mca_coll_gpufifo_module_t *module);
void gf_agree_map_free(struct gf_agree_map *map);

/* This rank makes the board of its node. */
static inline bool gf_agree_map_leads(const struct gf_agree_map *map) { return map->place == 0; }

#endif
