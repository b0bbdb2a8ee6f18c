# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by slurm.sh: a Slurm cluster of two nodes, n1 and n2, on this machine, in a folder of its own: daemons on ports that
# are free, a munge key of its own, no systemd. Each node has four CPUs and two GPUs in name only.
#
#   cluster_start           sets cluster (the folder) and exports SLURM_CONF; returns 1 where a daemon does not run, and says why
#   cluster_processes       the pids of all that belongs to it: daemons, jobs, and whatever a job left
#   cluster_stop            ends all of it and removes the folder

# Sets port: the next one that nobody listens on. Those that the kernel gives to programs begin at 32768.
next_port() {
    port=$((${port:-$((20000 + $$ % 12000))} + 1))
    while cat /proc/net/tcp /proc/net/tcp6 2> /dev/null | grep -q ":$(printf %04X $port) [0-9A-F:]* 0A"; do
        port=$((port + 1))
    done
}

write_configuration() {
    host=$(hostname) user=$(id -un)
    next_port
    cat > "$cluster/slurm.conf" <<END
ClusterName=gpufifo
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$user
SlurmdUser=$user
FirstJobId=$$
AuthType=auth/munge
AuthInfo=socket=$cluster/munge/socket
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/%n/spool
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/%n/pid
TmpFS=$cluster/%n/tmp
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=2
GresTypes=gpu
ReturnToService=2
KillWait=30
MailProg=/bin/true
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=20 State=UP
END
    for node in n1 n2; do
        next_port
        echo "NodeName=$node NodeHostname=$host NodeAddr=127.0.0.1 Port=$port CPUs=4 Gres=gpu:2" >> "$cluster/slurm.conf"
        mkdir -p "$cluster/$node/spool" "$cluster/$node/tmp"
    done
    # Slurm wants character devices, and never opens them.
    ln -s /dev/null "$cluster/gpu0"
    ln -s /dev/null "$cluster/gpu1"
    echo "Name=gpu File=$cluster/gpu[0-1]" > "$cluster/gres.conf"
}

# daemon NAME COMMAND...: in the foreground, so that it ends with this script even if that is killed.
daemon() {
    name=$1
    shift
    setpriv --pdeathsig TERM "$@" > "$cluster/$name.log" 2>&1 < /dev/null &
}

munge_answers() {
    munge --socket="$cluster/munge/socket" --no-input > /dev/null 2>&1
}

both_idle() {
    [ "$(sinfo -h -N -t idle -o %n 2> /dev/null | wc -l)" -eq 2 ]
}

cluster_start() {
    cluster=$(mktemp -d) || return 1
    chmod 755 "$cluster"
    mkdir "$cluster/munge" "$cluster/state" "$cluster/shm" "$cluster/tmp"
    export SLURM_CONF="$cluster/slurm.conf"
    write_configuration
    (umask 077 && head -c 128 /dev/urandom > "$cluster/munge/key")
    daemon munged munged --foreground --force --key-file="$cluster/munge/key" --socket="$cluster/munge/socket" \
        --pid-file="$cluster/munge/pid" --seed-file="$cluster/munge/seed"
    wait_until 30 munge_answers || { cluster_trouble "munged does not answer"; return 1; }
    daemon slurmctld slurmctld -D
    daemon n1 slurmd -D -N n1
    daemon n2 slurmd -D -N n2
    wait_until 60 both_idle || { cluster_trouble "the two nodes do not become idle"; return 1; }
}

cluster_trouble() {
    echo "the cluster does not start: $1"
    for log in "$cluster"/*.log; do
        echo "  $log:"
        tail -n 20 "$log" | sed 's/^/  | /'
    done
}

# All that was started with this SLURM_CONF in its environment; a script does not show there what it exports itself.
cluster_processes() {
    for environment in $(env -u SLURM_CONF grep -l -s -z -x -F "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ); do
        process=${environment#/proc/}
        process=${process%/environ}
        echo "$process"
    done
}

no_processes() {
    [ -z "$(cluster_processes)" ]
}

no_jobs() {
    [ -z "$(squeue -h 2> /dev/null)" ]
}

cluster_stop() {
    [ -n "${cluster:-}" ] || return 0
    scancel --user="$(id -un)" > /dev/null 2>&1
    wait_until 20 no_jobs
    # The daemons end by themselves once told; what has not is killed.
    for signal in TERM KILL; do
        # shellcheck disable=SC2046
        no_processes || kill -$signal $(cluster_processes) 2> /dev/null
        wait_until 10 no_processes && break
    done
    rm -rf "$cluster"
    cluster=
}
