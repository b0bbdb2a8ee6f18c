#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Random collectives, several at a time, with random settings. A fixed number of rounds; the seed is printed with each run;
# PROPERTY_SEED begins elsewhere, PROPERTY_RUNS and PROPERTY_ROUNDS do more.
. "${srcdir:-.}/tests/mpi/runs.sh"
. "${srcdir:-.}/tests/property/settings.sh"

nodes=$(cd "$runs_folder" && pwd)/own_node.sh

case ${GF_SANITIZER:-no} in
no) runs=8 rounds=150 ;;
*) runs=3 rounds=50 ;;
esac
for round in $(seq "${PROPERTY_RUNS:-$runs}"); do
    set -- kernel copy auto off
    shift $((round % 4))
    mapped=$1
    pick 4 4 4 4 3 3 2 5 1
    ranks=$picked
    pick auto auto auto auto p2p shm
    transport=$picked
    pick +weak +weak +weak,torn +noipc +solo +team=3 +blocks=16
    device=$picked
    pick 0 2048
    pack=$picked
    pick 0 0 1
    deterministic=$picked
    pick "a a a a a" "a a a a a" "a b a c b"
    names=$picked
    pick auto messages
    between=$picked
    run "$ranks" "$device" "+seed=$round" mapped="$mapped" transport="$transport" pack_bytes="$pack" \
        deterministic="$deterministic" between_nodes="$between" \
        "$nodes" "$names" "$GF_BUILDDIR/tests/property/collectives_property" \
        --seed "$((seed / 65536 * 1000))" --rounds "${PROPERTY_ROUNDS:-$rounds}"
done
finish
