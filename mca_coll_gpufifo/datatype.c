/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI's predefined datatypes, by handle: Open MPI's own numbers put MPI_BYTE and MPI_UINT8_T, or MPI_LOGICAL8 and
 * MPI_INT64_T, together.
 */
#include "mca_coll_gpufifo/datatype.h"

enum meaning { SIGNED, UNSIGNED, REAL, COMPLEX, BOOLEAN, LOGICAL, BYTES, PAIR_OF_INTEGERS, PAIR_OF_REALS,
               WITH_INT_FLOAT, WITH_INT_DOUBLE, WITH_INT_LONG, WITH_INT_SHORT, WITH_INT_LONG_DOUBLE };

static const struct {
    MPI_Datatype handle;
    enum meaning meaning;
} predefined[] = {
    {MPI_FLOAT, REAL}, {MPI_DOUBLE, REAL}, {MPI_INT, SIGNED}, {MPI_LONG, SIGNED}, {MPI_LONG_DOUBLE, REAL},
    {MPI_CHAR, SIGNED}, {MPI_SIGNED_CHAR, SIGNED}, {MPI_SHORT, SIGNED}, {MPI_LONG_LONG, SIGNED},
    {MPI_UNSIGNED_CHAR, UNSIGNED}, {MPI_UNSIGNED_SHORT, UNSIGNED}, {MPI_UNSIGNED, UNSIGNED},
    {MPI_UNSIGNED_LONG, UNSIGNED}, {MPI_UNSIGNED_LONG_LONG, UNSIGNED},
    {MPI_INT8_T, SIGNED}, {MPI_INT16_T, SIGNED}, {MPI_INT32_T, SIGNED}, {MPI_INT64_T, SIGNED},
    {MPI_UINT8_T, UNSIGNED}, {MPI_UINT16_T, UNSIGNED}, {MPI_UINT32_T, UNSIGNED}, {MPI_UINT64_T, UNSIGNED},
    {MPI_AINT, SIGNED}, {MPI_COUNT, SIGNED},
    {MPI_OFFSET, UNSIGNED},      /* as Open MPI reduces it on the host, so that staging changes no result */
    {MPI_BYTE, BYTES}, {MPI_C_BOOL, BOOLEAN}, {MPI_CXX_BOOL, BOOLEAN},
    {MPI_C_FLOAT_COMPLEX, COMPLEX}, {MPI_C_COMPLEX, COMPLEX}, {MPI_C_DOUBLE_COMPLEX, COMPLEX},
    {MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX}, {MPI_CXX_FLOAT_COMPLEX, COMPLEX}, {MPI_CXX_DOUBLE_COMPLEX, COMPLEX},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX},
    {MPI_INTEGER, SIGNED}, {MPI_INTEGER1, SIGNED}, {MPI_INTEGER2, SIGNED}, {MPI_INTEGER4, SIGNED}, {MPI_INTEGER8, SIGNED},
    {MPI_REAL, REAL}, {MPI_REAL4, REAL}, {MPI_REAL8, REAL}, {MPI_DOUBLE_PRECISION, REAL},
    {MPI_COMPLEX, COMPLEX}, {MPI_COMPLEX8, COMPLEX}, {MPI_COMPLEX16, COMPLEX}, {MPI_DOUBLE_COMPLEX, COMPLEX},
    {MPI_LOGICAL, LOGICAL}, {MPI_LOGICAL1, LOGICAL}, {MPI_LOGICAL2, LOGICAL}, {MPI_LOGICAL4, LOGICAL}, {MPI_LOGICAL8, LOGICAL},
    {MPI_2INT, PAIR_OF_INTEGERS}, {MPI_2INTEGER, PAIR_OF_INTEGERS},
    {MPI_2REAL, PAIR_OF_REALS}, {MPI_2DOUBLE_PRECISION, PAIR_OF_REALS},
    {MPI_FLOAT_INT, WITH_INT_FLOAT}, {MPI_DOUBLE_INT, WITH_INT_DOUBLE}, {MPI_LONG_INT, WITH_INT_LONG},
    {MPI_SHORT_INT, WITH_INT_SHORT}, {MPI_LONG_DOUBLE_INT, WITH_INT_LONG_DOUBLE},
};

/* The candidates of one meaning; the one of the datatype's size is it. The pairs with an int are laid out by C, so their
 * extent counts. */
static const enum gf_type candidates[][4] = {
    [SIGNED] = {GF_INT8, GF_INT16, GF_INT32, GF_INT64},
    [UNSIGNED] = {GF_UINT8, GF_UINT16, GF_UINT32, GF_UINT64},
    [REAL] = {GF_FLOAT, GF_DOUBLE, GF_LONG_DOUBLE, GF_LONG_DOUBLE},
    [COMPLEX] = {GF_FLOAT_COMPLEX, GF_DOUBLE_COMPLEX, GF_LONG_DOUBLE_COMPLEX, GF_LONG_DOUBLE_COMPLEX},
    [BOOLEAN] = {GF_BOOL, GF_BOOL, GF_BOOL, GF_BOOL},
    [LOGICAL] = {GF_LOGICAL8, GF_LOGICAL16, GF_LOGICAL32, GF_LOGICAL64},
    [BYTES] = {GF_BYTE, GF_BYTE, GF_BYTE, GF_BYTE},
    [PAIR_OF_INTEGERS] = {GF_INT_INT, GF_INT_INT, GF_INT_INT, GF_INT_INT},
    [PAIR_OF_REALS] = {GF_FLOAT_FLOAT, GF_DOUBLE_DOUBLE, GF_DOUBLE_DOUBLE, GF_DOUBLE_DOUBLE},
    [WITH_INT_FLOAT] = {GF_FLOAT_INT, GF_FLOAT_INT, GF_FLOAT_INT, GF_FLOAT_INT},
    [WITH_INT_DOUBLE] = {GF_DOUBLE_INT, GF_DOUBLE_INT, GF_DOUBLE_INT, GF_DOUBLE_INT},
    [WITH_INT_LONG] = {GF_LONG_INT, GF_LONG_INT, GF_LONG_INT, GF_LONG_INT},
    [WITH_INT_SHORT] = {GF_SHORT_INT, GF_SHORT_INT, GF_SHORT_INT, GF_SHORT_INT},
    [WITH_INT_LONG_DOUBLE] = {GF_LONG_DOUBLE_INT, GF_LONG_DOUBLE_INT, GF_LONG_DOUBLE_INT, GF_LONG_DOUBLE_INT},
};

bool gf_datatype_element(const ompi_datatype_t *datatype, enum gf_type *type)
{
    size_t extent = (size_t)(datatype->super.ub - datatype->super.lb);

    for (size_t i = 0; i < sizeof(predefined) / sizeof(predefined[0]); i++) {
        if (predefined[i].handle != datatype) {
            continue;
        }
        for (int c = 0; c < 4; c++) {
            *type = candidates[predefined[i].meaning][c];
            if (gf_type_size(*type) == extent) {
                return true;
            }
        }
        return false;
    }
    return false;
}
