/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A test for programs that play connections over one wire or another (net_world.h).
 */
#ifndef GF_TESTS_UNIT_NET_COUNTS_H
#define GF_TESTS_UNIT_NET_COUNTS_H

#include "transport/wire.h"

/* Of every world what the wires at its two ends have counted, when all of it has ended. */
typedef void net_counts_checker(const struct gf_wire_counts *sender, const struct gf_wire_counts *receiver);

/* Called with it, too; null: nobody is. */
extern net_counts_checker *net_counts_also;

/* A cmocka test. */
void net_test_operations_are_counted(void **state);

#endif
