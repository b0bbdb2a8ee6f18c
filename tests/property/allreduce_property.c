/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random allreduces: communicators of random members, types, operations, counts, alignments, in place or not, now and then host
 * buffers on some ranks. Every rank draws the same numbers from the seed, so every rank knows what all the others do and what
 * must come out. A round that fails prints what it did; the same seed does it again.
 *
 * Usage: allreduce_property [--rounds N] [--seed N] [--bytes N]     N rounds of at most that many bytes
 */
#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/values.h"

enum { COMMUNICATORS = 3 };

/* One round, the same on all ranks but for what depends on h->rank. */
struct draw {
    const struct test_type *type;
    const struct test_op *op;
    int communicator;
    size_t count, offset;
    bool in_place;
    unsigned host_ranks;       /* bit r: rank r of MPI_COMM_WORLD has host buffers */
    uint64_t seed;
};

static size_t draw_count(uint64_t *state, size_t most)
{
    uint64_t bits = random_next(state);
    size_t below = (size_t)1 << bits % 24;      /* small counts as often as large ones */

    return (bits >> 8) % (below < most ? below : most + 1);
}

static struct draw draw_round(uint64_t *state, size_t bytes)
{
    const struct test_type *types;
    const struct test_op *ops;
    size_t type_count = test_types(&types), op_count = test_ops(&ops);
    struct draw d;

    do {
        d.type = &types[random_next(state) % type_count];
        d.op = &ops[random_next(state) % op_count];
    } while (!test_allowed(d.type, d.op));
    d.communicator = (int)(random_next(state) % COMMUNICATORS);
    d.count = draw_count(state, bytes / d.type->bytes);
    d.offset = random_next(state) % 5;
    d.in_place = random_next(state) % 2;
    d.host_ranks = random_next(state) % 4 ? 0 : (unsigned)random_next(state);
    d.seed = random_next(state);
    return d;
}

static void run_round(struct harness *h, const MPI_Comm *comms, long round, const struct draw *d)
{
    size_t bytes = d->count * d->type->bytes;
    enum gpufifo_memory kind = d->host_ranks >> h->rank & 1 ? GPUFIFO_MEMORY_HOST : GPUFIFO_MEMORY_DEVICE;
    char *mine = host_alloc(h, bytes), *expected = host_alloc(h, bytes), *got = host_alloc(h, bytes), what[160];
    struct buffer send, recv;
    MPI_Comm comm = comms[d->communicator];
    int rank, ranks;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    snprintf(what, sizeof what, "round %ld: %s %s x %zu + %zu on communicator %d, host ranks %x%s", round, d->op->name,
             d->type->name, d->count, d->offset, d->communicator, d->host_ranks & ((1u << h->ranks) - 1),
             d->in_place ? ", in place" : "");
    values_fill(d->type, d->op, rank, ranks, d->seed, d->count, mine);
    values_expect(h, d->type, d->op, ranks, ranks, d->seed, d->count, expected);
    buffer_create(h, &send, kind, bytes, d->offset * d->type->bytes);
    buffer_create(h, &recv, kind, bytes, d->offset * d->type->bytes);
    buffer_write(d->in_place ? &recv : &send, mine);
    int result = MPI_Allreduce(d->in_place ? MPI_IN_PLACE : send.data, recv.data, (int)d->count, d->type->type, d->op->op, comm);
    buffer_read(&recv, got);
    size_t at = values_differ(d->type, got, expected, d->count);
    harness_check(h, result == MPI_SUCCESS && at == d->count, "%s: result %d, element %zu is wrong", what, result, at);
    buffer_destroy(&send, what);
    buffer_destroy(&recv, what);
    free(mine);
    free(expected);
    free(got);
}

static long number(const char *name, const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (*end || end == text || value < 0) {
        fprintf(stderr, "allreduce_property: --%s takes a number, not \"%s\"\n", name, text);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    static const struct option known[] = { { "rounds", required_argument, NULL, 'r' }, { "seed", required_argument, NULL, 's' },
                                           { "bytes", required_argument, NULL, 'b' }, { NULL, 0, NULL, 0 } };
    struct harness h;
    long rounds = 200, seed = 1, bytes = 1 << 20;
    MPI_Comm comms[COMMUNICATORS] = { MPI_COMM_WORLD };
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'r': rounds = number("rounds", optarg); break;
        case 's': seed = number("seed", optarg); break;
        case 'b': bytes = number("bytes", optarg); break;
        default: return 2;
        }
    }
    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    if (h.rank == 0) {
        printf("allreduce_property: --seed %ld --rounds %ld --bytes %ld\n", seed, rounds, bytes);
        fflush(stdout);
    }
    uint64_t state = (uint64_t)seed;
    MPI_Comm_split(MPI_COMM_WORLD, (int)(random_next(&state) >> h.rank & 1), -h.rank, &comms[1]);      /* two, reversed order */
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]);
    for (long round = 0; round < rounds; round++) {
        struct draw d = draw_round(&state, (size_t)bytes);
        run_round(&h, comms, round, &d);
    }
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    return harness_finish(&h);
}
