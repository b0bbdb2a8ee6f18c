# SPDX-License-Identifier: BSD-3-Clause
#
# small messages that the receiver's agent fetches, under MPS: their semantics, and latency by size in turn with launched ones

runs() {
    for us in 200 1; do
        message="agent=$us agent_message_bytes=65536"
        run 2 $message tests/mpi/test_pt2pt
        run 3 $message tests/mpi/test_pt2pt_types
        run 3 $message tests/mpi/test_pt2pt_stress 1 20 $us
        run 2 $message tests/mpi/test_pt2pt_stress 3 20 $us
    done
    message="agent=200 agent_message_bytes=65536"
    for part in synchronise "long kernel" "free another" overwrite thousand; do
        run 2 $message tests/mpi/test_pt2pt_legal "$part"
    done
    run_prints "by the agent, without a launch" 2 verbose=2 $message gpufifo-bench latency --max 1K --iterations 50
}

measure() {
    side="-n 2 --bind-to core --mca pml ob1"
    GPUFIFO_DEVICE=cuda "$build/gpufifo-env" "$build/gpufifo-bench" latency --max 64K --factor 2 --iterations 1000 --rounds 3 \
        --json "$out/message.json" --compare "$side --mca coll_gpufifo_agent off" \
        --compare "$side --mca coll_gpufifo_agent 200 --mca coll_gpufifo_agent_message_bytes 65536" \
        --compare "$side --mca coll_gpufifo_agent auto --mca coll_gpufifo_agent_message_bytes 65536"
}

section() {
    under_mps checks runs && under_mps measure
}
