# SPDX-License-Identifier: BSD-3-Clause
#
# memory of each allocator that programs use, in messages and in MPI_Allreduce by two_shot: results, and the path each takes,
# with the variable vmm and without, under MPS and without it; one-way times of vmm memory mapped, copied, and of plain memory

every="plain pool vmm vmm_private managed pinned"

mapped=pt2pt_pulled,pt2pt_piped,pt2pt_staged

# Prints all that the program says.
run_shown() {
    run "$@"
    cat "$output"
}

# shellcheck disable=SC2086
runs() {
    run_silent 2 transport=p2p tests/mpi/test_memory rounds=8 plain:$mapped
    run_shown 2 verbose=1 algorithm=two_shot tests/mpi/test_memory $every
    run_shown 2 verbose=1 vmm=1 algorithm=two_shot tests/mpi/test_memory $every
    run 2 vmm=1 algorithm=two_shot tests/mpi/test_memory rounds=20 plain:$mapped:two_shot vmm:pt2pt_pulled:two_shot
    run 4 vmm=1 algorithm=two_shot tests/mpi/test_memory rounds=5 vmm:pt2pt_pulled:two_shot plain:$mapped:two_shot
}

runs_nomps() {
    run_shown 2 vmm=1 tests/mpi/test_memory rounds=1 vmm plain pool
}

# measure KIND VALUE-OF-VMM
measure() {
    echo "== latency, $1 memory, vmm=$2"
    "$source/tests/mpi/run_mpi.sh" 2 --mca coll_gpufifo_vmm "$2" "$build/gpufifo-bench" latency --memory "$1,$1" \
        --min 8 --factor 64 --max 128M --iterations 50 --warmup 5
}

measures() {
    measure device 0 && measure vmm 1 && measure vmm 0 && measure pool 0
}

section() {
    GF_TIMEOUT=20
    export GF_TIMEOUT
    result=0
    under_mps checks runs || result=1
    (checks runs_nomps) || result=1
    under_mps measures || result=1
    return $result
}
