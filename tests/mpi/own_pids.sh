#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# own_pids.sh PROGRAM [ARGUMENT]...: starts it; rank 1 has a PID namespace of its own, as in a container.
[ "$OMPI_COMM_WORLD_RANK" = 1 ] || exec "$@"
exec unshare --pid --fork --kill-child --mount-proc "$@"
