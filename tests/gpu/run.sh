#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Everything that needs a GPU, on a machine with one: builds, checks results under a private MPS daemon and without one, looks with
# compute-sanitizer, and measures. Ends with a summary.
#
#   run.sh [--build FOLDER] [--out FOLDER] SECTION...
#
#   build       configure and make for this GPU, tests too (needs ./configure: run autogen.sh before, here or elsewhere)
#   device      the CUDA adaptor: memory, IPC, contexts
#   kernels     all kernels against the scalar reference, in one process
#   ll128       LL128: torn lines are looked for, then allreduces by that protocol under MPS, and its times beside those of LL
#   fifo        times of a LL and a LL128 hop; FIFOs of 1 to 32 blocks, slots at either end, beside a bare copy kernel; under MPS the ring
#               with its slots at the sender: results, and times beside the receiver's
#   pull        messages that a second process fetches: checks, and times by size and path, under MPS and without
#   agent       MPI_Allreduce by the agent under MPS: checks; times with it and without, also of programs that wait for the device
#   pack        data with gaps: the pack kernels' checks and times beside a bare kernel, cuMemcpy2D and a copy a block; under MPS
#               random datatypes, and messages with gaps by size, packed on the device and staged
#   sanitizer   the same under compute-sanitizer memcheck and racecheck
#   mps         MPI_Allreduce of 4 B to 256 MiB with 2, 4 and 8 ranks on every transport by every algorithm; types; mixed buffers
#   cases       the reported cases that can be shown on a GPU, and the examples (under MPS)
#   nomps       the same questions without MPS, fewer sizes
#   pt2pt       messages: their semantics, types and random traffic, 0 bytes to 256 MiB with 2 to 4 ranks, under MPS
#   pt2pt-nomps the same without MPS, fewer sizes
#   latency     latency, bandwidth, both ways, pairs, 8 B to 64 MiB, under MPS; beside the staged path, or in turn with a rival:
#               GF_RIVAL names a folder with a UCX built with CUDA (lib/libucp.so.0) that this Open MPI's pml ucx is given
#   proxy       transports whose slots the host copies: which copies get on beside a kernel that waits; results, refusals and trouble;
#               the ring by size over p2p, shm and shm_copy in one run. With two GPUs also p2p_copy, and GPUs hidden from one another
#   zerocopy    MPI_Allreduce over the mapped buffers of all ranks (two_shot) under MPS: checks; times beside the ring, 256 KiB to 256 MiB,
#               2, 4 and 8 ranks
#   demo        ./demo.sh as a user starts it, without MPS and under it
#   bench       allreduce by size beside the staged path, 2, 4 and 8 ranks, with and without MPS; JSON into the out folder
#   overhead    what host-only programs pay
#   all         all of them
#
# Default folders: build-gpu below the sources, and results below that. A section takes from seconds to some minutes.
set -u

source=$(cd "$(dirname "$0")/../.." && pwd)
build=$source/build-gpu
out=
sections=
while [ $# -gt 0 ]; do
    case $1 in
    --build) build=$2; shift ;;
    --out) out=$2; shift ;;
    all) sections="build device kernels ll128 fifo pull pack sanitizer mps cases nomps pt2pt pt2pt-nomps proxy zerocopy bench latency agent overhead demo" ;;
    -*) echo "run.sh: unknown option $1: --build FOLDER, --out FOLDER" >&2; exit 2 ;;
    *) sections="$sections $1" ;;
    esac
    shift
done
if [ -z "$sections" ]; then
    sed -n '3,/^set -u/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
out=${out:-$build/results}
mkdir -p "$build" "$out" || exit 1

PATH=$PATH:/usr/local/cuda/bin:/usr/local/nvidia/bin
export PATH
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
OMPI_MCA_coll_gpufifo_device=cuda
export OMPI_MCA_coll_gpufifo_device
# Containers often refuse process_vm_readv, which Open MPI then complains about.
OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_btl_vader_single_copy_mechanism

setting() {
    sed -n "s/^$1 = //p" "$build/Makefile" | head -n 1
}

