dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl GF_OPENMPI: finds Open MPI by its compiler wrapper.
dnl Sets MPICC, MPI_CPPFLAGS (mpi.h and Open MPI's internal headers), MPI_LIBS.
AC_DEFUN([GF_OPENMPI], [
    AC_PATH_PROG([MPICC], [mpicc])
    AS_IF([test -z "$MPICC"], [AC_MSG_ERROR([mpicc is missing; Debian packages: libopenmpi-dev openmpi-bin])])
    MPI_CPPFLAGS=`$MPICC --showme:compile`
    MPI_LIBS=`$MPICC --showme:link`
    AC_SUBST([MPI_CPPFLAGS])
    AC_SUBST([MPI_LIBS])
])
