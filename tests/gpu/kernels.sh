#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The kernels' test program on the emulated device, so that what runs on a GPU by hand is itself tested.
exec "$GF_BUILDDIR/tests/gpu/test_device_kernels" emulated 301
