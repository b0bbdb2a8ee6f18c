/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The board on which ranks tell whether their buffers are host or device memory, with threads as ranks that wait for nobody but
 * each other's lines: every verdict is compared with what all ranks really passed.
 *
 * Usage: test_agree_board [SEED]
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/agree_calls.h"

enum { RANKS_MOST = 5, CALLS = 4000 };

static uint64_t seed = 20261;

static void test_one_call(void **state)
{
    struct gf_agree_board *board = board_new(3);
    (void)state;

    assert_int_equal(gf_agree_board_verdict(board, 3, 1), GF_AGREE_UNKNOWN);
    gf_agree_line_device(&board->lines[0], 0, 1);
    gf_agree_line_device(&board->lines[2], 0, 1);
    assert_int_equal(gf_agree_board_verdict(board, 3, 1), GF_AGREE_UNKNOWN);
    gf_agree_line_device(&board->lines[1], 0, 1);
    assert_int_equal(gf_agree_board_verdict(board, 3, 1), GF_AGREE_NATIVE);
    free(board);
}

/* A host rank decides, whoever is not there yet. */
static void test_host_rank(void **state)
{
    struct gf_agree_board *board = board_new(3);
    (void)state;

    gf_agree_line_device(&board->lines[0], 0, 1);
    gf_agree_line_host(&board->lines[2], 1);
    assert_int_equal(gf_agree_board_verdict(board, 3, 1), GF_AGREE_STAGE);
    gf_agree_line_device(&board->lines[2], 0, 2);
    assert_int_equal(gf_agree_board_verdict(board, 3, 1), GF_AGREE_STAGE);
    assert_int_equal(gf_agree_board_verdict(board, 3, 2), GF_AGREE_UNKNOWN);
    free(board);
}

static void test_failed_board(void **state)
{
    struct gf_agree_board *board = board_new(2);
    (void)state;

    gf_agree_line_device(&board->lines[0], 0, 1);
    assert_int_equal(gf_agree_board_verdict(board, 2, 1), GF_AGREE_UNKNOWN);
    board->failed = 1;
    assert_int_equal(gf_agree_board_verdict(board, 2, 1), GF_AGREE_STAGE);
    free(board);
}

static void test_history_never_goes_back(void **state)
{
    struct gf_agree_board *board = board_new(1);
    struct gf_agree_line *mine = &board->lines[0];
    (void)state;

    gf_agree_line_history(mine, 7);
    assert_int_equal(mine->entered, 7);
    assert_int_equal(mine->settled, 7);
    gf_agree_line_host(mine, 9);
    gf_agree_line_history(mine, 8);
    assert_int_equal(mine->entered, 9);
    assert_int_equal(mine->settled, 9);
    gf_agree_line_device(mine, 0, 10);
    gf_agree_line_history(mine, 9);
    assert_int_equal(mine->entered, 10);
    assert_int_equal(mine->settled, 9);
    free(board);
}

static void test_room(void **state)
{
    struct gf_agree_board *board = board_new(3);
    (void)state;

    for (uint64_t call = 1; call <= GF_AGREE_RING; call++) {
        assert_true(gf_agree_board_has_room(board, 3, 0, call - 1));
        gf_agree_line_device(&board->lines[0], call - 1, call);
    }
    assert_false(gf_agree_board_has_room(board, 3, 0, GF_AGREE_RING));
    gf_agree_line_settle(&board->lines[1], 1);
    assert_false(gf_agree_board_has_room(board, 3, 0, GF_AGREE_RING));
    gf_agree_line_settle(&board->lines[2], 3);
    assert_false(gf_agree_board_has_room(board, 3, 0, GF_AGREE_RING));
    gf_agree_line_settle(&board->lines[0], 2);
    assert_true(gf_agree_board_has_room(board, 3, 0, GF_AGREE_RING));
    assert_false(gf_agree_board_has_room(board, 3, 0, GF_AGREE_RING + 1));
    free(board);
}

static void test_decided(void **state)
{
    struct gf_agree_board *board = board_new(2);
    (void)state;

    assert_int_equal(gf_agree_board_decided(board, 1), GF_AGREE_UNKNOWN);
    gf_agree_board_decide(board, 1, GF_AGREE_NATIVE);
    assert_int_equal(gf_agree_board_decided(board, 1), GF_AGREE_NATIVE);
    assert_int_equal(gf_agree_board_decided(board, 3), GF_AGREE_UNKNOWN);
    gf_agree_board_decide(board, 3, GF_AGREE_STAGE);
    assert_int_equal(gf_agree_board_decided(board, 3), GF_AGREE_STAGE);
    gf_agree_board_decide(board, 4, GF_AGREE_NATIVE);
    board->failed = 1;
    assert_int_equal(gf_agree_board_decided(board, 4), GF_AGREE_NATIVE);
    assert_int_equal(gf_agree_board_decided(board, 5), GF_AGREE_STAGE);
    free(board);
}

struct rank {
    struct gf_agree_board *board;
    int me, ranks;
    uint64_t wrong;              /* calls with a wrong verdict */
};

static void *make_calls(void *argument)
{
    struct rank *rank = argument;
    struct gf_agree_line *mine = &rank->board->lines[rank->me];
    uint64_t device_calls = 0;

    for (uint64_t call = 1; call <= CALLS; call++) {
        enum gf_agree_verdict verdict;
        if (!has_device_buffers(seed, rank->me, call)) {
            gf_agree_line_host(mine, call);
            continue;
        }
        while (!gf_agree_board_has_room(rank->board, rank->ranks, rank->me, device_calls)) {
            sched_yield();
        }
        gf_agree_line_device(mine, device_calls++, call);
        while ((verdict = gf_agree_board_verdict(rank->board, rank->ranks, call)) == GF_AGREE_UNKNOWN) {
            sched_yield();
        }
        rank->wrong += (verdict == GF_AGREE_NATIVE) != all_have_device_buffers(seed, rank->ranks, call);
        if (mix(call * 31 + (uint64_t)rank->me) % 8 == 0) {
            sched_yield();       /* others go ahead before this one has settled */
        }
        gf_agree_line_settle(mine, call);
    }
    return NULL;
}

static void test_many_calls(void **state)
{
    (void)state;

    for (int ranks = 2; ranks <= RANKS_MOST; ranks++) {
        struct gf_agree_board *board = board_new(ranks);
        struct rank all[RANKS_MOST];
        pthread_t threads[RANKS_MOST];
        for (int r = 0; r < ranks; r++) {
            all[r] = (struct rank){.board = board, .me = r, .ranks = ranks};
            assert_int_equal(pthread_create(&threads[r], NULL, make_calls, &all[r]), 0);
        }
        for (int r = 0; r < ranks; r++) {
            pthread_join(threads[r], NULL);
            assert_int_equal(all[r].wrong, 0);
        }
        free(board);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_call),
        cmocka_unit_test(test_host_rank),
        cmocka_unit_test(test_failed_board),
        cmocka_unit_test(test_history_never_goes_back),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_decided),
        cmocka_unit_test(test_many_calls),
    };

    if (argc > 1) {
        seed = strtoull(argv[1], NULL, 0);
    }
    printf("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
