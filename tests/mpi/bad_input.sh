#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Wrong settings and wrong buffers: one sentence that says what and what to do, and the job goes on where it can.
. "${srcdir:-.}/tests/mpi/runs.sh"

# Buffers.
run 2 tests/mpi/bad_input freed
run 2 tests/mpi/bad_input null
run 2 tests/mpi/bad_input outside
run_fails "device memory that was freed" 2 tests/mpi/bad_input fatal

# MCA variables: the variable is named, and what it may be; the default stays. Words count in any case, as their numbers do.
for name in device transport algorithm protocol verbose; do
    run_prints "coll_gpufifo_$name is \"nonsense\"" 1 $name=nonsense bench/host_overhead allreduce 1 1
done
run_silent 2 device=None protocol=2 bench/host_overhead allreduce 1 1
run_prints 'coll_gpufifo_protocol is "22"' 1 protocol=22 bench/host_overhead allreduce 1 1
run_prints "a slot must have a multiple of 128 bytes" 2 ll_slot_bytes=100 tests/mpi/test_allreduce limit=64 sizes
run_prints "contradict each other" 2 algorithm=ring protocol=ll tests/mpi/test_allreduce path=ring limit=64 sizes
run_prints "must be above 40 and at most 100" 2 priority=5 tests/mpi/test_allreduce limit=64 sizes
run_prints "must be above 40 and at most 100" 2 priority=500 tests/mpi/test_allreduce limit=64 sizes
run_prints "must be between 0 and 64" 2 channels=1000 tests/mpi/test_allreduce limit=64 sizes
for value in nonsense 0 -3 12x 1000000; do
    run_prints "coll_gpufifo_agent is \"$value\"" 1 agent=$value bench/host_overhead allreduce 1 1
done
run_prints "is longer than 63 characters" 1 node=$(printf '%064d' 0) bench/host_overhead allreduce 1 1

# Numbers of the network: too small, too large, and what is used then.
for setting in "net_group 0 9 1 8 1" "net_most_adapters -1 9 0 8 0" "net_queue_pairs 0 9 1 8 1" "net_port -1 256 0 255 0" \
    "gid_index -2 256 -1 255 -1" "net_service_level -1 16 0 15 0" "net_traffic_class -1 256 0 255 0" \
    "net_timeout -1 32 0 31 0" "net_retries -1 8 0 7 0" "net_silence -1 100001 0 100000 30"; do
    read -r name low high least most used << END
$setting
END
    for value in $low $high; do
        run_prints "coll_gpufifo_$name is $value, but it must be between $least and $most. $used is used" 1 "$name=$value" \
            bench/host_overhead allreduce 1 1
    done
done
run_prints 'coll_gpufifo_net_mtu is "1234"' 1 net_mtu=1234 bench/host_overhead allreduce 1 1
run_fails "GPUFIFO_EMULATED" 2 +nonsense tests/mpi/test_allreduce limit=64 sizes

run_prints "one_shot_bytes is -1, but it must not be negative" 2 one_shot_bytes=-1 \
    tests/mpi/test_allreduce path=one_shot limit=64 sizes
for value in lots 12x 8kk; do
    run_prints "coll_gpufifo_one_shot_bytes is \"$value\", but it must be a whole number" 2 one_shot_bytes=$value \
        tests/mpi/test_allreduce path=one_shot limit=64 sizes
done
run_prints "channels is \"four\"" 1 channels=four bench/host_overhead allreduce 1 1
run_silent 2 one_shot_bytes=0x40k deadline_ms=0 tests/mpi/test_allreduce path=one_shot limit=64 sizes
run_prints "deadline_ms is -5, but it must not be negative" 2 deadline_ms=-5 tests/mpi/test_allreduce limit=64 sizes

# Tables: the line is named, the one built in counts; and all ranks must have the same.
table=$output.table
printf 'gpufifo-tuning 1\n\nallreduce shared 2 ring 8 x\n' > "$table"
run_prints 'line 3: "x" is no time' 2 tuning="$table" tests/mpi/test_allreduce path=one_shot limit=64 sizes
printf 'gpufifo-tuning 1\nallreduce shared 2 ring 8 1\nallreduce shared 2 one_shot 8 2\n' > "$table"
run_prints "take by the table 1.0 us" 2 verbose=1 tuning="$table" tests/mpi/test_allreduce path=ring limit=64 sizes
# shellcheck disable=SC2016
run_prints "has the setting tuning" 2 verbose=1 /bin/sh -c '
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || export OMPI_MCA_coll_gpufifo_tuning="$1"
exec "$2" limit=64 sizes' sh "$table" "$GF_BUILDDIR/tests/mpi/test_allreduce"
rm "$table"

# Another Open MPI than the one that the component was built for.
run_prints "was built for Open MPI .* but is loaded" 2 tests/mpi/other_version

# Devices. These run nothing on a device: with "none", and with "auto" on a machine without a GPU, the component is out of the
# way.
run_silent 2 device=none bench/host_overhead allreduce 1 1
if [ ! -e /dev/nvidiactl ]; then
    run_prints 'asks for the device "cuda"' 2 device=cuda bench/host_overhead allreduce 1 1
    run_fails 'coll_gpufifo_strict is set' 2 device=cuda strict=1 bench/host_overhead allreduce 1 1
    run_silent 2 device=auto bench/host_overhead allreduce 1 1
    run_prints "not used: " 2 device=auto verbose=1 bench/host_overhead allreduce 1 1
    run_fails "no GPU can be used" 2 device=auto tests/mpi/test_allreduce limit=64 sizes
fi
run_fails "no device is to be used" 2 device=none tests/mpi/test_allreduce limit=64 sizes
finish
