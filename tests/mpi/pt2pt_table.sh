#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# In front of the PML: our functions come and go with the component, live with Open MPI's monitoring below them, and with
# functions that somebody puts above them, and stay away where nobody would call them.
. "${srcdir:-.}/tests/mpi/runs.sh"

table=tests/mpi/test_pt2pt_table
for ranks in 1 2; do
    run $ranks $table
    run_prints "the PML's functions stay replaced: somebody replaced ours" $ranks verbose=1 $table above
done

# MPI_Sendrecv_replace is another matter: the function itself is replaced, by Open MPI's patcher, whether Open MPI uses it or not.
MPIRUN_OPTIONS="--mca memory ^patcher"
run 1 $table
run 2 tests/mpi/test_pt2pt_types
MPIRUN_OPTIONS="--mca patcher ^overwrite,linux"
run_prints "MPI_Sendrecv_replace takes no device buffers" 1 verbose=1 tests/mpi/test_pt2pt_probe
MPIRUN_OPTIONS=

# As compiled for an Open MPI that calls its PML by name.
directly=$(cd "$GF_BUILDDIR/tests/mpi/called_directly/.libs" && pwd)
[ "$GF_OPENMPI" != 4.1 ] || directly=$directly:SYS_DEFAULT
MPIRUN_OPTIONS="--mca mca_base_component_path $directly"
for ranks in 1 2; do
    run_prints "messages take no device buffers: this Open MPI was built for one PML only" $ranks verbose=1 $table untouched
done
run 2 tests/mpi/test_allreduce sizes
MPIRUN_OPTIONS=

if over_ucx; then
    run 2 $table
fi

# Messages that one rank sent to others, as Open MPI's monitoring counts them.
monitored="--mca pml ob1,monitoring --mca pml_monitoring_enable 1"
counts=$(mktemp -d)
trap 'rm -rf "$output" "$counts"' EXIT
messages() {
    MPIRUN_OPTIONS="$monitored --mca pml_monitoring_enable_output 3 --mca pml_monitoring_filename $counts/$1 $2"
    run 2 tests/mpi/test_told $3
    sed -n 's/^E.*bytes[^0-9]*\([0-9]*\) msgs sent.*/\1/p' "$counts/$1.0.prof" > "$counts/$1"
}
if "$(dirname "$MPIRUN")/ompi_info" --parsable | grep -q "^mca:pml:monitoring:"; then
    MPIRUN_OPTIONS=$monitored
    run 2 $table
    run_prints "counts the 67 bytes" 2 verbose=1 tests/mpi/test_pt2pt
    run 3 tests/mpi/test_pt2pt_probe
    messages host "--mca coll ^gpufifo" host
    # What sets the device side up would be counted, too.
    messages device "--mca coll_gpufifo_mapped off" ""
    launch 1 "$(command -v cmp)" "$counts/host" "$counts/device"
    judge zero ""
else
    echo "this Open MPI has no pml monitoring"
fi
finish
