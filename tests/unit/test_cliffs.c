/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the benchmark sees a cliff.
 */
#include "bench/cliffs.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_a_fifth_is_no_cliff(void **state)
{
    (void)state;
    assert_int_equal(cliff_between(8, 10, 16, 10), CLIFF_NONE);
    assert_int_equal(cliff_between(8, 10, 16, 8.5), CLIFF_NONE);
    assert_int_equal(cliff_between(8, 10, 16, 8), CLIFF_DOWN);
    assert_int_equal(cliff_between(8, 10, 16, 23.5), CLIFF_NONE);
    assert_int_equal(cliff_between(8, 10, 16, 24.5), CLIFF_UP);
    assert_int_equal(cliff_between(8, 10, 64, 90), CLIFF_NONE);
    assert_int_equal(cliff_between(8, 10, 64, 97), CLIFF_UP);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_a_fifth_is_no_cliff) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
