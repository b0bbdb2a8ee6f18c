#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# own_setting.sh NAME VALUE PROGRAM [ARGUMENT]...: starts it; rank 1 has this value of coll_gpufifo_NAME.
name=$1 value=$2
shift 2
if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then
    export "OMPI_MCA_coll_gpufifo_$name=$value"
fi
exec "$@"
