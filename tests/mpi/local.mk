# SPDX-License-Identifier: BSD-3-Clause

dist_check_SCRIPTS += tests/mpi/run_mpi.sh
