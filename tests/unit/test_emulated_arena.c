/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The arena: nothing overlaps, guard pages stay between allocations, and everything that was given back can be taken again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "device/emulated_arena.h"

enum { BASE = 0x10000000, PAGES = 64 };

static struct gf_arena arena_of(size_t pages)
{
    return (struct gf_arena){.base = BASE, .bytes = pages * GF_ARENA_PAGE, .alignment = GF_ARENA_ALIGNMENT};
}

static struct gf_range take(struct gf_arena *arena, size_t bytes)
{
    struct gf_range range;
    assert_int_equal(gf_arena_take(arena, bytes, 1, &range), GF_OK);
    assert_int_equal(range.start % arena->alignment, 0);
    assert_int_equal(range.bytes, bytes);
    return range;
}

static void an_allocation_ends_at_the_next_guard_page(void **state)
{
    struct gf_arena arena = arena_of(PAGES);

    (void)state;
    struct gf_range small = take(&arena, 1000), large = take(&arena, 3 * GF_ARENA_PAGE);
    assert_int_equal(gf_range_guard(&small), BASE);
    assert_int_equal(small.start + 1024, BASE + 2 * GF_ARENA_PAGE);
    assert_int_equal(gf_range_guard(&large), BASE + 2 * GF_ARENA_PAGE);
    assert_int_equal(large.start, BASE + 3 * GF_ARENA_PAGE);
    assert_int_equal(gf_range_pages_bytes(&large), 3 * GF_ARENA_PAGE);
    free(arena.ranges);
}

static void a_place_is_found_again_at_once(void **state)
{
    struct gf_arena arena = arena_of(PAGES);

    (void)state;
    struct gf_range first = take(&arena, 5000);
    take(&arena, 5000);
    assert_int_equal(gf_arena_give(&arena, first.start), GF_OK);
    assert_int_equal(take(&arena, 5000).start, first.start);
    assert_int_equal(gf_arena_give(&arena, first.start + 256), GF_ERR_INVALID);
    assert_int_equal(gf_arena_give(&arena, BASE), GF_ERR_INVALID);
    free(arena.ranges);
}

static void find_knows_the_bytes_of_an_allocation_only(void **state)
{
    struct gf_arena arena = arena_of(PAGES);

    (void)state;
    assert_null(gf_arena_find(&arena, BASE));
    struct gf_range range = take(&arena, 1000);
    assert_int_equal(gf_arena_find(&arena, range.start)->start, range.start);
    assert_int_equal(gf_arena_find(&arena, range.start + 999)->start, range.start);
    assert_null(gf_arena_find(&arena, range.start + 1000));
    assert_null(gf_arena_find(&arena, range.start - 1));
    free(arena.ranges);
}

static void all_pages_can_be_used_and_no_more(void **state)
{
    struct gf_arena arena = arena_of(4);
    struct gf_range range;
    size_t unused, largest;

    (void)state;
    assert_int_equal(gf_arena_take(&arena, 3 * GF_ARENA_PAGE + 1, 1, &range), GF_ERR_NO_MEMORY);
    assert_int_equal(gf_arena_take(&arena, SIZE_MAX, 1, &range), GF_ERR_NO_MEMORY);
    take(&arena, GF_ARENA_PAGE);
    gf_arena_free(&arena, &unused, &largest);
    assert_int_equal(unused, GF_ARENA_PAGE);
    assert_int_equal(largest, GF_ARENA_PAGE);
    take(&arena, 1);
    gf_arena_free(&arena, &unused, &largest);
    assert_int_equal(unused, 0);
    assert_int_equal(gf_arena_take(&arena, 1, 1, &range), GF_ERR_NO_MEMORY);
    free(arena.ranges);
}

/* Every page of the arena belongs to one allocation at most, checked against a plain map of the pages. */
static void random_rounds_never_overlap(void **state)
{
    struct gf_arena arena = arena_of(PAGES);
    struct gf_range live[PAGES];
    unsigned char owned[PAGES] = {0};
    size_t count = 0;
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < 20000; round++) {
        bool taking = count == 0 || rand() % 2;
        struct gf_range range;
        size_t at = 0;
        if (taking && gf_arena_take(&arena, 1 + (size_t)rand() % (6 * GF_ARENA_PAGE), (uint64_t)round, &range) == GF_OK) {
            live[count++] = range;
        } else if (count > 0) {
            at = (size_t)rand() % count;
            range = live[at];
            live[at] = live[--count];
            assert_int_equal(gf_arena_give(&arena, range.start), GF_OK);
            taking = false;
        } else {
            continue;
        }
        size_t first = (gf_range_guard(&range) - BASE) / GF_ARENA_PAGE;
        for (size_t page = first; page < first + 1 + gf_range_pages_bytes(&range) / GF_ARENA_PAGE; page++) {
            assert_in_range(page, 0, PAGES - 1);
            assert_int_equal(owned[page], !taking);
            owned[page] = taking;
        }
        assert_int_equal(arena.count, count);
    }
    free(arena.ranges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_ends_at_the_next_guard_page),
        cmocka_unit_test(a_place_is_found_again_at_once),
        cmocka_unit_test(find_knows_the_bytes_of_an_allocation_only),
        cmocka_unit_test(all_pages_can_be_used_and_no_more),
        cmocka_unit_test(random_rounds_never_overlap),
    };
    return cmocka_run_group_tests_name("emulated_arena", tests, NULL, NULL);
}
