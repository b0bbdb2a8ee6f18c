#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# gpufifo-bench --plot: every mechanism is taken, drawn and listed; one that cannot be had is refused in words. --tune: the
# table is what the component reads.
. "${srcdir:-.}/tests/mpi/runs.sh"

folder=$(mktemp -d)
trap 'rm -rf "$output" "$folder"' EXIT

# Its first two arguments are "-n RANKS".
cat > "$folder/runner" <<END
#!/bin/sh
shift
MPIRUN=$MPIRUN exec "$runs_folder/run_mpi.sh" "\$@"
END
chmod +x "$folder/runner"

# plot EMULATED-WORDS [OPTION...]
plot() {
    words=$1
    shift
    shown="GPUFIFO_EMULATED=$words gpufifo-bench --plot $*"
    rm -f "$folder/plot.svg"
    GPUFIFO_EMULATED=$words MPIRUN=${runner:-$folder/runner} "$GF_BUILDDIR/gpufifo-env" env ${script:+GPUFIFO_PLOT="$script"} \
        timeout "${GF_TIMEOUT:-300}" "$GF_BUILDDIR/gpufifo-bench" --plot "$folder/plot.svg" --json "$folder/plot.json" --min 1K \
        --factor 64 --max 64K --iterations 5 --warmup 1 --rounds 1 "$@" > "$output" 2>&1
    result=$?
}

# plotted NAME...: these mechanisms and no others are drawn, at both sizes. NAME?: if it came in time, which the agent may not.
plotted() {
    if [ $result -ne 0 ]; then
        bad "ended with $result"
    elif "$folder/python" - "$folder/plot.json" "$folder/plot.svg" "$*" <<'END' > "$folder/why" 2>&1
import collections, json, sys
from xml.etree import ElementTree
rows = json.load(open(sys.argv[1]))["rows"]
drawn = collections.Counter(row["test"] + ":" + row["side"] for row in rows)
wanted = sys.argv[3].split()
assert set(drawn) <= {name.rstrip("?") for name in wanted}, drawn
assert all(drawn[name] == 2 for name in wanted if name[-1] != "?"), drawn
assert all(row["median_us"] > 0 for row in rows), rows
lines = [node for node in ElementTree.parse(sys.argv[2]).iter() if node.get("id", "").startswith("line2d_")]
assert len(lines) > 2 * len(drawn), len(lines)
END
    then
        good
    else
        cat "$folder/why" >> "$output"
        bad "the figures are not those"
    fi
}

refused() {
    if grep -q "^# $1 is refused: .*$2" "$output"; then good; else bad "no refusal of $1 for \"$2\""; fi
}

# tune EMULATED-WORDS [OPTION...]: into $folder/table
tune() {
    words=$1
    shift
    shown="GPUFIFO_EMULATED=$words gpufifo-bench --tune $*"
    GPUFIFO_EMULATED=$words MPIRUN=$folder/runner "$GF_BUILDDIR/gpufifo-env" timeout "${GF_TIMEOUT:-300}" \
        "$GF_BUILDDIR/gpufifo-bench" --tune "$folder/table" --min 1K --factor 16 --max 16K --iterations 5 --warmup 1 \
        --rounds 1 "$@" > "$output" 2>&1
    result=$?
    cp "$folder/table" "$folder/table-then"
}

# table_has COUNT TEXT: so many lines
table_has() {
    shown="the table has $1 lines \"$2\""
    cp "$folder/table-then" "$output"
    if [ "$(grep -c "$2" "$folder/table-then")" -eq "$1" ]; then good; else bad "it has not"; fi
}

# Rows of other ranks and topologies stay, those of these go, with their comments.
printf '%s\n' 'gpufifo-tuning 1' '# mine' '# shared 2: old' 'allreduce shared 4 ring 8 1.5' 'allreduce shared 2 ring 8 1.5' \
    > "$folder/table"
