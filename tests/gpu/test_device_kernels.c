/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All kernels on one device from one process: the ranks are streams, the connections are made by hand. No MPI and no second
 * process, so it runs with and without MPS and under compute-sanitizer. Results are compared with the plain scalar reference.
 *
 * Usage: test_device_kernels [cuda | emulated] [COUNT]     COUNT: elements of a reduction (default 1003)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "kernels/work.h"
#include "tests/unit/scalar.h"

enum { RANKS = 3, CHANNELS = 2, LL_SLOT = 4096, FIFO_SLOT = 1024, MOST_BYTES = 1 << 22,
       LL_BYTES = RANKS * 2 * LL_SLOT };

/* Where kernels cannot run at once (a tool that runs one after the other), they give up instead of waiting for ever. */
#define DEADLINE_NS 20000000000u

/* One rank's memory on the device; user addresses. Its FIFOs are those into which it receives. */
struct rank {
    gf_stream *stream;
    char *send, *recv;
    char *ll;                      /* slots of LL lines, LL_BYTES, then of LL128 lines, as many */
    char *fifo;                    /* CHANNELS × GF_FIFO_DEPTH × FIFO_SLOT, then a line of tails and sizes a channel */
    char *heads;                   /* a line a channel */
    char *flags;                   /* RANKS × GF_MAX_CHANNELS lines */
    struct gf_conn *conns;         /* CHANNELS to send, CHANNELS to receive */
    uint32_t *blocks_done;
    uint64_t *done;                /* pinned; beside it the error */
};

struct test {
    gf_device *device;
    struct rank rank[RANKS];
    uint32_t *abort;               /* pinned */
    uint64_t ticket;
    uint32_t epoch;
    size_t count;
    long checks, failures;
};

static void need(gf_status status, const char *what, const struct gf_reason *why)
{
    if (status != GF_OK) {
        fprintf(stderr, "test_device_kernels: %s: %s (%s)\n", what, gf_status_string(status), why ? why->text : "");
        exit(2);
    }
}

static void *kernel_address(struct test *t, const void *address)
{
    return gf_device_kernel_address(t->device, address);
}

static void *device_zeroed(struct test *t, size_t bytes)
{
    struct gf_reason why = { "" };
    void *address;

    need(gf_device_alloc(t->device, bytes, &address, &why), "alloc", &why);
    need(gf_device_fill(t->device, t->rank[0].stream, address, 0, bytes), "fill", NULL);
    need(gf_device_stream_sync(t->device, t->rank[0].stream), "sync", NULL);
    return address;
}

static void *pinned(struct test *t, size_t bytes)
{
    struct gf_reason why = { "" };
    void *address;

    need(gf_device_pinned_alloc(t->device, bytes, &address, &why), "pinned alloc", &why);
    return address;
}

static void copy(struct test *t, void *to, const void *from, size_t bytes)
{
    need(gf_device_copy(t->device, t->rank[0].stream, to, from, bytes), "copy", NULL);
    need(gf_device_stream_sync(t->device, t->rank[0].stream), "sync", NULL);
}

static void make_rank(struct test *t, int r)
{
    struct rank *m = &t->rank[r];

    m->send = device_zeroed(t, MOST_BYTES);
    m->recv = device_zeroed(t, MOST_BYTES);
    m->ll = device_zeroed(t, 2 * LL_BYTES);
    m->fifo = device_zeroed(t, CHANNELS * (GF_FIFO_DEPTH * FIFO_SLOT + GF_LINE));
    m->heads = device_zeroed(t, CHANNELS * GF_LINE);
    m->flags = device_zeroed(t, RANKS * GF_MAX_CHANNELS * GF_LINE);
    m->conns = device_zeroed(t, 2 * CHANNELS * sizeof *m->conns);
    m->blocks_done = device_zeroed(t, GF_LINE);
    m->done = pinned(t, GF_LINE);
}

/* The two ends of the FIFO from `sender` into `receiver`: the same words. */
static struct gf_conn make_conn(struct test *t, int sender, int receiver, int channel)
{
    char *fifo = kernel_address(t, t->rank[receiver].fifo);
    char *tail = fifo + CHANNELS * GF_FIFO_DEPTH * FIFO_SLOT + channel * GF_LINE;

    return (struct gf_conn){
        .head = (uint64_t *)((char *)kernel_address(t, t->rank[sender].heads) + channel * GF_LINE),
        .tail = (uint64_t *)tail,
        .size = (uint32_t *)(tail + GF_LINE / 2),
        .slots = fifo + channel * GF_FIFO_DEPTH * FIFO_SLOT,
        .slot_bytes = FIFO_SLOT,
    };
}

static void make_conns(struct test *t)
{
    for (int r = 0; r < RANKS; r++) {
        struct gf_conn conns[2 * CHANNELS];

        for (int c = 0; c < CHANNELS; c++) {
            conns[c] = make_conn(t, r, (r + 1) % RANKS, c);
            conns[CHANNELS + c] = make_conn(t, (r + RANKS - 1) % RANKS, r, c);
        }
        copy(t, t->rank[r].conns, conns, sizeof conns);
    }
}

