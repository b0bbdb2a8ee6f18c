#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# As tests/mpi/run_mpi.sh, but started by mpirun in an allocation of salloc, from which it takes nodes and ranks.
#   salloc.sh RANKS [--mca NAME VALUE]... PROGRAM [ARGUMENT]...
# Environment: as there; SALLOC_OPTIONS, more options for salloc, which must agree with RANKS; SLURM_CONF of the cluster.
set -eu

shift
# shellcheck source=tests/mpi/environment.sh
. "$(dirname "$0")/../mpi/environment.sh"
# mpirun finds its daemons on this machine, which may have fewer cores than ranks.
export OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
# shellcheck disable=SC2086
exec timeout -k 5 "${GF_TIMEOUT:-120}" "$GF_BUILDDIR/gpufifo-env" salloc --quiet ${SALLOC_OPTIONS:-} "$MPIRUN" "$@"
