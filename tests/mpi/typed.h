/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers in device memory for elements of a type, beside what they should hold.
 */
#ifndef TESTS_MPI_TYPED_H
#define TESTS_MPI_TYPED_H

#include "tests/mpi/harness.h"
#include "tests/mpi/random_types.h"

/* Some elements of a type. */
struct typed {
    MPI_Datatype type;
    int count;
    struct type_span span;
    struct buffer buffer;
    size_t all;                        /* bytes of the buffer */
    unsigned char *expected;           /* as many */
};

/* What MPI gets. */
static inline void *typed_address(const struct typed *typed) { return typed->buffer.data + typed->span.before; }

/* Filled with random bytes, the same for the same seed. */
void typed_create(struct harness *h, struct typed *typed, MPI_Datatype type, int count, uint64_t seed);

/* What should be there, packed by MPI: span.bytes. */
void typed_pack(struct harness *h, const struct typed *typed, void *packed);

/* From now on so many bytes of packed data, whole elements, should be there. */
void typed_unpack(struct typed *typed, const void *packed, int bytes);

/* Compares all of it, gaps too, and destroys it. */
void typed_check(struct harness *h, struct typed *typed, const char *what, uint64_t seed);

/* Without a look at what is there. */
void typed_destroy(struct typed *typed);

#endif
