#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Shows gpufifo at work on this machine, a fresh Debian or Ubuntu included: installs what is missing, builds in build/, and runs a heat
# equation and an mpi4py program on device buffers with 4 ranks, on a GPU if there is one and on the emulated device if not.
set -u

source=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/setup.sh
. "$source/tests/setup.sh"
mkdir -p "$source/build"

have_gpu() {
    [ -e /dev/nvidiactl ] && [ -e /dev/nvidia0 ]
}

have_nvcc() {
    command -v nvcc > /dev/null || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]
}

# run COMMAND…: prints it as a user would type it, then runs it.
run() {
    echo
    echo "\$ build/gpufifo-env $*"
    (cd "$source" && timeout -k 10 300 build/gpufifo-env "$@" < /dev/null) || die "the command above failed with status $?"
}

# shellcheck disable=SC2086
packages_install $build_packages python3-mpi4py || echo "going on with what is here; configure says if it is not enough"
if have_gpu && ! have_nvcc; then
    packages_install nvidia-cuda-toolkit || echo "going on without nvcc"
fi
echo "building in build/ …"
build_in build ${GF_GPU_ARCH:+GF_GPU_ARCH="$GF_GPU_ARCH"} ||
    { tail -n 30 "$source/build/build.log"; die "the build failed (build/build.log)"; }

if have_gpu && grep -q '^#define GF_HAVE_NVCC 1' "$source/build/config.h"; then
    device=cuda
    echo "there is a GPU: the ranks share it"
else
    device=emulated
    have_gpu && echo "there is a GPU, but no nvcc to build kernels for it"
    have_gpu || echo "no GPU here: the emulated device stands in"
fi
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Four ranks also where there are fewer cores; then those that wait must give way.
case $(setting gf_openmpi_series build) in
4.1) spread="--oversubscribe --mca btl self,vader" ;;
*) spread="--map-by :OVERSUBSCRIBE --mca btl self,sm" ;;
esac
export OMPI_MCA_mpi_yield_when_idle=1
launch="mpirun $spread --bind-to none -n 4 --mca pml ob1 --mca coll gpufifo,tuned,libnbc,basic,inter,self --mca coll_gpufifo_device $device"

# shellcheck disable=SC2086
run $launch build/examples/jacobi
python=$(setting PYTHON build)
if [ -n "$python" ] && "$python" -c 'import mpi4py' 2> /dev/null; then
    # shellcheck disable=SC2086
    run $launch "$python" examples/mpi4py_allreduce.py
    programs="both programs"
else
    echo "mpi4py is not here, so its program is left out"
    programs="the program"
fi
echo
echo "$programs computed the right results on device buffers (device: $device)"
