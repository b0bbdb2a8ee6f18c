# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs over several hosts. The code that they run between nodes runs under sanitizers by tests/mpi/pt2pt_pipe.sh.
if !GF_SANITIZE
TESTS += tests/netns/netns.sh
endif
dist_check_SCRIPTS += tests/netns/netns.sh tests/netns/host.sh
EXTRA_DIST += tests/netns/hosts.sh tests/netns/on_hosts.sh
