#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# odd_noipc.sh PROGRAM [ARGUMENT]...: starts it, and ranks of odd numbers cannot map the memory of others: what those of even
# numbers offer them has to come in another way.
if [ $((OMPI_COMM_WORLD_RANK % 2)) -eq 1 ]; then
    GPUFIFO_EMULATED=${GPUFIFO_EMULATED:+$GPUFIFO_EMULATED,}noipc
    export GPUFIFO_EMULATED
fi
exec "$@"
