#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# As tests/mpi/run_mpi.sh, but started by srun, without mpirun: MCA variables go through the environment.
#   srun.sh RANKS [--mca NAME VALUE]... PROGRAM [ARGUMENT]...
# Environment: as there; SRUN_OPTIONS, more options for srun; SLURM_CONF of the cluster.
set -eu

ranks=$1
shift
# shellcheck source=tests/mpi/environment.sh
. "$(dirname "$0")/../mpi/environment.sh"
while [ "$1" = --mca ]; do
    export "OMPI_MCA_$2=$3"
    shift 3
done
# shellcheck disable=SC2086
exec timeout -k 5 "${GF_TIMEOUT:-120}" "$GF_BUILDDIR/gpufifo-env" srun --mpi=pmix --quiet -n "$ranks" ${SRUN_OPTIONS:-} "$@"
