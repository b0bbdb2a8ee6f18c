#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Derived datatypes in device memory. Other words: PACK_SEED=7 PACK_ROUNDS=1000 make check TESTS=tests/mpi/pack.sh
. "${srcdir:-.}/tests/mpi/runs.sh"

seed=${PACK_SEED:-1}
rounds=${PACK_ROUNDS:-60}
for ranks in 1 2 3; do
    run $ranks pack_bytes=1 tests/mpi/test_pack seed="$seed$ranks" rounds="$rounds"
done
run 2 pack_bytes=0 tests/mpi/test_pack seed="$seed" rounds="$rounds"
run 2 +weak,team=2 pack_bytes=1 tests/mpi/test_pack seed="${seed}5" rounds="$rounds"
run 2 +noipc pack_bytes=1 pipe_bytes=1 tests/mpi/test_pack seed="${seed}6" rounds="$rounds"
run 2 pack_bytes=1 tests/mpi/test_pack threads seed="${seed}7" rounds=5
run 2 pack_bytes=1 tests/mpi/test_pack_life
run 2 pack_bytes=0 tests/mpi/test_pack_life staged
run 2 +noipc pack_bytes=1 pipe_bytes=1 tests/mpi/test_pack_life staged
run 2 +memory=33554432 pack_bytes=1 tests/mpi/test_pack_life types=10000
run 3 +weak pack_bytes=1 tests/mpi/test_pt2pt_types
run 2 +noipc pack_bytes=1 tests/mpi/test_pt2pt_types
run 2 pack_bytes=1 tests/mpi/test_pt2pt_stress 3 10 "$seed"
run 3 pack_bytes=100 tests/mpi/test_pt2pt_pull
finish
