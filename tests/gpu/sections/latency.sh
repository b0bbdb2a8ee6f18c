# SPDX-License-Identifier: BSD-3-Clause
#
# latency, bandwidth, both ways, pairs, 8 B to 64 MiB, under MPS; beside the staged path, or in turn with a rival:
# GF_RIVAL names a folder with a UCX built with CUDA (lib/libucp.so.0) that this Open MPI's pml ucx is given

# messages TEST RANKS MOST-BYTES: each rank bound to a core of its own, not giving way.
messages() {
    ours="-n $2 --bind-to core --mca pml ob1"
    rival="LD_LIBRARY_PATH=${GF_RIVAL:-}/lib:$LD_LIBRARY_PATH UCX_TLS=self,sysv,posix,cuda_copy,cuda_ipc -n $2 --bind-to core
        --mca pml ucx --mca coll ^gpufifo,hcoll --mca osc ^ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any"
    echo "== $1, $2 ranks"
    if [ -n "${GF_RIVAL:-}" ]; then
        "$build/gpufifo-env" "$build/gpufifo-bench" "$1" --max "$3" --json "$out/$1.json" --compare "$ours" --compare "$rival"
    else
        # shellcheck disable=SC2086
        "$build/gpufifo-env" "$MPIRUN" $ours "$build/gpufifo-bench" "$1" --max "$3" --json "$out/$1.json" --staged
    fi
}

latency() {
    messages latency 2 64M && messages bandwidth 2 64M && messages bibandwidth 2 16M && messages multi 4 16M
}

section() {
    under_mps latency
}
