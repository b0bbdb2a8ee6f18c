#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The first process of a host of hosts.sh, in its new namespaces: makes the host's mounts and name, says so, and then takes in
# processes whose parents have ended.
#   host.sh NAME
set -e
mount -t proc proc /proc
mount -t sysfs sysfs /sys       # it shows the networks of who mounts it
# A /dev/shm of its own, in which the folder that all hosts share is where it was.
mount -t tmpfs tmpfs "/dev/shm/$1"
mkdir "/dev/shm/$1/hosts"
mount --bind /dev/shm/hosts "/dev/shm/$1/hosts"
mount --rbind "/dev/shm/$1" /dev/shm
hostname "$1"
ip link set lo up
echo ready > "/dev/shm/hosts/$1.ready"
sleep infinity &
wait
