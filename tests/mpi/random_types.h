/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random datatypes: any nesting of MPI's constructors, in which no byte comes twice, so that they may be received into.
 */
#ifndef TESTS_MPI_RANDOM_TYPES_H
#define TESTS_MPI_RANDOM_TYPES_H

#include <mpi.h>
#include <stdint.h>

/* Where the data of some elements lie: bytes before and behind the buffer's address, and their number. */
struct type_span {
    MPI_Aint before, behind;
    int bytes;
};

/* A committed type whose element has at most `most` bytes of data and spans at most eight times as many. The same for the same
 * state. Elements may follow one another forwards, backwards and with gaps. */
MPI_Datatype random_type(uint64_t *state, int most);

/* The same, of one basic type alone. */
MPI_Datatype random_type_of(uint64_t *state, MPI_Datatype only, int most);

struct type_span type_span(MPI_Datatype type, int count);

#endif
