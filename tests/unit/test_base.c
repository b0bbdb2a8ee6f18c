/* SPDX-License-Identifier: BSD-3-Clause
 *
 * base/: names of results, reasons, the log, and the tables of types and operations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/status.h"
#include "base/types.h"

static void every_status_has_its_own_name(void **state)
{
    (void)state;
    for (int a = GF_ERR_TIMEOUT; a <= GF_NO_RESOURCE; a++) {
        assert_string_not_equal(gf_status_string(a), "unknown status");
        for (int b = GF_ERR_TIMEOUT; b < a; b++)
            assert_string_not_equal(gf_status_string(a), gf_status_string(b));
    }
    assert_string_equal(gf_status_string((gf_status)1234), "unknown status");
}

static void a_reason_is_formatted_and_cut(void **state)
{
    (void)state;
    struct gf_reason why = { "before" };
    gf_reason_set(&why, "rank %d: %s", 3, "no peer");
    assert_string_equal(why.text, "rank 3: no peer");

    char longer[2 * sizeof(why.text)];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    gf_reason_set(&why, "%s", longer);
    assert_int_equal(strlen(why.text), sizeof(why.text) - 1);

    gf_reason_set(NULL, "nobody asks");
}

struct sink {
    int lines;
    enum gf_log_level level;
    char last[4096];
};

static void sink_write(void *ctx, enum gf_log_level level, const char *line)
{
    struct sink *sink = ctx;
    sink->lines++;
    sink->level = level;
    strncpy(sink->last, line, sizeof(sink->last) - 1);
}

static void the_log_shows_up_to_its_level(void **state)
{
    (void)state;
    struct sink sink = { 0 };
    struct gf_log log = { .write = sink_write, .ctx = &sink, .verbose = GF_LOG_PATH };

    assert_true(gf_log_shows(&log, GF_LOG_WARN));
    assert_true(gf_log_shows(&log, GF_LOG_PATH));
    assert_false(gf_log_shows(&log, GF_LOG_CALL));

    gf_log(&log, GF_LOG_PATH, "peer %d by %s", 2, "shm");
    assert_int_equal(sink.lines, 1);
    assert_int_equal(sink.level, GF_LOG_PATH);
    assert_string_equal(sink.last, "peer 2 by shm");

    gf_log(&log, GF_LOG_CALL, "not shown");
    assert_int_equal(sink.lines, 1);

    log.verbose = -1;
    gf_log(&log, GF_LOG_WARN, "warnings are always shown");
    assert_int_equal(sink.lines, 2);
}

static void a_log_may_be_missing(void **state)
{
    (void)state;
    struct gf_log no_sink = { .verbose = GF_LOG_DEBUG };
    assert_false(gf_log_shows(NULL, GF_LOG_WARN));
    assert_false(gf_log_shows(&no_sink, GF_LOG_WARN));
    gf_log(NULL, GF_LOG_WARN, "nobody listens");
    gf_log(&no_sink, GF_LOG_WARN, "nobody listens");
}

static void a_long_line_is_cut(void **state)
{
    (void)state;
    struct sink sink = { 0 };
    struct gf_log log = { .write = sink_write, .ctx = &sink, .verbose = GF_LOG_DEBUG };
    char longer[3000];
    memset(longer, 'y', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    gf_log(&log, GF_LOG_DEBUG, "%s", longer);
    assert_in_range(strlen(sink.last), 200, sizeof(longer) - 2);
    assert_null(strchr(sink.last, '\n'));
}

/* Layouts as the C compiler makes them: MPI's pair types are C structs. */
static void sizes_are_those_of_c(void **state)
{
    (void)state;
    static const struct { enum gf_type type; size_t size; } expected[] = {
        { GF_INT8, 1 }, { GF_UINT8, 1 }, { GF_INT16, 2 }, { GF_UINT16, 2 }, { GF_INT32, 4 }, { GF_UINT32, 4 },
        { GF_INT64, 8 }, { GF_UINT64, 8 }, { GF_FLOAT, 4 }, { GF_DOUBLE, 8 }, { GF_LONG_DOUBLE, sizeof(long double) },
        { GF_FLOAT_COMPLEX, 8 }, { GF_DOUBLE_COMPLEX, 16 }, { GF_LONG_DOUBLE_COMPLEX, 2 * sizeof(long double) },
        { GF_BOOL, sizeof(_Bool) }, { GF_LOGICAL8, 1 }, { GF_LOGICAL16, 2 }, { GF_LOGICAL32, 4 }, { GF_LOGICAL64, 8 },
        { GF_BYTE, 1 }, { GF_FLOAT_INT, 8 }, { GF_DOUBLE_INT, sizeof(struct { double v; int i; }) },
        { GF_LONG_INT, sizeof(struct { long v; int i; }) }, { GF_INT_INT, 8 }, { GF_SHORT_INT, 8 },
        { GF_LONG_DOUBLE_INT, sizeof(struct { long double v; int i; }) }, { GF_FLOAT_FLOAT, 8 }, { GF_DOUBLE_DOUBLE, 16 },
    };
    assert_int_equal(sizeof(expected) / sizeof(expected[0]), GF_TYPE_COUNT);
    for (int i = 0; i < GF_TYPE_COUNT; i++) {
        assert_int_equal(expected[i].type, i);
        assert_int_equal(gf_type_size(expected[i].type), expected[i].size);
    }
}

