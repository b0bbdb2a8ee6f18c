/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A communicator for one call of the saved component in a place that was taken before (gf_mpi_take_place), by any thread: the
 * same ranks, context and messages, but a count of tags of its own, which the call takes its tag from. Only such calls may be
 * given it.
 */
#ifndef GF_MCA_PLACED_H
#define GF_MCA_PLACED_H

#include "mca_coll_gpufifo/ompi_abi.h"

/* Null: no memory. The caller's, who releases it when the call's request has been freed. It goes with the last message of Open
 * MPI's that is about it, and keeps comm until then. */
ompi_communicator_t *gf_placed_comm(ompi_communicator_t *comm, int32_t place);

#endif
