/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions in the order of the ranks (coll_gpufifo_deterministic): to the bit what a loop over the ranks gives, whole and in
 * pieces, again and again. The runner forces algorithms and transports, so it shows that none can be told from the result.
 *
 * Usage: test_order [path=NAME[,NAME]] [host=RANK] PART...   with the parts allreduce, others, own
 * host: this rank's buffers are host memory
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/paths.h"
#include "tests/mpi/harness.h"

enum { ROUNDS = 4 };       /* from the third call on buffers may be mapped */

/* The world of one program. */
struct order {
    struct harness *h;
    enum gpufifo_memory kind;
    struct buffer send, recv;
    float *mine, *wanted, *got;
    size_t count;
};

/* Numbers that round: element i of a rank. */
static float value(int rank, size_t i)
{
    uint64_t x = ((uint64_t)rank << 40 | i) * 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
    return (float)(int32_t)(x >> 32) / (float)((x & 0xffff) + 3);
}

/* Of ranks [0, end). */
static float sum(int end, size_t i)
{
    float result = value(0, i);

    for (int rank = 1; rank < end; rank++) {
        result += value(rank, i);
    }
    return result;
}

static void begin(struct order *o, struct harness *h, enum gpufifo_memory kind, size_t count)
{
    *o = (struct order){ .h = h, .kind = kind, .count = count };
    o->mine = host_alloc(h, count * sizeof(float));
    o->wanted = host_alloc(h, count * sizeof(float));
    o->got = host_alloc(h, count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        o->mine[i] = value(h->rank, i);
        o->wanted[i] = sum(h->ranks, i);
    }
    buffer_create(h, &o->send, kind, count * sizeof(float), 0);
    buffer_create(h, &o->recv, kind, count * sizeof(float), 0);
    buffer_write(&o->send, o->mine);
}

static void end(struct order *o, const char *what)
{
    buffer_destroy(&o->send, what);
    buffer_destroy(&o->recv, what);
    free(o->mine);
    free(o->wanted);
    free(o->got);
}

/* Elements [first, first + count) of the receive buffer are those of `wanted` from `from` on. */
static void check(struct order *o, size_t first, size_t count, const float *wanted, const char *what)
{
    buffer_read(&o->recv, o->got);
    harness_check(o->h, memcmp(o->got + first, wanted, count * sizeof(float)) == 0, "%s of %zu: other bits than rank by rank",
                  what, o->count);
}

