dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl GF_FOLDERS: make splits the names of files at blanks, so no folder may have one in its name. Before AM_INIT_AUTOMAKE, which
dnl refuses such a source folder in other words, and lets such a build folder pass, which libtool fails in at the end.
AC_DEFUN([GF_FOLDERS], [
    gf_here=`pwd`
    gf_source=`cd "$srcdir" && pwd`
    AS_CASE([$gf_here], [*[[[:space:]]]*],
        [AC_MSG_ERROR([m4_normalize([
            the build folder "$gf_here" has a blank in its name, which make cannot cope with: build in another folder])])])
    AS_CASE([$gf_source], [*[[[:space:]]]*],
        [AC_MSG_ERROR([the folder of the sources "$gf_source" has a blank in its name, which make cannot cope with: rename it])])
])
