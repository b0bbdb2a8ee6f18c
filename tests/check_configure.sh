#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What configure says where something is missing or cannot be: one sentence, with the package that has it.
#   check_configure.sh SOURCE-FOLDER
set -u

source=$(cd "${1:?check_configure.sh: which source folder?}" && pwd) || exit 1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
passed=0
failed=0

# configure_in FOLDER [NAME=VALUE]... [OPTION]...: result and the file log.
configure_in() {
    local folder=$root/$1 variables=()
    shift
    while [[ ${1:-} == [A-Z]*=* ]]; do
        variables+=("$1")
        shift
    done
    mkdir -p "$folder"
    (cd "$folder" && env "${variables[@]}" "$source/configure" "$@") > "$root/log" 2>&1 < /dev/null
    result=$?
}

# judge WANTED-RESULT TEXT WHAT
judge() {
    if [ $((result != 0)) -eq "$1" ] && grep -q -e "$2" "$root/log"; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAIL: $3: ended with $result, should say: $2"
    tail -n 5 "$root/log" | sed 's/^/  | /'
}

# refuses TEXT FOLDER [NAME=VALUE]... [OPTION]...
refuses() {
    local text=$1
    shift
    configure_in "$@"
    judge 1 "configure: error: .*$text" "configure $*"
}

# A PATH with all programs of this machine but some: without NAME...
without() {
    local tools=$root/without-$1 folder
    mkdir "$tools"
    for folder in ${PATH//:/ }; do
        find "$folder/" -maxdepth 1 -not -type d -exec ln -s -t "$tools" {} + 2> /dev/null
    done
    for name in "$@"; do
        rm -f "$tools/$name"
    done
    echo "$tools"
}

refuses 'has a blank in its name.*build in another folder' 'a blank' --without-cuda
refuses 'pkg-config is missing.*: pkg-config)' a PKG_CONFIG= \
    PATH="$(without pkg-config "$(uname -m)-linux-gnu-pkg-config" pkgconf)" \
    --without-cuda
refuses 'mpicc is missing.*libopenmpi-dev' a MPICC= PATH="$(without mpicc)" --without-cuda
refuses 'there is no /nonexistent/bin/mpicc' a --without-cuda --with-mpi=/nonexistent
refuses 'is not Open MPI.s wrapper.*libopenmpi-dev' a --without-cuda MPICC=gcc
refuses 'hwloc 2.0 or newer is missing.*libhwloc-dev' a PKG_CONFIG_LIBDIR=/nonexistent PKG_CONFIG_PATH= --without-cuda
refuses 'there is no /nonexistent/include/cuda.h' a --with-cuda=/nonexistent
refuses 'there is no /nonexistent/include/infiniband/verbs.h' a --without-cuda --with-verbs=/nonexistent
refuses 'give address, undefined' a --without-cuda --enable-sanitizer=nonsense
if command -v nvcc > /dev/null; then
    refuses 'does not know 12; it knows: [0-9 ]*$' a GF_GPU_ARCH="90 12"
    configure_in a GF_GPU_ARCH="90 80"
    judge 0 'CUDA kernels  *on: sm_ 80 90, PTX 90$' 'GPUs in any order'
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
