/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All kernels on one device from one process, also for compute-sanitizer. Reductions are compared with the plain scalar
 * reference, copies with the bytes that were copied.
 *
 * Usage: test_device_kernels [cuda | emulated] [COUNT]     COUNT: elements of a reduction (default 1003)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/kernel_ranks.h"
#include "tests/unit/scalar.h"

/* SHARE: of a block of a list: shares end within pieces, and pieces have several. */
enum { MOST_BYTES = 1 << 22, COPIED = 100001, PIECES = 7, BLOCKS = 2, SHARE = 110 * GF_LINE };

static void check_reduction(struct kr *t, const char *kernel, kr_run *run, enum gf_type type, enum gf_op op, uint64_t *random)
{
    size_t size = gf_type_size(type), bytes = t->count * size;
    char *one = malloc(bytes), *expected = malloc(bytes), what[80];

    snprintf(what, sizeof what, "%s of %s", gf_op_name(op), gf_type_name(type));
    for (int r = 0; r < t->shape.ranks; r++) {
        scalar_fill(type, op, SCALAR_EXACT, one, t->count, random);
        kr_copy(t, t->rank[r].send, one, bytes);
        for (size_t i = 0; i < t->count; i++) {
            if (r == 0) {
                memcpy(expected + i * size, one + i * size, size);
            } else {
                scalar_reduce(type, op, expected + i * size, expected + i * size, one + i * size);
            }
        }
    }
    run(t, type, op);
    for (int r = 0; r < t->shape.ranks; r++) {
        kr_ended(t, r, kernel, what);
    }
    t->ticket++;
    for (int r = 0; r < t->shape.ranks; r++) {
        size_t wrong = 0;

        kr_copy(t, one, t->rank[r].recv, bytes);
        for (size_t i = 0; i < t->count; i++) {
            wrong += !scalar_equal(type, one + i * size, expected + i * size, true);
        }
        kr_check(t, wrong == 0, kernel, what, r);
    }
    free(one);
    free(expected);
}

/* It reduces as the one-shot kernel does, so one operation is enough; its life is what takes long. */
static void check_agent(struct kr *t, enum gf_type type, enum gf_op op, uint64_t *random)
{
    size_t all = t->count, most = kr_piece_bytes(t) / gf_type_size(type);

    t->count = all < most ? all : most;
    check_reduction(t, "agent", kr_agent, type, op, random);
    t->count = all;
}

static void check_reductions(struct kr *t, enum gf_type type, enum gf_op op, uint64_t *random)
{
    check_reduction(t, "local reduction", kr_local, type, op, random);
    check_reduction(t, "one-shot allreduce", kr_one_shot, type, op, random);
    check_reduction(t, "one-shot allreduce of few", kr_one_shot_few, type, op, random);
    if (t->device->caps.line128_atomic) {
        check_reduction(t, "allreduce over LL128", kr_ll128, type, op, random);
        check_reduction(t, "allreduce over LL128 of few", kr_ll128_few, type, op, random);
    }
    check_reduction(t, "ring allreduce", kr_ring, type, op, random);
    check_reduction(t, "ring allreduce that lends", kr_ring_lent, type, op, random);
    check_reduction(t, "ring allreduce that writes into the next rank's buffer", kr_ring_writes, type, op, random);
    check_reduction(t, "ring allreduce that reads the previous rank's buffers", kr_ring_reads, type, op, random);
    check_reduction(t, "two-shot allreduce", kr_two_shot, type, op, random);
    check_reduction(t, "two-shot allreduce of few", kr_two_shot_few, type, op, random);
    if (op == GF_SUM) {
        check_agent(t, type, op, random);
    }
}

/* A copy of bytes from rank 0's `send` to its `recv`: in pieces, or as a whole. */
typedef void copy_run(struct kr *t, char *to, char *from);

static uint64_t piece_begin(int piece)
{
    return (uint64_t)COPIED * piece / PIECES / GF_LINE * GF_LINE;
}

