/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading tables: those that are right, wrong lines, and bytes of any kind.
 */
#include "core/tuning.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "tuning.XXXXXX";

static const char good[] =
    "gpufifo-tuning 1\n"
    "# measured somewhere\n"
    "\n"
    "allreduce shared 4 ring 1048576 41.25   # said here\n"
    "allreduce\tshared  2 two_shot 8 12\n"
    "allreduce devices 64 host 1 0.5\n"
    "allreduce turns 2 one_shot_mapped 4096 300.0\n"
    "message shared 2 copy_engine 8 6\n"
    "message devices 2 stage 8 5\n"
    "message shared 2 pack_stage 8 5.5\n"
    "allreduce shared 2 one_shot 8 7.125";

static void write_file(const char *text, size_t bytes)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static struct gf_tuning *read_text(const char *text)
{
    struct gf_tuning *tuning;
    struct gf_reason why = { "" };

    write_file(text, strlen(text));
    if (gf_tuning_read(path, &tuning, &why) != GF_OK) {
        fail_msg("%s", why.text);
    }
    return tuning;
}

static void test_a_table_is_read(void **state)
{
    struct gf_tuning *tuning = read_text(good);

    (void)state;
    assert_int_equal(tuning->count, 8);
    assert_int_equal(tuning->rows[0].algorithm, GF_PLAN_ONE_SHOT);
    assert_true(tuning->rows[0].us == 7.125);
    assert_int_equal(tuning->rows[1].algorithm, GF_PLAN_TWO_SHOT);
    assert_true(tuning->rows[1].us == 12);
    assert_int_equal(tuning->rows[2].ranks, 4);
    assert_int_equal(tuning->rows[2].bytes, 1048576);
    assert_true(tuning->rows[2].us == 41.25);
    assert_int_equal(tuning->rows[3].topology, GF_TOPOLOGY_TURNS);
    assert_int_equal(tuning->rows[4].topology, GF_TOPOLOGY_DEVICES);
    assert_int_equal(tuning->rows[4].function, GF_TUNED_ALLREDUCE);
    assert_int_equal(tuning->rows[5].function, GF_TUNED_MESSAGE);
    assert_int_equal(tuning->rows[5].algorithm, GF_WAY_COPY_ENGINE);
    assert_int_equal(tuning->rows[6].algorithm, GF_WAY_PACK_STAGE);
    assert_int_equal(tuning->rows[7].algorithm, GF_WAY_STAGE);
    for (size_t i = 1; i < tuning->count; i++) {
        assert_true(gf_tuning_compare(&tuning->rows[i - 1], &tuning->rows[i]) < 0);
    }
    gf_tuning_destroy(tuning);
    gf_tuning_destroy(NULL);
}

/* Ranks compare it: the rows count, and neither their order nor comments. */
static void test_the_hash_is_of_the_rows(void **state)
{
    static const char *const texts[] = {
        "gpufifo-tuning 1\nallreduce shared 2 ring 8 10\nallreduce shared 2 one_shot 8 9\n",
        "gpufifo-tuning 1\r\n# other\r\nallreduce shared 2 one_shot 8 9.0\r\nallreduce shared 2 ring 8 10\r\n",
        "gpufifo-tuning 1\nallreduce shared 2 ring 8 10\nallreduce shared 2 one_shot 8 9.1\n",
        "gpufifo-tuning 1\nallreduce shared 2 ring 9 10\nallreduce shared 2 one_shot 8 9\n",
        "gpufifo-tuning 1\nallreduce shared 2 two_shot 8 10\nallreduce shared 2 one_shot 8 9\n",
        "gpufifo-tuning 1\nallreduce shared 3 ring 8 10\nallreduce shared 2 one_shot 8 9\n",
        "gpufifo-tuning 1\nallreduce turns 2 ring 8 10\nallreduce shared 2 one_shot 8 9\n",
        "gpufifo-tuning 1\nallreduce shared 2 ring 8 10\n",
        "gpufifo-tuning 1\nallreduce shared 2 ring 8 10\nmessage shared 2 kernel 8 9\n",
        "gpufifo-tuning 1\nallreduce shared 2 ring 8 10\nmessage shared 2 stage 8 9\n",
    };
    int64_t hash[sizeof texts / sizeof texts[0]];

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct gf_tuning *tuning = read_text(texts[i]);

        hash[i] = tuning->hash;
        gf_tuning_destroy(tuning);
        assert_true(hash[i] > gf_tuning_default.hash);
        for (size_t j = 0; j < i; j++) {
            assert_int_equal(hash[i] == hash[j], i == 1);
        }
    }
}

