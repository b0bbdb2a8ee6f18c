# SPDX-License-Identifier: BSD-3-Clause
#
# the kernels of section kernels under compute-sanitizer memcheck and racecheck

section() {
    for tool in memcheck racecheck; do
        timeout 280 compute-sanitizer --tool $tool --error-exitcode 9 "$build/tests/gpu/.libs/test_device_kernels" cuda 301 \
            > "$out/$tool.log" 2>&1
        status=$?
        tail -n 3 "$out/$tool.log"
        [ $status -eq 0 ] || return $status
    done
}