# The variables that run_mpi.sh and runs.sh want.
prepare_runs() {
    GF_BUILDDIR=$build GF_OPENMPI=$(setting gf_openmpi_series) GF_SANITIZER=no MPIRUN=$(setting MPIRUN) srcdir=$source
    PYTHON=$(setting PYTHON)
    GF_TIMEOUT=${GF_TIMEOUT:-180}
    export GF_BUILDDIR GF_OPENMPI GF_SANITIZER MPIRUN srcdir PYTHON GF_TIMEOUT
    LD_LIBRARY_PATH=$build/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
}

section_build() {
    gpu=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | head -n 1 | tr -d .)
    cd "$build" || return 1
    "$source/configure" --disable-maintainer-mode GF_GPU_ARCH="${GF_GPU_ARCH:-${gpu:-90}}" > configure.log 2>&1 ||
        { tail -n 20 configure.log; return 1; }
    sed -n '/^gpufifo [0-9]/,/^Next:/p' configure.log
    make -j"$(nproc)" > make.log 2>&1 && make -j"$(nproc)" check TESTS= >> make.log 2>&1 || { tail -n 20 make.log; return 1; }
    ! grep -i 'warning:' make.log
}

section_device() {
    timeout 120 "$build/tests/gpu/test_cuda_device" || return 1
    "$source/tests/gpu/mps.sh" timeout 120 "$build/tests/gpu/test_cuda_device"
}

section_kernels() {
    timeout 120 "$build/tests/gpu/test_device_kernels" cuda || return 1
    timeout 120 "$build/tests/gpu/test_device_kernels" cuda 7 || return 1
    timeout 120 "$build/tests/gpu/test_device_kernels" cuda 100000
}

section_ll128() {
    timeout 120 "$build/tests/gpu/measure_fifo" lines && under_mps inside-ll128 && under_mps inside-ll128-times
}

section_fifo() {
    timeout 60 "$build/tests/gpu/measure_fifo" hops && timeout 120 "$build/tests/gpu/measure_fifo" fifo &&
        under_mps inside-fifo && under_mps inside-fifo-times
}

runs_ll128() {
    for ranks in 2 4 8; do
        run_prints "one-shot over LL128" $ranks verbose=1 strict=1 protocol=ll128 tests/mpi/test_allreduce path=one_shot limit=262144 sizes bits
        run $ranks protocol=ll128 $check_sizes --max 16M
    done
    run 2 protocol=ll128 tests/mpi/test_allreduce types
    run_prints "may arrive in parts" 2 verbose=1 transport=shm protocol=ll128 tests/mpi/test_allreduce path=one_shot limit=64 sizes
}

runs_fifo() {
    for transport in p2p shm; do
        for ranks in 2 4; do
            run_prints "fetched from the sender" $ranks verbose=1 transport=$transport algorithm=ring simple_buffer=sender \
                tests/mpi/test_allreduce path=ring limit=262144 sizes bits
            run $ranks transport=$transport algorithm=ring simple_buffer=sender $check_sizes --max 64M
        done
    done
}

# by_size SETTING...: allreduce by size once for each setting NAME=VALUE, in one run.
by_size() {
    for setting in "$@"; do
        for ranks in 2 8; do
            echo "== $setting, $ranks ranks"
            "$source/tests/mpi/run_mpi.sh" $ranks --mca coll_gpufifo_algorithm "$algorithm" --mca "coll_gpufifo_${setting%%=*}" \
                "${setting#*=}" "$build/gpufifo-bench" --min 8 --max "$most" --factor 4 --iterations 100 || return 1
        done
    done
}

section_pull() {
    "$source/tests/gpu/mps.sh" timeout 280 "$build/tests/gpu/test_device_pull" cuda || return 1
    echo "== without MPS"
    timeout 120 "$build/tests/gpu/test_device_pull" cuda sizes filled host
}

section_pack() {
    timeout 120 "$build/tests/gpu/test_device_pack" cuda && timeout 120 "$build/tests/gpu/measure_pack" && under_mps inside-pack
}

