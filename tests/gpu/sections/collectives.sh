# SPDX-License-Identifier: BSD-3-Clause
#
# random collectives of all functions and forms, against the same calls on host buffers; PROPERTY_SEED and PROPERTY_ROUNDS as in
# tests/property; what grows with calls and communicators

property="tests/property/collectives_property --rounds ${PROPERTY_ROUNDS:-1500}"
seed=${PROPERTY_SEED:-1}

runs() {
    for mapped in off kernel copy auto; do
        for ranks in 2 4; do
            run $ranks mapped=$mapped $property --seed "${seed}0000" --bytes 1000000
        done
    done
    run 8 mapped=kernel $property --seed "${seed}5000"
    run 2 mapped=kernel tests/mpi/test_leaks calls=10000 communicators=300
}

runs_in_turns() {
    run 2 mapped=kernel $property --seed "${seed}6000" --rounds 200
}

section() {
    under_mps checks runs && (checks runs_in_turns)
}