static void test_what_is_wrong_is_named(void **state)
{
    static const struct { const char *text, *line, *sentence; } cases[] = {
        { "", "", "has no rows" },
        { "gpufifo-tuning 1\n\n", "", "has no rows" },
        { "gpufifo-tuning 2\n", "line 1:", "gpufifo-bench --tune" },
        { "# first\ngpufifo-tuning 1\n", "line 1:", "does not begin a table" },
        { "gpufifo-tuning 1\nallgather shared 2 ring 8 1\n", "line 2:", "\"allgather\" is no function" },
        { "gpufifo-tuning 1\n\nallreduce alone 2 ring 8 1\n", "line 3:", "\"alone\" is no topology" },
        { "gpufifo-tuning 1\nallreduce shared 1 ring 8 1\n", "line 2:", "\"1\" is no number of ranks" },
        { "gpufifo-tuning 1\nallreduce shared 65 ring 8 1\n", "line 2:", "\"65\" is no number of ranks" },
        { "gpufifo-tuning 1\nallreduce shared 2x ring 8 1\n", "line 2:", "\"2x\" is no number of ranks" },
        { "gpufifo-tuning 1\nallreduce shared 2 tree 8 1\n", "line 2:", "\"tree\" is no algorithm" },
        { "gpufifo-tuning 1\nallreduce shared 2 kernel 8 1\n", "line 2:", "\"kernel\" is no algorithm" },
        { "gpufifo-tuning 1\nmessage shared 2 ring 8 1\n", "line 2:", "\"ring\" is no way of a message" },
        { "gpufifo-tuning 1\nmessage shared 3 kernel 8 1\n", "line 2:", "\"3\" is no number of ranks of a message" },
        { "gpufifo-tuning 1\nallreduce shared 2 ring 0 1\n", "line 2:", "\"0\" is no number of bytes" },
        { "gpufifo-tuning 1\nallreduce shared 2 ring -8 1\n", "line 2:", "\"-8\" is no number of bytes" },
        { "gpufifo-tuning 1\nallreduce shared 2 ring 18446744073709551617 1\n", "line 2:", "is no number of bytes" },
        { "gpufifo-tuning 1\nallreduce shared 2 ring 8 0.0\n", "line 2:", "\"0.0\" is no time" },
        { "gpufifo-tuning 1\nallreduce shared 2 ring 8 nan\n", "line 2:", "\"nan\" is no time" },
        { "gpufifo-tuning 1\nallreduce shared 2 ring 8 1e3\n", "line 2:", "\"1e3\" is no time" },
        { "gpufifo-tuning 1\nallreduce shared 2 ring 8\n", "line 2:", "too few words" },
        { "gpufifo-tuning 1\nallreduce shared 2 ring 8 1 1\n", "line 2:", "too many words" },
        { "gpufifo-tuning 1\nallreduce shared 2 ring 8 1\nallreduce shared 2 ring 8 2\n", "", "two rows for 2 ranks and 8 " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gf_tuning *tuning;
        struct gf_reason why = { "" };

        write_file(cases[i].text, strlen(cases[i].text));
        assert_int_equal(gf_tuning_read(path, &tuning, &why), GF_ERR_INVALID);
        assert_null(tuning);
        if (!strstr(why.text, path) || !strstr(why.text, cases[i].line) || !strstr(why.text, cases[i].sentence)) {
            fail_msg("case %zu: %s", i, why.text);
        }
    }
}

static void test_long_lines_and_many_rows(void **state)
{
    static char text[5000 * 40];
    struct gf_tuning *tuning;
    struct gf_reason why = { "" };
    size_t length = (size_t)sprintf(text, "gpufifo-tuning 1\n");

    (void)state;
    memset(text + length, '#', 300);
    write_file(text, length + 300);
    assert_int_equal(gf_tuning_read(path, &tuning, &why), GF_ERR_INVALID);
    assert_non_null(strstr(why.text, "line 2:"));
    for (int i = 0; i < 4097; i++) {
        length += (size_t)sprintf(text + length, "allreduce shared 2 ring %d 1\n", i + 1);
        if (i == 4095) {
            gf_tuning_destroy(read_text(text));
        }
    }
    write_file(text, length);
    assert_int_equal(gf_tuning_read(path, &tuning, &why), GF_ERR_INVALID);
    assert_non_null(strstr(why.text, "line 4098:"));
    assert_int_equal(gf_tuning_read("/nowhere/table", &tuning, &why), GF_ERR_INVALID);
    assert_non_null(strstr(why.text, "/nowhere/table cannot be opened"));
    assert_int_equal(gf_tuning_read("/", &tuning, &why), GF_ERR_INVALID);
    assert_non_null(strstr(why.text, "/ cannot be read"));
}

/* Whatever is in a file, it is read or refused in words, and what is read is as tables are. */
static void test_any_bytes(void **state)
{
    unsigned seed = 90210;
    int read = 0;

    (void)state;
    print_message("seed %u\n", seed);
    srandom(seed);
    for (int i = 0; i < 3000; i++) {
        char text[sizeof good];
        struct gf_tuning *tuning;
        struct gf_reason why = { "" };
        size_t length = sizeof good - 1 - (random() % 4 ? 0 : (size_t)random() % sizeof good);

        memcpy(text, good, sizeof text);
        for (int changes = (int)(random() % 4); changes > 0; changes--) {
            text[(size_t)random() % sizeof good] = random() % 2 ? (char)random() : good[(size_t)random() % sizeof good];
        }
        write_file(text, length);
        if (gf_tuning_read(path, &tuning, &why) != GF_OK) {
            assert_true(why.text[0] != '\0');
            continue;
        }
        for (size_t r = 0; r < tuning->count; r++) {
            assert_true(tuning->rows[r].us > 0 && tuning->rows[r].bytes > 0);
            assert_true(r == 0 || gf_tuning_compare(&tuning->rows[r - 1], &tuning->rows[r]) < 0);
        }
        gf_tuning_destroy(tuning);
        read++;
    }
    assert_in_range(read, 100, 2900);
}

static int create_file(void **state)
{
    (void)state;
    int file = mkstemp(path);

    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_table_is_read),
        cmocka_unit_test(test_the_hash_is_of_the_rows),
        cmocka_unit_test(test_what_is_wrong_is_named),
        cmocka_unit_test(test_long_lines_and_many_rows),
        cmocka_unit_test(test_any_bytes),
    };

    return cmocka_run_group_tests(tests, create_file, remove_file);
}
