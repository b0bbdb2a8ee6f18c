/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The protocols between ranks that are threads: many launches in a row, ranks running ahead of each other, every type and
 * operation in turn, with stores that others see at once and with stores that they see late. The same sources are
 * also built with ThreadSanitizer, with eight-bit LL flags, and with faults (mutants.sh).
 *
 * GPUFIFO_TEST_SEED: another random sequence. GPUFIFO_TEST_DEADLINE_MS: how long one wait may last.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/scalar.h"
#include "tests/unit/stream.h"
#include "tests/unit/world.h"

enum { LAUNCHES = 24, MOST_BYTES = 3000, BUFFER = MOST_BYTES + 64 };

#ifdef __SANITIZE_THREAD__
enum { WORLDS = 8 };
#else
enum { WORLDS = 24 };
#endif

static const char *const algorithm_names[] = { "ring", "one-shot", "two-shot", "one-shot over LL128", "ring that writes",
                                               "ring that reads" };
enum { ALGORITHMS = 6 };

static uint64_t seed;

static uint64_t deadline_ns(void)
{
    const char *given = getenv("GPUFIFO_TEST_DEADLINE_MS");
    return (given ? strtoull(given, NULL, 0) : 60000) * 1000000u;
}

/* One call with the buffers of all ranks, and the result that all must have. */
struct call {
    struct world_call call;
    bool in_place;
    size_t offset;
    _Alignas(64) unsigned char send[WORLD_MAX_RANKS][BUFFER], recv[WORLD_MAX_RANKS][BUFFER], expected[BUFFER];
};

struct script {
    struct world *world;
    struct call call[LAUNCHES];
};

static void choose_pair(enum gf_type *type, enum gf_op *op, uint64_t *random)
{
    do {
        *type = scalar_random(random) % GF_TYPE_COUNT;
        *op = scalar_random(random) % GF_OP_COUNT;
    } while (!gf_op_allowed(*type, *op));
}

static void make_call(struct call *c, const struct world_shape *shape, bool one_shots, uint64_t *random)
{
    enum gf_type type;
    enum gf_op op;
    choose_pair(&type, &op, random);
    size_t size = gf_type_size(type), most = MOST_BYTES / size;
    size_t count = 1 + scalar_random(random) % (scalar_random(random) % 2 ? 8 : most);
    c->call.algorithm = one_shots ? WORLD_ONE_SHOT : scalar_random(random) % ALGORITHMS;
    c->call.blocks = 1 + scalar_random(random) % shape->blocks;
    c->call.data = (struct gf_reduction){ .count = count, .type = type, .op = op };
    c->in_place = scalar_random(random) % 2;
    c->offset = scalar_random(random) % 3 * (size < 8 ? size : 8);
    for (uint32_t r = 0; r < shape->ranks; r++) {
        scalar_fill(type, op, SCALAR_EXACT, c->send[r] + c->offset, count, random);
        memcpy(c->recv[r], c->send[r], sizeof c->recv[r]);
    }
    memcpy(c->expected, c->send[0], sizeof c->expected);
    for (uint32_t r = 1; r < shape->ranks; r++)
        for (size_t i = 0; i < count; i++)
            scalar_reduce(type, op, c->expected + c->offset + i * size, c->expected + c->offset + i * size,
                          c->send[r] + c->offset + i * size);
}

/* What one rank does: all calls of the script, one after the other. */
struct actor {
    pthread_t thread;
    struct script *script;
    uint32_t rank;
    char wrong[200];              /* the first thing that went wrong, or "" */
};

static void compare(struct actor *a, const struct call *c, int launch)
{
    enum gf_type type = c->call.data.type;
    size_t size = gf_type_size(type);
    for (size_t i = 0; i < c->call.data.count && !a->wrong[0]; i++)
        if (!scalar_equal(type, c->recv[a->rank] + c->offset + i * size, c->expected + c->offset + i * size, false))
            snprintf(a->wrong, sizeof a->wrong, "rank %u, launch %d (%s, %u blocks), %s of %zu %s: element %zu is wrong",
                     a->rank, launch, algorithm_names[c->call.algorithm], c->call.blocks, gf_op_name(c->call.data.op),
                     (size_t)c->call.data.count, gf_type_name(type), i);
}

