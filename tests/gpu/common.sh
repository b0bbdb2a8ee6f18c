# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by run.sh: what its sections share. A section is a file of the folder sections: it says in its first lines what it is
# for, and has a function "section", which ends with 0 if all went well. Its words: $source, $build and $out, the three folders;
# and below.

# The bench checks what it measures, fast also for large messages.
check_sizes="gpufifo-bench --min 4 --factor 4 --iterations 5 --warmup 1"

setting() {
    sed -n "s/^$1 = //p" "$build/Makefile" 2> /dev/null | head -n 1
}

# The variables that run_mpi.sh and runs.sh want.
prepare_runs() {
    GF_BUILDDIR=$build GF_OPENMPI=$(setting gf_openmpi_series) GF_SANITIZER=no MPIRUN=$(setting MPIRUN) srcdir=$source
    PYTHON=$(setting PYTHON)
    GF_TIMEOUT=${GF_TIMEOUT:-180}
    export GF_BUILDDIR GF_OPENMPI GF_SANITIZER MPIRUN srcdir PYTHON GF_TIMEOUT
    LD_LIBRARY_PATH=$build/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
}

# under_mps FUNCTION [ARGUMENT...]: a function of this section, by this script started again below mps.sh.
under_mps() {
    "$source/tests/gpu/mps.sh" "$source/tests/gpu/run.sh" --build "$build" --out "$out" --inside "$section_name" "$@"
}

# checks FUNCTION [ARGUMENT...]: it makes runs with the words of tests/mpi/runs.sh, which are counted. Ends the shell it is
# called in.
checks() {
    . "$source/tests/mpi/runs.sh"
    "$@"
    finish
}

# in_time SECONDS COMMAND...: what `try` starts in the command, begins in so many seconds, so that a part that hangs or is slow
# leaves time for others.
in_time() {
    deadline=$(($(date +%s) + $1))
    shift
    "$@"
}

# try run..., as tests/mpi/runs.sh has them.
try() {
    if [ "$(date +%s)" -lt "$deadline" ]; then
        "$@"
    else
        skip 1 "no time left for: $*"
    fi
}

# by_setting ALGORITHM MOST-BYTES NAME=VALUE...: allreduce by size once for each setting, in one run.
by_setting() {
    algorithm=$1 most=$2
    shift 2
    for setting in "$@"; do
        for ranks in 2 8; do
            echo "== $setting, $ranks ranks"
            "$source/tests/mpi/run_mpi.sh" $ranks --mca coll_gpufifo_algorithm "$algorithm" --mca "coll_gpufifo_${setting%%=*}" \
                "${setting#*=}" "$build/gpufifo-bench" --min 8 --max "$most" --factor 4 --iterations 100 || return 1
        done
    done
}

gpus() {
    nvidia-smi --query-gpu=index --format=csv,noheader 2> /dev/null | wc -l
}
