/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls with device buffers that do not wait for the verdict: what the line of a rank shows of them; and threads as ranks, each
 * with another thread that asks, in any order: every verdict is compared with what all ranks really passed.
 *
 * Usage: test_agree_later [SEED]
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "mca_coll_gpufifo/agree_later.h"
#include "tests/unit/agree_calls.h"

enum { RANKS_MOST = 4, CALLS = 2000 };

static uint64_t seed = 20262;

static void enter_host(struct gf_agree_board *board, int rank, uint64_t first, uint64_t last)
{
    for (uint64_t call = first; call <= last; call++) {
        gf_agree_line_host(&board->lines[rank], call);
    }
}

/* With a board from the start. */
static void see(struct gf_agree_later *later, struct gf_agree_board *board, int ranks, int me)
{
    const uint64_t none = 0;

    gf_agree_later_init(later);
    gf_agree_later_see(later, board, ranks, me, &none);
}

/* The next call is this one. */
static void enter(struct gf_agree_later *later, struct gf_agree_ticket *ticket, uint64_t call)
{
    uint64_t calls = call - 1;

    gf_agree_later_enter(later, ticket, &calls);
    assert_int_equal(calls, call);
    assert_int_equal(ticket->call, call);
}

/* Settled is what is before the first call without a verdict, whatever is known of those behind it. */
static void test_settles_in_order(void **state)
{
    struct gf_agree_board *board = board_new(2);
    struct gf_agree_line *mine = &board->lines[0], *other = &board->lines[1];
    struct gf_agree_ticket first, third;
    struct gf_agree_later later;
    (void)state;

    see(&later, board, 2, 0);
    enter(&later, &first, 1);
    gf_agree_later_host(&later, 2);
    enter(&later, &third, 3);
    gf_agree_later_host(&later, 4);
    assert_int_equal(mine->entered, 4);
    assert_int_equal(mine->settled, 0);
    assert_int_equal(gf_agree_later_ask(&later, &first), GF_AGREE_UNKNOWN);
    gf_agree_line_device(other, 0, 1);
    enter_host(board, 1, 2, 3);
    assert_int_equal(gf_agree_later_ask(&later, &third), GF_AGREE_STAGE);
    assert_int_equal(mine->settled, 0);
    gf_agree_later_host(&later, 5);
    assert_int_equal(mine->entered, 5);
    assert_int_equal(mine->settled, 0);
    assert_int_equal(gf_agree_later_ask(&later, &first), GF_AGREE_NATIVE);
    assert_int_equal(mine->settled, 5);
    gf_agree_later_host(&later, 6);
    assert_int_equal(mine->entered, 6);
    assert_int_equal(mine->settled, 6);
    gf_agree_later_destroy(&later);
    free(board);
}

/* Calls for which there is no room are shown later, and what is behind them not before. */
static void test_waits_for_room(void **state)
{
    enum { RING = GF_AGREE_RING, MORE = 2 };
    struct gf_agree_board *board = board_new(2);
    struct gf_agree_line *mine = &board->lines[0];
    struct gf_agree_ticket tickets[RING + MORE];
    struct gf_agree_later later;
    (void)state;

    see(&later, board, 2, 0);
    for (uint64_t call = 1; call <= RING + MORE; call++) {
        enter(&later, &tickets[call - 1], call);
    }
    gf_agree_later_host(&later, RING + MORE + 1);
    assert_int_equal(mine->entered, RING);
    enter_host(board, 1, 1, RING + MORE);
    assert_int_equal(gf_agree_later_ask(&later, &tickets[RING]), GF_AGREE_UNKNOWN);
    assert_int_equal(mine->entered, RING);
    assert_int_equal(gf_agree_later_ask(&later, &tickets[0]), GF_AGREE_STAGE);
    assert_int_equal(gf_agree_later_ask(&later, &tickets[RING]), GF_AGREE_STAGE);
    assert_int_equal(mine->entered, RING + 1);
    assert_int_equal(mine->settled, 1);
    gf_agree_later_drop(&later, &tickets[1]);
    assert_int_equal(mine->settled, 2);
    for (int i = RING + MORE; i-- > 2;) {
        assert_int_equal(i == RING ? GF_AGREE_STAGE : gf_agree_later_ask(&later, &tickets[i]), GF_AGREE_STAGE);
    }
    assert_int_equal(mine->entered, RING + MORE + 1);
    assert_int_equal(mine->settled, RING + MORE + 1);
    assert_null(later.first);
    gf_agree_later_destroy(&later);
    free(board);
}

