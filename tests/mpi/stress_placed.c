/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Pack on host memory says where each byte of a type lies: it packs the numbers of the places.
 */
#include "tests/mpi/stress_placed.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/pt2pt_buffers.h"
#include "tests/mpi/random_types.h"

enum { ELEMENT = 400 };                /* bytes of data of an element at most */

static MPI_Datatype type_of(uint64_t type)
{
    return random_type_of(&type, MPI_BYTE, ELEMENT);
}

static int elements(MPI_Datatype type, size_t bytes)
{
    int size;

    MPI_Type_size(type, &size);
    return (int)((bytes + (size_t)size - 1) / (size_t)size);
}

size_t placed_bytes(size_t bytes, uint64_t type)
{
    MPI_Datatype made;
    struct type_span span;

    if (type == 0) {
        return bytes;
    }
    made = type_of(type);
    span = type_span(made, elements(made, bytes));
    MPI_Type_free(&made);
    return (size_t)span.bytes;
}

void placed_create(struct harness *h, struct placed *placed, enum gpufifo_memory kind, size_t bytes, uint64_t type)
{
    *placed = (struct placed){.type = MPI_BYTE, .count = (int)bytes, .bytes = bytes};
    if (type != 0) {
        struct type_span span;

        placed->type = type_of(type);
        placed->count = elements(placed->type, bytes);
        span = type_span(placed->type, placed->count);
        placed->bytes = (size_t)span.bytes;
        placed->before = (size_t)span.before;
        bytes = (size_t)(span.before + span.behind);
    }
    buffer_create(h, &placed->buffer, kind, bytes, 0);
}

void placed_destroy(struct placed *placed, const char *what)
{
    buffer_destroy(&placed->buffer, what);
    if (placed->type != MPI_BYTE) {
        MPI_Type_free(&placed->type);
    }
}

/* For each byte of data its place in the buffer; the caller frees it. */
static size_t *places_of(const struct placed *placed)
{
    struct harness *h = placed->buffer.h;
    size_t *places = host_alloc(h, placed->bytes * sizeof *places), all = placed->buffer.bytes;
    unsigned char *numbers = host_alloc(h, all), *packed = host_alloc(h, placed->bytes);

    memset(places, 0, placed->bytes * sizeof *places);
    for (int byte = 0; byte < 3; byte++) {
        int position = 0;

        for (size_t i = 0; i < all; i++) {
            numbers[i] = (unsigned char)(i >> 8 * byte);
        }
        MPI_Pack(numbers + placed->before, placed->count, placed->type, packed, (int)placed->bytes, &position, MPI_COMM_SELF);
        for (size_t i = 0; i < placed->bytes; i++) {
            places[i] |= (size_t)packed[i] << 8 * byte;
        }
    }
    free(packed);
    free(numbers);
    return places;
}

/* The buffer with the first `bytes` of a message in it, and nothing else. */
static unsigned char *picture(const struct placed *placed, size_t bytes, int rank, unsigned seed)
{
    unsigned char *all = host_alloc(placed->buffer.h, placed->buffer.bytes);
    size_t *places = placed->type == MPI_BYTE ? NULL : places_of(placed);

    memset(all, BUFFER_UNTOUCHED, placed->buffer.bytes);
    for (size_t i = 0; i < bytes; i++) {
        all[places ? places[i] : i] = message_byte(rank, seed, i);
    }
    free(places);
    return all;
}

void placed_write(struct placed *placed, int rank, unsigned seed)
{
    unsigned char *all = picture(placed, placed->bytes, rank, seed);

    buffer_write(&placed->buffer, all);
    free(all);
}

bool placed_holds(const struct placed *placed, size_t bytes, int rank, unsigned seed)
{
    unsigned char *should = picture(placed, bytes, rank, seed), *is = host_alloc(placed->buffer.h, placed->buffer.bytes);
    bool same;

    buffer_read(&placed->buffer, is);
    same = memcmp(is, should, placed->buffer.bytes) == 0;
    free(is);
    free(should);
    return same;
}

void placed_check(struct harness *h, struct placed *placed, size_t bytes, int rank, unsigned seed, const char *what)
{
    unsigned char *should = picture(placed, bytes, rank, seed), *is = host_alloc(h, placed->buffer.bytes);
    size_t i = 0;

    buffer_read(&placed->buffer, is);
    while (i < placed->buffer.bytes && is[i] == should[i]) {
        i++;
    }
    harness_check(h, i == placed->buffer.bytes, "%s: byte %zu of %zu (%zu received) is 0x%02x", what, i, placed->buffer.bytes,
                  bytes, i < placed->buffer.bytes ? is[i] : 0);
    free(is);
    free(should);
}
