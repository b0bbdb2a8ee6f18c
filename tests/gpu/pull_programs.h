/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of test_device_pull: each runs in both processes.
 */
#ifndef GF_TESTS_GPU_PULL_PROGRAMS_H
#define GF_TESTS_GPU_PULL_PROGRAMS_H

#include "tests/gpu/pull_pair.h"

/* Results. */
void pull_check_sizes(struct pair *pair);
void pull_check_filled(struct pair *pair);
void pull_check_races(struct pair *pair);

/* Times, on standard output. */
void pull_measure_sizes(struct pair *pair);
void pull_measure_large(struct pair *pair);
void pull_measure_windows(struct pair *pair);
void pull_measure_moves(struct pair *pair);
void pull_measure_host(struct pair *pair);
void pull_measure_first(struct pair *pair);

#endif