/* A rank that cannot attach the board settles nothing there, so room never comes: where the board has failed all are told to
 * stage, those that were never shown too, in whatever order they are asked for. */
static void test_waits_for_no_room_on_a_failed_board(void **state)
{
    enum { RING = GF_AGREE_RING, MORE = 2 };
    struct gf_agree_board *board = board_new(2);
    struct gf_agree_line *mine = &board->lines[0];
    struct gf_agree_ticket tickets[RING + MORE];
    struct gf_agree_later later;
    (void)state;

    see(&later, board, 2, 0);
    for (uint64_t call = 1; call <= RING + MORE; call++) {
        enter(&later, &tickets[call - 1], call);
    }
    assert_int_equal(gf_agree_later_ask(&later, &tickets[RING]), GF_AGREE_UNKNOWN);
    atomic_store(&board->failed, GF_AGREE_UNSEEN);
    assert_int_equal(gf_agree_later_ask(&later, &tickets[RING + 1]), GF_AGREE_STAGE);
    for (int i = 0; i <= RING; i++) {
        assert_int_equal(gf_agree_later_ask(&later, &tickets[i]), GF_AGREE_STAGE);
    }
    assert_null(later.first);
    assert_int_equal(later.device_calls, RING);
    assert_int_equal(mine->device_calls[0], 1);
    assert_int_equal(mine->settled, RING + MORE);
    enter(&later, &tickets[0], RING + MORE + 1);
    assert_int_equal(gf_agree_later_ask(&later, &tickets[0]), GF_AGREE_STAGE);
    gf_agree_later_host(&later, RING + MORE + 2);
    assert_int_equal(mine->entered, RING + MORE + 2);
    assert_int_equal(mine->settled, RING + MORE + 2);
    assert_int_equal(later.device_calls, RING);
    gf_agree_later_destroy(&later);
    free(board);
}

/* Calls before the board is there: what had host buffers before the first without a verdict is told as such, and that one and
 * what is behind it is shown; a host call that missed the board is told by the second look. */
static void test_comes_to_the_board(void **state)
{
    struct gf_agree_board *board = board_new(2);
    struct gf_agree_line *mine = &board->lines[0];
    struct gf_agree_ticket ticket;
    struct gf_agree_later later;
    uint64_t calls = 2;
    (void)state;

    gf_agree_later_init(&later);
    gf_agree_later_host(&later, 2);
    gf_agree_later_enter(&later, &ticket, &calls);
    gf_agree_later_host(&later, ++calls);
    assert_int_equal(gf_agree_later_ask(&later, &ticket), GF_AGREE_UNKNOWN);
    gf_agree_later_see(&later, board, 2, 0, &calls);
    assert_int_equal(mine->settled, 2);
    assert_int_equal(mine->entered, 4);
    gf_agree_later_see(&later, board, 2, 0, &calls);
    assert_int_equal(mine->settled, 2);
    enter_host(board, 1, 1, 2);
    assert_int_equal(gf_agree_later_ask(&later, &ticket), GF_AGREE_UNKNOWN);
    gf_agree_line_device(&board->lines[1], 0, 3);
    assert_int_equal(gf_agree_later_ask(&later, &ticket), GF_AGREE_NATIVE);
    assert_int_equal(mine->settled, 4);
    calls++;                           /* a host call that saw no board */
    gf_agree_later_see(&later, board, 2, 0, &calls);
    assert_int_equal(mine->entered, 5);
    assert_int_equal(mine->settled, 5);
    gf_agree_later_destroy(&later);
    free(board);
}

/* A verdict may be needless: then the ticket goes without a board. */
static void test_never_comes_to_the_board(void **state)
{
    struct gf_agree_ticket ticket;
    struct gf_agree_later later;
    uint64_t calls = 0;
    (void)state;

    gf_agree_later_init(&later);
    gf_agree_later_enter(&later, &ticket, &calls);
    gf_agree_later_drop(&later, &ticket);
    assert_null(later.first);
    gf_agree_later_destroy(&later);
}

/* A rank that waits for no verdict but now and then; its asker finds out. */
struct rank {
    struct gf_agree_later later;
    struct gf_agree_ticket tickets[CALLS + 1];
    _Atomic uint64_t made;       /* calls so far */
    uint64_t calls;              /* counted */
    uint64_t wrong;              /* verdicts, of calls that waited */
};

