#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# gpufifo-bench as a program: its table, its JSON, a comparison of two settings, wrong options. It checks its own results; what it
# measures is not looked at.
. "${srcdir:-.}/tests/mpi/runs.sh"

json=$(mktemp)
runner=$(mktemp)
trap 'rm -f "$output" "$json" "$runner"' EXIT

valid_json() {
    if [ -z "$PYTHON" ]; then
        skip 1 "no python3 to read the JSON"
    elif "$PYTHON" -c 'import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
sys.exit(not rows or any(row["wrong"] for row in rows))' "$json"; then
        good
    else
        bad "no JSON with right results"
    fi
}

few="--iterations 5 --warmup 1 --factor 16"
run_prints " 32768 .* 0  one_shot" 2 gpufifo-bench --max 32K $few --json "$json"
valid_json
run_prints "staged(us)  ratio" 3 gpufifo-bench --max 32K $few --staged --type int32 --op max --json "$json"
valid_json
run_prints "memory host to device" 2 gpufifo-bench --max 1K $few --memory host,device --type double --op prod
run_prints "memory managed to pinned" 2 gpufifo-bench --max 1K $few --memory managed,pinned --type int8 --op min
run_prints " 32760 .* 0  reduce_mapped" 3 mapped=kernel gpufifo-bench reduce_scatter --max 32K $few
run_prints " 32768 .* 0  reduce_mapped" 3 mapped=kernel gpufifo-bench scan --max 32K $few --staged --type int64 --op prod
run_prints " 32768 .* 0  staged" 3 mapped=off gpufifo-bench reduce --max 32K $few --op min
run_prints "MPI_Gather.*" 3 gpufifo-bench gather --max 32K $few --staged
run_prints " 32768 .* 0  exchange" 3 mapped=kernel gpufifo-bench scatter --max 32K $few --staged

# Messages: each test, each end in device or host memory.
run_prints "latency, half a round trip.*device to device" 2 gpufifo-bench latency --max 32K $few --staged --json "$json"
valid_json
run_prints "bandwidth, windows of 5 messages" 2 gpufifo-bench bandwidth --max 32K $few --window 5 --staged --json "$json"
valid_json
run_prints "  32768  *5 .* 0  pt2pt_" 2 gpufifo-bench bibandwidth --max 32K $few --window 5 --staged --json "$json"
valid_json
run_prints "  32768  *5 .* 0  pt2pt_" 4 gpufifo-bench multi --max 32K $few --window 5 --json "$json"
valid_json
run_prints "memory device to host" 2 gpufifo-bench latency --max 1K $few --memory device,host
run_prints "memory host to device" 2 gpufifo-bench bibandwidth --max 1K $few --memory host,device --window 3
run_prints "  128  *3 .* 0  - " 2 gpufifo-bench bandwidth --max 1K $few --memory host --window 3
run_prints "memory managed to pinned" 2 gpufifo-bench latency --max 1K $few --memory managed,pinned
run_fails 'no test "laziness"' 1 gpufifo-bench laziness
run_fails 'one of two ranks' 3 gpufifo-bench latency
run_fails 'an even number' 3 gpufifo-bench multi
run_fails 'window takes a whole number' 1 gpufifo-bench bandwidth --window none
run_fails 'type takes float' 1 gpufifo-bench --type real
run_fails 'a number of bytes' 1 gpufifo-bench --min lots
run_fails 'larger than --max' 1 gpufifo-bench --min 8K --max 4K
run_fails 'needs a second side' 1 gpufifo-bench --compare ""
run_fails 'no device: ' 2 gpufifo-bench --device nonsense
run_fails 'the component coll/gpufifo is not in use' 2 device=none gpufifo-bench --device emulated --max 8
run_prints 'memory managed to pinned' 2 device=none gpufifo-bench --device emulated --max 8 $few --memory managed,pinned
run_fails 'cannot write /nowhere/json' 2 gpufifo-bench --max 8 $few --json /nowhere/json
run_fails 'call gpufifo-bench without it' 2 gpufifo-bench --compare "" --compare ""

# NCCL in the place of MPI: a library that stands in for it does by MPI what it is asked for. Without it a sentence says so.
run_fails "libnccl.so.2: cannot open\|libcuda.so.1: cannot open\|error [0-9]* of the CUDA driver" 2 gpufifo-bench \
    --library nccl --max 8
inherited=${LD_LIBRARY_PATH-}
LD_LIBRARY_PATH=$GF_BUILDDIR/tests/mpi/stand_in/.libs:$inherited
export LD_LIBRARY_PATH
for what in "allreduce --op prod" "reduce --op max --type int8" "reduce_scatter --op min --type double" "allgather --type int64" \
    alltoall bcast gather scatter; do
    # shellcheck disable=SC2086
    run_prints " 0  nccl 2.28.9" 3 gpufifo-bench $what --library nccl --min 4K --max 64K $few --staged
