/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parts of test_pt2pt about requests: how many are completed, and what else may become of one.
 */
#ifndef TESTS_MPI_PT2PT_REQUESTS_H
#define TESTS_MPI_PT2PT_REQUESTS_H

#include "tests/mpi/pt2pt_buffers.h"

void pt2pt_crowd(const struct ends *e);
void pt2pt_cancels(const struct ends *e);
void pt2pt_freed_requests(const struct ends *e);

#endif
