#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The pulls' test program on the emulated device, so that what runs on a GPU by hand is itself tested. "solo" is what fills a
# device there: the filling process has its turn until it ends.
set -e
"$GF_BUILDDIR/tests/gpu/test_device_pull" emulated sizes races moves windows
GPUFIFO_EMULATED=solo exec "$GF_BUILDDIR/tests/gpu/test_device_pull" emulated filled
