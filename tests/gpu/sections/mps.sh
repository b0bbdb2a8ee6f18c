# SPDX-License-Identifier: BSD-3-Clause
#
# MPI_Allreduce of 4 B to 256 MiB with 2, 4 and 8 ranks on every transport by every algorithm; types; mixed buffers

runs() {
    for ranks in 2 4 8; do
        for transport in p2p shm; do
            for algorithm in one_shot ring; do
                run $ranks transport=$transport algorithm=$algorithm $check_sizes --max 256M
                run $ranks transport=$transport algorithm=$algorithm tests/mpi/test_allreduce path=$algorithm limit=262144 sizes \
                    bits
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

section() {
    under_mps checks runs
}
