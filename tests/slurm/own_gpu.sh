#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# own_gpu.sh PROGRAM [ARGUMENT]...: starts it on the emulated device that stands in for the first GPU that this task sees.
gpu=${CUDA_VISIBLE_DEVICES%%,*}
echo "own_gpu: rank ${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID} has GPU ${CUDA_VISIBLE_DEVICES:-none}"
GPUFIFO_EMULATED=${GPUFIFO_EMULATED:+$GPUFIFO_EMULATED,}gpu=$gpu
export GPUFIFO_EMULATED
exec "$@"
