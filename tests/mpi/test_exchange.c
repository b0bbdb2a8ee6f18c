/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that move blocks, on device buffers, with counts, types, displacements, roots and buffers as random numbers
 * tell (exchange_call.h): every byte of both buffers must be as MPI says, also those that nobody writes.
 *
 * Usage: test_exchange [path=NAME] [rounds=N] [seed=N] [most=ELEMENTS] [form=0 | 1 (non-blocking) | 2 (persistent)] PART...
 * with the parts random (in buffers that stay), reuse (in buffers that come and go), communicators, disagree (which is an error),
 * empty (host buffers at all ranks but one, which has no data), neighbours (of topologies), refused (by strictness), failing (by
 * the fault setting, once at some rank at least)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/exchange_call.h"
#include "tests/mpi/parts.h"

/* Whoever may write what it has sent does so at once, in every other call: is anybody still fetching it? */
static void spoil(const struct exchange_source *t, const struct exchange_call *c, struct buffer *buffer, unsigned char *image)
{
    if (t->call % 2 == 0 && !c->send_in_place && (c->what != BCAST || c->root == t->rank)) {
        harness_need(t->h, gpufifo_fill(t->h->device, buffer->data, 0x77, buffer->bytes), "fill");
        memset(image, 0x77, buffer->bytes);
    }
}

/* What to pass for that buffer. Where none is used, anything will do. */
static void *pointer_to(struct exchange_source *t, const struct buffer *buffer, const struct exchange_side *side, bool in_place)
{
    if (in_place) {
        return MPI_IN_PLACE;
    }
    return side->elements == 0 && exchange_draw(&t->own, 2) ? NULL : buffer->data;
}

static void check_call(struct exchange_source *t, struct exchange_call *c, struct buffer *send, struct buffer *recv)
{
    unsigned char *sent = host_alloc(t->h, send->bytes), *image = host_alloc(t->h, recv->bytes);
    unsigned char *got = host_alloc(t->h, send->bytes > recv->bytes ? send->bytes : recv->bytes);
    bool one = exchange_has_one_buffer(c);

    exchange_fill_send(t, c, sent, send->bytes);
    buffer_write(send, sent);
    exchange_fill_recv(t, c, image, recv->bytes);
    buffer_write(recv, image);
    exchange_expect_recv(t, c, image);
    exchange_run(t, c, pointer_to(t, send, &c->send, c->send_in_place), pointer_to(t, recv, &c->recv, c->recv_in_place));
    spoil(t, c, one ? recv : send, one ? image : sent);
    buffer_read(recv, got);
    harness_check(t->h, memcmp(got, image, recv->bytes) == 0, "call %llu, %s%s of elements of %d bytes: wrong bytes",
                  (unsigned long long)t->call, exchange_name(c), c->send_in_place || c->recv_in_place ? " in place" : "",
                  c->size);
    buffer_read(send, got);
    harness_check(t->h, memcmp(got, sent, send->bytes) == 0, "call %llu, %s: the send buffer has changed",
                  (unsigned long long)t->call, exchange_name(c));
    free(sent);
    free(image);
    free(got);
}

/* A buffer that holds so many bytes: `keep` tells whether an old one may do. */
static void renew(struct exchange_source *t, struct buffer *buffer, size_t bytes, bool keep)
{
    if (buffer->data && (buffer->bytes < bytes || !keep)) {
        buffer_destroy(buffer, "exchange");
        buffer->data = NULL;
    }
    if (!buffer->data) {
        size_t more = 1 + (size_t)exchange_draw(&t->own, 100), offset = (size_t)exchange_draw(&t->own, 4) * 16;

        buffer_create(t->h, buffer, GPUFIFO_MEMORY_DEVICE, bytes + more, offset);
    }
}