tune ""
judge zero "^ *1024 .*[a-z]$"
table_has 3 "^allreduce shared 2 [a-z_]* 1024 [0-9.]*$"
table_has 3 "^allreduce shared 2 [a-z_]* 16384 [0-9.]*$"
table_has 4 "^message shared 2 [kcps][a-z_]* 16384 [0-9.]*$"     # and the agent, if it came in time
table_has 1 "^allreduce shared 4 ring 8 1.5$"
table_has 1 "^# mine$"
table_has 0 "old"
table_has 1 "^# shared 2: measured 20..-"
tune solo
judge zero "# ll (allreduce) is refused: "
table_has 2 "^allreduce turns 2 [a-z_]* 16384 [0-9.]*$"
table_has 3 "^message turns 2 [a-z_]* 16384 [0-9.]*$"
table_has 6 "^allreduce shared 2 "
table_has 8 "^message shared 2 [kcps]"
run_prints "16384 bytes on 2 ranks take by the table [0-9.]* us" 2 +blocks=64 verbose=2 tuning="$folder/table" gpufifo-bench \
    --min 16K --max 16K --iterations 5
shown="--tune into a folder that is not there"
"$GF_BUILDDIR/gpufifo-bench" --tune /nowhere/table > "$output" 2>&1
result=$?
judge nonzero "cannot write /nowhere/table"
echo "no table" > "$folder/table"
tune ""
judge nonzero "is no table of this version"
table_has 1 "^no table$"
plot "" --tune "$folder/table"
judge nonzero "without --compare and --plot"

# Without matplotlib nothing is measured, and the sentence says what to install.
mkdir "$folder/none"
echo 'raise ImportError("none")' > "$folder/none/matplotlib.py"
PYTHONPATH=$folder/none plot ""
judge nonzero "apt-get install python3-matplotlib"
script=/nowhere/plot.py plot ""
judge nonzero "/nowhere/plot.py, which draws, cannot be read"
plot "" --mechanisms ll,laziness
judge nonzero 'no mechanism "laziness"'
plot "" --compare "" --compare ""
judge nonzero "without --compare"
plot "" latency
judge nonzero 'unexpected argument "latency"'
plot "" --help
judge zero "pull_copy_engine *latency *strict=true agent=off transport=p2p pull=copy_engine"

for python in python3 /usr/bin/python3; do
    "$python" -c "import matplotlib" 2> /dev/null && ln -s "$(command -v $python)" "$folder/python" && break
done
if [ ! -e "$folder/python" ]; then
    skip 10 "no python3-matplotlib to draw with"
    finish
fi
# Where nothing can be drawn, nothing is measured.
runner=/nowhere/mpirun plot "" --plot /nowhere/plot.svg
judge nonzero "cannot write /nowhere/plot.svg"
runner=/nowhere/mpirun plot "" --plot "$folder/plot.text"
judge nonzero "the end of its name must be the format"
plot ""
plotted allreduce:ll allreduce:ll128 allreduce:agent? allreduce:simple_receiver allreduce:simple_sender \
    allreduce:direct_write allreduce:direct_read allreduce:p2p_copy allreduce:one_shot_mapped allreduce:two_shot \
    allreduce:shm_ll allreduce:shm allreduce:shm_copy allreduce:host_sequenced allreduce:staged latency:pull_kernel \
    latency:pull_agent? latency:pull_copy_engine latency:stage latency:pipe \
    latency:staged
plot solo --mechanisms two_shot,pull_kernel,pull_copy_engine,staged
plotted latency:pull_kernel latency:pull_copy_engine allreduce:staged latency:staged
refused "two_shot (allreduce)" "kernels of ranks that share a device cannot run at once"
plot torn,noipc --mechanisms ll128,pull_kernel,pipe --ranks 3
refused "ll128 (allreduce)" "cannot"
refused "pull_kernel (latency)" "cannot be mapped"
plotted latency:pipe
# Sizes that go another way are not drawn as if they were the mechanism's.
plot "" --mechanisms agent,two_shot --min 1M --max 1M
judge zero "^# agent: 1048576 B is left out: such calls went by one_shot"
# What no sentence of gpufifo's explains is shown.
runner=false plot "" --mechanisms ll
judge nonzero "nothing to draw"
finish
