dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl GF_CUDA: cuda.h builds the CUDA adaptor (the driver itself is only looked for at run time), nvcc builds its kernels.
dnl
dnl Sets and substitutes:
dnl   CUDA_CPPFLAGS      where cuda.h is
dnl   NVCC, NVCC_FLAGS   the compiler and its flags for our kernels
dnl   NVCC_GENCODE       for which GPUs
dnl   CUDART_LIBS        CUDA's run-time library, for examples with kernels of their own; it looks for the driver at run time
dnl   HAVE_CUDA_H, GF_HAVE_NVCC     in config.h and as automake conditionals
dnl   gf_cuda_note, gf_nvcc_note    for the summary

AC_DEFUN([GF_CUDA], [
    AC_ARG_VAR([NVCC], [CUDA's compiler])
    AC_ARG_VAR([GF_GPU_ARCH],
               [GPUs to build kernels for, as "80 90": fewer build faster (default: all that nvcc knows from 70 on)])
    AC_ARG_WITH([cuda],
        [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
            [build for CUDA GPUs; DIR: CUDA's folder (default: if cuda.h and nvcc are found)])],
        [], [with_cuda=auto])
    have_cuda_h=no
    have_nvcc=no
    gf_cuda_note="off: --without-cuda"
    gf_nvcc_note="off: --without-cuda"
    AS_IF([test "x$with_cuda" != xno], [GF_CUDA_HEADER])
    AS_IF([test $have_cuda_h = yes], [GF_CUDA_NVCC])
    AS_IF([test $have_nvcc = yes], [GF_CUDA_ARCHITECTURES])
    AS_IF([test $have_cuda_h = yes], [AC_DEFINE([HAVE_CUDA_H], [1], [cuda.h is there: the CUDA adaptor is built])])
    AS_IF([test $have_nvcc = yes], [AC_DEFINE([GF_HAVE_NVCC], [1], [nvcc works: kernels for GPUs are built])])
    AM_CONDITIONAL([HAVE_CUDA_H], [test $have_cuda_h = yes])
    AM_CONDITIONAL([GF_HAVE_NVCC], [test $have_nvcc = yes])
    AC_SUBST([CUDA_CPPFLAGS])
    AC_SUBST([NVCC_FLAGS])
    AC_SUBST([NVCC_GENCODE])
    AC_SUBST([CUDART_LIBS])
])

AC_DEFUN([GF_CUDA_HEADER], [
    CUDA_CPPFLAGS=
    AS_CASE([$with_cuda],
        [auto|yes],
            [AC_CHECK_HEADER([cuda.h], [have_cuda_h=yes], [
                for gf_dir in $CUDA_HOME /usr/local/cuda; do
                    AS_IF([test -f "$gf_dir/include/cuda.h"],
                        [have_cuda_h=yes; CUDA_CPPFLAGS=-I$gf_dir/include; break])
                done])],
        [AS_IF([test -f "$with_cuda/include/cuda.h"],
            [have_cuda_h=yes; CUDA_CPPFLAGS=-I$with_cuda/include],
            [AC_MSG_ERROR([m4_normalize([
                --with-cuda=$with_cuda: there is no $with_cuda/include/cuda.h;
                give the folder that CUDA was installed into])])])])
    AS_IF([test $have_cuda_h = yes], [gf_cuda_note="on"],
        [test $with_cuda = yes],
            [AC_MSG_ERROR([m4_normalize([
                cuda.h is missing: install CUDA (Debian and Ubuntu: nvidia-cuda-toolkit), or say where it is by
                --with-cuda=DIR])])],
        [gf_cuda_note="off: cuda.h is missing (Debian and Ubuntu: nvidia-cuda-toolkit)"
         gf_nvcc_note="off: no CUDA"])
])

dnl Without nvcc the adaptor still moves data by the copy engines; nothing is reduced on the GPU.
AC_DEFUN([GF_CUDA_NVCC], [
    AS_CASE([$with_cuda],
        [auto|yes], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH$PATH_SEPARATOR$CUDA_HOME/bin$PATH_SEPARATOR/usr/local/cuda/bin])],
        [AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin$PATH_SEPARATOR$PATH])])
    # Contracted multiply-adds would round otherwise than the host and than other MPI libraries.
    NVCC_FLAGS="-std=c++14 -O3 -fmad=false"
    gf_nvcc_note="off: nvcc is missing, so there are no kernels for GPUs (Debian and Ubuntu: nvidia-cuda-toolkit)"
    AS_IF([test -n "$NVCC"], [
        AC_MSG_CHECKING([whether $NVCC works])
        AS_ECHO(["__global__ void probe(int *p) { *p = 1; }"]) > conftest.cu
        AS_IF([AC_RUN_LOG([$NVCC $NVCC_FLAGS -fatbin -o conftest.fatbin conftest.cu >&AS_MESSAGE_LOG_FD 2>&1])],
            [have_nvcc=yes],
            [gf_nvcc_note="off: $NVCC does not compile (config.log has its message), so there are no kernels for GPUs"])
        rm -f conftest.cu conftest.fatbin
        AC_MSG_RESULT([$have_nvcc])])
    gf_nvcc_bin=`AS_DIRNAME(["$NVCC"])`
    CUDART_LIBS="-L$gf_nvcc_bin/../lib64 -L$gf_nvcc_bin/../lib -lcudart_static -lstdc++ -lrt -ldl -lpthread"
    AS_IF([test $have_nvcc = no && test "x$with_cuda" != xauto],
        [AC_MSG_ERROR([--with-cuda: $gf_nvcc_note])])
])

dnl Machine code for each architecture, and PTX of the newest for GPUs to come.
AC_DEFUN([GF_CUDA_ARCHITECTURES], [
    AC_MSG_CHECKING([for which GPUs to build kernels])
    gf_known=`$NVCC --list-gpu-arch 2>/dev/null | sed -n 's/^compute_\(@<:@0-9@:>@*\)$/\1/p' | sort -n | uniq | xargs`
    gf_archs=
    for gf_arch in $gf_known; do
        AS_IF([test $gf_arch -ge 70], [gf_archs="$gf_archs $gf_arch"])
    done
    AS_IF([test -n "$GF_GPU_ARCH"], [
        gf_archs=
        for gf_arch in $GF_GPU_ARCH; do
            gf_arch=`AS_ECHO(["$gf_arch"]) | sed 's/^sm_//;s/^compute_//'`
            AS_CASE([" $gf_known "], [*" $gf_arch "*], [gf_archs="$gf_archs $gf_arch"],
                [AC_MSG_RESULT([error])
                 AC_MSG_ERROR([GF_GPU_ARCH: $NVCC does not know $gf_arch; it knows: $gf_known])])
        done])
    NVCC_GENCODE=
    gf_archs=`AS_ECHO(["$gf_archs"]) | xargs -n 1 | sort -n -u | xargs`
    for gf_arch in $gf_archs; do
        NVCC_GENCODE="$NVCC_GENCODE -gencode arch=compute_$gf_arch,code=sm_$gf_arch"
    done
    NVCC_GENCODE="$NVCC_GENCODE -gencode arch=compute_$gf_arch,code=compute_$gf_arch"
    AC_MSG_RESULT([$gf_archs])
    gf_nvcc_note="on: sm_ $gf_archs, PTX $gf_arch"
])
