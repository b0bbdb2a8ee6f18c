#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# mpi4py's own test suite, from its source package: every test must end with this component as it ends without it, with arrays in
# host memory and in device memory. Over ucx, where ranks that outnumber cores are slow, only what is about messages, unless
# MPI4PY_OVER_UCX=test_ asks for all. The package is fetched once into the build folder; where that cannot be, the test is
# skipped.
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

# suite RANKS RESULTS host|device PREFIX
suite() {
    run "$1" "$PYTHON" "$driver" "$folder" "$store/$2-$1" "$3" "$4"
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
    differ "$1" "$2" > "$output" 2>&1
    if [ -s "$output" ]; then
        bad "$(wc -l < "$output") results differ"
    else
        good
    fi
}

# compare RANKS PREFIX: the modules of such names, over the PML of the options
compare() {
    over=$MPIRUN_OPTIONS
    rm -f "$store"/*-"$1".[0-9]
    MPIRUN_OPTIONS="$over --mca coll ^gpufifo"
    suite "$1" without host "$2"
    MPIRUN_OPTIONS=$over
    suite "$1" host host "$2"
    suite "$1" device device "$2"
    same "$1" host
    same "$1" device
}

fetch
MPIRUN_OPTIONS=
for ranks in 1 2 3; do
    compare $ranks test_
done
if over_ucx; then
    compare 2 "${MPI4PY_OVER_UCX:-test_p2p}"
fi
finish
