#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# own_node.sh "NAME..." PROGRAM [ARGUMENT]...: starts it; the rank-th name is that of the rank's node.
names=$1
shift
OMPI_MCA_coll_gpufifo_node=$(echo "$names" | cut -d ' ' -f $((OMPI_COMM_WORLD_RANK + 1)))
export OMPI_MCA_coll_gpufifo_node
exec "$@"
