# SPDX-License-Identifier: BSD-3-Clause
#
# ranks on several GPUs of one host, on 2, 4 and 8 of them as far as there are: one rank each, two ranks each under MPS and
# without it; every path forced, results of all functions; which paths the probe found, and whether LL128 lines cross whole

each="$source/tests/gpu/own_gpu.sh see" hidden="$source/tests/gpu/own_gpu.sh hide"
mpi=$build/tests/mpi
bench="$build/gpufifo-bench --min 4 --factor 4 --iterations 5 --warmup 1"

# What the machine says of itself, and what the probe found.
tell() {
    nvidia-smi topo -m
    nvidia-smi topo -p2p r
    for what in allreduce alltoall reduce_scatter latency; do
        launch 2 verbose=1 $each "$build/gpufifo-bench" $what --factor 16 --iterations 5
        grep "gpufifo: " "$output" | sort -u
    done
}

# RANKS: allreduce by every transport and algorithm.
allreduces() {
    for transport in p2p shm shm_copy p2p_copy; do
        try run_prints "data goes by $transport" $1 verbose=1 transport=$transport algorithm=ring $each "$mpi/test_allreduce" \
            path=ring limit=4194304 sizes bits
    done
    for transport in p2p shm; do
        try run $1 agent=off transport=$transport algorithm=one_shot $each "$mpi/test_allreduce" path=one_shot limit=262144 \
            sizes bits
        try run $1 agent=200 transport=$transport algorithm=one_shot $each "$mpi/test_allreduce" path=agent,played limit=4096 \
            sizes
    done
    try run $1 algorithm=two_shot $each "$mpi/test_allreduce" path=two_shot limit=4194304 sizes bits
    try run $1 algorithm=one_shot_mapped $each "$mpi/test_allreduce" limit=4194304 sizes bits
    try run $1 algorithm=one_shot_mapped $each $bench --max 64M
    try run $1 algorithm=host $each "$mpi/test_allreduce" path=host_sequenced limit=65536 sizes
    try run $1 algorithm=ring simple_buffer=sender $each "$mpi/test_allreduce" path=ring limit=1048576 sizes bits
    for way in direct_write direct_read; do
        try run $1 strict=1 algorithm=ring simple_buffer=$way $each "$mpi/test_allreduce" path=ring limit=1048576 sizes bits
        try run $1 strict=1 algorithm=ring simple_buffer=$way $each "$mpi/test_zerocopy" rounds=200 path=ring reuse offsets
    done
    try run $1 algorithm=two_shot $each "$mpi/test_zerocopy" rounds=200 path=two_shot reuse offsets
    try run $1 $each "$mpi/test_allreduce" types kinds
    try run $1 deterministic=1 $each "$mpi/test_order" path=one_shot,two_shot allreduce
}

# RANKS: a line of 128 bytes crosses NVLink whole, or the path says that it may not.
lines() {
    if timeout 60 "$build/tests/gpu/measure_fifo" lines; then
        try run_prints "one-shot over LL128" $1 verbose=1 strict=1 protocol=ll128 $each "$mpi/test_allreduce" path=one_shot \
            limit=262144 sizes bits
        try run $1 agent=off protocol=ll128 $each $bench --max 4M
    else
        failed=$((failed + 1))
        echo "FAIL: lines of 128 bytes are torn between these GPUs"
    fi
}

# RANKS: all other functions.
collectives() {
    for mapped in kernel copy; do
        try run $1 mapped=$mapped $each "$mpi/test_exchange" most=100000 rounds=50 random reuse
        try run $1 mapped=$mapped $each "$build/tests/property/collectives_property" --rounds 300 --seed 77 --bytes 100000
    done
    try run $1 mapped=kernel $each "$mpi/test_reductions" path=reduce_mapped,staged most=100000 rounds=50 random reuse
    try run $1 mapped=off $each "$build/tests/property/collectives_property" --rounds 200 --seed 78 --bytes 100000
    for what in alltoall allgather bcast gather scatter reduce reduce_scatter scan; do
        try run $1 mapped=kernel $each $bench --max 16M --factor 16 $what
    done
    # As programs have it that call cudaSetDevice: all see all GPUs in one order.
    for what in allreduce alltoall latency; do
        [ $what$1 = latency4 ] || [ $what$1 = latency8 ] ||
            try run $1 mapped=kernel $bench --max 16M --device-by-rank $what
    done
    try run $1 $each "$mpi/test_mixed" $1
}

# RANKS: messages by each way.
messages() {
    for pull in auto kernel copy_engine; do
        try run $1 pull=$pull $each "$mpi/test_pt2pt"
    done
    try run $1 transport=shm $each "$mpi/test_pt2pt"
    try run $1 agent=200 $each "$mpi/test_pt2pt"
    try run $1 $each "$mpi/test_pt2pt_types"
    try run $1 $each "$mpi/test_pt2pt_stress" 1 20 5
    try run $1 $each "$mpi/test_pt2pt_stress" 3 20 6
    try run 2 $each $bench latency --max 256M
    try run 2 $each $bench bibandwidth --window 16 --max 16M
}

# RANKS: what a program may do beside.
habits() {
    try run $1 $each "$mpi/case_14_reuse" 1000
    try run $1 $each "$mpi/case_18_threads"
    try run 2 $each "$build/tests/gpu/case_17_context"
    for how in close reset; do
        try run $1 $each "$mpi/case_20_end" $how
    done
    try run $1 mapped=kernel $each "$mpi/test_leaks" calls=1000 communicators=100
    try run_prints "right" $1 $each "$build/examples/jacobi" --size 512 --steps 100
}

# RANKS: GPUs that processes do not see of each other: not mapped, but right.
hides() {
    try run $1 verbose=1 $hidden "$mpi/test_allreduce" limit=4194304 sizes bits
    try run_prints "data goes by shm_copy" $1 verbose=1 transport=shm_copy $hidden "$mpi/test_allreduce" path=ring \
        limit=262144 sizes
    try run $1 $hidden "$mpi/test_pt2pt"
    try run $1 mapped=kernel $hidden "$mpi/test_exchange" most=100000 rounds=20 random
}

# On every number of GPUs.
one_each() {
    tell
    for ranks in 2 4 8; do
        [ $ranks -le "$(gpus)" ] || continue
        try run_prints "each rank has a device of its own" $ranks verbose=1 $each "$mpi/test_allreduce" limit=64 sizes
        for part in allreduces lines collectives messages habits hides; do
            $part $ranks
        done
    done
}

# PART...: two ranks a GPU.
two_each() {
    GF_GPUS=$(gpus)
    export GF_GPUS
    ranks=$((2 * GF_GPUS))
    for part in "$@"; do
        $part $ranks
    done
}

section() {
    [ "$(gpus)" -ge 2 ] || { echo "skipped: this machine has one GPU"; return 0; }
    GF_TIMEOUT=30
    export GF_TIMEOUT
    result=0
    (in_time 170 checks one_each) || result=1
    under_mps in_time 90 checks two_each allreduces collectives messages || result=1
    (in_time 30 checks two_each hides) || result=1
    return $result
}
