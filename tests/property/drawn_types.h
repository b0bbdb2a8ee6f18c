/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes for one call, drawn.
 */
#ifndef TESTS_PROPERTY_DRAWN_TYPES_H
#define TESTS_PROPERTY_DRAWN_TYPES_H

#include "tests/mpi/stage_types.h"

/* For calls that move data: of one basic type, among them a random nesting of constructors; element of at most `most` bytes.
 * Both: the same for the same state; freed by stage_types_free. */
void drawn_types_to_move(uint64_t *state, int most, struct stage_types *types);

/* For reductions: a predefined type that `op` takes, and that operation, which is drawn first. */
void drawn_types_to_reduce(uint64_t *state, struct stage_types *types, const struct test_op **op);

#endif