static uint64_t piece_bytes(int piece)
{
    return (piece + 1 < PIECES ? piece_begin(piece + 1) : COPIED) - piece_begin(piece);
}

static void run_copy_list(struct kr *t, char *to, char *from)
{
    struct gf_piece *pieces = kr_pinned(t, PIECES * sizeof *pieces);

    for (int i = 0; i < PIECES; i++) {
        pieces[i] = (struct gf_piece){ to + piece_begin(i), from + piece_begin(i), piece_bytes(i) };
    }
    struct gf_copy_work work = { .task = kr_task(t, 0), .pieces = kr_address(t, pieces), .count = PIECES };

    kr_launch(t, 0, GF_KERNEL_COPY_LIST, BLOCKS, &work, sizeof work);
    kr_ended(t, 0, "copy list", "end");
    kr_need(t, gf_device_pinned_free(t->device, pieces), "pinned free", NULL);
}

static void run_pull(struct kr *t, char *to, char *from)
{
    kr_pull(t, to, from, COPIED, BLOCKS);
    kr_need(t, gf_device_stream_sync(t->device, t->rank[0].stream), "pull", NULL);
    kr_check(t, t->rank[0].done[KR_END] == GF_PULL_END, "pull", "end", 0);
}

static void run_pull_list(struct kr *t, char *to, char *from)
{
    struct gf_pull_list_work work = { .launch = { .gate = kr_address(t, t->rank[0].gate), .ticket = t->ticket, .share = SHARE,
                                                  .count = PIECES } };
    uint64_t *ends = kr_pinned(t, PIECES * sizeof *ends);

    for (int i = 0; i < PIECES; i++) {
        uint64_t begin = piece_begin(i), last = begin + piece_bytes(i) - 1;

        work.items[i] = (struct gf_pull_item){
            .to = to + begin, .from = from + begin, .bytes = piece_bytes(i), .end = kr_address(t, &ends[i]), .start = begin,
            .blocks = (uint32_t)(last / SHARE - begin / SHARE + 1),
        };
        ends[i] = 0;
        for (uint64_t b = (begin + SHARE - 1) / SHARE; b * SHARE <= last; b++) {
            work.first[b] = (uint8_t)i;
        }
    }
    kr_launch(t, 0, GF_KERNEL_PULL_LIST, (COPIED + SHARE - 1) / SHARE, &work, sizeof work);
    kr_need(t, gf_device_stream_sync(t->device, t->rank[0].stream), "pull list", NULL);
    for (int i = 0; i < PIECES; i++) {
        kr_check(t, ends[i] == GF_PULL_END, "pull list", "end", 0);
    }
    kr_need(t, gf_device_pinned_free(t->device, ends), "pinned free", NULL);
}

static void run_exchange_by(struct kr *t, char *to, char *from, enum gf_kernel kernel, size_t bytes)
{
    struct gf_exchange_work work = { .task = kr_task(t, 0), .share = SHARE, .count = PIECES };

    for (int i = 0; i < PIECES; i++) {
        work.pieces[i] = (struct gf_piece){ to + piece_begin(i), from + piece_begin(i), piece_bytes(i) };
    }
    kr_launch(t, 0, kernel, (COPIED + SHARE - 1) / SHARE, &work, bytes);
    kr_ended(t, 0, "exchange", "end");
}

static void run_exchange(struct kr *t, char *to, char *from)
{
    run_exchange_by(t, to, from, GF_KERNEL_EXCHANGE, sizeof(struct gf_exchange_work));
}

static void run_exchange_few(struct kr *t, char *to, char *from)
{
    run_exchange_by(t, to, from, GF_KERNEL_EXCHANGE_FEW, sizeof(struct gf_exchange_few_work));
}

static void run_agent_pull(struct kr *t, char *to, char *from)
{
    kr_agent_pull(t, to, from, COPIED);
}

