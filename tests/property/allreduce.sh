#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Random allreduces with random settings: ranks, slot sizes, channels, thresholds, forced paths, kinds of emulated device. A
# fixed number of rounds. The seed is printed with each run; PROPERTY_SEED begins elsewhere, PROPERTY_RUNS does more.
. "${srcdir:-.}/tests/mpi/runs.sh"
. "${srcdir:-.}/tests/property/settings.sh"

for round in $(seq "${PROPERTY_RUNS:-16}"); do
    pick 1 2 2 3 4 5 6 8
    ranks=$picked
    pick auto p2p shm p2p_copy shm_copy
    transport=$picked
    pick auto auto one_shot ring host two_shot one_shot_mapped
    algorithm=$picked
    pick 128 1024 65536
    ll=$picked
    pick 128 4096 131072
    simple=$picked
    protocol=auto
    [ "$algorithm" = ring ] || { pick auto ll ll128; protocol=$picked; }
    pick receiver sender direct_write direct_read
    buffer=$picked
    pick 0 1 2 7
    channels=$picked
    pick 0 64 262144
    one_shot=$picked
    pick +weak +weak,torn +noipc +solo +team=3 +blocks=16
    device=$picked
    run "$ranks" "$device" "+seed=$round" transport="$transport" algorithm="$algorithm" protocol="$protocol" \
        ll_slot_bytes="$ll" simple_slot_bytes="$simple" simple_buffer="$buffer" channels="$channels" one_shot_bytes="$one_shot" \
        tests/property/allreduce_property --seed "$seed" --rounds 60 --bytes 200000
done
finish
