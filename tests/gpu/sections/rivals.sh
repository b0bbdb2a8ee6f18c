# SPDX-License-Identifier: BSD-3-Clause
#
# times beside NCCL's and those of a UCX built with CUDA (GF_RIVAL, as in latency), in turn, on 2, 4 and 8 GPUs of this host
# (or GF_RANKS), one rank each, and where there is one GPU, of as many ranks under MPS: all functions that NCCL has, and messages;
# before them the tuner's table of this machine, which is one of the sides; at last, on several GPUs, kernels beside copy
# engines, and the bandwidth of each mechanism. Tables, JSON and SVG into the out folder. GF_RIVAL_MPI: folder of an Open MPI
# 4.1 that was built with CUDA, which goes with that UCX; without, UCX moves what needs no copy by MPI: messages and broadcasts.
# GF_NCCL: a folder with libnccl.so.2, where the loader does not find it; on one GPU NCCL is asked only where this is set, for
# it needs 2.30

see='' by_rank='' nccl=${GF_NCCL:+nccl}
if [ "$(gpus)" -ge 2 ]; then
    see="$source/tests/gpu/own_gpu.sh see" by_rank=--device-by-rank nccl=nccl
fi
table=$out/several.table

# Cores for each rank: its threads, ours and NCCL's, do not share the one that waits.
cores() {
    cores=$(($(nproc) / 2 / $1))
    [ $cores -le 4 ] || cores=4
    [ $cores -ge 1 ] || cores=1
    echo $cores
}

# beside NAME SECONDS RANKS SIDES TEST [OPTION...]: SIDES: of "tuned nccl ucx cuda"; cuda: as ucx, where the MPI has to be built
# with CUDA, which takes seconds for larger sums. NVLink's multicast is not used by NCCL.
beside() {
    name=$1 seconds=$2 ranks=$3 sides=$4
    shift 4
    job="-n $ranks --map-by slot:PE=$(cores "$ranks") --bind-to core"
    ours="$job --mca pml ob1"
    by_nccl="NCCL_NVLS_ENABLE=0 NCCL_MULTI_RANK_GPU_ENABLE=1 LD_LIBRARY_PATH=$LD_LIBRARY_PATH${GF_NCCL:+:$GF_NCCL} $job
        --mca pml ob1 --mca coll ^gpufifo $see -- --library nccl"
    mpi=${GF_RIVAL_MPI:+MPIRUN=$GF_RIVAL_MPI/bin/mpirun OPAL_PREFIX=$GF_RIVAL_MPI
        OMPI_MCA_mca_base_component_path=$GF_RIVAL_MPI/lib/openmpi}
    ucx="$mpi LD_LIBRARY_PATH=${GF_RIVAL_MPI:+$GF_RIVAL_MPI/lib:}${GF_RIVAL:-}/lib:$LD_LIBRARY_PATH
        UCX_TLS=self,sysv,posix,cuda_copy,cuda_ipc $job --mca pml ucx --mca coll ^gpufifo,hcoll --mca osc ^ucx
        --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any $see"
    echo "== $name, $ranks ranks: gpufifo $sides"
    set -- "$@" --rounds "${GF_ROUNDS:-1}" --json "$out/$name-$ranks.json" --compare "$ours $see"
    for side in $sides; do
        case $side in
        tuned) set -- "$@" --compare "$ours --mca coll_gpufifo_tuning $table $see" ;;
        nccl) set -- "$@" --compare "$by_nccl" ;;
        ucx) [ -z "${GF_RIVAL:-}" ] || set -- "$@" --compare "$ucx" ;;
        cuda) [ -z "${GF_RIVAL_MPI:-}" ] || set -- "$@" --compare "$ucx -- --max 16M" ;;
        esac
    done
    timeout -k 5 "$seconds" "$build/gpufifo-env" "$build/gpufifo-bench" "$@"
}

# or_alone NAME SECONDS RANKS SIDES TEST [OPTION...]: what gpufifo takes is told where a rival fails, too.
or_alone() {
    beside "$@" && return
    name=$1 seconds=$2 ranks=$3
    shift 4
    echo "== $name, gpufifo alone, for a side failed"
    timeout -k 5 "$seconds" "$build/gpufifo-env" "$MPIRUN" -n "$ranks" --bind-to core $see "$build/gpufifo-bench" "$@"
    return 1
}

tune() {
    echo "== the tuner's table, $1 ranks"
    timeout -k 5 60 "$build/gpufifo-env" "$build/gpufifo-bench" --tune "$table" --ranks "$1" $by_rank --factor 4 \
        --iterations 50 --warmup 5 --rounds 1 && grep "^allreduce [a-z]* $1 " "$table"
}

# RANKS: what has a goal by size first.
measure() {
    result=0
    few="--iterations 50 --warmup 10" block=$((1024 / $1))M
    tune "$1" || result=1
    or_alone allreduce 60 "$1" "tuned $nccl cuda" allreduce --max 1G $few || result=1
    [ "$1" -ne 2 ] || or_alone latency 60 2 "$nccl ucx" latency --max 1G $few || result=1
    or_alone bcast 60 "$1" "$nccl ucx" bcast --min 4 --factor 4 --max 1G $few || result=1
    for what in alltoall allgather reduce_scatter; do
        or_alone $what 60 "$1" "$nccl cuda" $what --min 16 --factor 4 --max $block $few || result=1
    done
    for what in reduce gather scatter; do
        or_alone $what 40 "$1" "$nccl cuda" $what --min 16 --factor 16 --max 64M $few || result=1
    done
    # Windows are gigabytes, which are looked at for each size.
    [ "$1" -ne 2 ] || for what in bandwidth bibandwidth; do
        or_alone $what 60 2 "$nccl ucx" $what --min 1K --factor 32 --max 32M --iterations 20 --warmup 3 || result=1
    done
    [ "$1" -eq 2 ] || or_alone multi 60 "$1" "$nccl ucx" multi --min 1K --factor 32 --max 32M --iterations 20 --warmup 3 ||
        result=1
    return $result
}

# engines TEST VARIABLE WORD: between two GPUs, by kernel and by copy engine.
engines() {
    what=$1 way="-n 2 --bind-to core --mca pml ob1 --mca coll_gpufifo_$2"
    echo "== $what: by kernel, by copy engine"
    timeout -k 5 60 "$build/gpufifo-env" "$build/gpufifo-bench" "$what" --min 256K --factor 4 --max 256M --window 8 \
        --iterations 50 --warmup 5 --rounds 1 --json "$out/engines-$what.json" \
        --compare "$way kernel $see" --compare "$way $3 $see"
}

# What each way brings between two GPUs.
plot() {
    timeout -k 5 90 "$build/gpufifo-env" "$build/gpufifo-bench" --plot "$out/several.svg" --json "$out/several.json" \
        --device-by-rank --min 1K --factor 8 --max 32M --iterations 40 --warmup 3 --rounds 1
}

# MOST-RANKS
measure_all() {
    result=0
    for ranks in ${GF_RANKS:-2 4 8}; do
        [ "$ranks" -gt "$1" ] || (measure "$ranks") || result=1
    done
    return $result
}

section() {
    nvidia-smi topo -m
    if [ "$(gpus)" -lt 2 ]; then
        under_mps measure_all 8
        return
    fi
    result=0
    measure_all "$(gpus)" || result=1
    for what in latency bibandwidth; do
        engines $what pull copy_engine || result=1
    done
    for what in alltoall allgather bcast; do
        engines $what mapped copy || result=1
    done
    [ "${GF_PLOT:-yes}" != yes ] || plot || result=1
    return $result
}