runs_pack() {
    for ranks in 2 4; do
        run $ranks pack_bytes=1 tests/mpi/test_pack rounds=100 seed=$ranks
    done
    run 2 pack_bytes=0 tests/mpi/test_pack rounds=100
    run 2 pack_bytes=0 tests/mpi/test_pack_life staged
    run 2 pack_bytes=1 tests/mpi/test_pack threads rounds=5
    run 2 pack_bytes=1 tests/mpi/test_pack_life types=10000
    run 2 pack_bytes=1 tests/mpi/test_pt2pt_types
    for bytes in 1 0; do
        run 2 pack_bytes=$bytes tests/gpu/pack_latency
        cat "$output"
    done
}

section_sanitizer() {
    for tool in memcheck racecheck; do
        timeout 280 compute-sanitizer --tool $tool --error-exitcode 9 "$build/tests/gpu/.libs/test_device_kernels" cuda 301 \
            > "$out/$tool.log" 2>&1
        status=$?
        tail -n 3 "$out/$tool.log"
        [ $status -eq 0 ] || return $status
    done
}

# The bench checks what it measures, fast also for large messages.
check_sizes="gpufifo-bench --min 4 --factor 4 --iterations 5 --warmup 1"

runs_mps() {
    for ranks in 2 4 8; do
        for transport in p2p shm; do
            for algorithm in one_shot ring; do
                run $ranks transport=$transport algorithm=$algorithm $check_sizes --max 256M
                run $ranks transport=$transport algorithm=$algorithm tests/mpi/test_allreduce path=$algorithm limit=262144 sizes bits
            done
        done
        run $ranks algorithm=host $check_sizes --max 64M
        run $ranks tests/mpi/test_mixed $ranks
    done
    for algorithm in one_shot ring host; do
        run 2 algorithm=$algorithm tests/mpi/test_allreduce types
    done
    run 3 tests/mpi/test_allreduce types kinds
    run 4 tests/property/allreduce_property --rounds 300
}

runs_nomps() {
    for ranks in 2 4 8; do
        run $ranks tests/mpi/test_allreduce path=host_sequenced limit=1024 sizes
        run $ranks $check_sizes --max 64M
    done
    run 2 tests/mpi/test_allreduce types
    run 2 transport=p2p algorithm=one_shot tests/mpi/test_allreduce limit=64 sizes
    run 4 tests/mpi/test_mixed 1
    run 4 examples/jacobi
}

runs_cases() {
    for ranks in 2 4; do
        run $ranks tests/mpi/case_01_30_nonblocking limit=67108864
        run $ranks tests/mpi/case_04_self_copy
        run $ranks tests/mpi/case_29_zero
    done
    run 1 tests/mpi/case_02_reduce_local
    run 2 tests/mpi/case_13_before_init
    run 2 tests/mpi/case_14_reuse 10000
    run 2 tests/gpu/case_17_context
    run 2 tests/mpi/case_18_threads
    for how in close leak comm reset; do
        run 2 tests/mpi/case_20_end $how
    done
    run 2 tests/mpi/case_21_large
    run 2 tests/mpi/case_28_fork
    for how in freed null; do
        run 2 tests/mpi/bad_input $how
    done
    run_prints "right" 4 examples/jacobi --size 1024 --steps 100
    [ "$(setting gf_mpi4py)" != yes ] || run 4 "$PYTHON" "$source/examples/mpi4py_allreduce.py"
}

# Messages of sizes that are powers and of others, in each kind of memory at each end.
check_messages="--iterations 5 --warmup 1"

runs_messages() {
    for ranks in 2 3 4; do
        run $ranks tests/mpi/test_pt2pt
        run $ranks tests/mpi/test_pt2pt_types
        run $ranks tests/mpi/test_pt2pt_errors
        run $ranks tests/mpi/test_pt2pt_stress 1 20 $ranks
        run $ranks tests/mpi/test_pt2pt_stress 3 20 $ranks
    done
    run 2 tests/mpi/test_pt2pt threads
    for memory in device device,host host,device device,pinned; do
        run 2 gpufifo-bench latency --min 1 --factor 4 --max "$1" --memory $memory $check_messages
        run 2 gpufifo-bench latency --min 3 --factor 5 --max "$1" --memory $memory $check_messages
        run 2 gpufifo-bench bibandwidth --min 8 --factor 8 --max "$1" --memory $memory --window 16 $check_messages
    done
    run 4 gpufifo-bench multi --min 8 --factor 8 --max "$1" --window 16 $check_messages
    run_prints "right" 4 examples/jacobi --size 1024 --steps 100
}

