#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a command on a kernel that has verbs, where this machine has no network adapter for them: a virtual machine, or two with a
# link between them, with soft-RoCE (rdma_rxe), the adapter rxe0. Takes 5 to 15 s to start, and no rights.
#
#   verbs_vm.sh [--nodes N] [--timeout S] [--keep] [--or-skip] COMMAND [ARGUMENT]...
#       --nodes N      1 (default) or 2 machines; the command runs on the first, node1, and `vm-rsh node2 COMMAND` runs one on the
#                      second. mpirun is told to use it, so `mpirun --host node1,node2` works
#       --timeout S    ends it after S seconds, the start included (default 300)
#       --keep         keeps the folder of the run, and says where it is
#       --or-skip      for tests: 77 where this machine lacks something, and says what
#   verbs_vm.sh --install     puts a kernel into GF_VM_CACHE (default ~/.cache/gpufifo-vm); it is downloaded as Debian's package
#   verbs_vm.sh --lacks       prints what this machine lacks for this; nothing: all is there
#
# The command runs as root in the same folder, with the same environment, without input, and sees this machine's files; what it
# writes is lost. Its output and status come back. 124: timed out; 125: the machine could not run it.
set -u -o pipefail
umask 022

die() {
    echo "verbs_vm.sh: $1" >&2
    exit 125
}

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/vm/kernel.sh
. "$here/kernel.sh"

nodes=1 limit=300 keep="" or_skip=""
while [ $# -gt 0 ]; do
    case $1 in
    --nodes) nodes=$2 && shift ;;
    --timeout) limit=$2 && shift ;;
    --keep) keep=1 ;;
    --or-skip) or_skip=1 ;;
    --install) vm_install && exit ;;
    --lacks) vm_lacks && exit ;;
    -*) die "unknown option $1" ;;
    *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || die "which command?"
case $nodes in
1) cpus=2 ;;
2) cpus=1 ;;
*) die "--nodes $nodes: 1 or 2" ;;
esac
lacks=$(vm_lacks)
if [ -n "$lacks" ] && [ -n "$or_skip" ]; then
    echo "skipped: no virtual machine with verbs can be made: there is no ${lacks//$'\n'/, no }"
    exit 77
fi
[ -z "$lacks" ] || die "this machine lacks: ${lacks//$'\n'/, }"

run=$(mktemp -d "${TMPDIR:-/tmp}/verbs-vm.XXXXXX") || die "cannot make a folder"
machines=()
finish() {
    [ ${#machines[@]} -eq 0 ] || kill "${machines[@]}" 2> /dev/null
    wait
    if [ -n "$keep" ]; then
        echo "verbs_vm.sh: kept $run" >&2
    else
        rm -rf "$run"
    fi
}
trap finish EXIT
trap 'exit 143' INT TERM HUP

# What the guests read, under the same names as here.
printf '%q ' "$@" > "$run/command"
{
    export -p
    printf 'cd %q\n' "$PWD"
    echo "export PATH=$run:\$PATH"
    echo "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    echo "export OMPI_MCA_plm_rsh_agent=vm-rsh PRTE_MCA_plm_ssh_agent=vm-rsh"
    # UCX 1.13 takes every datagram of rxe for one to another address without this.
    echo "export UCX_UD_ETH_DGID_CHECK=n"
} > "$run/environment"
cp "$here/guest/serve" "$here/guest/start" "$here/guest/vm-rsh" "$run"
mkdir "$run/initrd"
cp "$here/guest/init" "$run/initrd/init"
chmod +x "$run/initrd/init" "$run/serve" "$run/vm-rsh"
(cat "$vm_cache/base.cpio" && pack "$run/initrd") > "$run/initrd.cpio" || die "cannot make the initial file system"
: > "$run/status"

# boot NODE [ARGUMENT]…: this shell becomes the machine. Its console goes to a file.
boot() {
    local node=$1
    shift
    exec timeout -k 5 "$limit" qemu-system-x86_64 -M q35 -accel tcg,thread=multi -cpu max,la57=off -smp "$cpus" -m 1024 \
        -nodefaults -no-user-config -display none -no-reboot -kernel "$vm_cache/vmlinux" -initrd "$run/initrd.cpio" \
        -append "console=ttyS0 quiet loglevel=4 panic=-1 nokaslr mitigations=off tsc=reliable no_timer_check no5lvl audit=0 \
random.trust_cpu=on net.ifnames=0 vm.node=$node vm.nodes=$nodes vm.run=$run" \
        -serial "file:$run/console$node" -device virtio-9p-pci,fsdev=root,mount_tag=root \
        -fsdev "local,security_model=none,multidevs=remap,id=root,path=/,readonly=on" "$@" < /dev/null > "$run/qemu$node" 2>&1
}

link1=() link2=()
if [ "$nodes" = 2 ]; then
    adapter=virtio-net-pci,netdev=link,host_mtu=9000,mac=52:54:00:77:00
    socket=dgram,id=link,local.type=unix,remote.type=unix
    link1=(-netdev "$socket,local.path=$run/link1,remote.path=$run/link2" -device "$adapter:01")
    link2=(-netdev "$socket,local.path=$run/link2,remote.path=$run/link1" -device "$adapter:02")
    boot 2 "${link2[@]}" &
    machines+=($!)
fi
ports=(-device virtio-serial-pci)
for port in out err status; do
    ports+=(-chardev "file,id=$port,path=$run/$port,append=on" -device "virtserialport,chardev=$port,name=$port")
done
mkfifo "$run/out" "$run/err"
cat "$run/out" &
copies=$!
cat "$run/err" >&2 &
copies="$copies $!"
boot 1 "${ports[@]}" ${link1[@]+"${link1[@]}"} &
machines+=($!)
wait "${machines[-1]}"
ended=$?
: <> "$run/out" <> "$run/err"       # ends the copies even where the machine has never opened these
# shellcheck disable=SC2086
wait $copies

[ ! -s "$run/status" ] || exit "$(cat "$run/status")"
[ $ended -ne 124 ] || echo "verbs_vm.sh: ended after $limit s" >&2
echo "verbs_vm.sh: the end of the command was not seen; the last of the consoles:" >&2
tail -n 30 "$run"/qemu? "$run"/console? >&2
[ $ended -eq 124 ] && exit 124
exit 125