static void check_copy(struct kr *t, const char *kernel, copy_run *run)
{
    unsigned char *host = malloc(COPIED), *got = malloc(COPIED);

    for (int i = 0; i < COPIED; i++) {
        host[i] = (unsigned char)(i * 7 + i / 251 + (int)t->ticket);
    }
    kr_copy(t, t->rank[0].send, host, COPIED);
    run(t, kr_address(t, t->rank[0].recv), kr_address(t, t->rank[0].send));
    kr_copy(t, got, t->rank[0].recv, COPIED);
    kr_check(t, memcmp(host, got, COPIED) == 0, kernel, "bytes", 0);
    t->ticket++;
    free(host);
    free(got);
}

/* Every second word is packed: by one part, or by a list of parts. */
static void check_pack(struct kr *t, bool list)
{
    enum { WORDS = 5000 };
    uint64_t *host = malloc(2 * WORDS * sizeof *host), *got = malloc(WORDS * sizeof *got), wrong = 0;
    char *from = kr_address(t, t->rank[0].send), *to = kr_address(t, t->rank[0].recv);

    for (uint64_t i = 0; i < 2 * WORDS; i++) {
        host[i] = i * 3 + t->ticket;
    }
    kr_copy(t, t->rank[0].send, host, 2 * WORDS * sizeof *host);
    if (list) {
        kr_pack_list(t, to, from, WORDS, BLOCKS);
    } else {
        kr_pack(t, to, from, WORDS, BLOCKS);
    }
    kr_ended(t, 0, "pack", "end");
    kr_copy(t, got, t->rank[0].recv, WORDS * sizeof *got);
    for (uint64_t i = 0; i < WORDS; i++) {
        wrong += got[i] != host[2 * i];
    }
    kr_check(t, wrong == 0, list ? "pack list" : "pack", "words", 0);
    t->ticket++;
    free(host);
    free(got);
}

/* What is new among the kernels must not be missing here. */
static void check_launched(struct kr *t)
{
    for (int kernel = 0; kernel < GF_KERNEL_COUNT; kernel++) {
        bool lines = kernel == GF_KERNEL_ALLREDUCE_LL128 || kernel == GF_KERNEL_ALLREDUCE_LL128_FEW;
        char what[40];

        snprintf(what, sizeof what, "kernel %d was not launched", kernel);
        kr_check(t, t->launched[kernel] || (lines && !t->device->caps.line128_atomic), "all kernels", what, 0);
    }
}

static void check_all(struct kr *t)
{
    uint64_t random = 1;

    for (int type = 0; type < GF_TYPE_COUNT; type++) {
        for (int op = 0; op < GF_OP_COUNT; op++) {
            if (gf_op_allowed(type, op) && !gf_type_is_host_only(type)) {
                check_reductions(t, type, op, &random);
            }
        }
    }
    check_copy(t, "copy list", run_copy_list);
    check_copy(t, "pull", run_pull);
    check_copy(t, "pull list", run_pull_list);
    check_copy(t, "agent's pull", run_agent_pull);
    check_copy(t, "exchange", run_exchange);
    check_copy(t, "exchange of few", run_exchange_few);
    check_pack(t, false);
    check_pack(t, true);
    check_launched(t);
}

int main(int argc, char **argv)
{
    static const struct kr_shape shape = { .ranks = 3, .channels = 2, .threads = 128, .bytes = MOST_BYTES, .line_slot = 4096,
                                           .fifo_slot = 1024 };
    const char *name = argc > 1 ? argv[1] : "cuda";
    size_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1003;
    struct kr t;

    if (count == 0 || count * 32 > MOST_BYTES) {
        fprintf(stderr, "test_device_kernels: COUNT must be between 1 and %d\n", MOST_BYTES / 32);
        return 2;
    }
    kr_create(&t, "test_device_kernels", name, &shape);
    t.count = count;
    check_all(&t);
    printf("test_device_kernels: %s: %ld checks, %ld failed\n", name, t.checks, t.failures);
    return t.failures == 0 ? 0 : 1;
}
