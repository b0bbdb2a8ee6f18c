#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# own_net.sh VALUE PROGRAM [ARGUMENT]...: starts it; rank 1 has this value of coll_gpufifo_net.
value=$1
shift
if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then
    export OMPI_MCA_coll_gpufifo_net="$value"
fi
exec "$@"
