#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# No kernel spills registers on the GPU whose figures docs/performance.md has (9.0), by what ptxas said of this build
# (kernels/fatbin.mk keeps it). Needs a build with nvcc.
#
# Those of other GPUs are listed, not judged: the copying kernels are bound to 64 registers, so that two blocks share a
# multiprocessor. On some GPUs ptxas would take more; whether a few spilled bytes or half the blocks cost more only a run there
# can say.
measured=sm_90

log=$GF_BUILDDIR/kernels/ptxas.log
if [ ! -f "$log" ]; then
    echo "skipped: this build has no kernels for GPUs (no nvcc)"
    exit 77
fi
awk -v measured=$measured '
/Compiling entry function/ { gsub("\047", ""); gpu = $NF }
/Function properties for/  { name = $NF }
/ spill stores, / {
    functions++
    if ($5 == 0 && $9 == 0)
        next
    printf "%s: %s spills: %d bytes stored, %d loaded\n", gpu, name, $5, $9
    spilling += gpu == measured
}
{ seen = seen || gpu == measured }
END {
    printf "%d functions; of those for %s %s\n", functions, measured, seen ? spilling + 0 " spill registers" : "there are none"
    exit functions == 0 || spilling > 0
}' "$log"
