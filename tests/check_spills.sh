#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# No kernel of this build spills registers: what ptxas said of each (kernels/fatbin.mk keeps it). Needs a build with nvcc.
log=$GF_BUILDDIR/kernels/ptxas.log
if [ ! -f "$log" ]; then
    echo "skipped: this build has no kernels for GPUs (no nvcc)"
    exit 77
fi
grep "Compiling entry function\|spill stores" "$log"
functions=$(grep -c "spill stores" "$log")
spilling=$(grep "spill stores" "$log" | grep -vc " 0 bytes spill stores, 0 bytes spill loads")
if [ "$functions" -eq 0 ] || [ "$spilling" -ne 0 ]; then
    echo "of $functions functions $spilling spill registers: see $log"
    exit 1
fi
echo "none of $functions functions spills registers"
