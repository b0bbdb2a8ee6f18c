/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Point-to-point with device buffers: derived datatypes at either end.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/pt2pt_buffers.h"

enum { TAG = 11, ELEMENTS = 40, SPAN = 1 << 16, TYPES = 8 };

/* All of them fit ELEMENTS times into SPAN bytes from ORIGIN on, be their extent positive or not. */
enum { ORIGIN = SPAN / 2 };

static MPI_Datatype resized(MPI_Datatype inner, MPI_Aint extent)
{
    MPI_Datatype type;

    MPI_Type_create_resized(inner, 0, extent, &type);
    MPI_Type_free(&inner);
    return type;
}

/* Each has 24 bytes of data an element. */
static MPI_Datatype make_type(int which)
{
    static const int lengths[] = {3, 1, 20}, offsets[] = {48, 2, 21}, units[] = {2, 1};
    static const MPI_Aint places[] = {64, 0};
    static const MPI_Datatype members[] = {MPI_DOUBLE, MPI_INT64_T};
    MPI_Datatype type, row;

    switch (which) {
    case 0: MPI_Type_contiguous(24, MPI_BYTE, &type); break;
    case 1: MPI_Type_vector(3, 1, 5, MPI_DOUBLE, &type); break;
    case 2: MPI_Type_vector(3, 8, 40, MPI_BYTE, &type); type = resized(type, 200); break;
    case 3: MPI_Type_indexed(3, (const int[]){1, 1, 1}, (const int[]){9, 3, 0}, MPI_DOUBLE, &type); break;
    case 4: MPI_Type_create_struct(2, units, places, members, &type); type = resized(type, 96); break;
    case 5: MPI_Type_indexed(3, lengths, offsets, MPI_BYTE, &type); break;
    case 6: MPI_Type_vector(3, 1, -2, MPI_DOUBLE, &type); break;
    default:
        MPI_Type_vector(2, 1, 3, MPI_FLOAT, &row);
        MPI_Type_create_hvector(3, 1, -64, row, &type);
        MPI_Type_free(&row);
        type = resized(type, -256);
        break;
    }
    MPI_Type_commit(&type);
    return type;
}

/* What MPI itself makes of the type on host memory is the truth. */
static void expect(const struct ends *e, MPI_Datatype type, int received, unsigned seed, unsigned char *span)
{
    int bytes = received, position = 0, size, whole;
    unsigned char *packed = host_alloc(e->h, (size_t)bytes);

    MPI_Type_size(type, &size);
    whole = received / size;
    for (int i = 0; i < bytes; i++) {
        packed[i] = message_byte(e->previous, seed, (size_t)i);
    }
    memset(span, 0xEE, SPAN);
    MPI_Unpack(packed, bytes, &position, span + ORIGIN, whole, type, MPI_COMM_WORLD);
    free(packed);
}

/* The sender's buffer, so that packing it gives the message. */
static void lay_out(const struct ends *e, struct buffer *buffer, MPI_Datatype type, int elements, unsigned seed)
{
    struct ends mine = *e;
    unsigned char *span = host_alloc(e->h, SPAN);
    int size;

    MPI_Type_size(type, &size);
    mine.previous = e->h->rank;
    expect(&mine, type, elements * size, seed, span);
    buffer_create(e->h, buffer, e->from, SPAN, 0);
    buffer_write(buffer, span);
    free(span);
}

static void compare(const struct ends *e, struct buffer *buffer, MPI_Datatype type, int received, unsigned seed)
{
    unsigned char *is = host_alloc(e->h, SPAN), *should = host_alloc(e->h, SPAN);

    expect(e, type, received, seed, should);
    buffer_read(buffer, is);
    harness_check(e->h, memcmp(is, should, SPAN) == 0, "%s: seed %u, %d bytes: not laid out as on the host", e->name, seed,
                  received);
    buffer_destroy(buffer, e->name);
    free(is);
    free(should);
}

