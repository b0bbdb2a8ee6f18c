/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways in which gpufifo can move data, by name: what to set so that exactly this one is taken, and how to see that it was.
 */
#ifndef BENCH_MECHANISMS_H
#define BENCH_MECHANISMS_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/measure.h"

enum { MECHANISM_SIDE_BYTES = 400 };

struct mechanism {
    const char *name;              /* no two of one test have the same */
    enum bench_kind test;          /* BENCH_ALLREDUCE or BENCH_LATENCY */
    enum method method;            /* whose rows are meant */
    const char *settings;          /* words NAME=VALUE: MCA variables, without coll_gpufifo_ */
    const char *path;              /* that calls take by it, if only after the first ones; null: any */
};

/* Ends with one that has no name. */
extern const struct mechanism mechanisms[];

/* Were calls of the paths `taken` ("one" or "one+other") this mechanism's? */
bool mechanism_took(const struct mechanism *mechanism, const char *taken);

/* Is this one of the names in the list NAME,NAME...? A null list has all. */
bool mechanism_in(const struct mechanism *mechanism, const char *list);

/* Ends the program with one sentence if the list has a name that no mechanism has. */
void mechanisms_check(const char *list);

/* For --help. */
void mechanisms_print(FILE *out);

/* As --compare takes a side: options of mpirun, then arguments of gpufifo-bench. What such a job says tells how its ranks share
 * devices. A message has two ranks, whatever `ranks`. */
void mechanism_side(const struct mechanism *mechanism, int ranks, char text[MECHANISM_SIDE_BYTES]);

#endif