static void check_rounds(struct exchange_source *t, int rounds, bool stay)
{
    struct buffer send = { 0 }, recv = { 0 };

    for (int round = 0; round < rounds; round++) {
        struct exchange_call c;

        exchange_draw_call(t, &c);
        renew(t, &send, (size_t)c.send.elements * (size_t)c.send.extent, stay || exchange_draw(&t->own, 3) > 0);
        renew(t, &recv, (size_t)c.recv.elements * (size_t)c.recv.extent, stay || exchange_draw(&t->own, 3) > 0);
        check_call(t, &c, &send, &recv);
    }
    if (send.data) {
        buffer_destroy(&send, "exchange");
        buffer_destroy(&recv, "exchange");
    }
}

/* A call in which all ranks have data: later ones in which some have none then know that the others may have device memory. */
static void show_device(struct exchange_source *t)
{
    struct buffer byte;

    buffer_create(t->h, &byte, GPUFIFO_MEMORY_DEVICE, 1, 0);
    MPI_Bcast(byte.data, 1, MPI_BYTE, 0, t->comm);
    buffer_destroy(&byte, "the first call");
}

/* A copy, and one in which rank 0 is alone and the others have changed places. */
static void check_communicators(struct exchange_source *t, int rounds)
{
    MPI_Comm comms[2];
    uint64_t common = t->common;

    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, t->h->rank == 0, -t->h->rank, &comms[1]);
    for (int i = 0; i < 4; i++) {
        exchange_enter(t, comms[i % 2]);
        t->common = common + (uint64_t)i;
        check_rounds(t, rounds / 4, false);
    }
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
    exchange_enter(t, MPI_COMM_WORLD);
}

/* A graph, as the ranks' common random numbers tell, whose edges each rank names in an order of its own. */
static void make_graph(struct exchange_source *t, MPI_Comm *graph)
{
    int from[EXCHANGE_PEERS], to[EXCHANGE_PEERS], sources = 0, targets = 0, start = exchange_draw(&t->own, t->ranks);
    int weights[EXCHANGE_PEERS] = { 0 };
    unsigned edges[EXCHANGE_PEERS];

    for (int r = 0; r < t->ranks; r++) {
        edges[r] = (unsigned)random_next(&t->common);
    }
    for (int i = 0; i < t->ranks; i++) {
        int other = (start + i) % t->ranks;

        if (edges[t->rank] >> other & 1) {
            to[targets++] = other;
        }
        if (edges[other] >> t->rank & 1) {
            from[sources++] = other;
        }
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sources, from, weights, targets, to, weights, MPI_INFO_NULL, 0, graph);
}

static void check_neighbours(struct exchange_source *t, int rounds)
{
    enum { TOPOLOGIES = 4 };
    int dimensions[2] = { 0, 0 }, ring[1] = { 1 }, open[2] = { 0, 0 }, index[EXCHANGE_PEERS], edges[2 * EXCHANGE_PEERS];
    MPI_Comm comms[TOPOLOGIES];

    for (int i = 0; i < t->ranks; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + t->ranks - 1) % t->ranks;
        edges[2 * i + 1] = (i + 1) % t->ranks;
    }
    MPI_Dims_create(t->ranks, 2, dimensions);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &t->ranks, ring, 0, &comms[0]);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, open, 0, &comms[1]);
    MPI_Graph_create(MPI_COMM_WORLD, t->ranks, index, edges, 0, &comms[2]);
    make_graph(t, &comms[3]);
    for (int i = 0; i < TOPOLOGIES; i++) {
        exchange_enter(t, comms[i]);
        show_device(t);
        check_rounds(t, rounds / TOPOLOGIES, false);
        MPI_Comm_free(&comms[i]);
    }
    exchange_enter(t, MPI_COMM_WORLD);
}

/* The root expects of the others more than they send. */
static void check_disagreement(struct exchange_source *t)
{
    struct buffer send, recv;

    buffer_create(t->h, &send, GPUFIFO_MEMORY_DEVICE, 44, 0);
    buffer_create(t->h, &recv, GPUFIFO_MEMORY_DEVICE, (size_t)t->ranks * 44, 0);
    MPI_Gather(send.data, t->rank == 0 ? 11 : 10, MPI_INT, recv.data, 11, MPI_INT, 0, t->comm);
    harness_check(t->h, false, "gather of 10 elements of each rank, of which 11 are expected: no error");
    buffer_destroy(&send, "disagree");
    buffer_destroy(&recv, "disagree");
}

