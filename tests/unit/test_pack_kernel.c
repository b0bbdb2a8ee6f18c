/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pack kernels on host threads, with late stores, against a copy block by block. Built with parts that are soon "wide", so
 * that both ways of dividing are taken; places beyond what a test can have in memory are only computed.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "core/pack_plan.h"
#include "kernels/pack.h"

void gf_block_run(struct gf_block *shared, enum gf_kernel kernel, uint32_t block, uint32_t blocks, uint32_t thread,
                  const void *work);

enum { ROUNDS = 200, TEAM = 2, MOST_BLOCKS = 3, SPAN = 1 << 16, PARTS = 5, ORIGIN = SPAN / 2 };

static uint64_t seed = 1, state;

static uint64_t next_random(uint64_t below)
{
    return gf_random_next(&state) % below;
}

/* Memory at one end: all of it is compared, so that what lies between the blocks is seen to be untouched. */
struct world {
    unsigned char from[PARTS][SPAN], to[PARTS][SPAN], expected[PARTS][SPAN];
    struct gf_flat flat[PARTS];
    struct gf_pack_part part[PARTS];
    uint32_t blocks_done;
    uint64_t done;
    uint32_t error, abort;
};

static struct world *world;

/* Blocks that do not overlap, in any order, with `unit` dividing all that matters. */
static void make_flat(struct gf_flat *flat)
{
    uint64_t unit = (uint64_t)1 << next_random(5), form = next_random(3), blocks = 1 + next_random(40);
    struct gf_flat_builder builder;
    int64_t at = (int64_t)(next_random(9) * unit) - (int64_t)(4 * unit);
    int64_t direction = next_random(2) ? 1 : -1;
    uint64_t same = (1 + next_random(5)) * unit, gap = (1 + next_random(6)) * unit;
    int64_t odd = next_random(3) ? 0 : (int64_t)next_random(4) * 2;      /* a distance that is no multiple */

    gf_flat_begin(&builder, ((int64_t)((blocks * 12 + 1) * unit) + (int64_t)blocks * odd) * (next_random(2) ? 1 : -1));
    for (uint64_t i = 0; i < blocks; i++) {
        uint64_t bytes = form < 2 ? same : (1 + next_random(5)) * unit;

        assert_int_equal(gf_flat_add(&builder, at, bytes, NULL), GF_OK);
        at += direction * (int64_t)((form == 0 ? same + gap : (5 + next_random(7)) * unit) + (uint64_t)(form < 2 ? odd : 0));
    }
    assert_int_equal(gf_flat_finish(&builder, flat, NULL), GF_OK);
}

/* The truth: as much of each block as there is. */
static void copy_blocks(const struct gf_flat *flat, const struct gf_pack_copy *copy, unsigned char *to, const unsigned char *from)
{
    uint64_t done = 0;

    for (uint64_t element = 0; element < copy->count; element++) {
        for (uint64_t i = 0; i < flat->blocks && done < copy->bytes; i++) {
            struct gf_flat_block block = gf_flat_block(flat, i);
            int64_t place = (int64_t)element * flat->extent + block.offset;
            uint64_t bytes = block.bytes < copy->bytes - done ? block.bytes : copy->bytes - done;

            memcpy(to + (copy->to_packed ? (int64_t)done : place), from + (copy->from_packed ? (int64_t)done : place), bytes);
            done += bytes;
        }
    }
}

/* A GPU loads and stores words at their multiples only. */
static void check_alignment(const struct gf_flat *flat, const struct gf_pack_copy *copy, uint32_t word)
{
    for (uint64_t i = 0; i < flat->blocks * (copy->count < 3 ? copy->count : 3); i++) {
        struct gf_flat_block block = gf_flat_block(flat, i % flat->blocks);
        uintptr_t place = (uintptr_t)((int64_t)(i / flat->blocks) * flat->extent + block.offset);

        assert_int_equal(((uintptr_t)copy->to + (copy->to_packed ? 0 : place)) % word, 0);
        assert_int_equal(((uintptr_t)copy->from + (copy->from_packed ? 0 : place)) % word, 0);
        assert_int_equal(block.bytes % word, 0);
    }
}

