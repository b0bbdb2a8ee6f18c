#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs under Slurm, on a cluster of two nodes that this script starts on this machine: by srun and PMIx without mpirun, by sbatch
# and mpirun, by salloc and mpirun; with a GPU to each task; what a cancelled job leaves behind.
. "${srcdir:-.}/tests/mpi/runs.sh"
. "${srcdir:-.}/tests/slurm/cluster.sh"

PATH=$PATH:/usr/sbin:/sbin
for tool in slurmctld slurmd srun munged; do
    if ! command -v $tool > /dev/null; then
        echo "skipped: no $tool here (Debian and Ubuntu: slurm-wlm, munge)"
        exit 77
    fi
done
if [ "$(id -u)" -ne 0 ]; then
    echo "skipped: Slurm's daemons take root"
    exit 77
fi

trap 'cluster_stop; rm -f "$output"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
if ! cluster_start; then
    echo "0 passed, 1 failed"
    exit 1
fi

if ! srun --mpi=list 2>&1 | grep -q pmix; then
    echo "skipped: this Slurm has no MPI plugin pmix, by which Open MPI's ranks find one another"
    exit 77
fi
folder=$(cd "${srcdir:-.}/tests/slurm" && pwd)
launcher=$folder/srun.sh
export TMPDIR="$cluster/tmp" GF_MPS_LOG="$cluster/mps.log"
: > "$GF_MPS_LOG"
tests=tests/mpi
export UCX_TLS=tcp UCX_NET_DEVICES=lo

on_two_nodes() {
    starts="srun -N2" SRUN_OPTIONS="-N2 --ntasks-per-node=2"
    # Ranks of the two nodes would take the same names in this machine's one /dev/shm.
    MPIRUN_OPTIONS="--mca btl self,tcp --mca btl_tcp_if_include lo"
    export SRUN_OPTIONS
}

on_one_node() {
    starts="srun -N1 $*" SRUN_OPTIONS="-N1 $*"
    MPIRUN_OPTIONS="--mca btl_vader_backing_directory $cluster/shm"
    export SRUN_OPTIONS
}

# said_of_gpus WANTED: which GPUs the ranks of the last run had.
said_of_gpus() {
    if [ "$(sed -n 's/^own_gpu: rank . has GPU //p' "$output" | sort | tr '\n' ' ')" = "$1" ]; then
        good
    else
        bad "the ranks should have the GPUs $1"
    fi
}

# by_hand: mpirun in an allocation, as docs/slurm.md has it.
by_hand() {
    launcher=$folder/salloc.sh starts="salloc mpirun"
    MPIRUN_OPTIONS="--mca btl self,tcp --mca btl_tcp_if_include lo"
    SALLOC_OPTIONS="-N 2 --ntasks-per-node=2 --gpus-per-node=2"
    export SALLOC_OPTIONS
    run_prints "4 ranks: [0-9]* checks, 0 failed" 4 verbose=1 $tests/test_allreduce path=staged limit=4096 sizes
}

# Each task has one GPU of its own, the only one it sees; the emulated device stands in for it.
one_gpu_a_task() {
    on_one_node --gpus-per-task=1
    # shellcheck disable=SC2016
    run_prints "each rank has a device of its own" 2 verbose=1 algorithm=one_shot "$folder/own_gpu.sh" \
        "$GF_BUILDDIR/$tests/test_allreduce" path=one_shot limit=4096 sizes
    said_of_gpus "0 1 "
}

# by_batch srun|mpirun: the script that users copy; three ranks a node share two GPUs, under MPS.
by_batch() {
    launcher=$folder/sbatch.sh starts="sbatch, START=$1,"
    MPIRUN_OPTIONS="--mca btl self,tcp --mca btl_tcp_if_include lo"
    SBATCH_OPTIONS="-N2 --ntasks-per-node=3 --gpus-per-node=2" START=$1
    export SBATCH_OPTIONS START
    : > "$GF_MPS_LOG"
}

said_of_mps() {
    if [ "$(sed 's/ in .*//' "$GF_MPS_LOG" | sort | tr '\n' ';')" = "$1" ]; then
        good
    else
        cat "$GF_MPS_LOG" >> "$output"
        bad "MPS should have said: $1"
    fi
}

jacobi_by_batch() {
    by_batch "$1"
    run_prints "0 of 256 points differ.*: right" 6 "$folder/own_gpu.sh" "$GF_BUILDDIR/examples/jacobi" --size 16 --steps 4
    said_of_gpus "0 0 0 0 1 1 "
    said_of_mps "MPS started on n1;MPS started on n2;MPS stopped on n1;MPS stopped on n2;"
}

# All processes of the cluster, and all files that jobs may make: in the folders of the nodes, where the ranks' temporary files
# go, shared memory, and MPS. What gpufifo shares has no names, and lasts as long as a process has it. The folder of mpirun's
# session is not looked into: mpirun leaves it where a second signal comes while it tidies up.
traces() {
    cluster_processes
    find "$cluster/n1" "$cluster/n2" "$cluster/shm" "$TMPDIR" \( -name "ompi.*" -o -name "prte.*" \) -prune -o -print | sort
    for mps in $(sed -n 's/.* in //p' "$GF_MPS_LOG"); do
        [ ! -e "$mps" ] || echo "$mps"
    done
}

nothing_new() {
    no_jobs && both_idle && [ "$(traces)" = "$before" ]
}

# What a job says is in $output, or in the file that sbatch gave it.
all_in_the_midst() {
    [ "$(cat "$output" "$TMPDIR"/* 2> /dev/null | grep -c "has made 5 calls")" -eq "$1" ]
}

# cancelled RANKS ...: as run, with a program that makes collectives for ever. The job is cancelled when all ranks are in the
# midst of it, and leaves nothing.
cancelled() {
    : > "$output"
    before=$(traces)
    (wait_until 60 all_in_the_midst "$1" && scancel --user="$(id -un)") &
    canceller=$!
    launch "$@"
    if ! wait $canceller; then
        bad "the ranks did not come to make their calls"
    elif [ $result -eq 0 ]; then
        bad "ended with 0, but was cancelled"
    elif ! wait_until 60 nothing_new; then
        { echo "before:"; echo "$before"; echo "after:"; traces; } >> "$output"
        bad "the cancelled job has left something"
    else
        good
    fi
}

on_two_nodes
run_prints "its ranks are on several nodes" 4 verbose=1 $tests/test_allreduce path=staged limit=4096 sizes
if has_ucx 1; then
    run_prints "over 2 nodes" 4 verbose=1 net=ucx net_bytes=1 $tests/test_allreduce path=ring limit=4096 sizes
fi
run_prints "sent in chunks" 4 verbose=2 pipe_bytes=2000 pipe_chunk_bytes=65536 $tests/test_pt2pt
run_prints "0 of 256 points differ.*: right" 4 examples/jacobi --size 16 --steps 4
on_one_node
run_prints "4 ranks share a device" 4 verbose=1 algorithm=one_shot $tests/test_allreduce path=one_shot limit=4096 sizes
one_gpu_a_task
by_hand
jacobi_by_batch srun
jacobi_by_batch mpirun

forever=tests/fault/killed_rank
launcher=$folder/srun.sh
on_one_node
cancelled 4 algorithm=one_shot $forever none 5 2
cancelled 4 algorithm=ring $forever none 5 100000
on_two_nodes
cancelled 4 $forever none 5 100000
if has_ucx 1; then
    cancelled 4 net=ucx net_bytes=1 $forever none 5 100000
fi
for start in srun mpirun; do
    by_batch $start
    cancelled 6 $forever none 5 100000
done
finish
