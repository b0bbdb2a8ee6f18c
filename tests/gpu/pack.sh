#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The pack kernels' test program on the emulated device, so that what runs on a GPU by hand is itself tested.
set -e
"$GF_BUILDDIR/tests/gpu/test_device_pack" emulated 1000
GPUFIFO_EMULATED=weak,team=2 exec "$GF_BUILDDIR/tests/gpu/test_device_pack" emulated 1000
