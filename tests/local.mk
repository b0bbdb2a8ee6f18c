# SPDX-License-Identifier: BSD-3-Clause
include tests/unit/local.mk
include tests/property/local.mk
include tests/mpi/local.mk
include tests/model/local.mk
include tests/fault/local.mk
