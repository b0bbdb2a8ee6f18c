/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a process holds, to see whether it grows.
 */
#ifndef TESTS_MPI_RESOURCES_H
#define TESTS_MPI_RESOURCES_H

#include "tests/mpi/harness.h"

struct resources {
    long descriptors;          /* open files */
    long mappings;             /* of memory: shared segments, imports of peers' device memory, pinned memory */
    long heap;                 /* bytes that malloc has given */
    long device_pieces;        /* of 64 KiB, that the emulated device has given; elsewhere 0 */
};

/* Collective over MPI_COMM_WORLD, since ranks may share a device. */
struct resources resources_now(struct harness *h);

/* What has come from one moment to another. */
struct resources resources_growth(const struct resources *before, const struct resources *after);

/* A check of each, that not more has come than `allowed` says; rank 0 prints them. */
void resources_check(struct harness *h, const struct resources *growth, const struct resources *allowed, const char *what);

#endif
