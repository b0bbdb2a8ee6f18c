# SPDX-License-Identifier: BSD-3-Clause
#
# every kernel, and the forms of packing, under compute-sanitizer memcheck and racecheck

# looked_at TOOL PROGRAM [ARGUMENT...]
looked_at() {
    tool=$1 program=$2
    shift 2
    timeout -k 5 120 compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/tests/gpu/.libs/$program" cuda "$@" \
        > "$out/$tool.log" 2>&1
    result=$?
    tail -n 3 "$out/$tool.log"
    return $result
}

section() {
    for tool in memcheck racecheck; do
        looked_at $tool test_device_kernels 301 && looked_at $tool test_device_pack 1000 || return 1
    done
}
