/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The arrays of counts, displacements and datatypes of a call that outlives its function, copied. MPI wants programs to leave
 * them alone until the operation completes; but Open MPI itself has read them when the function returns, and programs (mpi4py
 * 3.1) free them then.
 */
#ifndef GF_MCA_KEPT_H
#define GF_MCA_KEPT_H

#include "mca_coll_gpufifo/request.h"

/* From now on saved and the layouts of call name copies, which are one block each, [0] of what is sent and [1] of what is
 * received; null: there are none. Freed by free(). False: no memory. */
bool gf_kept_copy(struct gf_saved_call *saved, struct gf_stage_call *call, void *blocks[2]);

#endif
