#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives that go through host memory and the saved component.
. "${srcdir:-.}/tests/mpi/runs.sh"

for ranks in 1 2 3 5; do
    run $ranks tests/mpi/test_stage seed=$ranks
    run $ranks tests/mpi/test_stage_flight seed=$ranks
done
finish
