#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a command under a private MPS daemon, which leaves any other daemon of this host alone: the kernels of all processes that
# the command starts can run on a GPU at once. Stops the daemon when the command ends. The exit status is the command's.
#   mps.sh COMMAND [ARGUMENT...]
set -u

if [ $# -eq 0 ]; then
    echo "usage: mps.sh COMMAND [ARGUMENT...]" >&2
    exit 2
fi
if ! command -v nvidia-cuda-mps-control > /dev/null; then
    echo "mps.sh: nvidia-cuda-mps-control is missing: it comes with the NVIDIA driver (Debian: nvidia-cuda-mps)," \
         "and its folder must be in PATH" >&2
    exit 127
fi

folder=$(mktemp -d) || exit 1
CUDA_MPS_PIPE_DIRECTORY=$folder/pipe
CUDA_MPS_LOG_DIRECTORY=$folder/log
export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
mkdir "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"

stop() {
    echo quit | timeout 30 nvidia-cuda-mps-control > /dev/null 2>&1
    rm -rf "$folder"
}
trap stop EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

if ! nvidia-cuda-mps-control -d; then
    echo "mps.sh: the MPS control daemon does not start:" >&2
    cat "$CUDA_MPS_LOG_DIRECTORY"/*.log >&2
    exit 1
fi

"$@"
status=$?
if [ $status -ne 0 ] && [ -s "$CUDA_MPS_LOG_DIRECTORY/server.log" ]; then
    echo "mps.sh: the command failed; the server's last words:" >&2
    tail -n 5 "$CUDA_MPS_LOG_DIRECTORY/server.log" >&2
fi
exit $status
