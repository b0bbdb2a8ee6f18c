dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl GF_SUMMARY: what is on, what is off, and why.
AC_DEFUN([GF_SUMMARY], [
    gf_expanded=$componentdir
    AS_CASE([$gf_expanded], ['$'*], [gf_expanded="$prefix/lib/openmpi (LIBDIR/openmpi)"])
    AS_ECHO(["
gpufifo $PACKAGE_VERSION
  Open MPI            $gf_openmpi_version, by $MPICC
  component goes to   $gf_expanded
  C compiler          $CC
  sanitizer           $gf_sanitizer

  CUDA devices        $gf_cuda_note
  CUDA kernels        $gf_nvcc_note
  emulated device     on
  libibverbs          $gf_verbs_note
  UCX                 $gf_ucx_note

  mpi4py example      $gf_mpi4py_note
  unit tests          $gf_cmocka_note
  protocol models     $gf_spin_note
  static analysis     $gf_cppcheck_note

Next: make && make check; ./gpufifo-env COMMAND runs a command with the component from this build folder."])
])
