/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flights that go one after the other over one gf_comm, for the files that order them.
 */
#ifndef GF_MCA_FLIGHT_PRIVATE_H
#define GF_MCA_FLIGHT_PRIVATE_H

#include "mca_coll_gpufifo/flight.h"
#include "proxy/proxy.h"

/* Owned by the module. */
struct gf_flights {
    mca_coll_gpufifo_module_t *module;
    gf_comm *comm;                     /* over which they go; whose it is its maker knows. Null: not set up yet */
    struct gf_setting_up *setting_up;  /* null: that is done, or there is no need */
    gf_comm *made;                     /* what came of it; the module's */
    bool impossible;                   /* none can be native, on any rank, for this reason */
    struct gf_reason against;
    gf_proxy *proxy;
    struct gf_proxy_task task;
    /* With the lock held. Which of those ASKED all ranks have entered, and in which order they go; and that nobody will ask about
     * one any more, null: nothing is to be done then. */
    void (*ask)(struct gf_flights *flights);
    void (*drop)(struct gf_flights *flights, struct gf_flight *flight);
    pthread_mutex_t lock;              /* guards what follows, the flights in it, and comm while there are any */
    struct gf_flight *first, **end;    /* those that have not ended, in the order in which they go as far as it is known */
    uint64_t turns;                    /* of persistent ones: how many have had theirs */
    uint64_t given;                    /* and, at the leader, how many were given */
};

/* In the order of their calls, by tickets. comm: set up; null: not yet. Null: no memory, or no thread to move them on. */
struct gf_flights *gf_flights_create(mca_coll_gpufifo_module_t *module, gf_comm *comm);

/* Waits for all. */
void gf_flights_destroy(struct gf_flights *flights);

/* Puts one at the end, ASKED. */
void gf_flights_add(struct gf_flights *flights, struct gf_flight *flight);

/* Its request looks at it without the lock. */
static inline void gf_flight_move_on(struct gf_flight *flight, enum gf_flight_state state)
{
    __atomic_store_n(&flight->state, state, __ATOMIC_RELAXED);
}

#endif
