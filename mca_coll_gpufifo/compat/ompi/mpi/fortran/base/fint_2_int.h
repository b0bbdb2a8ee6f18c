/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stand-in for a header that ompi/op/op.h includes and that Open MPI does not install. op.h calls Fortran's user-defined
 * operations and passes them a count and a datatype as Fortran integers: only that conversion is needed.
 */
#ifndef OMPI_FORTRAN_BASE_FINT_2_INT_H
#define OMPI_FORTRAN_BASE_FINT_2_INT_H

#define OMPI_INT_2_FINT(value) ((MPI_Fint)(value))
#define OMPI_FINT_2_INT(value) ((int)(value))

#endif