static void names_differ(void **state)
{
    (void)state;
    for (int a = 0; a < GF_TYPE_COUNT; a++) {
        for (int b = 0; b < a; b++)
            assert_string_not_equal(gf_type_name(a), gf_type_name(b));
    }
    for (int a = 0; a < GF_OP_COUNT; a++) {
        for (int b = 0; b < a; b++)
            assert_string_not_equal(gf_op_name(a), gf_op_name(b));
    }
}

/* The tables of MPI-3.1 §5.9.2 and §5.9.4, type by type: M order, S arithmetic, L logical, B bitwise, P location. */
static void operations_are_those_of_mpi(void **state)
{
    (void)state;
    static const char *const classes[GF_TYPE_COUNT] = {
        [GF_INT8] = "MSLB", [GF_UINT8] = "MSLB", [GF_INT16] = "MSLB", [GF_UINT16] = "MSLB",
        [GF_INT32] = "MSLB", [GF_UINT32] = "MSLB", [GF_INT64] = "MSLB", [GF_UINT64] = "MSLB",
        [GF_FLOAT] = "MS", [GF_DOUBLE] = "MS", [GF_LONG_DOUBLE] = "MS",
        [GF_FLOAT_COMPLEX] = "S", [GF_DOUBLE_COMPLEX] = "S", [GF_LONG_DOUBLE_COMPLEX] = "S",
        [GF_BOOL] = "L", [GF_LOGICAL8] = "L", [GF_LOGICAL16] = "L", [GF_LOGICAL32] = "L", [GF_LOGICAL64] = "L",
        [GF_BYTE] = "B", [GF_FLOAT_INT] = "P", [GF_DOUBLE_INT] = "P", [GF_LONG_INT] = "P", [GF_INT_INT] = "P",
        [GF_SHORT_INT] = "P", [GF_LONG_DOUBLE_INT] = "P", [GF_FLOAT_FLOAT] = "P", [GF_DOUBLE_DOUBLE] = "P",
    };
    static const char class_of_op[GF_OP_COUNT] = {
        [GF_MAX] = 'M', [GF_MIN] = 'M', [GF_SUM] = 'S', [GF_PROD] = 'S', [GF_LAND] = 'L', [GF_LOR] = 'L', [GF_LXOR] = 'L',
        [GF_BAND] = 'B', [GF_BOR] = 'B', [GF_BXOR] = 'B', [GF_MAXLOC] = 'P', [GF_MINLOC] = 'P',
        [GF_REPLACE] = '*', [GF_NO_OP] = '*',
    };
    for (int type = 0; type < GF_TYPE_COUNT; type++) {
        for (int op = 0; op < GF_OP_COUNT; op++) {
            bool expected = class_of_op[op] == '*' || strchr(classes[type], class_of_op[op]);
            if (gf_op_allowed(type, op) != expected)
                fail_msg("%s on %s: expected %d", gf_op_name(op), gf_type_name(type), expected);
        }
    }
}

static void only_long_double_is_for_the_host_alone(void **state)
{
    (void)state;
    for (int type = 0; type < GF_TYPE_COUNT; type++) {
        bool expected = strncmp(gf_type_name(type), "long double", 11) == 0;
        assert_int_equal(gf_type_is_host_only(type), expected);
    }
}

static void values_out_of_range_are_harmless(void **state)
{
    (void)state;
    static const int wild[] = { -1, GF_TYPE_COUNT, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
        assert_int_equal(gf_type_size((enum gf_type)wild[i]), 0);
        assert_string_equal(gf_type_name((enum gf_type)wild[i]), "unknown type");
        assert_false(gf_type_is_host_only((enum gf_type)wild[i]));
        assert_false(gf_op_allowed((enum gf_type)wild[i], GF_SUM));
    }
    assert_false(gf_op_allowed(GF_INT32, (enum gf_op)-1));
    assert_false(gf_op_allowed(GF_INT32, GF_OP_COUNT));
    assert_string_equal(gf_op_name(GF_OP_COUNT), "unknown operation");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_own_name),
        cmocka_unit_test(a_reason_is_formatted_and_cut),
        cmocka_unit_test(the_log_shows_up_to_its_level),
        cmocka_unit_test(a_log_may_be_missing),
        cmocka_unit_test(a_long_line_is_cut),
        cmocka_unit_test(sizes_are_those_of_c),
        cmocka_unit_test(names_differ),
        cmocka_unit_test(operations_are_those_of_mpi),
        cmocka_unit_test(only_long_double_is_for_the_host_alone),
        cmocka_unit_test(values_out_of_range_are_harmless),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
