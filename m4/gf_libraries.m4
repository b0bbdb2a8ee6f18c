dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl Libraries beside Open MPI and CUDA. Each macro sets a note for the summary.

dnl GF_HWLOC: distances between GPUs, network adapters and cores.
AC_DEFUN([GF_HWLOC], [
    PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [],
        [AC_MSG_ERROR([hwloc 2.0 or newer is missing: install it (Debian and Ubuntu: libhwloc-dev)])])
])

dnl GF_NETWORK_LIBRARY(OPTION, HEADER, LIBRARY, FUNCTION, DEBIAN-PACKAGE): looked for and reported; no network transport is built yet.
AC_DEFUN([GF_NETWORK_LIBRARY], [
    AC_ARG_WITH([$1],
        [AS_HELP_STRING([--with-$1@<:@=DIR@:>@], [look for $3 (in DIR), for transports between nodes (default: if found)])],
        [], [with_$1=auto])
    gf_save_CPPFLAGS=$CPPFLAGS
    gf_save_LIBS=$LIBS
    gf_save_LDFLAGS=$LDFLAGS
    AS_CASE([$with_$1],
        [no], [gf_$1_note="off: --without-$1"],
        [AS_CASE([$with_$1], [auto|yes], [],
            [AS_IF([test ! -f "$with_$1/include/$2"],
                [AC_MSG_ERROR([--with-$1=$with_$1: there is no $with_$1/include/$2; give the folder that $3 was installed into])])
             CPPFLAGS="$CPPFLAGS -I$with_$1/include"; LDFLAGS="$LDFLAGS -L$with_$1/lib"])
         AC_CHECK_HEADER([$2],
            [AC_CHECK_LIB([$3], [$4], [gf_$1_note="found; used by the transports between nodes of a later release"],
                [gf_$1_note="off: lib$3 is missing (Debian and Ubuntu: $5)"])],
            [gf_$1_note="off: $2 is missing (Debian and Ubuntu: $5)"])
         AS_CASE([$with_$1:$gf_$1_note], [auto:*|*:found*], [],
            [AC_MSG_ERROR([--with-$1: $gf_$1_note])])])
    CPPFLAGS=$gf_save_CPPFLAGS
    LIBS=$gf_save_LIBS
    LDFLAGS=$gf_save_LDFLAGS
])
