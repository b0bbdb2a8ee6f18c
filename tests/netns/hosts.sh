# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by a test that needs several hosts: each is a set of namespaces of its own on this machine (network, processes, host
# name, mounts) with a /dev/shm of its own. A bridge joins them; the script itself is on a host too, named front, 10.77.0.1.
# $folder is where this file is.
#
#   hosts_enter SCRIPT [ARGUMENT]...
#                              first of all: starts the script again in namespaces of its own, below which the hosts lie. With its
#                              first process the kernel ends all others, the networks and the mounts, however that came to end.
#                              Where no such namespaces can be made it returns 1 and sets why_no_hosts.
#   hosts_start NAME...        starts hosts, 10.77.0.2 and on; afterwards $hosts is a folder that all see, in memory
#   on_host NAME COMMAND...    runs a command there
#   $hosts/agent               what mpirun may start its daemons with: agent NAME COMMAND...

hosts=/dev/shm/hosts
hosts_namespaces="--pid --fork --kill-child --mount --net --uts"

hosts_enter() {
    [ -z "${GF_HOSTS_ENTERED:-}" ] || { hosts_settle; return; }
    # shellcheck disable=SC2086
    if why_no_hosts=$(unshare $hosts_namespaces sh -c 'mount -t proc proc /proc && mount -t tmpfs tmpfs /dev/shm &&
            ip link add name left type veth peer name right && ip link add name bridge type bridge' 2>&1); then
        # shellcheck disable=SC2086
        GF_HOSTS_ENTERED=1 exec unshare $hosts_namespaces sh "$@"
    fi
    return 1
}

# The script's own host. All that is written lies in memory, and goes with the mounts.
hosts_settle() {
    mount -t proc proc /proc
    mount -t tmpfs tmpfs /dev/shm
    mkdir $hosts
    export TMPDIR=$hosts
    hostname front
    ip link set lo up
    ip link add name bridge type bridge
    ip address add 10.77.0.1/24 dev bridge
    ip link set bridge up
    { echo "127.0.0.1 localhost"; echo "10.77.0.1 front"; } > $hosts/names
    mount --bind $hosts/names /etc/hosts
    hosts_made=1
    cat > $hosts/agent <<'END'
#!/bin/sh
host=$1
shift
exec nsenter --target="$(cat "/dev/shm/hosts/$host.pid")" --pid --mount --root --net --uts --wd="$PWD" sh -c "$*"
END
    chmod +x $hosts/agent
}

on_host() {
    host=$1
    shift
    nsenter --target="$(cat "$hosts/$host.pid")" --pid --mount --root --net --uts --wd="$PWD" "$@"
}

hosts_start() {
    for host in "$@"; do
        hosts_made=$((hosts_made + 1))
        echo "10.77.0.$hosts_made $host" >> $hosts/names
        mkdir "/dev/shm/$host"
        mkfifo "$hosts/$host.ready"
        # shellcheck disable=SC2086
        unshare $hosts_namespaces "$folder/host.sh" "$host" &
        read -r _ < "$hosts/$host.ready"
        # The host's first process is the only child of the one that unshare stays.
        read -r first < "/proc/$!/task/$!/children"
        echo "$first" > "$hosts/$host.pid"
        ip link add name "to-$host" type veth peer name inside netns "$first"
        ip link set dev "to-$host" master bridge up
        on_host "$host" ip address add "10.77.0.$hosts_made/24" dev inside
        on_host "$host" ip link set dev inside up
    done
}
