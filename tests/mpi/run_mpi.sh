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
# shellcheck source=tests/mpi/environment.sh
. "$(dirname "$0")/environment.sh"
case $GF_OPENMPI in
4.1) spread="--oversubscribe --bind-to none" ;;
*) spread="--map-by :OVERSUBSCRIBE --bind-to none" ;;
esac
# Open MPI 4.1 may fail where one mpirun removes the folder of its sessions while another makes it: to each its own.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
# shellcheck disable=SC2086
timeout -k 5 "${GF_TIMEOUT:-120}" "$GF_BUILDDIR/gpufifo-env" "$MPIRUN" $spread ${preload:+-x LD_PRELOAD="$preload"} \
    -n "$ranks" "$@"
