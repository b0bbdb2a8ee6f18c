/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Reduce, MPI_Reduce_scatter and MPI_Reduce_scatter_block whose ranks are on several nodes, by messages (messages.h) and the
 * kernel of local reductions. The data are cut into pieces, each of which one rank owns, who is on a rail, as the first ranks of
 * each node are, as many as the node with the fewest ranks has:
 *
 *   reduce            so many equal ones, with two nodes as the root's node has rails, else as all have
 *   reduce-scatter    the ranks' results, each owned by itself, or by a rank of its node that is on a rail
 *
 *   in the node         each rank sends a piece to the rank that is on its owner's rail, which reduces it in the order of ranks
 *   between the nodes   the ranks of the rail send that to the owner, who reduces it in the order of nodes
 *   to where it belongs the owner sends the result to the root, or to the rank of its node whose it is
 *
 * A piece moves on while others are still on their way. Each element is reduced at one rank, in an order that follows from who is
 * where: the same bits when repeated.
 *
 * What comes lies in scratch memory: with M ranks on its node, S bytes of pieces on its rail, N nodes and P bytes of pieces that
 * it owns, a rank needs (M - 1) S + (N - 1) P bytes of it, each piece rounded up to 256. Of a reduce of B bytes on R rails, S is
 * about B / R and P is S / N, or S with two nodes at the root's; of a reduce-scatter they are as its counts tell.
 */
#ifndef GF_MCA_BETWEEN_REDUCE_H
#define GF_MCA_BETWEEN_REDUCE_H

#include "mca_coll_gpufifo/between/reducer.h"
#include "mca_coll_gpufifo/between/spread.h"

struct gf_between_piece {
    struct gf_part part;               /* of the contributions */
    int owner;                         /* the rank that makes the result */
    int target;                        /* the rank whose it is */
    size_t came_from_node;             /* scratch memory for the node's contributions, where this rank is on the rail */
    size_t came_between;               /* for those of other nodes, where it is the owner */
    int posted;                        /* messages up to the last one from the node */
};

/* One call. Zeroed by the caller before prepare; ended by release in any case. */
struct gf_between_reduce {
    struct gf_mapped_buffer send;      /* this rank's contribution, never empty */
    struct gf_mapped_buffer recv;      /* gets its result, at the start; no address: it has none */
    size_t first;                      /* byte of the contributions with which the result begins */
    bool overlaps;                     /* recv has contributions, too, and not those of the result at its place */
    struct gf_reducer reducer;         /* whose lane is null on a rank that is on no rail */
    struct gf_places places;
    int rails, pieces;
    struct gf_between_piece piece[GF_MAX_RANKS];     /* those of the next node first, those of this rank's own last */
};

/* Before the ranks agree: what this rank needs. Null, or why it cannot. send, recv, first, and type and operation of the reducer
 * are the caller's. root: of a reduce. counts: by rank, the bytes of its result of a reduce-scatter. */
const char *gf_between_reduce_prepare(struct gf_between_reduce *r, mca_coll_gpufifo_module_t *module, int root);
const char *gf_between_reduce_scatter_prepare(struct gf_between_reduce *r, mca_coll_gpufifo_module_t *module,
                                              const size_t *counts);

/* Collective, when all have agreed; no message is under way when it returns. MPI_SUCCESS, or an error of MPI that was reported:
 * then this rank has taken part all the same (messages.h). */
int gf_between_reduce_run(struct gf_between_reduce *r, mca_coll_gpufifo_module_t *module, const char *function);

/* Null is allowed. */
void gf_between_reduce_release(struct gf_between_reduce *r);

#endif
