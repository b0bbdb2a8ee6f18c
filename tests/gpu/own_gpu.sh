#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Gives each rank of a job a GPU of its own, as a program that uses device 0 finds it.
#   mpirun -n N own_gpu.sh see COMMAND [ARGUMENT...]     the others' GPUs are visible, behind its own
#   mpirun -n N own_gpu.sh hide COMMAND [ARGUMENT...]    they are not
set -eu
how=$1
shift
rank=$OMPI_COMM_WORLD_LOCAL_RANK ranks=$OMPI_COMM_WORLD_LOCAL_SIZE
visible=$rank
if [ "$how" = see ]; then
    other=0
    while [ $other -lt "$ranks" ]; do
        [ $other -eq "$rank" ] || visible=$visible,$other
        other=$((other + 1))
    done
fi
CUDA_VISIBLE_DEVICES=$visible
export CUDA_VISIBLE_DEVICES
exec "$@"
