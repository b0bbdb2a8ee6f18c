/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What settings ask for, of the algorithms of an allreduce. Pure.
 */
#ifndef GF_CORE_FORCED_H
#define GF_CORE_FORCED_H

#include "core/plan.h"

/* The algorithm; GF_PLAN_NONE: none. A protocol belongs to one algorithm; where the two contradict each other the algorithm
 * counts. The ring is not asked for where the order of the ranks is, too. */
enum gf_algorithm gf_forced_algorithm(const struct gf_config *config);

/* Do algorithm and protocol contradict each other? */
bool gf_forced_contradict(const struct gf_config *config);

/* Is what is asked for the ring, by algorithm, protocol or transport, and the order of the ranks, too, which it does not keep? */
bool gf_forced_loses_order(const struct gf_config *config);

/* Does it go over the program's own buffers, by no protocol of ours? */
bool gf_forced_is_mapped(const struct gf_config *config);

/* Does the host copy the slots of FIFOs? It does nothing else: LL lines have no place where it could look. */
bool gf_forced_host_copies(const struct gf_config *config);

#endif
