# SPDX-License-Identifier: BSD-3-Clause
#
# device memory that was freed is back although peers had it mapped, of messages and of collectives (under MPS)

# percent N: of the GPU's memory, in bytes.
percent() {
    total=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits -i 0) || return 1
    echo $((total * 1048576 / 100 * $1))
}

runs() {
    run 2 tests/mpi/case_15_free "$(percent 60)" message
    run 2 algorithm=two_shot tests/mpi/case_15_free "$(percent 42)" allreduce
}

section() {
    under_mps checks runs
}