/* In turn each rank has no data, and the others have host memory. */
static void check_empty(struct exchange_source *t)
{
    int counts[EXCHANGE_PEERS], at[EXCHANGE_PEERS], got[EXCHANGE_PEERS];

    for (int empty = 1; empty < t->ranks; empty++) {
        for (int r = 0; r < t->ranks; r++) {
            counts[r] = r != empty;
            at[r] = r;
            got[r] = -1;
        }
        MPI_Gatherv(counts[t->rank] ? &t->rank : NULL, counts[t->rank], MPI_INT, got, counts, at, MPI_INT, 0, t->comm);
        for (int r = 0; r < t->ranks && t->rank == 0; r++) {
            harness_check(t->h, got[r] == (r == empty ? -1 : r), "gather from hosts, of rank %d nothing: part %d", empty, r);
        }
    }
}

/* An error at each rank, none of which waits for another. */
static void check_refusal(struct exchange_source *t)
{
    enum { COUNT = 1 << 20 };
    struct buffer buffer;

    buffer_create(t->h, &buffer, GPUFIFO_MEMORY_DEVICE, COUNT * sizeof(int), 0);
    MPI_Comm_set_errhandler(t->comm, MPI_ERRORS_RETURN);
    harness_check(t->h, MPI_Bcast(buffer.data, COUNT, MPI_INT, 0, t->comm) != MPI_SUCCESS, "broadcast: no error");
    harness_check(t->h, MPI_Allreduce(MPI_IN_PLACE, buffer.data, COUNT, MPI_INT, MPI_SUM, t->comm) != MPI_SUCCESS,
                  "allreduce: no error");
    MPI_Comm_set_errhandler(t->comm, MPI_ERRORS_ARE_FATAL);
    buffer_destroy(&buffer, "refused");
}

/* Calls in which a fault shows; of each, `peer` is the block's. */
enum failing { ALLTOALL_IN_PLACE, ALLTOALL_WITH_GAPS, ALLGATHER_IN_PLACE, BCAST_OF_ALL, ALLREDUCE_IN_PLACE, FAILING_CALLS };
enum { FAILING_COUNT = 6000 };         /* elements of a block */

static int value_before(const struct exchange_source *t, enum failing what, int peer)
{
    return what <= ALLTOALL_WITH_GAPS ? 100 * t->rank + peer : what == ALLGATHER_IN_PLACE && peer != t->rank ? -1 : 7 * t->rank;
}

static int value_after(const struct exchange_source *t, enum failing what, int peer)
{
    return what <= ALLTOALL_WITH_GAPS    ? 100 * peer + t->rank
           : what == ALLGATHER_IN_PLACE  ? 7 * peer
           : what == BCAST_OF_ALL        ? 7 * (t->ranks - 1)
                                         : 7 * t->ranks * (t->ranks - 1) / 2;
}

static int call_failing(const struct exchange_source *t, enum failing what, void *data, MPI_Datatype gaps)
{
    switch (what) {
    case ALLTOALL_IN_PLACE:
        return MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, data, FAILING_COUNT, MPI_INT, t->comm);
    case ALLTOALL_WITH_GAPS:
        return MPI_Alltoall(MPI_IN_PLACE, 0, gaps, data, 1, gaps, t->comm);
    case ALLGATHER_IN_PLACE:
        return MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, data, FAILING_COUNT, MPI_INT, t->comm);
    case BCAST_OF_ALL:
        return MPI_Bcast(data, FAILING_COUNT * t->ranks, MPI_INT, t->ranks - 1, t->comm);
    default:
        return MPI_Allreduce(MPI_IN_PLACE, data, FAILING_COUNT * t->ranks, MPI_INT, MPI_SUM, t->comm);
    }
}

