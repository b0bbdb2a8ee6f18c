dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl The C compiler: flags and sanitizers.

dnl GF_CFLAG(FLAG, IF-YES): does the compiler take it?
AC_DEFUN([GF_CFLAG], [
    gf_flag_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $1"
    AC_MSG_CHECKING([whether $CC takes $1])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [gf_takes=yes], [gf_takes=no])
    AC_MSG_RESULT([$gf_takes])
    CFLAGS=$gf_flag_CFLAGS
    AS_IF([test $gf_takes = yes], [$2])
])

dnl GF_SANITIZER: --enable-sanitizer=LIST. Sets GF_SANITIZER_FLAGS for compiling and linking, gf_sanitizer for the summary.
AC_DEFUN([GF_SANITIZER], [
    AC_ARG_ENABLE([sanitizer],
        [AS_HELP_STRING([--enable-sanitizer=LIST],
            [for tests: address, undefined, address,undefined or thread])],
        [], [enable_sanitizer=no])
    gf_sanitizer=$enable_sanitizer
    AS_CASE([$enable_sanitizer],
        [no], [GF_SANITIZER_FLAGS=],
        [address|undefined|thread|address,undefined|undefined,address],
            [GF_SANITIZER_FLAGS="-fsanitize=$enable_sanitizer -fno-omit-frame-pointer -fno-sanitize-recover=all"],
        [AC_MSG_ERROR([--enable-sanitizer=$enable_sanitizer: give address, undefined, address,undefined or thread])])
    AS_IF([test $enable_sanitizer != no], [
        gf_save_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS $GF_SANITIZER_FLAGS"
        AC_MSG_CHECKING([whether $CC links with -fsanitize=$enable_sanitizer])
        AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])],
            [AC_MSG_RESULT([no])
             AC_MSG_ERROR([m4_normalize([
                 $CC cannot link with -fsanitize=$enable_sanitizer: install its run-time library (Debian and Ubuntu:
                 libclang-rt-dev for clang; gcc brings its own)])])])
        CFLAGS=$gf_save_CFLAGS])
    AC_SUBST([GF_SANITIZER_FLAGS])
    AC_SUBST([gf_sanitizer])
    AM_CONDITIONAL([GF_SANITIZE], [test $enable_sanitizer != no])
])
