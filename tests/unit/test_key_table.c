/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of keys.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "transport/key_table.h"

static void test_keys_are_found_in_any_order(void **state)
{
    struct gf_key_table table = {0};
    int values[1000];

    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t key = i * 733 % 1000;

        assert_null(gf_key_table_find(&table, key));
        assert_true(gf_key_table_add(&table, key, &values[key]));
    }
    for (uint32_t key = 0; key < 1000; key += 3) {
        gf_key_table_remove(&table, key);
        gf_key_table_remove(&table, key);
    }
    for (uint32_t key = 0; key < 1000; key++) {
        assert_ptr_equal(gf_key_table_find(&table, key), key % 3 == 0 ? NULL : &values[key]);
    }
    gf_key_table_release(&table);
    assert_null(gf_key_table_find(&table, 1));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_are_found_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
