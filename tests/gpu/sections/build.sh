# SPDX-License-Identifier: BSD-3-Clause
#
# configure and make for this GPU, tests too (needs ./configure: run autogen.sh before, here or elsewhere)

section() {
    gpu=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | head -n 1 | tr -d .)
    cd "$build" || return 1
    "$source/configure" --disable-maintainer-mode GF_GPU_ARCH="${GF_GPU_ARCH:-${gpu:-90}}" > configure.log 2>&1 ||
        { tail -n 20 configure.log; return 1; }
    sed -n '/^gpufifo [0-9]/,/^Next:/p' configure.log
    make -j"$(nproc)" > make.log 2>&1 && make -j"$(nproc)" check TESTS= >> make.log 2>&1 || { tail -n 20 make.log; return 1; }
    ! grep -i 'warning:' make.log
}
