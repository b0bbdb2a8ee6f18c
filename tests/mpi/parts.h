/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A test program whose arguments are the parts that it runs, one after the other. Between them settings may stand, NAME=NUMBER,
 * for the parts behind; and path=NAMES, by which all calls of all parts must have gone (harness_check_path).
 */
#ifndef TESTS_MPI_PARTS_H
#define TESTS_MPI_PARTS_H

#include <stdint.h>

#include "examples/paths.h"
#include "tests/mpi/harness.h"

/* Owned by main; all but the counters is its. */
struct parts {
    void *ctx;
    void (*run)(void *ctx, const char *part, const struct parts *parts);
    bool (*set)(void *ctx, const char *name, uint64_t value);    /* false: it has no such setting. Null: there are none */
    int rounds;                        /* of parts that come often: the setting rounds */
    uint64_t *common, *own;            /* random numbers, of all ranks and of this one: the setting seed, 1 if there is none. */
    int *most;                         /* elements of what is drawn: the setting most. All three null: nothing is */
    struct paths_counters counters;    /* while parts run */
};

/* Collective. What is no setting is a part. */
void parts_run(struct harness *h, int argc, char **argv, struct parts *parts);

#endif
