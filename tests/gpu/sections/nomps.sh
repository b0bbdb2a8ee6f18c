# SPDX-License-Identifier: BSD-3-Clause
#
# the questions of mps without MPS, fewer sizes

runs() {
    for ranks in 2 4 8; do
        run $ranks tests/mpi/test_allreduce path=host_sequenced limit=1024 sizes
        run $ranks $check_sizes --max 64M
    done
    run 2 tests/mpi/test_allreduce types
    run 2 transport=p2p algorithm=one_shot tests/mpi/test_allreduce limit=64 sizes
    run 4 tests/mpi/test_mixed 1
    run 4 examples/jacobi
}

section() {
    checks runs
}
