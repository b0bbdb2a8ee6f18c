/* SPDX-License-Identifier: BSD-3-Clause
 *
 * On which node each rank is: as Open MPI says, divided further by coll_gpufifo_node. Ranks of one node may share memory, whether
 * they can is tried; between nodes nobody tries. Whoever wants to know asks here. From any thread.
 */
#ifndef GF_MCA_NODES_H
#define GF_MCA_NODES_H

#include <stdbool.h>

#include "base/status.h"
#include "mca_coll_gpufifo/ompi_abi.h"

/* Is that rank on our node? By the cards (card.h); where one of the two has none, as Open MPI says. */
bool gf_node_is_ours(ompi_communicator_t *comm, int rank);

/* Numbers the nodes of an intracommunicator from 0 on, in the order of their lowest ranks, equal on all its ranks; `node` has
 * room for each rank. Returns how many there are; 0: not known, since a rank has no card. Looks up the cards of all ranks, and
 * compares each with those of other nodes: for communicators of up to GF_MAX_RANKS. */
int gf_nodes_number(ompi_communicator_t *comm, int *node);

/* May calls be native whose ranks are on several nodes? If not, no rank looks for a word of another node. */
bool gf_nodes_may_be_native(void);

/* Do ranks of this intracommunicator, all of which have cards, have different settings, of those on which it depends by what way
 * a call goes between nodes? Then *why names the first such setting, and two ranks with their values: the same on all ranks. */
bool gf_nodes_differ(ompi_communicator_t *comm, struct gf_reason *why);

#endif