static void make_part(int i)
{
    struct gf_flat *flat = &world->flat[i];
    int form = (int)next_random(3);
    struct gf_pack_copy copy = {.to_packed = form == 0, .from_packed = form == 1};
    uint64_t shift = next_random(3) ? 0 : 1 + next_random(15);

    make_flat(flat);
    copy.count = 1 + next_random((SPAN / 2 - 9000) / (uint64_t)llabs(flat->extent));
    copy.bytes = flat->bytes * copy.count - (next_random(2) ? 0 : next_random(flat->bytes * copy.count));
    copy.list = flat->list.offsets;
    copy.to = (char *)world->to[i] + ORIGIN + shift;
    copy.from = (char *)world->from[i] + ORIGIN + (next_random(2) ? shift : 0);
    world->part[i] = gf_pack_plan_part(flat, &copy);
    check_alignment(flat, &copy, world->part[i].word);
    copy_blocks(flat, &copy, world->expected[i] + (copy.to - (char *)world->to[i]), (unsigned char *)copy.from);
}

static void make_world(void)
{
    for (int i = 0; i < PARTS; i++) {
        for (int b = 0; b < SPAN; b += 8) {
            uint64_t random = next_random(UINT64_MAX);

            memcpy(&world->from[i][b], &random, 8);
        }
        memset(world->to[i], 0x5a, SPAN);
        memset(world->expected[i], 0x5a, SPAN);
        make_part(i);
    }
}

struct thread {
    pthread_t id;
    struct gf_block *shared;
    enum gf_kernel kernel;
    uint32_t block, blocks, thread;
    const void *work;
};

static void *run_thread(void *argument)
{
    struct thread *t = argument;

    gf_block_run(t->shared, t->kernel, t->block, t->blocks, t->thread, t->work);
    return NULL;
}

static void launch(enum gf_kernel kernel, uint32_t blocks, const void *work)
{
    struct thread threads[MOST_BLOCKS * TEAM];
    struct gf_block *shared[MOST_BLOCKS];

    for (uint32_t b = 0; b < blocks; b++) {
        shared[b] = gf_block_create(TEAM, true, next_random(UINT32_MAX));
        for (uint32_t t = 0; t < TEAM; t++) {
            threads[b * TEAM + t] = (struct thread){.shared = shared[b], .kernel = kernel, .block = b, .blocks = blocks,
                                                    .thread = t,
                                                    .work = work};
            assert_int_equal(pthread_create(&threads[b * TEAM + t].id, NULL, run_thread, &threads[b * TEAM + t]), 0);
        }
    }
    for (uint32_t i = 0; i < blocks * TEAM; i++) {
        pthread_join(threads[i].id, NULL);
    }
    for (uint32_t b = 0; b < blocks; b++) {
        gf_block_destroy(shared[b]);
    }
}

static struct gf_task task(uint64_t ticket)
{
    return (struct gf_task){.ranks = 1, .abort = &world->abort, .blocks_done = &world->blocks_done, .done = &world->done,
                            .error = &world->error, .ticket = ticket};
}

static void check_part(int i)
{
    if (memcmp(world->to[i], world->expected[i], SPAN) != 0) {
        const struct gf_pack_part *part = &world->part[i];

        fail_msg("seed %llu: %llu words of %u bytes, %s, %u dimensions: wrong", (unsigned long long)seed,
                 (unsigned long long)part->words, part->word, part->offsets ? part->starts ? "searched" : "listed" : "strided",
                     part->dims);
    }
}

