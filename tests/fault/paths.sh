#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Each step by which ranks connect is made to fail: the job goes on by the next path and says why; where that is forbidden it ends
# with an error. Case 22 among them: peers that cannot attach each other's shared memory, as in containers.
. "${srcdir:-.}/tests/mpi/runs.sh"

test="tests/mpi/test_allreduce limit=4096 sizes"

# The next transport.
for step in device_alloc ipc_export ipc_open; do
    run_prints "cannot use p2p, next is shm: the step $step was made to fail" 3 fault=$step:1 $test
done
run_prints "cannot use p2p, next is shm: the step ipc_open" 3 fault=ipc_open:1@2 $test
# Each rank says it once, however many peers it is about.
run_prints "cannot use p2p, next is shm: the step ipc_open" 3 fault=ipc_open:1+ algorithm=one_shot $test
if [ "$(grep -c "cannot use p2p" "$output")" -eq 3 ]; then
    good
else
    bad "does not say once a rank that p2p cannot be used"
fi
# Of one peer only: the others keep the faster one.
run_prints "data goes by p2p to 1, by shm to 2" 3 verbose=1 fault=ipc_open:2@0 algorithm=one_shot $test

# No transport is left: the host does it, or the saved component.
run_prints "cannot use shm, next is staging or the host: the step segment" 2 fault=ipc_open:1,segment:2 $test
run_prints "cannot use p2p" 2 transport=p2p fault=ipc_open:1 $test
for step in segment attach; do
    run_prints "staged through host memory, because rank 0: the step $step" 3 verbose=1 fault=$step:1 $test path=staged
done
run_prints "staged through host memory, because rank 1: the step attach" 3 fault=attach:1@1 $test path=staged

# A transport whose slots the host copies: each of its own steps, then the host does it all.
for step in proxy:1 segment:2 register:1 device_alloc:1 attach:2; do
    run_prints "host-sequenced: no connection of kernels works" 2 verbose=1 transport=shm_copy fault=$step $test \
        path=host_sequenced
done
run_prints "cannot use shm_copy, next is staging or the host: the step proxy" 2 transport=shm_copy fault=proxy:1 $test
run_fails "a copy of its proxy for the connection" 3 transport=shm_copy fault=proxy_copy:30@1 $test
run_fails "strict: rank . and rank . cannot use p2p_copy" 2 transport=p2p_copy strict=1 fault=ipc_open:1 $test
run_fails "deadline_ms" 2 transport=shm_copy deadline_ms=2000 fault=proxy_stall:30+@1 $test

# The binary has no code for this device.
run_prints "kernels do not run on this device, the host reduces instead" 2 fault=launch:1 $test

# A kernel that cannot be launched in the middle of a job ends it, on all ranks.
run_fails "the step launch was made to fail" 3 fault=launch:5@1 $test

# Strict: no slow path unnoticed.
run_fails "strict: rank . and rank . cannot use p2p" 2 strict=1 fault=ipc_open:1 $test
run_fails "strict: this call would be staged through host memory" 2 strict=1 fault=attach:1 $test
run_fails "strict: this call would be staged through host memory" 2 strict=1 mapped=off tests/mpi/case_04_self_copy
run_fails "cannot run at once here; NVIDIA's MPS" 2 +solo strict=1 $test

# What is asked for must exist.
run_prints "write step:n\[+\]\[@rank\], with commas: segment, " 2 fault=nonsense:1 $test
run_prints "Nothing is made to fail" 1 fault=ipc_open:0 bench/host_overhead allreduce 1 1
finish
