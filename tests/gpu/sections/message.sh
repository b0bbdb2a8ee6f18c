# SPDX-License-Identifier: BSD-3-Clause
#
# small messages that the receiver's agent fetches, under MPS: their semantics; latency and windows by size, and the habits of
# programs, in turn with launched ones

runs() {
    for us in 200 1; do
        message="agent=$us"
        run 2 $message tests/mpi/test_pt2pt
        run 3 $message tests/mpi/test_pt2pt_types
        run 3 $message tests/mpi/test_pt2pt_stress 1 20 $us
        run 2 $message tests/mpi/test_pt2pt_stress 3 20 $us
    done
    message="agent=200"
    run 2 $message tests/gpu/agent_habits message beside filled
    for part in synchronise "free another" overwrite thousand; do
        run 2 $message tests/mpi/test_pt2pt_legal "$part"
    done
    run_prints "by the agent, without a launch" 2 verbose=2 $message gpufifo-bench latency --max 1K --iterations 50
}

# In turn: off, 200 microseconds, as experience tells.
in_turn() {
    side="-n 2 --bind-to core --mca pml ob1 --mca coll_gpufifo_agent"
    "$build/gpufifo-env" "$build/gpufifo-bench" "$@" --compare "$side off" --compare "$side 200" --compare "$side auto"
}

# With `auto`, programs that wait for the device after each call (sync, memory) should lose at most 3 % over `off`.
habits() {
    for round in 1 2 3; do
        for agent in off auto 200; do
            echo "== agent $agent"
            "$source/tests/mpi/run_mpi.sh" 2 --bind-to core --mca coll_gpufifo_agent $agent "$build/tests/gpu/agent_habits" \
                iterations=1000 message bytes=8 row sync memory bytes=4096 row || return 1
        done
    done
}

measure() {
    in_turn latency --max 64K --factor 8 --iterations 1000 --rounds 3 --json "$out/message.json" &&
        in_turn bandwidth --max 64K --factor 8 --iterations 100 --rounds 2 --json "$out/message-window.json" && habits
}

section() {
    under_mps checks runs && under_mps measure
}
