/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Pack and MPI_Unpack on host memory are the truth.
 */
#include "tests/mpi/typed.h"

#include <stdlib.h>

#include "tests/mpi/values.h"

void typed_create(struct harness *h, struct typed *typed, MPI_Datatype type, int count, uint64_t seed)
{
    typed->type = type;
    typed->count = count;
    typed->span = type_span(type, count);
    typed->all = (size_t)(typed->span.before + typed->span.behind);
    typed->expected = host_alloc(h, typed->all + 1);
    for (size_t i = 0; i < typed->all; i++) {
        typed->expected[i] = (unsigned char)random_next(&seed);
    }
    buffer_create(h, &typed->buffer, GPUFIFO_MEMORY_DEVICE, typed->all, seed % 3 ? 0 : (size_t)(seed % 17));
    buffer_write(&typed->buffer, typed->expected);
}

void typed_pack(struct harness *h, const struct typed *typed, void *packed)
{
    int position = 0;

    MPI_Pack(typed->expected + typed->span.before, typed->count, typed->type, packed, typed->span.bytes, &position,
             MPI_COMM_WORLD);
    harness_need(h, position != typed->span.bytes, "pack");
}

void typed_unpack(struct typed *typed, const void *packed, int bytes)
{
    int position = 0, size;

    MPI_Type_size(typed->type, &size);
    MPI_Unpack((void *)packed, bytes, &position, typed->expected + typed->span.before, bytes / size, typed->type, MPI_COMM_WORLD);
}

/* All of it, gaps too. */
void typed_check(struct harness *h, struct typed *typed, const char *what, uint64_t seed)
{
    unsigned char *is = host_alloc(h, typed->all + 1);
    size_t wrong = 0;

    buffer_read(&typed->buffer, is);
    while (wrong < typed->all && is[wrong] == typed->expected[wrong]) {
        wrong++;
    }
    harness_check(h, wrong == typed->all, "%s, seed %llu: byte %zu of %zu is wrong", what, (unsigned long long)seed, wrong,
                  typed->all);
    typed_destroy(typed);
    free(is);
}

void typed_destroy(struct typed *typed)
{
    buffer_destroy(&typed->buffer, "typed");
    free(typed->expected);
}
