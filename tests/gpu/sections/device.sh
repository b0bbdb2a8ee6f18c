# SPDX-License-Identifier: BSD-3-Clause
#
# the CUDA adaptor: memory, IPC, contexts

section() {
    timeout 120 "$build/tests/gpu/test_cuda_device" || return 1
    "$source/tests/gpu/mps.sh" timeout 120 "$build/tests/gpu/test_cuda_device"
}
