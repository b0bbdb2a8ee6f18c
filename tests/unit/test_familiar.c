/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which buffers are worth a mapping.
 */
#include "core/familiar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Calls until a new buffer is worth it. */
static int calls_until_worth(struct gf_familiar *f, uint64_t id, uint64_t *call)
{
    int calls = 1;

    while (!gf_familiar_meet(f, id, ++*call)) {
        calls++;
    }
    return calls;
}

static void test_a_buffer_comes_again(void **state)
{
    struct gf_familiar f = { 0 };
    uint64_t call = 0;

    (void)state;
    assert_int_equal(calls_until_worth(&f, 7, &call), GF_FAMILIAR_CALLS);
    assert_true(gf_familiar_meet(&f, 7, ++call));
    call++;
    for (int i = 0; i < 10; i++) {
        assert_false(gf_familiar_meet(&f, 8, call));      /* however often one call names it */
    }
}

/* As many as are watched may take turns; one more, and none ever comes again in time. */
static void test_many_buffers(void **state)
{
    struct gf_familiar f = { 0 };
    uint64_t call = 0;

    (void)state;
    for (int turn = 1; turn <= GF_FAMILIAR_CALLS; turn++) {
        for (uint64_t id = 1; id <= GF_FAMILIAR_BUFFERS; id++) {
            assert_int_equal(gf_familiar_meet(&f, id, ++call), turn == GF_FAMILIAR_CALLS);
        }
    }
    for (int turn = 0; turn < 50; turn++) {
        for (uint64_t id = 100; id <= 100 + GF_FAMILIAR_BUFFERS; id++) {
            assert_false(gf_familiar_meet(&f, id, ++call));
        }
    }
}

static void test_experience(void **state)
{
    struct gf_familiar f = { 0 };
    uint64_t call = 0, id = 0;
    int wanted = GF_FAMILIAR_CALLS;

    (void)state;
    while (wanted < GF_FAMILIAR_CALLS_MOST) {
        assert_int_equal(calls_until_worth(&f, ++id, &call), wanted);
        gf_familiar_part(&f, GF_FAMILIAR_LASTING - 1);
        wanted *= 2;
    }
    gf_familiar_part(&f, 1);                              /* patience has an end */
    assert_int_equal(calls_until_worth(&f, ++id, &call), wanted);
    gf_familiar_part(&f, GF_FAMILIAR_LASTING);
    assert_int_equal(calls_until_worth(&f, ++id, &call), GF_FAMILIAR_CALLS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_buffer_comes_again),
        cmocka_unit_test(test_many_buffers),
        cmocka_unit_test(test_experience),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
