#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# As tests/mpi/run_mpi.sh, but submits examples/slurm.sbatch, waits for its end, prints what it printed, and ends as it ended.
#   sbatch.sh RANKS [--mca NAME VALUE]... PROGRAM [ARGUMENT]...
# Environment: as there; SBATCH_OPTIONS, more options for sbatch, which must agree with RANKS; SLURM_CONF of the cluster.
set -eu

shift
folder=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/mpi/environment.sh
. "$folder/../mpi/environment.sh"
while [ "$1" = --mca ]; do
    export "OMPI_MCA_$2=$3"
    shift 3
done
# mpirun finds its daemons on this machine, which may have fewer cores than ranks.
export OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
PATH=$folder/stand_in:$(dirname "$MPIRUN"):$PATH
said=$(mktemp)
trap 'rm -f "$said"' EXIT
# shellcheck disable=SC2086
job=$("$GF_BUILDDIR/gpufifo-env" sbatch --parsable --output="$said" ${SBATCH_OPTIONS:-} \
    "$folder/../../examples/slurm.sbatch" "$@")
tries=$((${GF_TIMEOUT:-120} * 2))
while [ -n "$(squeue -h --jobs="$job" 2> /dev/null)" ]; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || { scancel "$job"; cat "$said"; exit 124; }
    sleep 0.5
done
cat "$said"
scontrol -o show job "$job" | grep -q "ExitCode=0:0"
