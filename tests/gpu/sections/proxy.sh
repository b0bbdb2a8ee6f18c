# SPDX-License-Identifier: BSD-3-Clause
#
# transports whose slots the host copies: which copies get on beside a kernel that waits; results, refusals and trouble;
# the ring by size over p2p, shm and shm_copy in one run. With two GPUs also p2p_copy, and GPUs hidden from one another

# What two ranks on two GPUs do: they see each other's, or not.
runs_two_gpus() {
    see="$source/tests/gpu/own_gpu.sh see" hide="$source/tests/gpu/own_gpu.sh hide"
    test="$build/tests/mpi/test_allreduce"
    run_prints "data goes by p2p_copy" 2 verbose=1 transport=p2p_copy $see "$test" path=ring,staged limit=4194304 sizes bits types
    run_prints "data goes by shm_copy" 2 verbose=1 transport=shm_copy $see "$test" path=ring limit=4194304 sizes
    run_prints "data goes by shm_copy" 2 verbose=1 transport=shm_copy $hide "$test" path=ring limit=4194304 sizes bits
    run 2 verbose=1 $hide "$test" limit=4194304 sizes
    run_fails "a copy of its proxy for the connection" 2 transport=p2p_copy fault=proxy_copy:30@1 $see "$test" limit=65536 sizes
    run 2 transport=p2p_copy $see "$build/gpufifo-bench" --min 64K --factor 4 --iterations 5 --warmup 1 --max 256M
}

runs() {
    for ranks in 2 4; do
        run $ranks transport=shm_copy $check_sizes --max 256M
        run_prints "data goes by shm_copy" $ranks verbose=1 transport=shm_copy tests/mpi/test_allreduce path=ring limit=4194304 \
            sizes bits
    done
    run 2 transport=shm_copy tests/mpi/test_allreduce path=ring,staged types
    run 2 transport=shm_copy tests/mpi/case_18_threads
    run_prints "both share one device" 2 verbose=1 transport=p2p_copy tests/mpi/test_allreduce path=host_sequenced limit=65536 \
        sizes
    run_fails "a copy of its proxy for the connection" 2 transport=shm_copy fault=proxy_copy:30@1 tests/mpi/test_allreduce \
        limit=65536 sizes
    run_fails "deadline_ms" 2 transport=shm_copy deadline_ms=2000 fault=proxy_stall:30+@1 tests/mpi/test_allreduce limit=65536 \
        sizes
    # Under MPS the others of one GPU lose their contexts with the one that is killed.
    run_fails 'signal 9\|a failure while a kernel ran' 2 transport=shm_copy fault=kill:proxy_copy:200@1 \
        tests/fault/killed_rank 1 100000 100000
    if [ "$(gpus)" -ge 2 ]; then
        runs_two_gpus
    else
        skip 6 "two ranks on two GPUs: this machine has one"
    fi
}

# The ring over each transport in turn, in one run; on two GPUs p2p_copy, too.
measure() {
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

checks_under_mps() {
    timeout 60 "$build/tests/gpu/test_device_copies" cuda && checks runs
}

section() {
    timeout 60 "$build/tests/gpu/test_device_copies" cuda && under_mps checks_under_mps && under_mps measure
}