static bool is_later(const struct rank *rank, uint64_t call)
{
    return has_device_buffers(seed, rank->later.me, call) && mix(call * 17 + (uint64_t)rank->later.me) % 16 != 0;
}

static bool is_right(const struct rank *rank, uint64_t call, enum gf_agree_verdict verdict)
{
    return (verdict == GF_AGREE_NATIVE) == all_have_device_buffers(seed, rank->later.ranks, call);
}

static void wait_for_verdict(struct rank *rank, uint64_t call)
{
    struct gf_agree_later *later = &rank->later;
    struct gf_agree_line *mine = &later->board->lines[later->me];
    enum gf_agree_verdict verdict;

    while (__atomic_load_n(&later->first, __ATOMIC_ACQUIRE) ||
           !gf_agree_board_has_room(later->board, later->ranks, later->me, later->device_calls)) {
        sched_yield();
    }
    gf_agree_line_device(mine, later->device_calls++, call);
    while ((verdict = gf_agree_board_verdict(later->board, later->ranks, call)) == GF_AGREE_UNKNOWN) {
        sched_yield();
    }
    rank->wrong += !is_right(rank, call, verdict);
    gf_agree_line_settle(mine, call);
}

static void *make_calls(void *argument)
{
    struct rank *rank = argument;

    for (uint64_t call = 1; call <= CALLS; call++) {
        rank->calls = call - 1;
        if (is_later(rank, call)) {
            gf_agree_later_enter(&rank->later, &rank->tickets[call], &rank->calls);
        } else if (has_device_buffers(seed, rank->later.me, call)) {
            wait_for_verdict(rank, call);
        } else {
            gf_agree_later_host(&rank->later, call);
        }
        atomic_store(&rank->made, call);
    }
    return NULL;
}

/* Asks about those that are open from `from` to `to`, the latest first. How many were wrong. */
static uint64_t ask_about(struct rank *rank, bool *open, uint64_t from, uint64_t to)
{
    uint64_t wrong = 0;

    for (uint64_t call = to; call >= from; call--) {
        enum gf_agree_verdict verdict = open[call] ? gf_agree_later_ask(&rank->later, &rank->tickets[call]) : GF_AGREE_UNKNOWN;

        if (verdict != GF_AGREE_UNKNOWN) {
            open[call] = false;
            wrong += !is_right(rank, call, verdict);
        }
    }
    return wrong;
}

/* What it finds wrong it returns, as an address. */
static void *ask(void *argument)
{
    struct rank *rank = argument;
    static _Thread_local bool open[CALLS + 1];
    uint64_t wrong = 0, seen = 0, first = 1;

    while (first <= CALLS) {
        uint64_t made = atomic_load(&rank->made);

        while (seen < made) {
            seen++;
            open[seen] = is_later(rank, seen);
        }
        wrong += ask_about(rank, open, first, made);
        while (first <= made && !open[first]) {
            first++;
        }
        sched_yield();
    }
    return (void *)(uintptr_t)wrong;
}

static void test_many_calls(void **state)
{
    static struct rank all[RANKS_MOST];
    (void)state;

    for (int ranks = 2; ranks <= RANKS_MOST; ranks++) {
        struct gf_agree_board *board = board_new(ranks);
        pthread_t threads[RANKS_MOST], askers[RANKS_MOST];
        for (int r = 0; r < ranks; r++) {
            all[r].made = all[r].wrong = 0;
            see(&all[r].later, board, ranks, r);
            assert_int_equal(pthread_create(&threads[r], NULL, make_calls, &all[r]), 0);
            assert_int_equal(pthread_create(&askers[r], NULL, ask, &all[r]), 0);
        }
        for (int r = 0; r < ranks; r++) {
            void *wrong;
            pthread_join(threads[r], NULL);
            pthread_join(askers[r], &wrong);
            assert_int_equal(all[r].wrong + (uintptr_t)wrong, 0);
            gf_agree_later_destroy(&all[r].later);
        }
        free(board);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settles_in_order),
        cmocka_unit_test(test_waits_for_room),
        cmocka_unit_test(test_waits_for_no_room_on_a_failed_board),
        cmocka_unit_test(test_comes_to_the_board),
        cmocka_unit_test(test_never_comes_to_the_board),
        cmocka_unit_test(test_many_calls),
    };

    if (argc > 1) {
        seed = strtoull(argv[1], NULL, 0);
    }
    printf("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
