#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Gives each rank of a job a GPU of its own, as a program that uses device 0 finds it. GF_GPUS: of so many GPUs, in turn, if there
# are more ranks.
#   mpirun -n N own_gpu.sh see COMMAND [ARGUMENT...]     the others' GPUs are visible, behind its own
#   mpirun -n N own_gpu.sh hide COMMAND [ARGUMENT...]    they are not
set -eu
how=$1
shift
rank=$OMPI_COMM_WORLD_LOCAL_RANK ranks=$OMPI_COMM_WORLD_LOCAL_SIZE
gpus=${GF_GPUS:-$ranks} own=$((rank % ${GF_GPUS:-$ranks}))
visible=$own
if [ "$how" = see ]; then
    other=0
    while [ $other -lt "$gpus" ]; do
        [ $other -eq $own ] || visible=$visible,$other
        other=$((other + 1))
    done
fi
CUDA_VISIBLE_DEVICES=$visible
export CUDA_VISIBLE_DEVICES
exec "$@"
