/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who the neighbours of this rank are in a communicator's topology, in the order of the parts of the neighbourhood collectives.
 */
#ifndef GF_MCA_NEIGHBOURS_H
#define GF_MCA_NEIGHBOURS_H

#include "mca_coll_gpufifo/ompi_abi.h"

/* Parts that this rank sends, or receives. Missing neighbours at the edge of a grid count, too. */
int gf_neighbours_count(ompi_communicator_t *comm, bool sent);

/* The rank to which that part goes, or from which it comes; MPI_PROC_NULL beyond the edge of a grid. */
int gf_neighbours_rank(ompi_communicator_t *comm, bool sent, int part);

#endif
