/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes of a message laid out in memory: in a row, or as a random datatype has them.
 */
#ifndef TESTS_MPI_STRESS_PLACED_H
#define TESTS_MPI_STRESS_PLACED_H

#include <stdint.h>

#include "tests/mpi/harness.h"

struct placed {
    MPI_Datatype type;         /* of bytes alone: a message may end anywhere in it */
    int count;
    size_t bytes;              /* of data */
    size_t before;             /* bytes of the buffer before the address that MPI gets */
    struct buffer buffer;
};

/* Plain bytes for type 0; else whole elements of a type that follows from that number, and at least so many bytes. */
void placed_create(struct harness *h, struct placed *placed, enum gpufifo_memory kind, size_t bytes, uint64_t type);
void placed_destroy(struct placed *placed, const char *what);

/* How many bytes such a layout has. */
size_t placed_bytes(size_t bytes, uint64_t type);

static inline void *placed_address(const struct placed *placed) { return placed->buffer.data + placed->before; }

/* Puts the message of that rank and seed there (pt2pt_buffers.h). */
void placed_write(struct placed *placed, int rank, unsigned seed);

/* Whether its first `bytes` are there by now, and nothing of all the rest has changed. It may be written meanwhile, which a
 * sanitizer of threads calls a race. */
bool placed_holds(const struct placed *placed, size_t bytes, int rank, unsigned seed);

/* Its first `bytes` must be there, and nothing of all the rest have changed. */
void placed_check(struct harness *h, struct placed *placed, size_t bytes, int rank, unsigned seed, const char *what);

#endif
