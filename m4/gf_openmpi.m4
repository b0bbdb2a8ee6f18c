dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl GF_OPENMPI: finds Open MPI by its compiler wrapper, its internal (MCA) headers, and where it looks for components.
dnl
dnl Sets and substitutes:
dnl   MPICC, MPIRUN        the wrapper and the launcher beside it
dnl   MPI_CPPFLAGS         for programs: mpi.h
dnl   MPI_LIBS             for programs
dnl   GF_MCA_CPPFLAGS      for the component: Open MPI's internal headers
dnl   GF_MCA_CFLAGS        for the component
dnl   GF_MCA_LIBS          for the component
dnl   gf_openmpi_version   e.g. 4.1.4
dnl   gf_openmpi_series    4.1, 5.0 or 6.0
dnl   componentdir         where the component is installed

AC_DEFUN([GF_OPENMPI], [
    gf_pmix_components=
    AC_SUBST([gf_pmix_components])
    AC_ARG_VAR([MPICC], [Open MPI's C compiler wrapper])
    AC_ARG_WITH([mpi],
        [AS_HELP_STRING([--with-mpi=DIR], [use the Open MPI installed in DIR (default: the mpicc in PATH)])],
        [], [with_mpi=yes])
    AS_CASE([$with_mpi],
        [no], [AC_MSG_ERROR([gpufifo is an Open MPI component: it cannot be built --without-mpi])],
        [yes], [AC_PATH_PROG([MPICC], [${MPICC:-mpicc}])],
        [AS_IF([test -x "$with_mpi/bin/mpicc"], [MPICC=$with_mpi/bin/mpicc],
            [AC_MSG_ERROR([m4_normalize([
                --with-mpi=$with_mpi: there is no $with_mpi/bin/mpicc; give the folder that Open MPI was installed into])])])])
    AS_IF([test -z "$MPICC"],
        [AC_MSG_ERROR([m4_normalize([
            mpicc is missing: install Open MPI (Debian and Ubuntu: libopenmpi-dev and openmpi-bin), or say where it is by
            --with-mpi=DIR])])])

    GF_OPENMPI_WRAPPER
    GF_OPENMPI_VERSION
    GF_OPENMPI_MCA_HEADERS
    GF_OPENMPI_COMPONENT_DIR
])

dnl What the wrapper would add to a compiler's command line.
AC_DEFUN([GF_OPENMPI_WRAPPER], [
    AC_MSG_CHECKING([whether $MPICC is Open MPI's])
    gf_incdirs=`"$MPICC" --showme:incdirs 2>/dev/null`
    AS_IF([test -n "$gf_incdirs"], [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([m4_normalize([
             $MPICC is not Open MPI's wrapper: install Open MPI (Debian and Ubuntu: libopenmpi-dev and openmpi-bin), or say
             where it is by --with-mpi=DIR])])])
    MPI_CPPFLAGS=`"$MPICC" --showme:compile`
    MPI_LIBS=`"$MPICC" --showme:link`
    gf_libdirs=`"$MPICC" --showme:libdirs`
    # Open MPI's folders are found again at run time where they are not the system's.
    for gf_dir in $gf_libdirs; do
        AS_CASE([$gf_dir], [/usr/*], [], [MPI_LIBS="$MPI_LIBS -Wl,-rpath,$gf_dir"])
    done
    AC_SUBST([MPI_CPPFLAGS])
    AC_SUBST([MPI_LIBS])
    gf_mpi_bin=`AS_DIRNAME(["$MPICC"])`
    AC_PATH_PROG([MPIRUN], [mpirun], [], [$gf_mpi_bin$PATH_SEPARATOR$PATH])
    AS_IF([test -z "$MPIRUN"], [AC_MSG_WARN([mpirun is missing, so the tests cannot run (Debian and Ubuntu: openmpi-bin)])])
])

dnl The versions whose internal interfaces mca_coll_gpufifo/ompi_abi.h knows.
AC_DEFUN([GF_OPENMPI_VERSION], [
    gf_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $MPI_CPPFLAGS"
    AC_CHECK_HEADER([mpi.h], [],
        [AC_MSG_ERROR([m4_normalize([
            mpi.h cannot be compiled with the flags of $MPICC: install Open MPI's headers (Debian and Ubuntu:
            libopenmpi-dev)])])])
    AC_MSG_CHECKING([for the version of Open MPI])
    for gf_part in MAJOR MINOR RELEASE; do
        AC_COMPUTE_INT([gf_number], [OMPI_${gf_part}_VERSION], [[#include <mpi.h>]], [gf_number=unknown])
        AS_VAR_SET([gf_openmpi_$gf_part], [$gf_number])
    done
    CPPFLAGS=$gf_save_CPPFLAGS
    gf_openmpi_series=$gf_openmpi_MAJOR.$gf_openmpi_MINOR
    gf_openmpi_version=$gf_openmpi_series.$gf_openmpi_RELEASE
    AC_MSG_RESULT([$gf_openmpi_version])
    AS_CASE([$gf_openmpi_series], [4.1|5.0|6.0], [],
        [AC_MSG_ERROR([m4_normalize([
            Open MPI $gf_openmpi_version is not supported: gpufifo knows 4.1, 5.0 and 6.0; say where one of them is by
            --with-mpi=DIR])])])
    AC_SUBST([gf_openmpi_version])
    AC_SUBST([gf_openmpi_series])
])

dnl GF_MCA_HEADER_EXISTS(HEADER, IF-YES, IF-NO): looks in the wrapper's folders only.
AC_DEFUN([GF_MCA_HEADER_EXISTS], [
    gf_found=no
    for gf_dir in $gf_mca_incdirs; do
        AS_IF([test -f "$gf_dir/$1"], [gf_found=yes; break])
    done
    AS_IF([test $gf_found = yes], [$2], [$3])
])

dnl Open MPI installs its internal headers only if it was configured --with-devel-headers, as Debian's and Ubuntu's are. Some
dnl that these include are not installed even so; mca_coll_gpufifo/compat has our stand-ins.
AC_DEFUN([GF_OPENMPI_MCA_HEADERS], [
    gf_mca_incdirs=
    GF_MCA_CPPFLAGS=$MPI_CPPFLAGS
    for gf_dir in $gf_incdirs; do
        gf_mca_incdirs="$gf_mca_incdirs $gf_dir"
        AS_IF([test -d "$gf_dir/openmpi/opal"],
            [gf_mca_incdirs="$gf_mca_incdirs $gf_dir/openmpi"
             GF_MCA_CPPFLAGS="$GF_MCA_CPPFLAGS -I$gf_dir/openmpi"])
    done
    AC_MSG_CHECKING([for Open MPI's internal headers])
    GF_MCA_HEADER_EXISTS([ompi/mca/coll/coll.h],
        [AC_MSG_RESULT([$gf_dir])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([m4_normalize([
             Open MPI's internal headers (ompi/mca/coll/coll.h) are missing: install libopenmpi-dev (Debian, Ubuntu), or
             configure your own Open MPI --with-devel-headers])])])

    gf_compat=
    m4_foreach_w([gf_header], [ompi/mpi/fortran/base/fint_2_int.h opal/mca/timer/linux/timer_linux.h],
        [GF_MCA_HEADER_EXISTS(gf_header, [], [gf_compat="$gf_compat gf_header"])])
    AS_IF([test $gf_openmpi_MAJOR -ge 5], [
        m4_foreach_w([gf_header], [mutex threads tsd],
            [GF_MCA_HEADER_EXISTS([opal/mca/threads/pthreads/threads_pthreads_]gf_header[.h], [],
                [gf_compat="$gf_compat opal/mca/threads/pthreads/threads_pthreads_]gf_header[.h"])])
        GF_OPENMPI_PMIX])
    # After Open MPI's own folders, so that a stand-in never hides a real header.
    AS_IF([test -n "$gf_compat"],
        [AC_MSG_NOTICE([not installed with Open MPI, own stand-ins are used:$gf_compat])
         GF_MCA_CPPFLAGS="$GF_MCA_CPPFLAGS "'-I$(top_srcdir)/mca_coll_gpufifo/compat'])

    GF_MCA_CFLAGS=-fno-strict-aliasing
    # Open MPI's inline atomics of 16 bytes need the instruction where the processor has it as an extension.
    GF_CFLAG([-mcx16], [GF_MCA_CFLAGS="$GF_MCA_CFLAGS -mcx16"])

    gf_save_CPPFLAGS=$CPPFLAGS
    gf_save_CFLAGS=$CFLAGS
    CPPFLAGS="$CPPFLAGS `AS_ECHO(["$GF_MCA_CPPFLAGS"]) | sed 's|\$(top_srcdir)|'"$srcdir"'|'`"
    CFLAGS="$CFLAGS $GF_MCA_CFLAGS"
    AC_MSG_CHECKING([whether the internal headers compile])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
            #include "ompi_config.h"
            #include "mpi.h"
            #include "ompi/mca/coll/coll.h"
            #include "ompi/mca/coll/base/coll_base_functions.h"
            #include "ompi/mca/pml/pml.h"
            #include "ompi/op/op.h"
            #include "opal/mca/timer/base/base.h"
        ]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([m4_normalize([
             Open MPI's internal headers do not compile (config.log has the compiler's message): install what they include
             (Debian and Ubuntu: libopenmpi-dev libhwloc-dev libevent-dev libpmix-dev)])])])
    CPPFLAGS=$gf_save_CPPFLAGS
    CFLAGS=$gf_save_CFLAGS

    GF_MCA_LIBS="$MPI_LIBS -lopen-pal"
    AC_SUBST([GF_MCA_CPPFLAGS])
    AC_SUBST([GF_MCA_CFLAGS])
    AC_SUBST([GF_MCA_LIBS])
])

dnl From 5.0 on the internal headers include PMIx's: Open MPI's own copy, or the system's.
AC_DEFUN([GF_OPENMPI_PMIX], [
    PKG_CHECK_MODULES([PMIX], [pmix], [], [PMIX_CFLAGS=])
    AS_IF([test -z "$PMIX_CFLAGS"], [
        for gf_dir in /usr/lib/*/pmix2/include /usr/lib/pmix2/include; do
            AS_IF([test -f "$gf_dir/pmix.h"], [PMIX_CFLAGS=-I$gf_dir; break])
        done])
    gf_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $GF_MCA_CPPFLAGS $PMIX_CFLAGS"
    AC_CHECK_HEADER([pmix.h], [],
        [AC_MSG_ERROR([m4_normalize([
            pmix.h is missing, which the headers of Open MPI $gf_openmpi_version include: install libpmix-dev (Debian,
            Ubuntu), or set PMIX_CFLAGS])])])
    CPPFLAGS=$gf_save_CPPFLAGS
    GF_MCA_CPPFLAGS="$GF_MCA_CPPFLAGS $PMIX_CFLAGS"
    gf_pmix_components=`$PKG_CONFIG --variable=libdir pmix 2>/dev/null`/pmix
])

dnl Without --prefix the component goes where this Open MPI looks for components; with it, to PREFIX/lib/openmpi.
AC_DEFUN([GF_OPENMPI_COMPONENT_DIR], [
    AC_ARG_WITH([componentdir],
        [AS_HELP_STRING([--with-componentdir=DIR],
            [install the component into DIR (default: the component folder of Open MPI; with --prefix, LIBDIR/openmpi)])],
        [], [with_componentdir=])
    gf_pkglibdir=`"$gf_mpi_bin/ompi_info" --parsable --path pkglibdir 2>/dev/null | sed -n 's/^path:pkglibdir://p'`
    AC_MSG_CHECKING([where the component is installed])
    AS_CASE([$with_componentdir],
        [no|yes], [AC_MSG_ERROR([--with-componentdir needs a folder])],
        [/*], [componentdir=$with_componentdir],
        [?*], [AC_MSG_ERROR([--with-componentdir=$with_componentdir: give an absolute path])],
        [AS_IF([test "x$prefix" != xNONE], [componentdir='${libdir}/openmpi'],
            [test -n "$gf_pkglibdir"], [componentdir=$gf_pkglibdir],
            [AC_MSG_ERROR([m4_normalize([
                ompi_info does not say where Open MPI's components are (Debian and Ubuntu: install openmpi-bin): give a
                folder by --with-componentdir=DIR])])])])
    AC_MSG_RESULT([$componentdir])
    AC_SUBST([componentdir])
])