static void *act(void *argument)
{
    struct actor *a = argument;
    for (int i = 0; i < LAUNCHES && !a->wrong[0]; i++) {
        struct call *c = &a->script->call[i];
        struct world_call call = c->call;
        call.data.recv = c->recv[a->rank] + c->offset;
        call.data.send = c->in_place ? call.data.recv : c->send[a->rank] + c->offset;
        enum gf_kernel_error error = world_launch(a->script->world, a->rank, &call);
        if (error != GF_KERNEL_OK)
            snprintf(a->wrong, sizeof a->wrong, "rank %u, launch %d (%s): the kernel reports error %d", a->rank, i,
                     algorithm_names[call.algorithm], (int)error);
        else
            compare(a, c, i);
        /* The program's again. */
        memset(c->send[a->rank], i, sizeof c->send[a->rank]);
        memset(c->recv[a->rank], i, sizeof c->recv[a->rank]);
    }
    return NULL;
}

static void play(const struct world_shape *shape, bool one_shots, uint64_t *random)
{
    struct script *script = aligned_alloc(64, (sizeof *script + 63) / 64 * 64);
    struct actor actor[WORLD_MAX_RANKS] = { 0 };
    assert_non_null(script);
    memset(script, 0, sizeof *script);
    script->world = world_create(shape);
    for (int i = 0; i < LAUNCHES; i++)
        make_call(&script->call[i], shape, one_shots, random);
    for (uint32_t r = 0; r < shape->ranks; r++) {
        actor[r].script = script;
        actor[r].rank = r;
        assert_int_equal(pthread_create(&actor[r].thread, NULL, act, &actor[r]), 0);
    }
    for (uint32_t r = 0; r < shape->ranks; r++)
        pthread_join(actor[r].thread, NULL);
    for (uint32_t r = 0; r < shape->ranks; r++)
        if (actor[r].wrong[0])
            fail_msg("%s (%u ranks, %u blocks of %u)", actor[r].wrong, shape->ranks, shape->blocks, shape->threads);
    assert_true(world_is_consistent(script->world));
    world_destroy(script->world);
    free(script);
}

static void play_worlds(bool weak, bool one_shots)
{
    uint64_t random = seed + weak;
    for (uint32_t i = 0; i < WORLDS; i++) {
        struct world_shape shape = {
            .ranks = 1 + i % WORLD_MAX_RANKS,
            .blocks = 1 + scalar_random(&random) % 3,
            .threads = i % 2 ? 3 : 1,
            .shuffled = i / WORLD_MAX_RANKS % 2 != weak,
            .weak = weak,
            .ll_slot_bytes = GF_LINE << scalar_random(&random) % 4,
            .slot_bytes = GF_LINE << scalar_random(&random) % 2,
            .deadline_ns = deadline_ns(),
            .seed = scalar_random(&random),
        };
        play(&shape, one_shots, &random);
    }
}

static void stores_are_seen_at_once(void **state)
{
    (void)state;
    play_worlds(false, false);
}

/* Nothing but what keeps two slots enough orders them. */
static void one_shots_follow_one_another(void **state)
{
    (void)state;
    play_worlds(false, true);
}

static void stores_are_seen_late(void **state)
{
    (void)state;
    play_worlds(true, false);
}

static void a_sender_keeps_to_its_credit(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        struct stream stream = { .threads = i % 2 ? 3 : 1, .weak = i / 2 % 2, .seed = seed + i, .steps = 200,
                                 .first = i < 4 ? 0 : ((uint64_t)1 << 32) - 100, .deadline_ns = deadline_ns() };
        assert_true(stream_is_right(&stream));
    }
}

static struct world_call float_sum(enum world_algorithm algorithm, const float *send, float *recv, uint64_t count)
{
    struct world_call call = { algorithm, 1, { send, recv, count, GF_FLOAT, GF_SUM }, true };
    return call;
}

static void a_missing_peer_is_a_timeout(void **state)
{
    (void)state;
    struct world_shape shape = { .ranks = 2, .blocks = 1, .threads = 3, .ll_slot_bytes = 256, .slot_bytes = 128,
                                 .deadline_ns = 1000000 };
    for (int algorithm = 0; algorithm < ALGORITHMS; algorithm++) {
        struct world *world = world_create(&shape);
        float data[64] = { 0 };
        struct world_call call = float_sum(algorithm, data, data, 64);
        assert_int_equal(world_launch(world, 0, &call), GF_KERNEL_TIMEOUT);
        world_destroy(world);
    }
}

static void an_abort_ends_the_wait(void **state)
{
    (void)state;
    struct world_shape shape = { .ranks = 3, .blocks = 1, .threads = 3, .ll_slot_bytes = 256, .slot_bytes = 128 };
    for (int algorithm = 0; algorithm < ALGORITHMS; algorithm++) {
        struct world *world = world_create(&shape);
        float data[64] = { 0 };
        struct world_call call = float_sum(algorithm, data, data, 64);
        world_abort(world);
        assert_int_equal(world_launch(world, 1, &call), GF_KERNEL_ABORTED);
        world_destroy(world);
    }
}

