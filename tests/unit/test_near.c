/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Distances between adapters and a device, on the machine of near.xml.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "transport/near.h"

static void test_switch_before_socket_before_machine(void **state)
{
    struct gf_near *near = gf_near_open("0000:01:00.0");

    (void)state;
    assert_non_null(near);
    assert_int_equal(gf_near_steps(near, "0000:01:00.0"), 0);
    int beside = gf_near_steps(near, "0000:02:00.0"), socket = gf_near_steps(near, "0000:04:00.0");
    int across = gf_near_steps(near, "0000:81:00.0");

    assert_int_equal(gf_near_steps(near, "0000:03:00.0"), beside);
    assert_true(0 < beside && beside < socket && socket < across && across < GF_NEAR_UNKNOWN);
    gf_near_close(near);
}

static void test_what_is_not_known_is_far(void **state)
{
    struct gf_near *near = gf_near_open("0000:01:00.0");

    (void)state;
    assert_int_equal(gf_near_steps(near, "0000:99:00.0"), GF_NEAR_UNKNOWN);
    assert_int_equal(gf_near_steps(near, NULL), GF_NEAR_UNKNOWN);
    assert_int_equal(gf_near_steps(NULL, "0000:02:00.0"), GF_NEAR_UNKNOWN);
    assert_null(gf_near_open("0000:99:00.0"));
    gf_near_close(near);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_switch_before_socket_before_machine),
        cmocka_unit_test(test_what_is_not_known_is_far),
    };
    const char *source = getenv("GF_SRCDIR");
    char file[4096];

    snprintf(file, sizeof file, "%s/tests/unit/near.xml", source ? source : ".");
    setenv("HWLOC_XMLFILE", file, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
