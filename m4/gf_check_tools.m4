dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl GF_CHECK_TOOLS: what `make check` uses. A test whose tool is missing is not dropped: it reports itself as skipped, and why.
AC_DEFUN([GF_CHECK_TOOLS], [
    PKG_CHECK_MODULES([CMOCKA], [cmocka], [have_cmocka=yes; gf_cmocka_note=on],
        [have_cmocka=no
         gf_cmocka_note="off: cmocka is missing, so make check has no unit tests (Debian and Ubuntu: libcmocka-dev)"])
    AM_CONDITIONAL([HAVE_CMOCKA], [test $have_cmocka = yes])
    GF_PYTHON
    AC_PATH_PROG([SPIN], [spin])
    AC_PATH_PROG([CPPCHECK], [cppcheck])
    AC_PATH_PROGS([CLANG_TIDY], [clang-tidy])
    m4_foreach([gf_tool], [[[SPIN], [spin], [the protocol models are not checked]],
                           [[CPPCHECK], [cppcheck], [there is no static analysis]]],
        [GF_TOOL_NOTE(gf_tool)])
])

dnl GF_TOOL_NOTE(VARIABLE, PACKAGE, USE)
AC_DEFUN([GF_TOOL_NOTE], [
    AS_IF([test -n "$$1"], [gf_$2_note="on"], [gf_$2_note="off: $2 is missing (Debian and Ubuntu: $2); $3"])
])

dnl GF_PYTHON: a Python 3, better one whose mpi4py uses this Open MPI.
AC_DEFUN([GF_PYTHON], [
    AC_ARG_VAR([PYTHON], [Python 3 with mpi4py, for the Python example])
    AC_PATH_PROG([PYTHON], [python3])
    AC_MSG_CHECKING([for a Python with mpi4py for Open MPI $gf_openmpi_series])
    gf_mpi4py=no
    for gf_python in "$PYTHON" /usr/bin/python3; do
        AS_IF([test -n "$gf_python" && "$gf_python" -c "
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
assert MPI.Get_library_version().startswith('Open MPI v$gf_openmpi_series.')" 2>/dev/null],
            [PYTHON=$gf_python; gf_mpi4py=yes; break])
    done
    AC_SUBST([gf_mpi4py])
    AS_IF([test $gf_mpi4py = yes], [AC_MSG_RESULT([$PYTHON]); gf_mpi4py_note="on, by $PYTHON"],
        [AC_MSG_RESULT([no])
         gf_mpi4py_note="off: mpi4py is missing (Debian and Ubuntu: python3-mpi4py); its test is skipped"])
])
