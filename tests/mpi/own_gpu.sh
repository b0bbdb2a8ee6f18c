#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# own_gpu.sh PROGRAM [ARGUMENT]...: starts it; each rank has an emulated device of its own.
GPUFIFO_EMULATED=${GPUFIFO_EMULATED:+$GPUFIFO_EMULATED,}gpu=$OMPI_COMM_WORLD_RANK
export GPUFIFO_EMULATED
exec "$@"