static void test_copies(void **test_state)
{
    uint64_t forms[3] = {0}, wide = 0, words[5] = {0};

    (void)test_state;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        uint32_t blocks = 1 + (uint32_t)next_random(MOST_BLOCKS);

        make_world();
        if (round % 2) {
            for (int i = 0; i < PARTS; i++) {
                struct gf_pack_work work = {.task = task(round * PARTS + (uint64_t)i), .part = world->part[i]};

                launch(GF_KERNEL_PACK, blocks, &work);
                assert_int_equal(world->done, round * PARTS + (uint64_t)i);
            }
        } else {
            struct gf_pack_list_work work = {.task = task(round * PARTS), .parts = world->part, .count = PARTS};

            for (int i = 0; i < PARTS; i++) {
                world->part[i].first_tile = work.tiles;
                work.tiles += gf_pack_part_tiles(&world->part[i]);
            }
            launch(GF_KERNEL_PACK_LIST, blocks, &work);
            assert_int_equal(world->done, round * PARTS);
        }
        for (int i = 0; i < PARTS; i++) {
            const struct gf_pack_part *part = &world->part[i];

            check_part(i);
            forms[!part->offsets ? 0 : part->starts ? 2 : 1]++;
            wide += part->words >= GF_PACK_WIDE;
            words[__builtin_ctz(part->word)]++;
            gf_flat_free(&world->flat[i]);
        }
    }
    print_message("strided %llu, listed %llu, searched %llu, wide %llu; words of 1, 2, 4, 8, 16: %llu %llu %llu %llu %llu\n",
                  (unsigned long long)forms[0], (unsigned long long)forms[1], (unsigned long long)forms[2],
                      (unsigned long long)wide,
                  (unsigned long long)words[0], (unsigned long long)words[1], (unsigned long long)words[2],
                  (unsigned long long)words[3], (unsigned long long)words[4]);
    for (int i = 0; i < 3; i++) {
        assert_true(forms[i] > 50);
    }
    for (int i = 0; i < 5; i++) {
        assert_true(words[i] > 20);
    }
    assert_true(wide > 50);
}

/* Words beyond 2^32, and blocks of more bytes: only their places. */
static void test_huge(void **test_state)
{
    static const struct { uint64_t block, count; int64_t stride, extent; } cases[] = {
        {8, (uint64_t)1 << 33, 64, 64}, {(uint64_t)3 << 31, 2, (int64_t)7 << 31, (int64_t)15 << 31}, {1, 3, 5, 1000},
    };
    static const uint64_t samples[] = {0, 1, 12345, (1u << 30) - 1, 1u << 30, UINT32_MAX, (uint64_t)UINT32_MAX + 1,
                                       (uint64_t)1 << 33};

    (void)test_state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        uint64_t block = cases[c].block, count = cases[c].count;
        struct gf_flat flat = {.bytes = block * count, .extent = cases[c].extent, .blocks = count, .block = block, .dims = 1,
                               .dim = {{count, cases[c].stride}}};
        struct gf_pack_copy copy = {.to_packed = true, .count = (uint64_t)1 << 33, .bytes = block * count << 33};
        struct gf_pack_part part = gf_pack_plan_part(&flat, &copy);

        for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
            uint64_t byte = samples[i] * part.word, element = byte / flat.bytes, rest = byte % flat.bytes;
            int64_t place = (int64_t)element * flat.extent + (int64_t)(rest / block) * cases[c].stride + (int64_t)(rest % block);

            assert_int_equal(gf_pack_place(&part, samples[i], part.word, true), place);
            if (samples[i] < 1u << 30) {
                assert_int_equal(gf_pack_place(&part, samples[i], part.word, false), place);
            }
        }
    }
}

static int setup(void **test_state)
{
    const char *text = getenv("GPUFIFO_TEST_SEED");

    (void)test_state;
    seed = text ? strtoull(text, NULL, 0) : seed;
    state = seed;
    world = calloc(1, sizeof *world);
    print_message("seed %llu\n", (unsigned long long)seed);
    return world ? 0 : -1;
}

static int teardown(void **test_state)
{
    (void)test_state;
    free(world);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_huge)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
