# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by what starts MPI programs for the tests: settings under which they work on a small machine, as root, and in a
# container. In: GF_OPENMPI, GF_SANITIZER, CC (the makefile sets them). Also sets preload: what our libraries must find loaded, or
# nothing.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_coll_gpufifo_device="${OMPI_MCA_coll_gpufifo_device:-emulated}"
export OMPI_MCA_pml=ob1
# What the agent takes it takes when it happens to be there: tests of the other ways go without, and those of the agent ask for
# it.
export OMPI_MCA_coll_gpufifo_agent="${OMPI_MCA_coll_gpufifo_agent:-off}"
# Ranks outnumber cores: waiting ranks must give way to the one that works.
export OMPI_MCA_mpi_yield_when_idle=1
case $GF_OPENMPI in
4.1) export OMPI_MCA_btl=self,vader ;;
*) export OMPI_MCA_btl=self,sm PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe ;;
esac
preload=
case $GF_SANITIZER in
# Every rank looks for adapters by hwloc, whose list of their names grows word by word: with a sanitizer's realloc, which always
# moves, that takes more than all the rest of most tests.
address* | thread*) export HWLOC_COMPONENTS=-pci ;;
esac
case $GF_SANITIZER in
# Open MPI itself never frees some of what it allocates. Programs that are not ours, as Python, need the run-time library first.
address*)
    export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}"
    preload=$(${CC:-cc} -print-file-name=libasan.so) ;;
esac