static void exchange(const struct ends *e, int from_type, int to_type, int sent, int room, unsigned seed)
{
    MPI_Datatype types[2] = {make_type(from_type), make_type(to_type)};
    struct buffer from, to;
    MPI_Request requests[2];
    MPI_Status status;
    int elements = -1;

    lay_out(e, &from, types[0], sent, seed);
    buffer_create(e->h, &to, e->to, SPAN, 0);
    MPI_Irecv(to.data + ORIGIN, room, types[1], e->previous, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from.data + ORIGIN, sent, types[0], e->next, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&types[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Get_count(&status, types[1], &elements);
    harness_check(e->h, elements == sent, "%s: types %d and %d: %d elements", e->name, from_type, to_type, elements);
    compare(e, &to, types[1], sent * 24, seed);
    buffer_destroy(&from, e->name);
    MPI_Type_free(&types[1]);
}

static void all_types(const struct ends *e)
{
    for (int from = 0; from < TYPES; from++) {
        for (int to = 0; to < TYPES; to++) {
            exchange(e, from, to, ELEMENTS, ELEMENTS, (unsigned)(from * TYPES + to));
        }
        exchange(e, from, from, 1, 1, 1);
    }
}

/* Room for more than what comes: only what came is written. */
static void short_messages(const struct ends *e)
{
    for (int to = 0; to < TYPES; to++) {
        exchange(e, (to + 3) % TYPES, to, ELEMENTS / 3, ELEMENTS, (unsigned)to);
        exchange(e, to, to, 1, ELEMENTS, (unsigned)to);
    }
}

/* Elements of a type with gaps, exchanged in place; an error of the arguments is MPI's to report. */
static void in_place(const struct ends *e)
{
    int class;

    for (int which = 0; which < TYPES; which++) {
        MPI_Datatype type = make_type(which);
        struct buffer both;

        lay_out(e, &both, type, ELEMENTS, (unsigned)which);
        MPI_Sendrecv_replace(both.data + ORIGIN, ELEMENTS, type, e->next, TAG, e->previous, TAG, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
        compare(e, &both, type, ELEMENTS * 24, (unsigned)which);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Error_class(MPI_Sendrecv_replace(NULL, 1, type, e->h->ranks, TAG, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class);
        harness_check(e->h, class == MPI_ERR_RANK || class == MPI_ERR_BUFFER, "%s: class %d", e->name, class);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Type_free(&type);
    }
}

/* The address is MPI_BOTTOM, the type has the buffer's address. */
static void absolute(const struct ends *e)
{
    MPI_Datatype types[2];
    struct buffer from, to;
    MPI_Request request;

    message_create(e, &from, 3000, 9);
    landing_create(e, &to, 3000);
    for (int i = 0; i < 2; i++) {
        MPI_Aint address;
        MPI_Get_address(i ? to.data : from.data, &address);
        MPI_Type_create_hindexed(1, (const int[]){3000}, &address, MPI_BYTE, &types[i]);
        MPI_Type_commit(&types[i]);
    }
    MPI_Irecv(MPI_BOTTOM, 1, types[1], e->previous, TAG, MPI_COMM_WORLD, &request);
    MPI_Type_free(&types[1]);
    MPI_Send(MPI_BOTTOM, 1, types[0], e->next, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&types[0]);
    landing_check(e, &to, 3000, e->previous, 9);
    buffer_destroy(&from, e->name);
}

/* One message of data in host memory and on the device. Persistent, so that each start finds it again. heap: the lowest is in
 * host memory; else on the device. */
static void mix(const struct ends *e, bool heap)
{
    enum { PARTS = 3, PART = 3000 };
    static const enum gpufifo_memory kinds[PARTS] = {GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_DEVICE};
    struct buffer parts[2][PARTS];
    char high[2][16] = {"on the stack", ""};
    MPI_Datatype types[2];
    MPI_Request requests[2];
    int first = heap ? 0 : 1;

    for (int side = 0; side < 2; side++) {
        MPI_Aint places[PARTS + 1];
        for (int i = first; i < PARTS; i++) {
            struct ends part = *e;
            part.from = part.to = kinds[i];
            if (side == 0) {
                message_create(&part, &parts[side][i], PART, i);
            } else {
                landing_create(&part, &parts[side][i], PART);
            }
            MPI_Get_address(parts[side][i].data, &places[i]);
        }
        MPI_Get_address(high[side], &places[PARTS]);
        MPI_Type_create_hindexed(PARTS + 1 - first, (const int[]){PART, PART, PART, sizeof high[side]} + first, places + first,
                                 MPI_BYTE, &types[side]);
        MPI_Type_commit(&types[side]);
    }
    MPI_Recv_init(MPI_BOTTOM, 1, types[1], e->previous, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(MPI_BOTTOM, 1, types[0], e->next, TAG, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    harness_check(e->h, memcmp(high[0], high[1], sizeof high[0]) == 0, "%s: \"%.16s\" arrived", e->name, high[1]);
    for (int i = first; i < PARTS; i++) {
        landing_check(e, &parts[1][i], PART, e->previous, i);
        buffer_destroy(&parts[0][i], e->name);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&requests[i]);
        MPI_Type_free(&types[i]);
    }
}

static void mixed_memory(const struct ends *e)
{
    mix(e, true);
    mix(e, false);
}

static const struct ends_test tests[] = {
    {"types", all_types},          {"short messages", short_messages}, {"in place", in_place},
    {"absolute addresses", absolute}, {"mixed memory", mixed_memory},
};

int main(int argc, char **argv)
{
    struct harness h;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    ends_run(&h, tests, sizeof tests / sizeof tests[0], ends_device_host, ENDS_DEVICE_HOST);
    return harness_finish(&h);
}
