# SPDX-License-Identifier: BSD-3-Clause
#
# messages that a second process fetches: checks, and times by size and path, under MPS and without

section() {
    "$source/tests/gpu/mps.sh" timeout 280 "$build/tests/gpu/test_device_pull" cuda || return 1
    echo "== without MPS"
    timeout 120 "$build/tests/gpu/test_device_pull" cuda sizes filled host
}
