#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The kernels' programs on the emulated device, so that what runs on a GPU by hand is itself tested.
set -e
GPUFIFO_EMULATED=blocks=128 timeout 120 "$GF_BUILDDIR/tests/gpu/kernel_throughput" emulated 1 3 ring two_shot reduce pull pack
GPUFIFO_EMULATED=weak,torn timeout 120 "$GF_BUILDDIR/tests/gpu/test_device_kernels" emulated 7
exec timeout 120 "$GF_BUILDDIR/tests/gpu/test_device_kernels" emulated 301
