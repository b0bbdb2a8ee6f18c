#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Which path did my message take, and why: one line of each way at level 1, one line of each message and call at level 2, and
# what fails is reported once.
. "${srcdir:-.}/tests/mpi/runs.sh"

# counts N TEXT: of the last run, which printed TEXT, a basic regular expression, in N lines.
counts() {
    found=$(grep -c -e "$2" "$output")
    if [ $result -ne 0 ]; then
        bad "ended with $result"
    elif [ "$found" -ne "$1" ]; then
        bad "printed in $found lines, not in $1: $2"
    else
        good
    fi
}

told=tests/mpi/test_told
own_gpu=$(cd "$runs_folder" && pwd)/own_gpu.sh
sends="rank 0, MPI_Send, 16384 bytes to rank 1: "
receives="rank 1, MPI_Recv, 16384 bytes from rank 0: "
launch 2 $told
counts 0 "rank [01]"
launch 2 verbose=1 mapped=off $told
counts 1 "$sends"
counts 1 "${sends}offered, the receiver fetches"
counts 1 "${receives}fetched from the sender's buffer: by "
counts 1 "${receives}they came by way of host memory"
counts 1 "rank 0, MPI_Send, 16 bytes to rank 1: staged through host memory: its datatype has gaps"
counts 1 "rank 0, MPI_Bcast, 16384 bytes to the host and 0 back: staged"
counts 1 "rank 1, MPI_Bcast, 0 bytes to the host and 16384 back: staged"
launch 2 verbose=2 mapped=off $told
counts 3 "${sends}offered"
counts 3 "${receives}fetched"
counts 2 "${receives}they came by way of host memory"
counts 1 "rank 1, MPI_Recv, 16 bytes from rank 0: they came by way"
counts 4 "MPI_Bcast.*staged"
launch 2 +noipc verbose=2 pipe_bytes=1000 $told
counts 3 "${sends}offered, the receiver fetches them from shared host memory: the memory of this device"
counts 3 "${receives}fetched from shared host memory"
launch 2 +noipc verbose=2 transport=p2p pipe_bytes=20000 $told
counts 3 "${sends}staged through host memory: .*coll_gpufifo_transport is p2p"

# By the table, the copy engine is the faster one from 12 KiB on.
table=$(mktemp)
trap 'rm -f "$output" "$table"' EXIT
printf '%s\n' "gpufifo-tuning 1" "message shared 2 kernel 8 10" "message shared 2 kernel 24568 20" \
    "message shared 2 copy_engine 8 15" "message shared 2 copy_engine 24568 15" > "$table"
launch 2 verbose=2 tuning="$table" $told
counts 3 "${receives}fetched from the sender's buffer: by copy engine: 12288 bytes or more"

# And pieces are worth it from 2 KiB on, unless the variable says otherwise.
printf '%s\n' "gpufifo-tuning 1" "message shared 2 stage 1024 5" "message shared 2 stage 3072 15" \
    "message shared 2 pipe 1024 10" "message shared 2 pipe 3072 10" > "$table"
launch 2 +noipc verbose=2 tuning="$table" $told
counts 3 "${sends}offered, the receiver fetches them from shared host memory: the memory of this device"
launch 2 +noipc verbose=2 tuning="$table" pipe_bytes=20000 $told
counts 3 "${sends}staged through host memory: .*less than coll_gpufifo_pipe_bytes (20000) bytes"

# Without MPS the first message tells whether both ranks share the GPU; then the next ones take the way that is better.
launch 2 +solo verbose=2 $told forth
counts 1 "rank 0, MPI_Ssend, 16384 bytes to rank 1: offered"
counts 3 "${sends}staged through host memory: less than 4194304 bytes, and both ranks share a GPU without MPS"
launch 2 +solo verbose=2 $told back
counts 1 "rank 1, MPI_Ssend, 16384 bytes to rank 0: offered"
counts 3 "${sends}staged.* share a GPU without MPS"
launch 2 +solo verbose=2 "$own_gpu" "$GF_BUILDDIR/$told"
counts 3 "${sends}offered"
# On a busy machine a kernel may be cancelled since it does not start; then the device counts as full until it has come.
counts 3 "${receives}fetched from the sender's buffer: by \(a kernel\|copy engine: kernels of others\)"

# A hundred calls, one warning a kind of connection and rank.
launch 2 fault=ipc_open:1+,segment:2+ $told many 100
counts 1 "ring cannot be used"
counts 1 "one-shot cannot be used"
counts 2 "rank 0 and rank 1 cannot use p2p"
launch 2 fault=segment:1 $told many 100
counts 1 "staged through host memory, because"
# Few: mpirun reads 4 KiB at a time of what a rank has said, and where that ends within a line, puts another rank's words there.
launch 2 verbose=2 fault=segment:1 $told many 15
counts 30 "MPI_Allreduce, 4096 elements: staged through host memory: "
counts 0 "MPI_Allreduce.*no path of its own"
finish
