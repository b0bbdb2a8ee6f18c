# SPDX-License-Identifier: BSD-3-Clause
#
# the reported cases that can be shown on a GPU, and the examples (under MPS)

runs() {
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

section() {
    under_mps checks runs
}
