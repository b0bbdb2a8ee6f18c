/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One drawn call among several that are under way together.
 */
#ifndef TESTS_PROPERTY_FLIGHT_H
#define TESTS_PROPERTY_FLIGHT_H

#include "tests/mpi/stage_case.h"
#include "tests/property/drawn_comms.h"

/* What does not change from round to round. */
struct flight_limits {
    const struct stage_collective *only;   /* null: any */
    int bytes;                             /* at most, of a part */
    enum gpufifo_memory kinds[8];          /* that buffers may be of; this device's */
    int kind_count;
};

/* Finds the kinds; says what this device lacks. host: host memory alone. */
void flight_limits_find(struct harness *h, bool host, struct flight_limits *limits);

struct flight {
    struct stage_types own_types;
    const struct stage_types *types;       /* own_types, or those of the whole program */
    struct stage_choice choice;
    struct stage_place place;
    enum drawn_comm comm;
    enum stage_form form;
    struct stage_case c;
    MPI_Request request;
    bool member;                           /* whether this rank takes part */
};

/* From a seed that all ranks share. shared: types for reductions by the user's operation; they outlive the flight. */
void flight_draw(struct harness *h, uint64_t seed, const struct flight_limits *limits, const struct drawn_comms *comms,
                 const struct stage_types *shared, struct stage_store *store, struct flight *flight);

/* Allocates, and calls once on host buffers. The flight must stay where it is. */
void flight_prepare(struct harness *h, struct flight *flight);

/* Calls, or starts; request is MPI_REQUEST_NULL if nothing is left to be waited for. */
void flight_start(struct flight *flight);

/* After it is complete: overwrites what was sent, in every other call. Blocking calls do so when they return. */
void flight_spoil(struct flight *flight);

/* After it is complete. Persistent calls are started once more by flight_again. */
bool flight_check(struct flight *flight, const char *when);
void flight_again(struct flight *flight);
void flight_end(struct flight *flight);

/* A line for people. */
void flight_describe(const struct flight *flight, char *text, size_t size);

#endif
