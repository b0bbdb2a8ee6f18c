/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared segments: created, attached by other processes, refused when they are not what was named, and gone when closed.
 */
#include "core/segment.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/descriptors.h"
#include "tests/support/ranks.h"

/* Rank 0 shares; all write their own byte and read everybody's. */
static int share_body(struct gftest_rank *rank)
{
    struct gf_segment segment = { 0 };
    struct gf_segment_name mine = { 0 }, names[GFTEST_MAX_RANKS];
    struct gf_reason why = { "" };

    if (rank->rank == 0) {
        GFTEST_CHECK(rank, gf_segment_create(10000, &segment, &mine, &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, segment.bytes >= 10000 && segment.bytes % 4096 == 0);
        GFTEST_CHECK(rank, fcntl(segment.fd, F_GETFD) & FD_CLOEXEC);
        for (size_t i = 0; i < segment.bytes; i++) {
            GFTEST_CHECK(rank, ((unsigned char *)segment.address)[i] == 0);
        }
    }
    GFTEST_CHECK(rank, rank->bootstrap.allgather(rank->bootstrap.ctx, &mine, names, sizeof mine) == GF_OK);
    if (rank->rank != 0) {
        GFTEST_CHECK(rank, gf_segment_attach(&names[0], &segment, &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, segment.fd == -1);
    }
    ((unsigned char *)segment.address)[rank->rank * 128] = (unsigned char)(rank->rank + 1);
    gftest_barrier(rank);
    for (int r = 0; r < rank->ranks; r++) {
        GFTEST_CHECK(rank, ((unsigned char *)segment.address)[r * 128] == r + 1);
    }
    gftest_barrier(rank);
    gf_segment_close(&segment);
    GFTEST_CHECK(rank, segment.address == NULL);
    gf_segment_close(&segment);
    gftest_barrier(rank);
    if (rank->rank != 0) {
        GFTEST_CHECK(rank, gf_segment_attach(&names[0], &segment, &why) == GF_ERR_UNSUPPORTED);
        GFTEST_CHECK(rank, strstr(why.text, "/proc/") != NULL, "%s", why.text);
        GFTEST_CHECK(rank, segment.address == NULL);
    }
    return 0;
}

static void test_processes_share(void **state)
{
    (void)state;
    gftest_expect(3, share_body, NULL, 30);
}

static void test_other_file_is_refused(void **state)
{
    struct gf_segment a, b, attached;
    struct gf_segment_name name_a, name_b;
    struct gf_reason why = { "" };

    (void)state;
    assert_int_equal(gf_segment_create(4096, &a, &name_a, &why), GF_OK);
    assert_int_equal(gf_segment_create(4096, &b, &name_b, &why), GF_OK);

    struct gf_segment_name recycled = name_a;

    recycled.fd = name_b.fd;
    assert_int_equal(gf_segment_attach(&recycled, &attached, &why), GF_ERR_UNSUPPORTED);
    assert_null(attached.address);
    recycled = name_a;
    recycled.bytes = 8192;
    assert_int_equal(gf_segment_attach(&recycled, &attached, &why), GF_ERR_UNSUPPORTED);
    assert_int_equal(gf_segment_attach(&name_a, &attached, &why), GF_OK);
    gf_segment_close(&attached);
    gf_segment_close(&a);
    gf_segment_close(&b);
}

static void test_wrong_sizes(void **state)
{
    struct gf_segment segment;
    struct gf_segment_name name;
    struct gf_reason why = { "" };

    (void)state;
    assert_int_equal(gf_segment_create(0, &segment, &name, &why), GF_ERR_INVALID);
    assert_non_null(strstr(why.text, "1 byte"));
    assert_int_equal(gf_segment_create((size_t)1 << 60, &segment, &name, &why), GF_ERR_NO_MEMORY);
    assert_non_null(strstr(why.text, "could not be reserved"));
    assert_null(segment.address);
}

static void test_nothing_leaks(void **state)
{
    struct gf_segment segment, attached;
    struct gf_segment_name name;
    int before = gftest_open_descriptors();

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(gf_segment_create(65536, &segment, &name, NULL), GF_OK);
        assert_int_equal(gf_segment_attach(&name, &attached, NULL), GF_OK);
        gf_segment_close(&attached);
        gf_segment_close(&segment);
        gf_segment_create((size_t)1 << 60, &segment, &name, NULL);
    }
    assert_int_equal(gftest_open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes_share),
        cmocka_unit_test(test_other_file_is_refused),
        cmocka_unit_test(test_wrong_sizes),
        cmocka_unit_test(test_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
