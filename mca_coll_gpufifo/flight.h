/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Native calls that the program does not wait for: *flights*. The call returns at once; what is left is done, a step at a time,
 * by whoever comes first: the proxy's thread (proxy/proxy.h), so that the operation completes although the program is
 * elsewhere, or the progress callback of MPI, so that one that is waited for completes soon.
 *
 *     depart ──▶ ASKED ──all have device buffers──▶ AGREED ──its turn──▶ ALOFT ──▶ LANDING ──▶ LANDED
 *                  └──────────── one has not, or not all can map ──────────┴─▶ DIVERTED: stage it
 *
 * Nothing is begun on the device before all ranks have entered the call, and nothing on the device waits: so a program that waits
 * for its device, or for a message of a rank that has not entered, waits for nothing that waits for it.
 * Flights of a communicator go one after the other, in the order of their calls, which all ranks share. A blocking native call
 * waits until all have ended: MPI promises that all ranks have entered them or will, and none waits for this call to do so.
 *
 * The first one may come before the communicator has its board, which MPI's progress brings, or its device side and connections
 * for mapped buffers, which a thread makes then (setting_up.h).
 */
#ifndef GF_MCA_FLIGHT_H
#define GF_MCA_FLIGHT_H

#include "mca_coll_gpufifo/module.h"

#include "core/mapped_call.h"
#include "mca_coll_gpufifo/agree_later.h"

enum gf_flight_state {
    GF_FLIGHT_ASKED, GF_FLIGHT_AGREED, GF_FLIGHT_ALOFT, GF_FLIGHT_LANDING, GF_FLIGHT_LANDED, GF_FLIGHT_DIVERTED,
    GF_FLIGHT_FAILED
};

struct gf_flights;                     /* flight_private.h: those of a communicator that wait for each other */

/* What a persistent one has been given (turns.h): one of a page of slots. */
struct gf_turns_page;
struct gf_turns_slot {
    struct gf_turns_page *page;
    int bit;
};

/* One operation. Owned by its request, which fills start; from depart until it has ended only flight.c touches it. A persistent
 * one (turns.h) departs again with each start. */
struct gf_flight {
    /* Starts the operation (gf_exchange_start and the like); what it needs is behind this struct. GF_IN_PROGRESS: this rank's
     * data are not ready yet, ask again. */
    gf_status (*start)(gf_comm *comm, struct gf_flight *flight, struct gf_reason *why);
    /* What this rank does alone, when all have what they need of it; GF_IN_PROGRESS: ask again. Null: nothing. */
    gf_status (*finish)(struct gf_flight *flight, struct gf_reason *why);
    enum gf_path path;             /* set by start: by which way it goes */
    size_t bytes;                  /* of this rank's send side, for the counters */
    void (*release)(struct gf_flight *flight);     /* what it holds, when it is freed; null: nothing */
    struct gf_mapped_call call;
    struct gf_flights *flights;
    struct gf_flight *next;
    struct gf_agree_ticket ticket; /* of the call, if it is not persistent */
    struct gf_turns_slot slot;     /* of a persistent one */
    uint64_t started;              /* how often it was, with those that had the slot before */
    bool has_turn;                 /* the leader has given it one for this start */
    enum gf_flight_state state;
    gf_status status;              /* of one that FAILED, or why one was DIVERTED */
    struct gf_reason why;
};

/* One that has ended, or has not departed. Accepts null. */
static inline void gf_flight_free(struct gf_flight *flight)
{
    if (flight && flight->release) {
        flight->release(flight);
    }
    free(flight);
}

/* For start: the buffers of a persistent one may be others by now, at the same addresses. Else nothing is done. An error is one
 * for all ranks. */
gf_status gf_flight_locate(const struct gf_flight *flight, gf_comm *comm, struct gf_mapped_buffer *send,
                           struct gf_mapped_buffer *recv, struct gf_reason *why);

/* Why this rank's next call, with buffers on this device, cannot be a flight, or null. Such a call counts as one with host
 * buffers. */
const char *gf_flight_obstacle(mca_coll_gpufifo_module_t *module, int ordinal);

/* Enters the next call with it; there is no obstacle. */
void gf_flight_depart(mca_coll_gpufifo_module_t *module, struct gf_flight *flight);

/* GF_IN_PROGRESS; GF_OK: it has landed; GF_ERR_UNSUPPORTED: diverted, on all ranks; else it has failed, and the communicator is
 * dead. Does a step, if no other thread does. */
gf_status gf_flight_poll(struct gf_flight *flight, struct gf_reason *why);

/* Waits until all of these have ended, and makes MPI's progress. */
void gf_flights_wait(struct gf_flights *flights);

/* Of all but the persistent ones; then what they have set up is the module's. */
void gf_flights_land_all(mca_coll_gpufifo_module_t *module);

static inline void gf_flights_land(mca_coll_gpufifo_module_t *module)
{
    if (__builtin_expect(module->flights != NULL, 0)) {
        gf_flights_land_all(module);
    }
}

/* Waits for all, and there will be no more. */
void gf_flights_close(mca_coll_gpufifo_module_t *module);

#endif
