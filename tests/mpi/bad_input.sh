#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Wrong settings and wrong buffers: one sentence that says what and what to do, and the job goes on where it can.
. "${srcdir:-.}/tests/mpi/runs.sh"

# Buffers.
run 2 tests/mpi/bad_input freed
run 2 tests/mpi/bad_input null
run_fails "device memory that was freed" 2 tests/mpi/bad_input fatal

# MCA variables.
for name in device transport algorithm protocol verbose; do
    run_prints "nonsense" 1 $name=nonsense /bin/true
done
run_prints "a slot must have a multiple of 128 bytes" 2 ll_slot_bytes=100 tests/mpi/test_allreduce limit=64 sizes
run_prints "must be between 0 and 64" 2 channels=1000 tests/mpi/test_allreduce limit=64 sizes
run_fails "GPUFIFO_EMULATED" 2 +nonsense tests/mpi/test_allreduce limit=64 sizes
run_fails "there is no device kind" 2 tests/mpi/test_allreduce limit=64 sizes

# Devices: without a GPU "cuda" says so once and the job goes on, "auto" is silent, "none" is out of the way.
host="examples/paths_of_host"
finish
