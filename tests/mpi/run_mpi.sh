#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs an MPI program with the component of this build on the emulated device, in a way that works on a small machine, as root,
# and in a container:
#   run_mpi.sh RANKS [MPIRUN-OPTION …] PROGRAM [ARGUMENT …]
# Environment (the makefile sets it): GF_BUILDDIR, GF_OPENMPI, MPIRUN, GF_SANITIZER, CC; GF_TIMEOUT in seconds (120).
set -eu

ranks=$1
shift
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_coll_gpufifo_device="${OMPI_MCA_coll_gpufifo_device:-emulated}"
export OMPI_MCA_pml=ob1
# Ranks outnumber cores: waiting ranks must give way to the one that works.
export OMPI_MCA_mpi_yield_when_idle=1
case $GF_OPENMPI in
4.1)
    export OMPI_MCA_btl=self,vader
    spread="--oversubscribe --bind-to none" ;;
*)
    export OMPI_MCA_btl=self,sm PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    spread="--map-by :OVERSUBSCRIBE --bind-to none" ;;
esac
case $GF_SANITIZER in
# Open MPI itself never frees some of what it allocates. Programs that are not ours, as Python, need the run-time library first.
address*)
    export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}"
    spread="$spread -x LD_PRELOAD=$(${CC:-cc} -print-file-name=libasan.so)" ;;
esac
# Open MPI 4.1 may fail where one mpirun removes the folder of its sessions while another makes it: to each its own.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
# shellcheck disable=SC2086
timeout -k 5 "${GF_TIMEOUT:-120}" "$GF_BUILDDIR/gpufifo-env" "$MPIRUN" $spread -n "$ranks" "$@"