static struct gf_task make_task(struct test *t, int r)
{
    struct rank *m = &t->rank[r];

    return (struct gf_task){
        .rank = (uint32_t)r, .ranks = RANKS, .abort = kernel_address(t, t->abort), .deadline_ns = DEADLINE_NS,
        .blocks_done = kernel_address(t, m->blocks_done), .done = kernel_address(t, m->done),
        .error = (uint32_t *)kernel_address(t, m->done) + 2, .ticket = t->ticket,
    };
}

static struct gf_reduction make_reduction(struct test *t, int r, enum gf_type type, enum gf_op op)
{
    return (struct gf_reduction){ .send = kernel_address(t, t->rank[r].send), .recv = kernel_address(t, t->rank[r].recv),
                                  .count = t->count, .type = type, .op = op };
}

static void launch(struct test *t, int r, enum gf_kernel kernel, int blocks, const void *work, size_t bytes)
{
    struct gf_reason why = { "" };
    need(gf_device_launch(t->device, t->rank[r].stream, kernel, blocks, 128, work, bytes, &why), "launch", &why);
}

/* offset: of the slots in each rank's memory; each kind of lines has its own. piece: data bytes of a slot. */
static void run_lines(struct test *t, enum gf_type type, enum gf_op op, enum gf_kernel kernel, size_t offset, size_t piece)
{
    size_t bytes = t->count * gf_type_size(type);
    uint32_t pieces = (uint32_t)((bytes + piece - 1) / piece);

    for (int r = 0; r < RANKS; r++) {
        struct gf_one_shot_work work = { .task = make_task(t, r), .data = make_reduction(t, r, type, op), .slot_bytes = LL_SLOT,
                                         .epoch = t->epoch, .pieces = pieces };
        for (int q = 0; q < RANKS; q++) {
            work.peers[q].to = (char *)kernel_address(t, t->rank[q].ll) + offset + r * 2 * LL_SLOT;
            work.peers[q].from = (char *)kernel_address(t, t->rank[r].ll) + offset + q * 2 * LL_SLOT;
        }
        launch(t, r, kernel, 2, &work, sizeof work);
    }
    t->epoch += pieces;
}

static void run_one_shot(struct test *t, enum gf_type type, enum gf_op op)
{
    run_lines(t, type, op, GF_KERNEL_ALLREDUCE_ONE_SHOT, 0, LL_SLOT / 2);
}

static void run_ll128(struct test *t, enum gf_type type, enum gf_op op)
{
    run_lines(t, type, op, GF_KERNEL_ALLREDUCE_LL128, LL_BYTES, LL_SLOT / 16 * 15);
}

static void run_ring(struct test *t, enum gf_type type, enum gf_op op)
{
    for (int r = 0; r < RANKS; r++) {
        struct gf_conn *conns = kernel_address(t, t->rank[r].conns);
        struct gf_ring_work work = { .task = make_task(t, r), .data = make_reduction(t, r, type, op), .send = conns,
                                     .recv = conns + CHANNELS, .channels = CHANNELS };

        launch(t, r, GF_KERNEL_ALLREDUCE_RING, CHANNELS, &work, sizeof work);
    }
}

static void run_two_shot(struct test *t, enum gf_type type, enum gf_op op)
{
    for (int r = 0; r < RANKS; r++) {
        struct gf_two_shot_work work = { .task = make_task(t, r), .data = make_reduction(t, r, type, op), .epoch = t->ticket };

        for (int q = 0; q < RANKS; q++) {
            work.send[q] = kernel_address(t, t->rank[q].send);
            work.recv[q] = kernel_address(t, t->rank[q].recv);
            work.flags[q] = kernel_address(t, t->rank[q].flags);
        }
        launch(t, r, GF_KERNEL_ALLREDUCE_TWO_SHOT, CHANNELS, &work, sizeof work);
    }
}

static void run_local(struct test *t, enum gf_type type, enum gf_op op)
{
    for (int r = 0; r < RANKS; r++) {
        struct gf_local_work work = { .task = make_task(t, r), .recv = kernel_address(t, t->rank[r].recv), .count = t->count,
                                      .type = type, .op = op, .input_count = RANKS };

        for (int q = 0; q < RANKS; q++) {
            work.inputs[q] = kernel_address(t, t->rank[q].send);
        }
        launch(t, r, GF_KERNEL_REDUCE_LOCAL, 2, &work, sizeof work);
    }
}

static bool check(struct test *t, bool right, const char *kernel, const char *what, int rank)
{
    t->checks++;
    if (!right && t->failures++ < 10) {
        fprintf(stderr, "test_device_kernels: %s, %s, rank %d: wrong\n", kernel, what, rank);
    }
    return right;
}

