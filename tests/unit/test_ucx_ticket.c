/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tickets of the UCX wire come when the peer says so, not when UCX does. Run by wire_ucx.sh.
 */
#include "wire_ends.h"

#include "transport/ucx.h"

const struct gf_wire_ops *wire_tested = &gf_wire_ucx;

static void test_no_ticket_comes_before_the_peer_has_spoken(void **state)
{
    static const size_t sizes[] = {0, 8, 3000, 200000};
    struct wire_pair *pair = *state;

    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t word = 0;

        wire_send(pair, 0, 0, sizes[i], i, &(struct gf_wire_ticket){&word, 1});
        for (int turns = 0; turns < 1000; turns++) {
            wire_tested->progress(pair->a.wire);
        }
        assert_int_equal(word, 0);
        WIRE_UNTIL(pair, word == 1);
        assert_int_equal(wire_take(pair), i);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_ticket_comes_before_the_peer_has_spoken, wire_pair_open, wire_pair_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
