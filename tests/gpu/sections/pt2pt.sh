# SPDX-License-Identifier: BSD-3-Clause
#
# messages: their semantics, types and random traffic, 0 bytes to 256 MiB with 2 to 4 ranks, under MPS

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

runs() {
    runs_messages 256M
    MPIRUN_OPTIONS="--mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any"
    run 2 tests/mpi/test_pt2pt
    run 4 tests/mpi/test_pt2pt_stress 3 20 7
    run 2 gpufifo-bench latency --min 1 --factor 4 --max 256M $check_messages
}

section() {
    under_mps checks runs
}