/* Whether it failed at this rank; if not, what came must be right. */
static bool check_failing_call(struct exchange_source *t, enum failing what, struct buffer *buffer, int *image,
                               MPI_Datatype gaps)
{
    for (int i = 0; i < FAILING_COUNT * t->ranks; i++) {
        image[i] = value_before(t, what, i / FAILING_COUNT);
    }
    buffer_write(buffer, image);
    bool failed = call_failing(t, what, buffer->data, gaps) != MPI_SUCCESS;

    buffer_read(buffer, image);
    for (int i = 0, right = 1; i < FAILING_COUNT * t->ranks && right && !failed; i += what == ALLTOALL_WITH_GAPS ? 2 : 1) {
        right = harness_check(t->h, image[i] == value_after(t, what, i / FAILING_COUNT),
                              "failing call %d: no error, but element %d is wrong", (int)what, i);
    }
    return failed;
}

/* No rank hangs; who is told of no error has the right data; and what follows goes well. */
static void check_failing(struct exchange_source *t, int rounds)
{
    int failed = 0, *image = host_alloc(t->h, sizeof *image * FAILING_COUNT * (size_t)t->ranks);
    MPI_Datatype vector, gaps;
    struct buffer buffer;

    MPI_Type_vector(FAILING_COUNT / 2, 1, 2, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, FAILING_COUNT * sizeof *image, &gaps);
    MPI_Type_commit(&gaps);
    buffer_create(t->h, &buffer, GPUFIFO_MEMORY_DEVICE, sizeof *image * FAILING_COUNT * (size_t)t->ranks, 0);
    MPI_Comm_set_errhandler(t->comm, MPI_ERRORS_RETURN);
    for (int what = 0; what < FAILING_CALLS; what++) {
        failed += check_failing_call(t, (enum failing)what, &buffer, image, gaps);
    }
    MPI_Comm_set_errhandler(t->comm, MPI_ERRORS_ARE_FATAL);
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, t->comm);
    harness_check(t->h, failed > 0, "no call has failed at any rank");
    buffer_destroy(&buffer, "failing");
    MPI_Type_free(&vector);
    MPI_Type_free(&gaps);
    free(image);
    check_rounds(t, rounds, true);
}

static void run_part(void *ctx, const char *part, const struct parts *parts)
{
    struct exchange_source *t = ctx;
    int rounds = parts->rounds;

    if (strcmp(part, "refused") == 0) {
        check_refusal(t);
        return;
    }
    show_device(t);
    if (strcmp(part, "random") == 0) {
        check_rounds(t, rounds, true);
    } else if (strcmp(part, "reuse") == 0) {
        check_rounds(t, rounds, false);
    } else if (strcmp(part, "communicators") == 0) {
        check_communicators(t, rounds);
    } else if (strcmp(part, "disagree") == 0) {
        check_disagreement(t);
    } else if (strcmp(part, "neighbours") == 0) {
        check_neighbours(t, rounds);
    } else if (strcmp(part, "empty") == 0) {
        check_empty(t);
    } else if (strcmp(part, "failing") == 0) {
        check_failing(t, rounds);
    } else {
        harness_check(t->h, false, "there is no part \"%s\": random, reuse, communicators, disagree, empty, neighbours, refused, "
                      "failing", part);
    }
}

static bool set(void *ctx, const char *name, uint64_t value)
{
    struct exchange_source *t = ctx;

    if (strcmp(name, "form") != 0 || value > EXCHANGE_PERSISTENT) {
        return false;
    }
    t->form = (enum exchange_form)value;
    return true;
}

int main(int argc, char **argv)
{
    struct harness h;
    struct exchange_source t = { .h = &h, .most = 3000 };
    struct parts parts = { .ctx = &t, .run = run_part, .set = set, .rounds = 150,
                           .common = &t.common, .own = &t.own, .most = &t.most };

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    harness_need(&h, h.ranks <= EXCHANGE_PEERS ? MPI_SUCCESS : MPI_ERR_ARG, "at most 16 ranks");
    exchange_make_types(&t);
    exchange_enter(&t, MPI_COMM_WORLD);
    parts_run(&h, argc, argv, &parts);
    exchange_free_types(&t);
    return harness_finish(&h);
}
