#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The rules of the house that a compiler does not know. First each rule must find a violation planted in a small tree of its own,
# then the project itself must have none.
#   check_includes.sh [SOURCE-FOLDER]
set -eu

# From the ground up: a folder includes itself and what stands before it.
layers="base kernels device core proxy transport mca_coll_gpufifo"
# Split, so that this file does not break its own rule.
unfinished="TO""DO|FIX""ME|X""XX"
fences='__threadfence|__sync_synchronize|atomic_thread_fence|atomic_signal_fence'
fences=$fences'|"mfence|"sfence|"lfence|fence\.(acq|sc|proxy)|membar\.'

source_files() {
    find . \( -path './.[!.]*' ! -path './.ci*' -o -name build -o -name 'build-*' -o -name _build -o -name autom4te.cache \) \
        -prune -o -type f \( -name '*.[chS]' -o -name '*.cu' -o -name '*.sh' -o -name '*.py' -o -name '*.pml' -o -name '*.mk' \
        -o -name 'Makefile.am' -o -name 'configure.ac' -o -path './m4/gf_*.m4' -o -name '*.in' -o -path './.ci/run' \) -print |
        sed 's|^\./||' | grep -v -E '^(Makefile|config\.h)\.in$' | sort
}

# Prints FILE:LINE: HEADER for every include of the C files on standard input.
includes_of() {
    xargs -r grep -n -H -E '^[[:space:]]*#[[:space:]]*include' |
        sed -E 's/^([^:]*:[0-9]+):[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]?([^">]*)[">]?.*$/\1: \2/'
}

# The arrows, and whose headers may be included where.
check_includes() {
    c_files | includes_of | awk -v layers="$layers" '
        BEGIN {
            count = split(layers, name, " ")
            for (i = 1; i <= count; i++)
                level[name[i]] = i
        }
        function report(why) { print where ": includes " header ": " why }
        {
            where = $1
            sub(/:$/, "", where)
            header = $2
            folder = where
            sub(/[\/:].*$/, "", folder)
            target = header
            sub(/\/.*$/, "", target)
            mpi_program = folder == "tests" || folder == "bench" || folder == "examples"

            if ((folder in level) && (target in level) && level[target] > level[folder])
                report("the arrow goes up, from " folder " to " target)
            if ((folder in level) && (target == "tests" || target == "bench" || target == "examples"))
                report("a library does not know its users")
            if (folder == "examples" && (target in level))
                report("an example uses the public header alone")
            if (header ~ /^(ompi|opal|orte|oshmem)(\/|_config\.h|_abi\.h)/ && folder != "mca_coll_gpufifo")
                report("headers of Open MPI only in mca_coll_gpufifo")
            if (header ~ /^mpi(-ext)?\.h$/ && folder != "mca_coll_gpufifo" && !mpi_program)
                report("mpi.h only in mca_coll_gpufifo and in programs")
            if (header ~ /^(cuda|nvml|nv_|cooperative_groups|sm_)[a-zA-Z0-9_\/]*(\.h|\.hpp)?$/ && folder != "device" &&
                folder != "kernels" && where !~ /^examples\/[^\/]*\.cu:/ && where !~ /^tests\/gpu\//)
                report("headers of CUDA only in device and kernels")
            if (header ~ /^(infiniband|rdma|ucp|ucs|uct)\// && folder != "transport")
                report("headers of verbs and UCX only in transport")
        }'
}

c_files() { source_files | grep -E '\.(c|h|cu|S)$' || true; }

check_fences() {
    c_files | grep -v -E '^(kernels/ordered[a-z_]*\.h|core/host_ordered\.h|device/|tests/)' | xargs -r grep -n -H -E "$fences" |
        sed 's/$/   <- a bare fence: only kernels\/ordered*.h, core\/host_ordered.h and device have them/' || true
}

check_version() {
    c_files | grep -v -E '^mca_coll_gpufifo/(ompi_abi\.h$|compat/)' | grep '^mca_coll_gpufifo/' |
        xargs -r grep -n -H -E '^[[:space:]]*#.*O(MPI|PAL)_(MAJOR|MINOR|RELEASE)_VERSION' |
        sed 's/$/   <- only ompi_abi.h knows which Open MPI this is/' || true
}

check_licence() {
    source_files | while read -r file; do
        head -n 3 "$file" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' || echo "$file:1: has no SPDX line"
    done
}

check_unfinished() {
    source_files | xargs -r grep -n -H -w -E "$unfinished" | sed 's/$/   <- unfinished/' || true
}

check_width() {
    source_files | xargs -r env LC_ALL=C.UTF-8 grep -n -H -o -E '^.{131}' |
        sed 's/^\([^:]*:[0-9]*\):.*/\1: longer than 130 columns/' || true
}

violations() {
    check_includes
    check_fences
    check_version
    check_licence
    check_unfinished
    check_width
}

passed=0
failed=0

# plant RULE FILE LINE: a tree with this one violation, which the rule must find, and no other.
plant() {
    tree=$(mktemp -d)
    mkdir -p "$tree/$(dirname "$2")"
    printf '/* SPDX-License-Identifier: BSD-3-Clause */\n%b\n' "$3" > "$tree/$2"
    found=$(cd "$tree" && violations)
    if [ "$1" = clean ]; then
        expected=0
    else
        expected=1
    fi
    if [ "$(printf '%s' "$found" | grep -c . || true)" -eq $expected ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL: planted in $2 ($1), found: ${found:-nothing}"
    fi
    rm -rf "$tree"
}

plant clean core/a.c '#include "device/device.h"\n#include <stdint.h>'
plant clean examples/a.cu '#include <cuda_runtime.h>'
plant clean tests/mpi/a.c '#include <mpi.h>\n#include "core/comm.h"'
plant clean kernels/ordered.h 'atomic_thread_fence(memory_order_release);'
plant up core/a.c '#include "transport/transport.h"'
plant up base/a.h '  #  include "kernels/work.h"'
plant up proxy/a.c '#include "transport/transport.h"'
plant users core/a.c '#include "tests/support/peers.h"'
plant example examples/a.c '#include "core/comm.h"'
plant openmpi core/a.c '#include "opal/class/opal_object.h"'
plant openmpi tests/mpi/a.c '#include "ompi_config.h"'
plant mpi core/a.c '#include <mpi.h>'
plant cuda core/a.c '#include <cuda.h>'
plant cuda mca_coll_gpufifo/a.c '#include <cuda_runtime_api.h>'
plant verbs device/a.c '#include <infiniband/verbs.h>'
plant fence core/a.c 'atomic_thread_fence(memory_order_seq_cst);'
plant fence kernels/ll.h '__threadfence_system();'
plant version mca_coll_gpufifo/a.c '#if OMPI_MAJOR_VERSION >= 5'
plant unfinished core/a.c "/* $(echo "$unfinished" | cut -d'|' -f1): later */"
plant clean core/a.c "$(printf '%0130d' 0)"
plant width core/a.c "$(printf '%0131d' 0)"
tree=$(mktemp -d)
mkdir "$tree/core"
echo 'int x;' > "$tree/core/a.c"
if [ -n "$(cd "$tree" && violations)" ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "FAIL: a file without a licence was not found"
fi
rm -rf "$tree"

cd "${1:-${GF_SRCDIR:-$(dirname "$0")/..}}"
found=$(violations)
if [ -z "$found" ] && [ -n "$(c_files)" ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    printf '%s\n' "${found:-no source files in $PWD}"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
