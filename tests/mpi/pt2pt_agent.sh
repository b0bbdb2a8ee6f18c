#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Messages that the receiver's agent fetches: the semantics, types, random traffic and programs of pt2pt.sh and pt2pt_legal.sh,
# with an agent that stays, with one that leaves all the time, with late stores, beside collectives by the same agent, and with
# threads.
. "${srcdir:-.}/tests/mpi/runs.sh"

for us in 3000 1; do
    message="agent=$us"
    for ranks in 2 3; do
        run $ranks $message tests/mpi/test_pt2pt
        run $ranks $message tests/mpi/test_pt2pt_types
        run $ranks $message tests/mpi/test_pt2pt_errors
        run $ranks $message tests/mpi/test_pt2pt_probe
        run $ranks +weak $message tests/mpi/test_pt2pt_stress 1 10 $ranks
        run $ranks $message tests/mpi/test_pt2pt_stress 3 10 $ranks
    done
    run 2 $message tests/mpi/test_pt2pt_self
    run 2 $message tests/mpi/test_pt2pt_pull
    run 3 $message tests/mpi/test_pt2pt_pull threads
done
message="agent=3000"
for part in synchronise "long kernel" "free another" "reuse address" overwrite thousand "send first"; do
    run 2 $message tests/mpi/test_pt2pt_legal "$part"
done
run 2 agent=auto tests/mpi/test_pt2pt_stress 1 10 5
run 3 $message algorithm=one_shot tests/mpi/test_mixed 3
run 2 $message tests/mpi/case_18_threads
# One that is there also when a busy machine is late with the next message.
run_prints "by the agent, without a launch" 2 verbose=2 agent=60000 agent_start_us=60000000 \
    gpufifo-bench latency --max 1K --iterations 20
run_prints "by a kernel" 2 verbose=2 $message agent_message_bytes=0 gpufifo-bench latency --max 1K --iterations 20
# None of the kernels may wait, or the memory cannot be reached.
run 2 +solo $message tests/mpi/test_pt2pt
run 2 +noipc $message tests/mpi/test_pt2pt
finish
