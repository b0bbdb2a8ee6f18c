/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI's predefined operations, by handle.
 */
#include "mca_coll_gpufifo/op.h"

static const struct {
    MPI_Op handle;
    enum gf_op op;
} predefined[] = {
    {MPI_SUM, GF_SUM}, {MPI_MAX, GF_MAX}, {MPI_MIN, GF_MIN}, {MPI_PROD, GF_PROD},
    {MPI_LAND, GF_LAND}, {MPI_LOR, GF_LOR}, {MPI_LXOR, GF_LXOR},
    {MPI_BAND, GF_BAND}, {MPI_BOR, GF_BOR}, {MPI_BXOR, GF_BXOR},
    {MPI_MAXLOC, GF_MAXLOC}, {MPI_MINLOC, GF_MINLOC},
    {MPI_REPLACE, GF_REPLACE}, {MPI_NO_OP, GF_NO_OP},
};

bool gf_op_predefined(const ompi_op_t *op, enum gf_op *ours)
{
    for (size_t i = 0; i < sizeof(predefined) / sizeof(predefined[0]); i++) {
        if (predefined[i].handle == op) {
            *ours = predefined[i].op;
            return true;
        }
    }
    return false;
}
