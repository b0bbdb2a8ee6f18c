# SPDX-License-Identifier: BSD-3-Clause
#
# times of a LL and a LL128 hop; FIFOs of 1 to 32 blocks, slots at either end, beside a bare copy kernel; under MPS the
# ring with its slots at the sender, and from buffer to buffer in either direction: results, and times beside the receiver's

runs() {
    for transport in p2p shm; do
        for ranks in 2 4; do
            run_prints "fetched from the sender" $ranks verbose=1 transport=$transport algorithm=ring simple_buffer=sender \
                tests/mpi/test_allreduce path=ring limit=262144 sizes bits
            run $ranks transport=$transport algorithm=ring simple_buffer=sender $check_sizes --max 64M
        done
    done
}

# Strict: it goes from buffer to buffer, or fails.
direct_runs() {
    for way in direct_write direct_read; do
        for ranks in 2 4; do
            run $ranks strict=1 algorithm=ring simple_buffer=$way tests/mpi/test_allreduce path=ring limit=262144 sizes bits
            run $ranks strict=1 algorithm=ring simple_buffer=$way tests/mpi/test_zerocopy rounds=200 path=ring reuse offsets
            run $ranks strict=1 algorithm=ring simple_buffer=$way $check_sizes --max 64M
        done
        run 2 algorithm=ring simple_buffer=$way tests/mpi/test_allreduce kinds
    done
}

measure() {
    by_setting ring 64M simple_buffer=receiver simple_buffer=sender simple_buffer=direct_write simple_buffer=direct_read
}

section() {
    timeout 60 "$build/tests/gpu/measure_fifo" hops && timeout 120 "$build/tests/gpu/measure_fifo" fifo &&
        under_mps checks runs && under_mps checks direct_runs && under_mps measure
}
