/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many operations of its wire a message between nodes takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/net_counts.h"
#include "tests/unit/net_world.h"

net_counts_checker *net_counts_also;

struct count {
    struct net_want want;
    uint64_t steps[PLAY_CHANNELS];
    struct gf_wire_counts sender, receiver;    /* flushes: 1 if there are any, of each message that is not empty */
    uint64_t ahead;                            /* most credits beyond the steps */
};

/* Messages whose steps have something in them. */
static uint64_t filled_messages(const struct play *p, const struct count *count)
{
    uint64_t filled = 0;

    for (int first = 0; first < count->want.channels; first += count->want.group) {
        for (uint64_t round = 0; round < PLAY_MOST_STEPS; round++) {
            bool any = false;

            for (int c = first; c < first + count->want.group && c < count->want.channels; c++) {
                any = any || (round < count->steps[c] && play_size(p, c, round) > 0);
            }
            filled += any;
        }
    }
    return filled;
}

static void check_counts(const struct count *count)
{
    struct net_world w;

    gftest_soft_wants = (struct gftest_soft_wants){ .seed = play_seed() };
    net_world_open(&w, &count->want);
    memcpy(w.play.steps, count->steps, sizeof w.play.steps);
    play_launch(&w.play, PLAY_SENDER);
    net_world_expect_right(&w);
    play_await_drained(&w.play);
    struct gf_wire_counts sender = net_world_counts(&w, PLAY_SENDER), receiver = net_world_counts(&w, PLAY_RECEIVER);

    if (net_counts_also) {
        net_counts_also(&sender, &receiver);
    }
    assert_int_equal(sender.puts, count->sender.puts);
    assert_int_equal(sender.notifies, count->sender.notifies);
    assert_int_equal(sender.line_puts, 0);
    assert_int_equal(sender.flushes, 0);
    assert_int_equal(receiver.puts + receiver.notifies, 0);
    assert_in_range(receiver.line_puts, count->receiver.line_puts, count->receiver.line_puts + count->ahead);
    assert_int_equal(w.play.lent > 0, count->want.zero_copy == GF_CHOICE_YES);
    assert_int_equal(receiver.flushes, count->receiver.flushes ? filled_messages(&w.play, count) : 0);
    net_world_close(&w);
}

/* A message is 1 put for one step and n + 1 for n, one credit, and one flush where that is needed, with copies or without. A lane
 * of one channel has credits for up to GF_FIFO_DEPTH steps ahead, as far as there was room for them before the proxy came to
 * rest; not where they offer a launch's buffer. */
void net_test_operations_are_counted(void **state)
{
    const struct count counts[] = {
        { { 1, 1, GF_CHOICE_YES, GF_FLUSH_AUTO, GF_CHOICE_NO }, { 20 }, { .notifies = 20 }, { .line_puts = 20, .flushes = 1 },
          GF_FIFO_DEPTH },
        { { 1, 1, GF_CHOICE_YES, GF_FLUSH_NO, GF_CHOICE_NO }, { 0 }, { .notifies = 0 }, { .line_puts = 0 }, GF_FIFO_DEPTH },
        { { 1, 1, GF_CHOICE_NO, GF_FLUSH_AUTO, GF_CHOICE_AUTO },
          { 20 }, { .notifies = 20 }, { .line_puts = 20 }, GF_FIFO_DEPTH },
        { { 1, 1, GF_CHOICE_NO, GF_FLUSH_READ, GF_CHOICE_AUTO },
          { 20 }, { .notifies = 20 }, { .line_puts = 20, .flushes = 1 }, GF_FIFO_DEPTH },
        { { 2, 2, GF_CHOICE_YES, GF_FLUSH_READ, GF_CHOICE_NO },
          { 20, 20 }, { 40, 20, 0, 0 }, { .line_puts = 20, .flushes = 1 }, 0 },
        { { 1, 1, GF_CHOICE_YES, GF_FLUSH_READ, GF_CHOICE_YES },
          { 20 }, { .notifies = 20 }, { .line_puts = 20, .flushes = 1 }, 0 },
        { { 4, 4, GF_CHOICE_YES, GF_FLUSH_READ, GF_CHOICE_YES }, { 20, 20, 20, 20 }, { 80, 20, 0, 0 },
          { .line_puts = 20, .flushes = 1 }, 0 },
        { { 8, 8, GF_CHOICE_YES, GF_FLUSH_READ, GF_CHOICE_NO }, { 20, 20, 20, 20, 20, 20, 20, 20 }, { 160, 20, 0, 0 },
          { .line_puts = 20, .flushes = 1 }, 0 },
        { { 5, 8, GF_CHOICE_NO, GF_FLUSH_AUTO, GF_CHOICE_AUTO },
          { 5, 0, 4, 3, 2 }, { 4 + 4 + 3 + 2, 5, 0, 0 }, { .line_puts = 5 }, 0 },
        { { 3, 2, GF_CHOICE_NO, GF_FLUSH_AUTO, GF_CHOICE_AUTO },
          { 1, 1, 2 }, { .puts = 2, .notifies = 3 }, { .line_puts = 3 }, GF_FIFO_DEPTH },
    };

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        check_counts(&counts[i]);
    }
}
