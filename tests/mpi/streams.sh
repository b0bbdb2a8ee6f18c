#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A device that has no memory for more streams after the n-th of a process: streams are shared, or calls and messages go another
# way, which is said; none fails. The first two are the program's own and that of copies through host memory.
. "${srcdir:-.}/tests/mpi/runs.sh"

for streams in 2 3 4 5 7 9 12; do
    run 2 +streams=$streams tests/mpi/test_pt2pt
    run 2 +streams=$streams transport=shm pipe_bytes=2000 pipe_chunk_bytes=65536 tests/mpi/test_pt2pt
    run 3 +streams=$streams tests/mpi/test_allreduce limit=4096 sizes
done
for streams in 2 3 5; do
    run 2 +streams=$streams +memory=16M tests/mpi/test_full
    run 2 +streams=$streams mapped=off tests/mpi/test_stage_flight seed=$streams
    run 3 +streams=$streams mapped=kernel tests/mpi/test_exchange seed=$streams random
done
run_prints "streams are all that" 2 +streams=2 verbose=1 tests/mpi/test_allreduce path=staged limit=4096 sizes
run_prints "come in chunks: 2 streams are all" 2 +streams=2 verbose=1 tests/mpi/test_pt2pt
finish
