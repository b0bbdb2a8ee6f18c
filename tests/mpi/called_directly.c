/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The component's interposition as it is compiled for an Open MPI that was built for one PML only, whose MPI functions call that
 * by name. All other files of the component are the same.
 */
#include "mca_coll_gpufifo/pt2pt/interpose.h"

#undef MCA_ompi_pml_DIRECT_CALL
#define MCA_ompi_pml_DIRECT_CALL 1

#include "mca_coll_gpufifo/pt2pt/interpose.c"