static void call_in_parts(struct order *o, bool in_place, size_t part)
{
    for (size_t at = 0; at < o->count; at += part) {
        size_t count = o->count - at < part ? o->count - at : part;

        MPI_Allreduce(in_place ? MPI_IN_PLACE : o->send.data + at * sizeof(float), o->recv.data + at * sizeof(float), (int)count,
                      MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void check_allreduce(struct harness *h, enum gpufifo_memory kind)
{
    static const size_t counts[] = { 1, 3, 1000, 20011, 150001 };
    struct order o;

    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        begin(&o, h, kind, counts[c]);
        for (int round = 0; round < ROUNDS; round++) {
            call_in_parts(&o, false, o.count);
            check(&o, 0, o.count, o.wanted, "allreduce");
        }
        call_in_parts(&o, false, o.count / 3 + 1);
        check(&o, 0, o.count, o.wanted, "allreduce in parts");
        buffer_write(&o.recv, o.mine);
        call_in_parts(&o, true, o.count);
        check(&o, 0, o.count, o.wanted, "allreduce in place");
        end(&o, "allreduce");
    }
}

static void check_scans(struct order *o)
{
    int rank = o->h->rank;

    MPI_Scan(o->send.data, o->recv.data, (int)o->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; i < o->count; i++) {
        o->wanted[i] = sum(rank + 1, i);
    }
    check(o, 0, o->count, o->wanted, "scan");
    buffer_write(&o->recv, o->mine);
    MPI_Exscan(MPI_IN_PLACE, o->recv.data, (int)o->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; i < o->count; i++) {
        o->wanted[i] = rank > 0 ? sum(rank, i) : o->mine[i];
    }
    check(o, 0, o->count, o->wanted, "exscan in place");
}

/* Shares of 0, 1, 2 … parts of the data. */
static void check_scatters(struct order *o)
{
    int ranks = o->h->ranks, rank = o->h->rank, unit = (int)o->count / (ranks * ranks);
    int *counts = host_alloc(o->h, (size_t)ranks * sizeof(int));
    size_t before = 0;

    for (int r = 0; r < ranks; r++) {
        counts[r] = r * unit;
        before += r < rank ? (size_t)counts[r] : 0;
    }
    MPI_Reduce_scatter(o->send.data, o->recv.data, counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check(o, 0, (size_t)counts[rank], o->wanted + before, "reduce_scatter");
    buffer_write(&o->recv, o->mine);
    MPI_Reduce_scatter(MPI_IN_PLACE, o->recv.data, counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check(o, 0, (size_t)counts[rank], o->wanted + before, "reduce_scatter in place");
    MPI_Reduce_scatter_block(o->send.data, o->recv.data, unit, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check(o, 0, (size_t)unit, o->wanted + (size_t)rank * (size_t)unit, "reduce_scatter_block");
    free(counts);
}

static void check_others(struct harness *h, enum gpufifo_memory kind)
{
    static const size_t counts[] = { 101, 600011 };
    struct order o;

    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        begin(&o, h, kind, counts[c]);
        for (int which = 0; which < 2; which++) {
            int root = which ? h->ranks - 1 : 0;
            bool here = h->rank == root;

            buffer_write(&o.recv, o.mine);
            MPI_Reduce(here && which ? MPI_IN_PLACE : o.send.data, o.recv.data, (int)o.count, MPI_FLOAT, MPI_SUM, root,
                       MPI_COMM_WORLD);
            check(&o, 0, o.count, here ? o.wanted : o.mine, "reduce");
        }
        check_scatters(&o);
        check_scans(&o);
        end(&o, "others");
    }
}

/* Neither commutative nor associative; on triples. */
static void halve_and_add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const float *left = in;
    float *right = inout;

    (void)type;
    for (int i = 0; i < 3 * *count; i++) {
        right[i] = left[i] * 0.5f + right[i];
    }
}

static void check_own(struct harness *h, enum gpufifo_memory kind)
{
    struct order o;
    MPI_Datatype triple;
    MPI_Op op;

    MPI_Type_contiguous(3, MPI_FLOAT, &triple);
    MPI_Type_commit(&triple);
    MPI_Op_create(halve_and_add, 0, &op);
    begin(&o, h, kind, 3 * 5003);
    for (size_t i = 0; i < o.count; i++) {
        o.wanted[i] = value(0, i);
        for (int rank = 1; rank < h->ranks; rank++) {
            o.wanted[i] = o.wanted[i] * 0.5f + value(rank, i);
        }
    }
    MPI_Allreduce(o.send.data, o.recv.data, (int)o.count / 3, triple, op, MPI_COMM_WORLD);
    check(&o, 0, o.count, o.wanted, "an operation of the program's own");
    end(&o, "own");
    MPI_Op_free(&op);
    MPI_Type_free(&triple);
}

int main(int argc, char **argv)
{
    struct harness h;
    struct paths_counters counters;
    enum gpufifo_memory kind = GPUFIFO_MEMORY_DEVICE;
    const char *path = NULL;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    paths_open(&counters);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "path=", 5) == 0) {
            path = argv[i] + 5;
        } else if (strncmp(argv[i], "host=", 5) == 0) {
            kind = atoi(argv[i] + 5) == h.rank ? GPUFIFO_MEMORY_HOST : GPUFIFO_MEMORY_DEVICE;
        } else if (strcmp(argv[i], "allreduce") == 0) {
            check_allreduce(&h, kind);
        } else if (strcmp(argv[i], "others") == 0) {
            check_others(&h, kind);
        } else if (strcmp(argv[i], "own") == 0) {
            check_own(&h, kind);
        } else {
            harness_check(&h, false, "there is no part \"%s\": allreduce, others, own", argv[i]);
        }
    }
    if (path) {
        harness_check_path(&h, path, &counters);
    }
    paths_close(&counters);
    return harness_finish(&h);
}
