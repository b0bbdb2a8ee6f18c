# SPDX-License-Identifier: BSD-3-Clause
#
# latency of 8 B to 64 MiB, bandwidth, both ways, pairs, under MPS; beside the staged path, or in turn with a rival:
# GF_RIVAL names a folder with a UCX built with CUDA (lib/libucp.so.0) that this Open MPI's pml ucx is given

# messages TEST RANKS [OPTION...]: each rank bound to a core of its own, not giving way.
messages() {
    test=$1 ranks=$2
    shift 2
    ours="-n $ranks --bind-to core --mca pml ob1"
    rival="LD_LIBRARY_PATH=${GF_RIVAL:-}/lib:$LD_LIBRARY_PATH UCX_TLS=self,sysv,posix,cuda_copy,cuda_ipc -n $ranks --bind-to core
        --mca pml ucx --mca coll ^gpufifo,hcoll --mca osc ^ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any"
    echo "== $test, $ranks ranks"
    set -- "$test" --json "$out/$test.json" "$@"
    if [ -n "${GF_RIVAL:-}" ]; then
        "$build/gpufifo-env" "$build/gpufifo-bench" "$@" --compare "$ours" --compare "$rival"
    else
        # shellcheck disable=SC2086
        "$build/gpufifo-env" "$MPIRUN" $ours "$build/gpufifo-bench" "$@" --staged
    fi
}

# Of windows, whose gigabytes are filled and looked at for each size, every other power of two.
latency() {
    windows="--min 64 --factor 4 --max 16M"
    # shellcheck disable=SC2086
    messages latency 2 --max 64M && messages bandwidth 2 $windows && messages bibandwidth 2 $windows && messages multi 4 $windows
}

section() {
    under_mps latency
}