/* Rank 1 of two, which thinks there are fewer elements. */
struct lesser {
    struct world *world;
    enum gf_kernel_error error;
};

static void *launch_lesser(void *argument)
{
    struct lesser *l = argument;
    float data[8] = { 0 };
    struct world_call call = float_sum(WORLD_RING, data, data, 8);
    l->error = world_launch(l->world, 1, &call);
    return NULL;
}

static void unequal_counts_are_noticed(void **state)
{
    (void)state;
    struct world_shape shape = { .ranks = 2, .blocks = 1, .threads = 1, .ll_slot_bytes = 256, .slot_bytes = 128 };
    struct lesser lesser = { .world = world_create(&shape) };
    float data[64] = { 0 };
    struct world_call call = float_sum(WORLD_RING, data, data, 64);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, launch_lesser, &lesser), 0);
    assert_int_equal(world_launch(lesser.world, 0, &call), GF_KERNEL_MISMATCH);
    pthread_join(thread, NULL);
    assert_int_equal(lesser.error, GF_KERNEL_MISMATCH);
    world_destroy(lesser.world);
}

#if GF_LL_FLAG_BITS == 8
/* One of two ranks that wear out the epochs: a call that fills the slot, then short ones, then, with the epoch of the
 * first, one for which rank 1 sends a single line. Rank 0 must not take the old lines for new ones: it waits until it is
 * told to leave. 512 bytes are all of a slot of LL lines, and more than one unit of LL128 lines. */
struct wearer {
    pthread_t thread;
    struct world *world;
    enum world_algorithm algorithm;
    uint32_t rank;
    bool all_right;
    enum gf_kernel_error last;
};

static void *wear_out_epochs(void *argument)
{
    enum { FULL = 128 };
    struct wearer *w = argument;
    float data[FULL] = { 0 };
    struct world_call full = float_sum(w->algorithm, data, data, FULL), brief = float_sum(w->algorithm, data, data, 1);
    w->all_right = world_launch(w->world, w->rank, &full) == GF_KERNEL_OK;
    for (uint32_t epoch = 2; w->all_right && epoch < GF_LL_EPOCH_LAST; epoch++)
        w->all_right = world_launch(w->world, w->rank, &brief) == GF_KERNEL_OK;
    if (w->all_right)
        w->last = world_launch(w->world, w->rank, w->rank == 0 ? &full : &brief);
    if (w->rank == 1 || !w->all_right)
        world_abort(w->world);
    return NULL;
}

static void wear_out(enum world_algorithm algorithm)
{
    struct world_shape shape = { .ranks = 2, .blocks = 1, .threads = 1, .ll_slot_bytes = 1024, .slot_bytes = 128,
                                 .deadline_ns = deadline_ns() };
    struct world *world = world_create(&shape);
    struct wearer wearer[2];
    for (uint32_t r = 0; r < 2; r++) {
        wearer[r] = (struct wearer){ .world = world, .algorithm = algorithm, .rank = r };
        assert_int_equal(pthread_create(&wearer[r].thread, NULL, wear_out_epochs, &wearer[r]), 0);
    }
    for (uint32_t r = 0; r < 2; r++)
        pthread_join(wearer[r].thread, NULL);
    assert_true(wearer[0].all_right && wearer[1].all_right);
    assert_int_equal(wearer[0].last, GF_KERNEL_ABORTED);
    assert_int_equal(wearer[1].last, GF_KERNEL_OK);
    world_destroy(world);
}

static void a_sweep_forgets_old_lines(void **state)
{
    (void)state;
    wear_out(WORLD_ONE_SHOT);
    wear_out(WORLD_LL128);
}
#endif

int main(void)
{
    const char *given = getenv("GPUFIFO_TEST_SEED");
    seed = given ? strtoull(given, NULL, 0) : 20260502;
    printf("GPUFIFO_TEST_SEED=%llu, LL flags of %d bits\n", (unsigned long long)seed, GF_LL_FLAG_BITS);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_are_seen_at_once),
        cmocka_unit_test(one_shots_follow_one_another),
        cmocka_unit_test(stores_are_seen_late),
        cmocka_unit_test(a_sender_keeps_to_its_credit),
#if GF_LL_FLAG_BITS == 8
        cmocka_unit_test(a_sweep_forgets_old_lines),
#endif
        cmocka_unit_test(a_missing_peer_is_a_timeout),
        cmocka_unit_test(an_abort_ends_the_wait),
        cmocka_unit_test(unequal_counts_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