runs_pt2pt() {
    runs_messages 256M
    MPIRUN_OPTIONS="--mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any"
    run 2 tests/mpi/test_pt2pt
    run 4 tests/mpi/test_pt2pt_stress 3 20 7
    run 2 gpufifo-bench latency --min 1 --factor 4 --max 256M $check_messages
}

runs_pt2pt_nomps() {
    runs_messages 16M
}

gpus() {
    nvidia-smi --query-gpu=index --format=csv,noheader 2> /dev/null | wc -l
}

# What two ranks on two GPUs do: they see each other's, or not.
runs_two_gpus() {
    see="$source/tests/gpu/own_gpu.sh see" hide="$source/tests/gpu/own_gpu.sh hide"
    test="$build/tests/mpi/test_allreduce"
    run_prints "data goes by p2p_copy" 2 verbose=1 transport=p2p_copy $see "$test" path=ring limit=4194304 sizes bits types
    run_prints "data goes by shm_copy" 2 verbose=1 transport=shm_copy $see "$test" path=ring limit=4194304 sizes
    run_prints "data goes by shm_copy" 2 verbose=1 transport=shm_copy $hide "$test" path=ring limit=4194304 sizes bits
    run 2 verbose=1 $hide "$test" limit=4194304 sizes
    run_fails "a copy of its proxy for the connection" 2 transport=p2p_copy fault=proxy_copy:30@1 $see "$test" limit=65536 sizes
    run 2 transport=p2p_copy $see "$build/gpufifo-bench" --min 64K --factor 4 --iterations 5 --warmup 1 --max 256M
}

runs_proxy() {
    for ranks in 2 4; do
        run $ranks transport=shm_copy $check_sizes --max 256M
        run_prints "data goes by shm_copy" $ranks verbose=1 transport=shm_copy tests/mpi/test_allreduce path=ring limit=4194304 sizes bits
    done
    run 2 transport=shm_copy tests/mpi/test_allreduce path=ring types
    run 2 transport=shm_copy tests/mpi/case_18_threads
    run_prints "both share one device" 2 verbose=1 transport=p2p_copy tests/mpi/test_allreduce path=host_sequenced limit=65536 sizes
    run_fails "a copy of its proxy for the connection" 2 transport=shm_copy fault=proxy_copy:30@1 tests/mpi/test_allreduce limit=65536 sizes
    run_fails "deadline_ms" 2 transport=shm_copy deadline_ms=2000 fault=proxy_stall:30+@1 tests/mpi/test_allreduce limit=65536 sizes
    run_fails "signal 9" 2 transport=shm_copy fault=proxy_death:200@1 tests/fault/killed_rank 1 100000 100000
    if [ "$(gpus)" -ge 2 ]; then
        runs_two_gpus
    else
        skip 6 "two ranks on two GPUs: this machine has one"
    fi
}

# The ring over each transport in turn, in one run; on two GPUs p2p_copy, too.
measure_proxy() {
    ring="-n 2 --bind-to core --mca coll_gpufifo_algorithm ring --mca coll_gpufifo_transport"
    set -- --compare "$ring p2p" --compare "$ring shm" --compare "$ring shm_copy"
    echo "== ring allreduce, 2 ranks: p2p, shm, shm_copy"
    "$build/gpufifo-env" "$build/gpufifo-bench" allreduce --min 1K --factor 4 --max 256M --json "$out/proxy.json" "$@" || return 1
    [ "$(gpus)" -lt 2 ] && return
    for transport in p2p p2p_copy shm shm_copy; do
        echo "== ring allreduce, 2 ranks on two GPUs: $transport"
        "$source/tests/mpi/run_mpi.sh" 2 --mca coll_gpufifo_algorithm ring --mca coll_gpufifo_transport $transport \
            "$source/tests/gpu/own_gpu.sh" see "$build/gpufifo-bench" --min 1K --factor 4 --max 256M || return 1
    done
}

