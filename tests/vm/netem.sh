#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs over hosts whose links are slow and lose packets (tests/netns/netns.sh lossy): in a virtual machine, since its kernel has
# tc netem, and this one's may not.
GF_TIMEOUT=300
export GF_TIMEOUT
exec "${srcdir:-.}/tests/vm/verbs_vm.sh" --or-skip --timeout 900 sh "${srcdir:-.}/tests/netns/netns.sh" lossy