static void wait_for(struct test *t, const char *kernel, const char *what)
{
    for (int r = 0; r < RANKS; r++) {
        need(gf_device_stream_sync(t->device, t->rank[r].stream), kernel, NULL);
        check(t, t->rank[r].done[0] == t->ticket, kernel, "ticket", r);
        check(t, (uint32_t)t->rank[r].done[1] == GF_KERNEL_OK, kernel, what, r);
    }
    t->ticket++;
}

typedef void run_function(struct test *t, enum gf_type type, enum gf_op op);

static void check_reduction(struct test *t, const char *kernel, run_function *run, enum gf_type type, enum gf_op op,
                            uint64_t *random)
{
    size_t size = gf_type_size(type), bytes = t->count * size;
    char *one = malloc(bytes), *expected = malloc(bytes), what[80];

    snprintf(what, sizeof what, "%s of %s", gf_op_name(op), gf_type_name(type));
    for (int r = 0; r < RANKS; r++) {
        scalar_fill(type, op, SCALAR_EXACT, one, t->count, random);
        copy(t, t->rank[r].send, one, bytes);
        for (size_t i = 0; i < t->count; i++) {
            if (r == 0) {
                memcpy(expected + i * size, one + i * size, size);
            } else {
                scalar_reduce(type, op, expected + i * size, expected + i * size, one + i * size);
            }
        }
    }
    run(t, type, op);
    wait_for(t, kernel, what);
    for (int r = 0; r < RANKS; r++) {
        size_t wrong = 0;

        copy(t, one, t->rank[r].recv, bytes);
        for (size_t i = 0; i < t->count; i++) {
            wrong += !scalar_equal(type, one + i * size, expected + i * size, true);
        }
        check(t, wrong == 0, kernel, what, r);
    }
    free(one);
    free(expected);
}

static void check_copy_list(struct test *t)
{
    enum { PIECES = 7, BYTES = 100001 };
    struct gf_piece *pieces = pinned(t, PIECES * sizeof *pieces);
    char *from = kernel_address(t, t->rank[0].send), *to = kernel_address(t, t->rank[0].recv);
    unsigned char *host = malloc(BYTES), *got = malloc(BYTES);

    for (int i = 0; i < BYTES; i++) {
        host[i] = (unsigned char)(i * 7 + i / 251);
    }
    copy(t, t->rank[0].send, host, BYTES);
    for (int i = 0; i < PIECES; i++) {
        uint64_t begin = (uint64_t)BYTES * i / PIECES, end = (uint64_t)BYTES * (i + 1) / PIECES;

        pieces[i] = (struct gf_piece){ to + begin, from + begin, end - begin };
    }
    struct gf_copy_work work = { .task = make_task(t, 0), .pieces = kernel_address(t, pieces), .count = PIECES };
    launch(t, 0, GF_KERNEL_COPY_LIST, 2, &work, sizeof work);
    need(gf_device_stream_sync(t->device, t->rank[0].stream), "copy list", NULL);
    copy(t, got, t->rank[0].recv, BYTES);
    check(t, memcmp(host, got, BYTES) == 0 && t->rank[0].done[0] == t->ticket, "copy list", "bytes", 0);
    t->ticket++;
    free(host);
    free(got);
    need(gf_device_pinned_free(t->device, pieces), "pinned free", NULL);
}

static void check_all(struct test *t)
{
    uint64_t random = 1;

    for (int type = 0; type < GF_TYPE_COUNT; type++) {
        for (int op = 0; op < GF_OP_COUNT; op++) {
            if (gf_op_allowed(type, op) && !gf_type_is_host_only(type)) {
                check_reduction(t, "local reduction", run_local, type, op, &random);
                check_reduction(t, "one-shot allreduce", run_one_shot, type, op, &random);
                if (t->device->caps.line128_atomic) {
                    check_reduction(t, "allreduce over LL128", run_ll128, type, op, &random);
                }
                check_reduction(t, "ring allreduce", run_ring, type, op, &random);
                check_reduction(t, "two-shot allreduce", run_two_shot, type, op, &random);
            }
        }
    }
    check_copy_list(t);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "cuda";
    struct gf_reason why = { "" };
    struct test t = { .ticket = 1, .epoch = 1, .count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1003 };
    gf_driver *driver;

    if (t.count == 0 || t.count * 32 > MOST_BYTES) {
        fprintf(stderr, "test_device_kernels: COUNT must be between 1 and %d\n", MOST_BYTES / 32);
        return 2;
    }
    need(gf_driver_open(name, &driver, &why), name, &why);
    need(gf_device_open(driver, 0, &t.device, &why), name, &why);
    for (int r = 0; r < RANKS; r++) {
        need(gf_device_stream_create(t.device, &t.rank[r].stream, &why), "stream", &why);
    }
    t.abort = pinned(&t, GF_LINE);
    for (int r = 0; r < RANKS; r++) {
        make_rank(&t, r);
    }
    make_conns(&t);
    check_all(&t);
    printf("test_device_kernels: %s: %ld checks, %ld failed\n", name, t.checks, t.failures);
    return t.failures == 0 ? 0 : 1;
}