done
for what in latency "bandwidth --window 5" bibandwidth multi; do
    # shellcheck disable=SC2086
    run_prints " 0  nccl 2.28.9" 2 gpufifo-bench $what --library nccl --min 4K --max 64K $few --json "$json"
done
valid_json
run_fails "NCCL has no scan" 2 gpufifo-bench scan --library nccl
run_fails "leave --memory out" 2 gpufifo-bench --memory host,device --library nccl
STAND_IN_FAILS=1 run_fails "ncclCommInitRank: invalid argument (says the stand-in)" 2 gpufifo-bench --library nccl
LD_LIBRARY_PATH=$inherited
run_fails "library takes mpi or nccl" 1 gpufifo-bench --library libnccl.so
run_fails "there is no emulated device 1" 2 gpufifo-bench --device-by-rank

# What host-only programs pay: the program, and the script around it.
run_prints "^allreduce 8 [0-9]" 2 bench/host_overhead allreduce 5 50
run_prints "^window 65536 [0-9]" 2 bench/host_overhead messages 5 50
run_fails "between two ranks" 3 bench/host_overhead messages
run_fails "Usage" 1 bench/host_overhead
mkdir "$output.bin"
cat > "$output.bin/mpirun" <<END
#!/bin/sh
shift 2
MPIRUN=$MPIRUN exec "$runs_folder/run_mpi.sh" 2 "\$@"
END
chmod +x "$output.bin/mpirun"
shown="host_overhead.sh messages"
PATH=$output.bin:$PATH "${srcdir:-.}/bench/host_overhead.sh" "$GF_BUILDDIR" messages --rounds 3 --samples 5 --calls 50 \
    > "$output.text" 2>&1
result=$?
mv "$output.text" "$output"
rm -r "$output.bin"
judge zero "^nonblocking  *1024  *[0-9.]*  *[0-9.]*  *[0-9.]*  *[0-9.]*  *[0-9.]*  *[0-9.]*$"

# A comparison starts mpirun itself, by way of run_mpi.sh, whose first argument is the number of ranks.
shown="gpufifo-bench --compare"
cat > "$runner" <<END
#!/bin/sh
MPIRUN=$MPIRUN exec "$runs_folder/run_mpi.sh" "\$@"
END
chmod +x "$runner"
"$GF_BUILDDIR/gpufifo-env" env MPIRUN="$runner" "$GF_BUILDDIR/gpufifo-bench" --compare "2 --mca coll_gpufifo_algorithm ring" \
    --compare "2 --mca coll ^gpufifo -- --memory host" --rounds 2 --max 32K $few --json "$json" > "$output" 2>&1
result=$?
judge zero "ring .* -  .* 0$"
valid_json
"$GF_BUILDDIR/gpufifo-env" env MPIRUN=nothing "$GF_BUILDDIR/gpufifo-bench" latency --compare \
    "MPIRUN=$runner OMPI_MCA_coll=^gpufifo 2 -- --memory host" \
    --compare "MPIRUN=$runner 2" --rounds 2 --max 8 $few --json "$json" > "$output" 2>&1
result=$?
judge zero "  8  direct .* -  .* pt2pt_.* 0$"
valid_json
"$GF_BUILDDIR/gpufifo-env" env MPIRUN="$runner" "$GF_BUILDDIR/gpufifo-bench" --compare "2 --nonsense" --compare "2" --max 8 \
    > "$output" 2>&1
result=$?
judge nonzero "this side could not be measured"
"$GF_BUILDDIR/gpufifo-bench" --compare "" --compare "" --json /nowhere/json > "$output" 2>&1
result=$?
judge nonzero "cannot write /nowhere/json"

# A comparison that is ended leaves no folder, and no job; one that waits for its job instead is ended by force.
shown="gpufifo-bench --compare, ended by SIGTERM" folder=$(mktemp -d)
printf '#!/bin/sh\necho $$ > "%s/job"; exec sleep 1000\n' "$folder" > "$runner"
TMPDIR=$folder MPIRUN=$runner timeout --foreground -k 5 120 "$GF_BUILDDIR/gpufifo-env" "$GF_BUILDDIR/gpufifo-bench" \
    --compare "" --compare "" > "$output" 2>&1 &
bench=$!
if wait_until 60 test -s "$folder/job"; then
    kill "$bench"
fi
wait "$bench"
result=$?
if [ $result -eq 143 ] && ! kill -0 "$(cat "$folder/job")" && [ "$(ls "$folder")" = job ]; then
    good
else
    ls "$folder" >> "$output"
    bad "ended with $result, or a job or this is left"
    kill "$(cat "$folder/job")" 2> /dev/null
fi
rm -r "$folder"
finish
