/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Allreduce whose ranks are on several nodes, by messages (messages.h) and the kernel of local reductions. Each node has as
 * many rails as the node with the fewest ranks has ranks, and a rail an equal share of the data:
 *
 *   in the node         each rank sends the share of a rail to the rank that is on it, which reduces them in the order of ranks
 *   between the nodes   the ranks of a rail reduce what their nodes have of its share, a part each, in the order of nodes, and
 *                       send their part of the result to one another
 *   in the node         the rank on a rail sends its share of the result to the others
 *
 * So to and from each node goes as much as with one rank a node, shared by its rails. Each element is reduced at one rank, in an
 * order that follows from who is where: all ranks get the same bits, and again when repeated.
 *
 * What comes for a reduction lies in scratch memory, the shares of the node and then, in their place, the parts of the rail; what
 * the node has of a share lies in the receive buffer, or is the send buffer of a rank that is alone there. So a rank on a rail
 * needs max((M - 1) S, (N - 1) P) bytes of it: M ranks on its node, N nodes, S and P the bytes of its share and of its part of
 * that, each rounded up to 256. With B bytes of data and R rails, S is about B / R and P is S / N; with a rank a node, it needs
 * about B (N - 1) / N.
 */
#ifndef GF_MCA_BETWEEN_ALLREDUCE_H
#define GF_MCA_BETWEEN_ALLREDUCE_H

#include "mca_coll_gpufifo/between/reducer.h"
#include "mca_coll_gpufifo/between/spread.h"

/* One call. Zeroed by the caller before prepare; ended by release in any case. */
struct gf_between_allreduce {
    struct gf_mapped_buffer send, recv;      /* equal in place */
    size_t count;                      /* elements, > 0 */
    struct gf_reducer reducer;         /* whose lane is null on a rank that is on no rail */
    struct gf_places places;
    int rails;
};

/* Before the ranks agree: what this rank needs. Null, or why it cannot. send, recv, count, and type and operation of the
 * reducer are the caller's. */
const char *gf_between_allreduce_prepare(struct gf_between_allreduce *a, mca_coll_gpufifo_module_t *module);

/* Collective, when all have agreed; no message is under way when it returns. MPI_SUCCESS, or an error of MPI that was reported:
 * then this rank has taken part all the same (messages.h). */
int gf_between_allreduce_run(struct gf_between_allreduce *a, mca_coll_gpufifo_module_t *module, const char *function);

/* Null is allowed. */
void gf_between_allreduce_release(struct gf_between_allreduce *a);

#endif
