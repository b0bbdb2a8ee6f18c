dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl Libraries beside Open MPI and CUDA. Each macro sets a note for the summary.

dnl GF_HWLOC: distances between GPUs, network adapters and cores.
AC_DEFUN([GF_HWLOC], [
    PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [],
        [AC_MSG_ERROR([hwloc 2.0 or newer is missing: install it (Debian and Ubuntu: libhwloc-dev)])])
])

dnl GF_NETWORK_LIBRARY(OPTION, HEADER, LIBRARY, FUNCTION, DEBIAN-PACKAGE, VERSION): for a wire between nodes. Where the library is
dnl found and new enough for FUNCTION: HAVE_OPTION in config.h and as automake conditional, OPTION_CPPFLAGS, OPTION_LIBS.
AC_DEFUN([GF_NETWORK_LIBRARY], [
    m4_pushdef([gf_NAME], m4_toupper([$1]))
    AC_ARG_WITH([$1],
        [AS_HELP_STRING([--with-$1@<:@=DIR@:>@], [use $3 (in DIR) between nodes (default: if found)])],
        [], [with_$1=auto])
    gf_save_CPPFLAGS=$CPPFLAGS
    gf_save_LIBS=$LIBS
    have_$1=no
    gf_NAME[]_CPPFLAGS=
    gf_NAME[]_LIBS=
    AS_CASE([$with_$1],
        [no], [gf_$1_note="off: --without-$1"],
        [AS_CASE([$with_$1], [auto|yes], [],
            [AS_IF([test ! -f "$with_$1/include/$2"],
                [AC_MSG_ERROR([--with-$1=$with_$1: there is no $with_$1/include/$2; give the folder that $3 was installed into])])
             gf_NAME[]_CPPFLAGS=-I$with_$1/include
             gf_NAME[]_LIBS="-L$with_$1/lib -Wl,-rpath,$with_$1/lib"])
         CPPFLAGS="$CPPFLAGS $gf_NAME[]_CPPFLAGS"
         LIBS="$gf_NAME[]_LIBS $LIBS"
         AC_CHECK_HEADER([$2],
            [AC_CHECK_LIB([$3], [$4], [have_$1=yes; gf_$1_note=on; gf_NAME[]_LIBS="$gf_NAME[]_LIBS -l$3"],
                [gf_$1_note="off: lib$3 $6 or newer is missing (Debian and Ubuntu: $5)"])],
            [gf_$1_note="off: $2 is missing (Debian and Ubuntu: $5)"])
         AS_CASE([$with_$1:$have_$1], [auto:*|*:yes], [], [AC_MSG_ERROR([--with-$1: $gf_$1_note])])])
    AS_IF([test $have_$1 = yes], [AC_DEFINE([HAVE_]gf_NAME, [1], [lib$3 is there])])
    AM_CONDITIONAL([HAVE_]gf_NAME, [test $have_$1 = yes])
    AC_SUBST(gf_NAME[_CPPFLAGS])
    AC_SUBST(gf_NAME[_LIBS])
    CPPFLAGS=$gf_save_CPPFLAGS
    LIBS=$gf_save_LIBS
    m4_popdef([gf_NAME])
])
