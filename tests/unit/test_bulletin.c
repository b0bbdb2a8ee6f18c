/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blobs of all sizes by threads as ranks over the lines of a bulletin, again and again; a rank that takes no part, and one whose
 * process has ended.
 *
 * Usage: test_bulletin [SEED]
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "core/bulletin.h"

enum { RANKS_MOST = 5, EXCHANGES = 200, BYTES_MOST = 3 * GF_BULLETIN_BYTES };

static uint64_t seed = 1;

static uint64_t mix(uint64_t x)
{
    return gf_random_next(&x);
}

struct rank {
    struct gf_bulletin bulletin;
    gf_status status;
    size_t wrong;
};

static struct gf_bulletin_line *lines_new(int ranks)
{
    size_t bytes = (size_t)ranks * sizeof(struct gf_bulletin_line);
    struct gf_bulletin_line *lines = aligned_alloc(128, bytes);

    assert_non_null(lines);
    memset(lines, 0, bytes);
    for (int r = 0; r < ranks; r++) {
        gf_bulletin_introduce(&lines[r]);
    }
    return lines;
}

/* What a rank gives another one in an exchange, or all. */
static unsigned char content(uint64_t exchange, int from, int to, size_t i)
{
    return (unsigned char)mix(exchange * 1000003 + (uint64_t)from * 1009 + (uint64_t)to * 31 + i);
}

/* Blobs of `bytes`, to each or the same to all; what is wrong of those that came. */
static size_t exchange_once(struct rank *me, uint64_t number, size_t bytes, bool to_each)
{
    const struct gf_bootstrap b = gf_bulletin_bootstrap(&me->bulletin);
    size_t blobs = to_each ? (size_t)b.ranks : 1, wrong = 0;
    unsigned char *mine = malloc(blobs * bytes + 1), *all = calloc((size_t)b.ranks, bytes + 1);

    for (size_t to = 0; to < blobs; to++) {
        for (size_t i = 0; i < bytes; i++) {
            mine[to * bytes + i] = content(number, b.rank, (int)to, i);
        }
    }
    me->status = to_each ? b.alltoall(b.ctx, mine, all, bytes) : b.allgather(b.ctx, mine, all, bytes);
    for (int from = 0; from < b.ranks && me->status == GF_OK; from++) {
        for (size_t i = 0; i < bytes; i++) {
            wrong += all[(size_t)from * bytes + i] != content(number, from, to_each ? b.rank : 0, i);
        }
    }
    free(mine);
    free(all);
    return wrong;
}

static void *exchange_many(void *ctx)
{
    struct rank *me = ctx;

    for (uint64_t number = 0; number < EXCHANGES && me->status == GF_OK; number++) {
        uint64_t bits = mix(seed + number);
        size_t bytes = bits % 4 == 0 ? (bits >> 8) % BYTES_MOST : (bits >> 8) % 300;

        me->wrong += exchange_once(me, number, bytes, bits % 3 == 0);
    }
    return NULL;
}

static void run(struct rank *all, int ranks, int from, void *(*function)(void *ctx))
{
    struct gf_bulletin_line *lines = lines_new(ranks);
    pthread_t threads[RANKS_MOST];

    for (int r = 0; r < ranks; r++) {
        all[r] = (struct rank){ .bulletin = { .lines = lines, .rank = r, .ranks = ranks } };
    }
    for (int r = 0; r < from; r++) {
        gf_bulletin_refuse(&lines[r]);
    }
    for (int r = from; r < ranks; r++) {
        assert_int_equal(pthread_create(&threads[r], NULL, function, &all[r]), 0);
    }
    for (int r = from; r < ranks; r++) {
        pthread_join(threads[r], NULL);
    }
    free(lines);
}

static void test_blobs_of_all_sizes(void **state)
{
    struct rank all[RANKS_MOST];
    (void)state;

    for (int ranks = 1; ranks <= RANKS_MOST; ranks++) {
        run(all, ranks, 0, exchange_many);
        for (int r = 0; r < ranks; r++) {
            assert_int_equal(all[r].status, GF_OK);
            assert_int_equal(all[r].wrong, 0);
        }
    }
}

static void test_a_rank_refuses(void **state)
{
    struct rank all[RANKS_MOST];
    (void)state;

    run(all, RANKS_MOST, 1, exchange_many);
    for (int r = 1; r < RANKS_MOST; r++) {
        assert_int_equal(all[r].status, GF_ERR_UNSUPPORTED);
    }
}

static void test_a_process_has_ended(void **state)
{
    struct gf_bulletin_line *lines = lines_new(2);
    struct rank me = { .bulletin = { .lines = lines, .rank = 0, .ranks = 2 } };
    pid_t child = fork();
    (void)state;

    if (child == 0) {
        _exit(0);
    }
    waitpid(child, NULL, 0);
    lines[1].pid = (int32_t)child;
    exchange_once(&me, 0, 10, false);
    assert_int_equal(me.status, GF_ERR_PEER);
    free(lines);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blobs_of_all_sizes),
        cmocka_unit_test(test_a_rank_refuses),
        cmocka_unit_test(test_a_process_has_ended),
    };

    if (argc > 1) {
        seed = strtoull(argv[1], NULL, 0);
    }
    printf("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
