#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The test program on the emulated device, so that what runs on a GPU by hand is itself tested: as it is by default, and with
# copies that wait for kernels, as a GPU's do.
set -e
"$GF_BUILDDIR/tests/gpu/test_device_copies" emulated | grep "device to device *gets on"
GPUFIFO_EMULATED=queued "$GF_BUILDDIR/tests/gpu/test_device_copies" emulated | grep "device to device *waits"
