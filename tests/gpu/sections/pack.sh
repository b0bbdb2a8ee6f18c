# SPDX-License-Identifier: BSD-3-Clause
#
# data with gaps: the pack kernels' checks and times beside a bare kernel, cuMemcpy2D and a copy a block; under MPS
# random datatypes, and messages with gaps by size, packed on the device and staged

runs() {
    for ranks in 2 4; do
        run $ranks pack_bytes=1 tests/mpi/test_pack rounds=100 seed=$ranks
    done
    run 2 pack_bytes=0 tests/mpi/test_pack rounds=100
    run 2 pack_bytes=0 tests/mpi/test_pack_life staged
    run 2 pack_bytes=1 tests/mpi/test_pack threads rounds=5
    run 2 pack_bytes=1 tests/mpi/test_pack_life types=10000
    run 2 pack_bytes=1 tests/mpi/test_pt2pt_types
    for bytes in 1 0; do
        run 2 pack_bytes=$bytes tests/gpu/pack_latency
        cat "$output"
    done
}

section() {
    timeout 120 "$build/tests/gpu/test_device_pack" cuda && timeout 120 "$build/tests/gpu/measure_pack" && under_mps checks runs
}
