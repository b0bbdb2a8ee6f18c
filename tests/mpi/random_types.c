/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each constructor puts elements of an inner type at places that do not meet: multiples of its extent, which is kept at least as
 * large as what its data span.
 */
#include "tests/mpi/random_types.h"

#include <stdbool.h>
#include <stdlib.h>

#include "tests/mpi/values.h"

enum { DEEPEST = 4, PLACES = 6, SPREAD = 8 };

struct shape {
    MPI_Aint lb, extent, true_lb, true_extent, step;     /* step: the extent's amount */
};

static int below(uint64_t *state, int n)
{
    return (int)(random_next(state) % (uint64_t)n);
}

static struct shape shape_of(MPI_Datatype type)
{
    struct shape shape;

    MPI_Type_get_extent(type, &shape.lb, &shape.extent);
    MPI_Type_get_true_extent(type, &shape.true_lb, &shape.true_extent);
    shape.step = labs(shape.extent);
    return shape;
}

/* `count` different numbers below 2 * count, in any order. */
static void pick(uint64_t *state, int *numbers, int count)
{
    bool shuffled = below(state, 2);

    for (int i = 0, next = 0; i < count; i++, next++) {
        next += below(state, 2) && next < count + i;
        numbers[i] = next;
    }
    for (int i = count - 1; i > 0 && shuffled; i--) {
        int other = below(state, i + 1), kept = numbers[i];

        numbers[i] = numbers[other];
        numbers[other] = kept;
    }
}

/* `only`, or if that is null any. */
static MPI_Datatype basic_type(uint64_t *state, MPI_Datatype only)
{
    static const struct { MPI_Datatype type; } types[] = {
        {MPI_BYTE}, {MPI_SHORT}, {MPI_INT}, {MPI_DOUBLE}, {MPI_DOUBLE}, {MPI_C_DOUBLE_COMPLEX}, {MPI_DOUBLE_INT}, {MPI_SHORT_INT},
    };
    MPI_Datatype type;

    MPI_Type_dup(only != MPI_DATATYPE_NULL ? only : types[below(state, sizeof types / sizeof *types)].type, &type);
    return type;
}

/* Blocks of different lengths, each in a slot of its own that has room for the longest. */
static MPI_Datatype indexed(uint64_t *state, MPI_Datatype inner, bool bytes)
{
    struct shape shape = shape_of(inner);
    int count = 1 + below(state, PLACES), slots[PLACES], lengths[PLACES], places[PLACES], longest = 1 + below(state, 4);
    MPI_Aint offsets[PLACES], odd = below(state, 9);
    MPI_Datatype type;

    pick(state, slots, count);
    for (int i = 0; i < count; i++) {
        lengths[i] = 1 + below(state, longest);
        places[i] = (slots[i] - count) * longest;
        offsets[i] = places[i] * shape.step + slots[i] * odd;
    }
    if (bytes) {
        MPI_Type_create_hindexed(count, lengths, offsets, inner, &type);
    } else {
        MPI_Type_indexed(count, lengths, places, inner, &type);
    }
    return type;
}

static MPI_Datatype structure(uint64_t *state, MPI_Datatype first, MPI_Datatype only)
{
    MPI_Datatype inner[3] = {first, basic_type(state, only), basic_type(state, only)}, type;
    int count = 1 + below(state, 3), lengths[3];
    MPI_Aint offsets[3], end = 0;

    for (int i = 0; i < count; i++) {
        struct shape shape = shape_of(inner[i]);
        MPI_Aint last;

        lengths[i] = 1 + below(state, 3);
        last = (lengths[i] - 1) * shape.extent;
        offsets[i] = end + below(state, 9) - (shape.true_lb + (last < 0 ? last : 0));
        end = offsets[i] + shape.true_lb + shape.true_extent + (last > 0 ? last : 0);
    }
    MPI_Type_create_struct(count, lengths, offsets, inner, &type);
    MPI_Type_free(&inner[1]);
    MPI_Type_free(&inner[2]);
    return type;
}

static MPI_Datatype subarray(uint64_t *state, MPI_Datatype inner)
{
    int dims = 1 + below(state, 3), sizes[3], parts[3], starts[3];
    MPI_Datatype type;

    for (int d = 0; d < dims; d++) {
        sizes[d] = 1 + below(state, 4);
        parts[d] = 1 + below(state, sizes[d]);
        starts[d] = below(state, sizes[d] - parts[d] + 1);
    }
    MPI_Type_create_subarray(dims, sizes, parts, starts, below(state, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner, &type);
    return type;
}

static MPI_Datatype construct(uint64_t *state, MPI_Datatype inner, MPI_Datatype only)
{
    struct shape shape = shape_of(inner);
    int count = 1 + below(state, PLACES), length = 1 + below(state, 3);
    int stride = (length + below(state, 4)) * (below(state, 2) ? 1 : -1);
    int places[PLACES];
    MPI_Datatype type;

    switch (below(state, 8)) {
    case 0: MPI_Type_contiguous(count, inner, &type); break;
    case 1: MPI_Type_vector(count, length, stride, inner, &type); break;
    case 2: MPI_Type_create_hvector(count, length, stride * shape.step + (stride > 0 ? 3 : -3), inner, &type); break;
    case 3: type = indexed(state, inner, false); break;
    case 4: type = indexed(state, inner, true); break;
    case 5:
        pick(state, places, count);
        for (int i = 0; i < count; i++) {
            places[i] *= length;
        }
        MPI_Type_create_indexed_block(count, length, places, inner, &type);
        break;
    case 6: type = structure(state, inner, only); break;
    default: type = subarray(state, inner); break;
    }
    return type;
}

/* What follows must not meet it; now and then it is moved further apart, or the other way round. */
static MPI_Datatype spaced(uint64_t *state, MPI_Datatype inner)
{
    struct shape shape = shape_of(inner);
    MPI_Aint extent = shape.true_extent + below(state, 20);
    MPI_Datatype type;

    if (shape.step >= shape.true_extent && below(state, 3)) {
        return inner;
    }
    MPI_Type_create_resized(inner, shape.true_lb + below(state, 9) - 4, below(state, 3) ? extent : -extent, &type);
    MPI_Type_free(&inner);
    return type;
}

MPI_Datatype random_type_of(uint64_t *state, MPI_Datatype only, int most)
{
    MPI_Datatype type = spaced(state, basic_type(state, only));

    for (int depth = below(state, DEEPEST) + 1; depth > 0; depth--) {
        MPI_Datatype outer = construct(state, type, only);
        int size;

        MPI_Type_size(outer, &size);
        if (size > most || shape_of(outer).true_extent > (MPI_Aint)SPREAD * most) {
            MPI_Type_free(&outer);
            break;
        }
        MPI_Type_free(&type);
        type = spaced(state, outer);
    }
    MPI_Type_commit(&type);
    return type;
}

MPI_Datatype random_type(uint64_t *state, int most)
{
    return random_type_of(state, MPI_DATATYPE_NULL, most);
}

struct type_span type_span(MPI_Datatype type, int count)
{
    struct shape shape = shape_of(type);
    MPI_Aint last = (count - 1) * shape.extent;
    MPI_Aint low = shape.true_lb + (last < 0 ? last : 0), high = shape.true_lb + shape.true_extent + (last > 0 ? last : 0);
    struct type_span span = {.before = low < 0 ? -low : 0, .behind = high > 0 ? high : 0};

    MPI_Type_size(type, &span.bytes);
    span.bytes *= count;
    return span;
}
