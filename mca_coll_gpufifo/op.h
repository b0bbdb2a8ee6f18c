/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From MPI's operations to those that kernels know.
 */
#ifndef GF_MCA_OP_H
#define GF_MCA_OP_H

#include "base/types.h"
#include "mca_coll_gpufifo/ompi_abi.h"

/* False for user-defined operations and MPI_OP_NULL. */
bool gf_op_predefined(const ompi_op_t *op, enum gf_op *ours);

#endif
