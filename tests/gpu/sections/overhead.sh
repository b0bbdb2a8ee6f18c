# SPDX-License-Identifier: BSD-3-Clause
#
# what host-only programs pay

# Both sides inside one process first; GF_ROUNDS=0 leaves out the processes in turn, which take most of the time. pml ucx wants
# to be told that plain memory will do.
section() {
    result=0
    for pml in ob1 ucx; do
        echo "pml $pml"
        timeout 120 "$build/gpufifo-env" mpirun -n 2 --bind-to core --mca pml "$pml" --mca opal_common_ucx_tls any \
            --mca opal_common_ucx_devices any "$build/mca_coll_gpufifo/host_price" 1000 400 || result=1
    done > "$out/overhead.txt" 2>&1
    for what in allreduce "messages --pml ob1" "messages --pml ucx"; do
        [ "${GF_ROUNDS:-15}" != 0 ] || break
        # shellcheck disable=SC2086
        MPIRUN_OPTIONS="--bind-to core" "$source/bench/host_overhead.sh" "$build" $what --device cuda \
            --rounds "${GF_ROUNDS:-15}" || result=1
    done >> "$out/overhead.txt" 2>&1
    cat "$out/overhead.txt"
    return $result
}
