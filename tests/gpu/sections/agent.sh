# SPDX-License-Identifier: BSD-3-Clause
#
# MPI_Allreduce by the agent under MPS: checks; times with it and without, also of programs that wait for the device

runs() {
    for ranks in 2 4 8; do
        run $ranks agent=200 algorithm=one_shot tests/mpi/test_allreduce path=agent,played limit=4096 sizes
        run $ranks agent=200 agent_blocks=8 algorithm=one_shot tests/mpi/test_allreduce path=agent,played limit=32768 sizes
        run $ranks agent=1 algorithm=one_shot tests/mpi/test_allreduce path=agent,played limit=4096 sizes
        run $ranks agent=auto tests/mpi/test_allreduce limit=262144 sizes bits
        run $ranks agent=200 tests/mpi/test_mixed $ranks
    done
    run 2 agent=200 transport=shm algorithm=one_shot tests/mpi/test_allreduce path=agent,staged limit=8192 types sizes
    run 2 agent=200 tests/gpu/agent_habits beside filled
    run 4 agent=200 transport=shm tests/gpu/agent_habits beside bytes=4096 filled
    run 2 agent=200 tests/mpi/case_14_reuse 1000
    run 2 agent=200 tests/mpi/case_18_threads
    for how in close leak comm reset; do
        run 2 agent=60000 tests/mpi/case_20_end $how
    done
}

measure() {
    for ranks in 2 8; do
        "$source/tests/gpu/agent.sh" $ranks || return 1
    done
}

section() {
    under_mps checks runs && under_mps measure
}