# That path and no other, where buffers come and go, too.
runs_zerocopy() {
    for ranks in 2 4 8; do
        run $ranks algorithm=two_shot strict=1 $check_sizes --max 256M
        run $ranks algorithm=two_shot tests/mpi/test_allreduce path=two_shot limit=4194304 sizes bits
        run $ranks algorithm=two_shot tests/mpi/test_zerocopy rounds=400 path=two_shot reuse offsets
        run $ranks algorithm=two_shot tests/mpi/test_zerocopy communicators
    done
    run 2 algorithm=two_shot tests/mpi/test_allreduce path=two_shot types
    run 3 algorithm=two_shot tests/mpi/test_allreduce kinds
    run 2 algorithm=two_shot tests/mpi/case_14_reuse 10000
}

# In turn with the ring, in one run.
measure_zerocopy() {
    for ranks in 2 4 8; do
        way="-n $ranks --bind-to core --mca coll_gpufifo_algorithm"
        echo "== allreduce, $ranks ranks: ring, two_shot"
        "$build/gpufifo-env" "$build/gpufifo-bench" allreduce --min 256K --factor 4 --max 256M --json "$out/zerocopy-$ranks.json" \
            --compare "$way ring" --compare "$way two_shot" || return 1
    done
}

runs_agent() {
    for ranks in 2 4 8; do
        for us in 200 1; do
            run $ranks agent=$us algorithm=one_shot tests/mpi/test_allreduce path=agent limit=4096 sizes
        done
        run $ranks agent=auto tests/mpi/test_allreduce limit=262144 sizes bits
        run $ranks agent=200 tests/mpi/test_mixed $ranks
    done
    run 2 agent=200 transport=shm algorithm=one_shot tests/mpi/test_allreduce path=agent limit=8192 types sizes
    run 2 agent=200 tests/mpi/case_14_reuse 1000
    run 2 agent=200 tests/mpi/case_18_threads
    for how in close leak comm reset; do
        run 2 agent=60000 tests/mpi/case_20_end $how
    done
}

agent_figures() {
    for ranks in 2 4 8; do
        "$source/tests/gpu/agent.sh" $ranks || return 1
    done
}

# runs WHICH: in a shell of its own, which may be under MPS.
section_runs() {
    prepare_runs
    . "$source/tests/mpi/runs.sh"
    "runs_$1"
    finish
}

bench() {
    for ranks in 2 4 8; do
        echo "== $1, $ranks ranks"
        "$source/tests/mpi/run_mpi.sh" $ranks "$build/gpufifo-bench" --min 8 --max "$2" --factor "$3" --iterations "$4" --staged \
            --json "$out/allreduce-$1-$ranks.json" > "$out/allreduce-$1-$ranks.txt" 2>&1 || { cat "$out/allreduce-$1-$ranks.txt"; return 1; }
        cat "$out/allreduce-$1-$ranks.txt"
    done
}

# messages TEST RANKS MOST-BYTES: each rank bound to a core of its own, not giving way.
messages() {
    ours="-n $2 --bind-to core --mca pml ob1"
    rival="LD_LIBRARY_PATH=${GF_RIVAL:-}/lib:$LD_LIBRARY_PATH UCX_TLS=self,sysv,posix,cuda_copy,cuda_ipc -n $2 --bind-to core
        --mca pml ucx --mca coll ^gpufifo,hcoll --mca osc ^ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any"
    echo "== $1, $2 ranks"
    if [ -n "${GF_RIVAL:-}" ]; then
        "$build/gpufifo-env" "$build/gpufifo-bench" "$1" --max "$3" --json "$out/$1.json" --compare "$ours" --compare "$rival"
    else
        # shellcheck disable=SC2086
        "$build/gpufifo-env" "$MPIRUN" $ours "$build/gpufifo-bench" "$1" --max "$3" --json "$out/$1.json" --staged
    fi
}

latency() {
    messages latency 2 64M && messages bandwidth 2 64M && messages bibandwidth 2 16M && messages multi 4 16M
}

section_demo() {
    unset OMPI_MCA_coll_gpufifo_device OMPI_MCA_btl_vader_single_copy_mechanism LD_LIBRARY_PATH
    "$source/demo.sh" && "$source/tests/gpu/mps.sh" "$source/demo.sh"
}

