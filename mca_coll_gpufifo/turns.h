/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Persistent collectives natively: each start is a flight (flight.h).
 *
 * Initialisation is a call in the order of the others, on all ranks, and may wait for them (MPI-4.0, 6.13). So it is a blocking
 * native call: all ranks learn whether all have device buffers, and if so, agree on a *slot* for the operation, which it keeps
 * until it is freed.
 *
 * Starts wait for nobody, and each rank may make them in an order of its own, also among other calls. So they have numbers of
 * their own: the n-th start of a slot is the same operation on all ranks. Each rank shows in shared memory how often it has
 * started each slot; the leader, when it sees that all ranks have started one again, gives it the next *turn*, and all
 * go by the turns. What has a turn was started by all, so each can go on alone, and nobody waits for a rank that has not started.
 * Other native calls are in no order with them, so they go over a gf_comm of their own.
 *
 * A slot that is freed and booked again goes on counting: all ranks had started and ended it equally often, or the program was
 * wrong. No turn of it is left then, for turns are taken in order, and before the operation ends.
 * tests/model/turns.pml checks this, with mutants.
 */
#ifndef GF_MCA_TURNS_H
#define GF_MCA_TURNS_H

#include "mca_coll_gpufifo/flight.h"

/* Of one communicator. Owned by the module; null until the first such operation. */
struct gf_turns;

/* Collective, when all ranks have entered an initialisation natively: a slot for it. able: this rank can go on.
 * GF_ERR_UNSUPPORTED on all ranks alike: stage it. */
gf_status gf_turns_book(mca_coll_gpufifo_module_t *module, bool able, struct gf_turns_slot *slot, struct gf_reason *why);

/* The operation was freed; no flight of it is under way. Any thread. */
void gf_turns_release(const struct gf_turns_slot *slot);

/* Starts it, with its slot. */
void gf_turns_start(mca_coll_gpufifo_module_t *module, struct gf_flight *flight);

/* Waits for all that are under way. Accepts that there are none. */
void gf_turns_close(mca_coll_gpufifo_module_t *module);

#endif
