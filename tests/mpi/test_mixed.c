/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Some ranks pass host memory and some device memory in one call, and host and device calls follow one another on one
 * communicator: every mixture must be right (cases 3 and 27).
 *
 * Usage: test_mixed [SEED]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/values.h"

enum { MOST_MASKS = 16 };

/* Where the buffers of this rank are. */
struct place {
    enum gpufifo_memory send, recv;
};

static enum gpufifo_memory kind_of(bool device)
{
    return device ? GPUFIFO_MEMORY_DEVICE : GPUFIFO_MEMORY_HOST;
}

static void check_allreduce(struct harness *h, struct place place, size_t count, bool in_place, uint64_t seed, const char *what)
{
    const struct test_type *type = test_type_find("MPI_FLOAT");
    const struct test_op *op = test_op_find("MPI_SUM");
    size_t bytes = count * type->bytes;
    float *mine = host_alloc(h, bytes), *expected = host_alloc(h, bytes), *got = host_alloc(h, bytes);
    struct buffer send, recv;

    values_fill(type, op, h->rank, h->ranks, seed, count, mine);
    values_expect(h, type, op, h->ranks, h->ranks, seed, count, expected);
    buffer_create(h, &send, place.send, bytes, 0);
    buffer_create(h, &recv, place.recv, bytes, 0);
    buffer_write(in_place ? &recv : &send, mine);
    MPI_Allreduce(in_place ? MPI_IN_PLACE : send.data, recv.data, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    buffer_read(&recv, got);
    size_t at = values_differ(type, got, expected, count);
    harness_check(h, at == count, "%s: allreduce of %zu floats%s: element %zu is wrong", what, count,
                  in_place ? " in place" : "", at);
    buffer_destroy(&send, what);
    buffer_destroy(&recv, what);
    free(mine);
    free(expected);
    free(got);
}

static void check_bcast(struct harness *h, enum gpufifo_memory kind, int root, const char *what)
{
    enum { COUNT = 777 };
    int numbers[COUNT];
    struct buffer data;
    long wrong = 0;

    for (int i = 0; i < COUNT; i++) {
        numbers[i] = h->rank * 1000000 + i;
    }
    buffer_create(h, &data, kind, sizeof numbers, 0);
    buffer_write(&data, numbers);
    MPI_Bcast(data.data, COUNT, MPI_INT, root, MPI_COMM_WORLD);
    buffer_read(&data, numbers);
    for (int i = 0; i < COUNT; i++) {
        wrong += numbers[i] != root * 1000000 + i;
    }
    harness_check(h, wrong == 0, "%s: bcast from %d: %ld numbers are wrong", what, root, wrong);
    buffer_destroy(&data, what);
}

static void check_allgather(struct harness *h, struct place place, const char *what)
{
    int *all = host_alloc(h, h->ranks * sizeof *all), mine = 10 + h->rank;
    struct buffer send, recv;

    buffer_create(h, &send, place.send, sizeof mine, 0);
    buffer_create(h, &recv, place.recv, h->ranks * sizeof mine, 0);
    buffer_write(&send, &mine);
    MPI_Allgather(send.data, 1, MPI_INT, recv.data, 1, MPI_INT, MPI_COMM_WORLD);
    buffer_read(&recv, all);
    for (int rank = 0; rank < h->ranks; rank++) {
        harness_check(h, all[rank] == 10 + rank, "%s: allgather: wrong part of rank %d", what, rank);
    }
    buffer_destroy(&send, what);
    buffer_destroy(&recv, what);
    free(all);
}

/* Bit r of a mask: rank r has its buffer on the device. All masks for few ranks, random ones for many. */
static void check_masks(struct harness *h, uint64_t seed)
{
    static const size_t counts[] = { 1, 100, 100000 };
    int masks = h->ranks <= 4 ? 1 << h->ranks : MOST_MASKS;
    uint64_t state = seed;

    for (int i = 0; i < masks; i++) {
        unsigned bits = (unsigned)random_next(&state), sends = h->ranks <= 4 ? (unsigned)i : bits, recvs = bits >> 16;
        struct place place = { kind_of(sends >> h->rank & 1), kind_of(recvs >> h->rank & 1) };
        char what[80];

        snprintf(what, sizeof what, "device send mask %x, receive mask %x", sends & ((1u << h->ranks) - 1),
                 recvs & ((1u << h->ranks) - 1));
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            check_allreduce(h, place, counts[c], false, seed + c, what);
            check_allreduce(h, place, counts[c], true, seed + c, what);
        }
        check_bcast(h, place.send, i % h->ranks, what);
        check_allgather(h, place, what);
    }
}

/* Case 27: device and host calls one after the other on the same communicator, in an order that all ranks share. */
static void check_alternation(struct harness *h, uint64_t seed)
{
    const struct place device = { GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_DEVICE };
    const struct place host = { GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_HOST };
    uint64_t state = seed;

    for (int round = 0; round < 50; round++) {
        uint64_t bits = random_next(&state);      /* the same on all ranks */
        switch (bits % 4) {
        case 0: check_bcast(h, GPUFIFO_MEMORY_HOST, bits / 8 % h->ranks, "host bcast between device calls"); break;
        case 1: check_allreduce(h, host, 1 + bits / 8 % 1000, bits / 4 % 2, bits, "host allreduce"); break;
        case 2: check_bcast(h, GPUFIFO_MEMORY_DEVICE, bits / 8 % h->ranks, "device bcast between host calls"); break;
        default: check_allreduce(h, device, 1 + bits / 8 % 100000, bits / 4 % 2, bits, "device allreduce"); break;
        }
    }
}

int main(int argc, char **argv)
{
    struct harness h;
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    if (h.rank == 0) {
        printf("test_mixed: seed %llu\n", (unsigned long long)seed);
    }
    check_alternation(&h, seed);
    check_masks(&h, seed);
    check_alternation(&h, seed + 1);
    return harness_finish(&h);
}
