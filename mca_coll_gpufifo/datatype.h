/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From MPI's datatypes to the element types that kernels know.
 */
#ifndef GF_MCA_DATATYPE_H
#define GF_MCA_DATATYPE_H

#include "base/types.h"
#include "mca_coll_gpufifo/ompi_abi.h"

/* The element type of a predefined MPI datatype, by its meaning and its size here. False for derived types, for duplicates of
 * predefined types (MPI lets no predefined operation take them), and for the few predefined ones without one: characters,
 * MPI_PACKED, and Fortran's 16-byte reals, whose format is not C's long double.
 *
 * Ranks may answer differently for one call only if the program passes different types in it; then the ranks that say false
 * count as host ranks (agree.h) and all stage, so the answer needs no agreement of its own. */
bool gf_datatype_element(const ompi_datatype_t *datatype, enum gf_type *type);

#endif
