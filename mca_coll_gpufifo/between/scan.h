/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Scan and MPI_Exscan whose ranks are on several nodes, by messages (messages.h) and the kernel of local reductions: a chain
 * of all ranks in their order. Each receives what the ranks before it make, reduces with that what it contributes itself, and
 * sends the result on, segment by segment, so that all are at work at once.
 *
 * Each element is reduced from left to right, rank by rank: the same bits whatever the nodes, and again when repeated. A segment
 * crosses between nodes as often as neighbours in the order of ranks are on two.
 *
 * A few segments at a time lie in scratch memory: what comes, and of an exclusive scan what goes on. So a rank needs up to 4
 * segments of it, of an exclusive scan in place up to 8; a segment has up to 1 MiB.
 */
#ifndef GF_MCA_BETWEEN_SCAN_H
#define GF_MCA_BETWEEN_SCAN_H

#include "mca_coll_gpufifo/between/reducer.h"

/* One call. Zeroed by the caller before prepare; ended by release in any case. */
struct gf_between_scan {
    struct gf_mapped_buffer send;      /* this rank's contribution, never empty */
    struct gf_mapped_buffer recv;      /* gets its result, and may be equal to send; no address: it has none */
    bool exclusive;
    struct gf_reducer reducer;
    size_t segment;                    /* bytes of each but the last */
    bool receives, sends;              /* from the rank before this one; to the one behind it */
    bool keeps;                        /* what it receives comes to scratch memory, first there; else to recv */
    size_t goes;                       /* offset there of what an exclusive scan sends on */
};

/* Before the ranks agree: what this rank needs. Null, or why it cannot. send, recv, exclusive, and type and operation of the
 * reducer are the caller's. */
const char *gf_between_scan_prepare(struct gf_between_scan *s, mca_coll_gpufifo_module_t *module);

/* Collective, when all have agreed; no message is under way when it returns. MPI_SUCCESS, or an error of MPI that was reported:
 * then this rank has taken part all the same (messages.h). */
int gf_between_scan_run(struct gf_between_scan *s, mca_coll_gpufifo_module_t *module, const char *function);

/* Null is allowed. */
void gf_between_scan_release(struct gf_between_scan *s);

#endif
