#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a command beside two hosts, a and b, which are namespaces of this machine joined by a network (hosts.sh), 10.77.0.2 and .3:
#   on_hosts.sh COMMAND [ARGUMENT]...
# For the command, GF_HOST and GF_PEER name them, GF_RSH is what runs a command on one, and mpirun --host a,b takes that too. UCX
# goes by TCP between them.
folder=$(cd "$(dirname "$0")" && pwd)
. "$folder/hosts.sh"

if ! hosts_enter "$0" "$@"; then
    echo "no hosts can be made here (it takes root, and veth and bridge of the kernel): $why_no_hosts" >&2
    exit 125
fi
hosts_start a b
export GF_HOST=a GF_PEER=b GF_RSH="$hosts/agent" OMPI_MCA_plm_rsh_agent="$hosts/agent" PRTE_MCA_plm_ssh_agent="$hosts/agent"
export UCX_TLS=tcp,self UCX_NET_DEVICES=inside
"$@"
