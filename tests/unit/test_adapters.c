/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which adapters a device uses, with distances of the machine of near.xml; and lists of names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transport/adapters.h"
#include "transport/near.h"

/* Below the switch of the GPU at 01:00.0, below it again, on its socket, across; the last is no PCI device. In the order in which
 * a system may list them. */
static const struct gf_candidate all[] = {
    { .name = "mlx5_3", .address = "0000:81:00.0", .speed = 400 }, { .name = "mlx5_1", .address = "0000:03:00.0", .speed = 400 },
    { .name = "mlx5_0", .address = "0000:02:00.0", .speed = 400 }, { .name = "mlx5_2", .address = "0000:04:00.0", .speed = 800 },
    { .name = "rxe0", .speed = 100, .ethernet = true },
};
enum { ALL = sizeof all / sizeof *all };

/* What is chosen for the device, of those of all that `list` names (null: all), as changed by `change`: names with spaces. */
struct wish {
    const char *device, *list;
    int most;
    void (*change)(struct gf_candidate *candidate);
    const char *expected;
};

static void expect_chosen(const struct wish *wish)
{
    struct gf_near *near = wish->device ? gf_near_open(wish->device) : NULL;
    struct gf_candidate candidates[ALL];
    char chosen[200] = "";
    int count = 0;

    for (int i = 0; i < ALL; i++) {
        int place = wish->list ? gf_names_find(wish->list, all[i].name) : 0;

        if (place >= 0) {
            candidates[count] = all[i];
            candidates[count].steps = gf_near_steps(near, all[i].address);
            candidates[count].place = place;
            candidates[count].index = i;
            if (wish->change) {
                wish->change(&candidates[count]);
            }
            count++;
        }
    }
    int used = gf_adapters_choose(candidates, count, wish->list != NULL, wish->most);

    for (int i = 0; i < used; i++) {
        assert_string_equal(candidates[i].name, all[candidates[i].index].name);
        snprintf(chosen + strlen(chosen), sizeof chosen - strlen(chosen), "%s%s", i ? " " : "", candidates[i].name);
    }
    assert_string_equal(chosen, wish->expected);
    gf_near_close(near);
}

static void slow_second(struct gf_candidate *candidate)
{
    candidate->speed = strcmp(candidate->name, "mlx5_1") == 0 ? 100 : candidate->speed;
}

static void slow_first(struct gf_candidate *candidate)
{
    candidate->speed = strcmp(candidate->name, "mlx5_0") == 0 ? 100 : candidate->speed;
}

static void ethernet_second(struct gf_candidate *candidate)
{
    candidate->ethernet = strcmp(candidate->name, "mlx5_1") == 0;
}

static void same_speed(struct gf_candidate *candidate)
{
    candidate->speed = 200;
}

static void test_nearest_are_used(void **state)
{
    static const struct wish wishes[] = {
        { "0000:01:00.0", NULL, 8, NULL, "mlx5_0 mlx5_1" },            /* the faster one is farther */
        { "0000:01:00.0", NULL, 1, NULL, "mlx5_0" },
        { "0000:01:00.0", NULL, 8, slow_second, "mlx5_0" },            /* a slow one would be waited for */
        { "0000:01:00.0", NULL, 8, slow_first, "mlx5_1" },
        { "0000:01:00.0", NULL, 8, ethernet_second, "mlx5_0" },
        { "0000:81:00.0", NULL, 8, NULL, "mlx5_3" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        expect_chosen(&wishes[i]);
    }
}

static void test_of_unknown_distance_the_fastest_is_used(void **state)
{
    static const struct wish wishes[] = {
        { NULL, NULL, 8, NULL, "mlx5_2" }, { NULL, NULL, 8, same_speed, "mlx5_0" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        expect_chosen(&wishes[i]);
    }
}

/* The nearest of those that are named, in that order. */
static void test_named_ones(void **state)
{
    static const struct wish wishes[] = {
        { "0000:01:00.0", "mlx5_1,mlx5_0", 8, NULL, "mlx5_1 mlx5_0" },
        { "0000:01:00.0", "mlx5_1,mlx5_0", 8, slow_second, "mlx5_1 mlx5_0" },
        { "0000:01:00.0", "mlx5_1,mlx5_0", 1, NULL, "mlx5_1" },
        { "0000:01:00.0", "mlx5_0,mlx5_1,mlx5_2,mlx5_3", 8, NULL, "mlx5_0 mlx5_1" },
        { "0000:01:00.0", "mlx5_3,mlx5_2", 8, NULL, "mlx5_2" },
        { "0000:01:00.0", "mlx5_0,mlx5_1", 8, ethernet_second, "mlx5_0" },
        { NULL, "mlx5_3,mlx5_0", 8, NULL, "mlx5_3 mlx5_0" },
        { NULL, "mlx5_9", 8, NULL, "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        expect_chosen(&wishes[i]);
    }
}

static void test_lists_of_names(void **state)
{
    static const char *const here[] = { "mlx5_0", "mlx5_10", "rxe0" };
    char missing[64], small[6];

    (void)state;
    assert_int_equal(gf_names_find("mlx5_0,mlx5_1", "mlx5_0"), 0);
    assert_int_equal(gf_names_find("mlx5_0,mlx5_1", "mlx5_1"), 1);
    assert_int_equal(gf_names_find(" mlx5_0 ,, mlx5_1,", "mlx5_1"), 1);
    assert_int_equal(gf_names_find("mlx5_10", "mlx5_1"), -1);
    assert_int_equal(gf_names_find("mlx5_1", "mlx5_10"), -1);
    assert_int_equal(gf_names_find("", "mlx5_1"), -1);
    assert_int_equal(gf_names_find(" , ", "mlx5_1"), -1);
    assert_false(gf_names_missing("rxe0,mlx5_10", here, 3, missing, sizeof missing));
    assert_true(gf_names_missing("mlx5_1, rxe0,mlx5_100", here, 3, missing, sizeof missing));
    assert_string_equal(missing, "mlx5_1, mlx5_100");
    assert_true(gf_names_missing("mlx5_1", here, 0, small, sizeof small));
    assert_string_equal(small, "mlx5_");
    assert_false(gf_names_missing("", here, 3, missing, sizeof missing));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest_are_used),
        cmocka_unit_test(test_of_unknown_distance_the_fastest_is_used),
        cmocka_unit_test(test_named_ones),
        cmocka_unit_test(test_lists_of_names),
    };
    const char *source = getenv("GF_SRCDIR");
    char file[4096];

    snprintf(file, sizeof file, "%s/tests/unit/near.xml", source ? source : ".");
    setenv("HWLOC_XMLFILE", file, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
