#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# mpi4py's own test suite, from its source package: every test must end with this component as it ends without it, with arrays in
# host memory and in device memory. The package is fetched once into the build folder; where that cannot be, the test is skipped.
. "${srcdir:-.}/tests/mpi/runs.sh"

driver=${srcdir:-.}/tests/mpi/mpi4py_suite.py

give_up() {
    echo "skipped: $1"
    exit 77
}

# Which version of mpi4py is installed, and its source. Sets folder.
fetch() {
    version=$("$PYTHON" -c 'import mpi4py; print(mpi4py.__version__)' 2> /dev/null) ||
        give_up "no mpi4py for $PYTHON (Debian, Ubuntu: python3-mpi4py)"
    "$PYTHON" -m pip --version > /dev/null 2>&1 || give_up "no pip for $PYTHON (Debian, Ubuntu: python3-pip)"
    store=$GF_BUILDDIR/tests/mpi/mpi4py-source
    folder=$store/mpi4py-$version/test
    [ -d "$folder" ] && return
    mkdir -p "$store"
    (cd "$store" && "$PYTHON" -m pip download --quiet --no-deps --no-binary mpi4py "mpi4py==$version" < /dev/null &&
        tar xzf "mpi4py-$version.tar.gz") > "$store/log" 2>&1 ||
        give_up "the source package of mpi4py $version cannot be fetched: $(tail -n 1 "$store/log")"
}

# suite RANKS RESULTS host|device
suite() {
    run "$1" "$PYTHON" "$driver" "$folder" "$store/$2-$1" "$3"
}

# differ RANKS RESULTS: those tests that ended in another way than without the component
differ() {
    rank=0
    while [ $rank -lt "$1" ]; do
        awk -v rank=$rank 'NR == FNR { without[$1] = $0; next }
            $0 != without[$1] { print "  rank " rank ": " $0 "; without: " without[$1] }' \
            "$store/without-$1.$rank" "$store/$2-$1.$rank"
        rank=$((rank + 1))
    done
}

# same RANKS RESULTS
same() {
    shown="$2 arrays in $1 ranks: the same results as without the component"
    differ "$1" "$2" > "$output"
    if [ -s "$output" ]; then
        bad "$(wc -l < "$output") results differ"
    else
        good
    fi
}

fetch
for ranks in 1 2 3; do
    rm -f "$store"/*-$ranks.[0-9]
    MPIRUN_OPTIONS="--mca coll ^gpufifo"
    suite $ranks without host
    MPIRUN_OPTIONS=
    suite $ranks host host
    suite $ranks device device
    same $ranks host
    same $ranks device
done
finish
