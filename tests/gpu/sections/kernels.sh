# SPDX-License-Identifier: BSD-3-Clause
#
# all kernels against the scalar reference, in one process

section() {
    timeout 120 "$build/tests/gpu/test_device_kernels" cuda || return 1
    timeout 120 "$build/tests/gpu/test_device_kernels" cuda 7 || return 1
    timeout 120 "$build/tests/gpu/test_device_kernels" cuda 100000
}
