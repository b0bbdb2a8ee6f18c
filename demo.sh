#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Shows gpufifo at work on this machine, a fresh Debian or Ubuntu included: installs what is missing, builds in build/, and runs a
# heat equation and an mpi4py program on device buffers with 4 ranks, on a GPU if there is one and on the emulated device if not.
set -u

source=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/setup.sh
. "$source/tests/setup.sh"
mkdir -p "$source/build"
cd "$source" || exit 1

have_gpu() {
    [ -e /dev/nvidiactl ] && compgen -G '/dev/nvidia[0-9]*' > /dev/null
}

# run COMMAND…: prints it as a user would type it, then runs it.
run() {
    echo
    echo "\$ $*"
    timeout -k 10 300 "$@" < /dev/null || die "the command above failed with status $?"
}

# gpu_works [tests/gpu/mps.sh]: one rank on the GPU, with or without an MPS daemon of its own.
gpu_works() {
    # shellcheck disable=SC2086
    timeout -k 10 120 "$@" $launch -n 1 --mca coll_gpufifo_device cuda build/examples/jacobi --size 16 --steps 2 \
        >> build/gpu.log 2>&1 < /dev/null
}

# choose_device: sets device, and under: what makes kernels of several ranks run side by side on one GPU.
choose_device() {
    device=emulated
    under=""
    have_gpu || { echo "no GPU here: the emulated device stands in"; return; }
    grep -q '^#define GF_HAVE_NVCC 1' build/config.h ||
        { echo "there is a GPU, but no nvcc to build kernels for it: the emulated device stands in"; return; }
    device=cuda
    rm -f build/gpu.log
    if ! command -v nvidia-cuda-mps-control > /dev/null; then
        echo "there is a GPU, but no MPS (nvidia-cuda-mps-control): the ranks take turns on it, which is slow"
    elif echo get_server_list | timeout 10 nvidia-cuda-mps-control > /dev/null 2>&1; then
        echo "there is a GPU: the ranks share it under the MPS daemon that runs"
    elif gpu_works tests/gpu/mps.sh; then
        under=tests/gpu/mps.sh
        echo "there is a GPU: the ranks share it under an MPS daemon of their own"
    else
        echo "there is a GPU, but MPS does not work here (build/gpu.log): the ranks take turns on it, which is slow"
    fi
    if [ -z "$under" ] && ! gpu_works; then
        device=emulated
        grep '^jacobi: ' build/gpu.log | tail -n 1
        echo "the GPU cannot be used (build/gpu.log): the emulated device stands in"
    fi
}

# shellcheck disable=SC2086
packages_install $build_packages python3-mpi4py
if have_gpu && ! command -v nvcc > /dev/null; then
    packages_install nvidia-cuda-toolkit
fi
echo "building in build/ …"
build_in build "$(kernels_option)" || { explain_failure >&2; exit 1; }

[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Four ranks also where there are fewer cores; then those that wait must give way.
case $(setting gf_openmpi_series build) in
4.1) spread="--oversubscribe --bind-to none --mca btl self,vader" ;;
*) spread="--map-by :OVERSUBSCRIBE --bind-to none --mca btl self,sm" ;;
esac
export OMPI_MCA_mpi_yield_when_idle=1
launch="build/gpufifo-env mpirun $spread --mca pml ob1 --mca coll gpufifo,tuned,libnbc,basic,inter,self"
choose_device
launch="$under $launch -n 4 --mca coll_gpufifo_device $device"

# shellcheck disable=SC2086
run $launch build/examples/jacobi
python=$(setting PYTHON build)
if [ -n "$python" ] && [ "$(setting gf_mpi4py build)" = yes ]; then
    # shellcheck disable=SC2086
    run $launch "$python" examples/mpi4py_allreduce.py
    echo
    echo "both programs computed the right results on device buffers (device: $device)"
else
    echo
    echo "the heat equation came out right on device buffers (device: $device); the other program was left out: no python3-mpi4py"
fi