# Both sides inside one process first; GF_ROUNDS=0 leaves out the processes in turn, which take most of the time. pml ucx wants to be told
# that plain memory will do.
section_overhead() {
    result=0
    for pml in ob1 ucx; do
        echo "pml $pml"
        timeout 120 "$build/gpufifo-env" mpirun -n 2 --bind-to core --mca pml "$pml" --mca opal_common_ucx_tls any \
            --mca opal_common_ucx_devices any "$build/mca_coll_gpufifo/host_price" 1000 400 || result=1
    done > "$out/overhead.txt" 2>&1
    for what in allreduce "messages --pml ob1" "messages --pml ucx"; do
        [ "${GF_ROUNDS:-15}" != 0 ] || break
        # shellcheck disable=SC2086
        MPIRUN_OPTIONS="--bind-to core --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any" \
            "$source/bench/host_overhead.sh" "$build" $what --device cuda --rounds "${GF_ROUNDS:-15}" || result=1
    done >> "$out/overhead.txt" 2>&1
    cat "$out/overhead.txt"
    return $result
}

# Those that need the MPS daemon start this script again below mps.sh, with a section of a name of its own.
under_mps() {
    "$source/tests/gpu/mps.sh" "$0" --build "$build" --out "$out" "$1"
}

section() {
    case $1 in
    build | device | kernels | ll128 | fifo | pull | pack | sanitizer | overhead | demo)
        prepare_runs
        "section_$1"
        ;;
    mps | cases | pt2pt | latency) under_mps "inside-$1" ;;
    proxy)
        timeout 60 "$build/tests/gpu/test_device_copies" cuda && under_mps inside-proxy && under_mps inside-proxy-measures
        ;;
    inside-proxy)
        timeout 60 "$build/tests/gpu/test_device_copies" cuda && section_runs proxy
        ;;
    zerocopy) under_mps inside-zerocopy && under_mps inside-zerocopy-measures ;;
    inside-zerocopy) section_runs zerocopy ;;
    inside-zerocopy-measures)
        prepare_runs
        measure_zerocopy
        ;;
    inside-proxy-measures)
        prepare_runs
        measure_proxy
        ;;
    inside-ll128-times)
        prepare_runs
        algorithm=one_shot most=1M
        by_size protocol=ll protocol=ll128
        ;;
    inside-fifo-times)
        prepare_runs
        algorithm=ring most=64M
        by_size simple_buffer=receiver simple_buffer=sender
        ;;
    inside-mps | inside-cases | inside-pt2pt | inside-pack | inside-ll128 | inside-fifo) section_runs "${1#inside-}" ;;
    nomps) section_runs nomps ;;
    pt2pt-nomps) section_runs pt2pt_nomps ;;
    agent) under_mps inside-agent && under_mps inside-agent-figures ;;
    inside-agent) section_runs agent ;;
    inside-agent-figures)
        prepare_runs
        agent_figures
        ;;
    inside-latency)
        prepare_runs
        latency
        ;;
    bench)
        prepare_runs
        under_mps inside-bench && bench nomps 64M 8 40
        ;;
    inside-bench)
        prepare_runs
        bench mps 256M 2 200
        ;;
    *)
        echo "run.sh: unknown section $1" >&2
        return 2
        ;;
    esac
}

# One section alone, as under MPS: its own output and status are the answer.
case $sections in
" inside-"*) section "${sections# }"; exit ;;
esac

summary=
status=0
for name in $sections; do
    echo "===== $name"
    start=$(date +%s)
    (section "$name") > "$out/$name.log" 2>&1
    result=$?
    case $name in
    mps | nomps | cases | pt2pt | pt2pt-nomps) grep -A 12 '^FAIL' "$out/$name.log"; tail -n 1 "$out/$name.log" ;;
    *) tail -n "${RUN_TAIL:-100}" "$out/$name.log" ;;
    esac
    said=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$out/$name.log" | tail -n 1)
    if [ $result -eq 0 ]; then word=ok; else word="FAILED ($result)"; status=1; fi
    summary="$summary$(printf '  %-11s %-12s %4d s  %s' "$name" "$word" $(($(date +%s) - start)) "$said")
"
done
echo "===== summary ($(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null | head -n 1))"
printf '%s' "$summary"
exit $status
