/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GPUFIFO_EMULATED: every word, and a sentence for every mistake.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "device/emulated_options.h"

static struct gf_emulated_options parsed(const char *text)
{
    struct gf_emulated_options options;
    struct gf_reason why = {""};

    if (gf_emulated_options_parse(text, &options, &why) != GF_OK) {
        fail_msg("\"%s\": %s", text, why.text);
    }
    return options;
}

static void nothing_said_gives_the_defaults(void **state)
{
    static const char *const nothing[] = {NULL, "", ",", ",,"};

    (void)state;
    for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++) {
        struct gf_emulated_options options = parsed(nothing[i]);
        assert_false(options.weak || options.solo || options.noipc || options.torn || options.queued || options.filled
                     || options.lingering);
        assert_int_equal(options.team, 1);
        assert_int_equal(options.blocks, 8);
        assert_int_equal(options.streams, 1000000);
        assert_int_equal(options.memory, (size_t)64 << 30);
    }
}

static void flags_set_themselves_only(void **state)
{
    (void)state;
    struct gf_emulated_options weak = parsed("weak"), solo = parsed("solo"), noipc = parsed("noipc"), torn = parsed("torn");
    assert_true(parsed("queued").queued);
    assert_true(weak.weak && !weak.solo && !weak.noipc && !weak.torn);
    assert_true(!solo.weak && solo.solo && !solo.noipc && !solo.torn);
    assert_true(!noipc.weak && !noipc.solo && noipc.noipc && !noipc.torn);
    assert_true(!torn.weak && !torn.solo && !torn.noipc && torn.torn);
}

static void values_are_read(void **state)
{
    (void)state;
    struct gf_emulated_options options = parsed("weak,team=4,gpu=255,blocks=16,streams=3,memory=3M,"
                                                "seed=18446744073709551615,torn");
    assert_true(options.weak && options.torn && !options.filled && parsed("lingering").lingering);
    assert_true(parsed("filled").filled);
    assert_int_equal(options.team, 4);
    assert_int_equal(options.blocks, 16);
    assert_int_equal(options.streams, 3);
    assert_int_equal(options.gpu, 255);
    assert_int_equal(options.memory, 3 << 20);
    assert_true(options.seed == UINT64_MAX);

    assert_int_equal(parsed("memory=1048576").memory, 1 << 20);
    assert_int_equal(parsed("memory=2048k").memory, 2 << 20);
    assert_int_equal(parsed("memory=2G").memory, (size_t)2 << 30);
    assert_int_equal(parsed("memory=1t").memory, (size_t)1 << 40);
    assert_int_equal(parsed("team=1,team=64").team, 64);
}

static void a_mistake_is_named(void **state)
{
    static const struct { const char *text, *named; } mistakes[] = {
        {"weka", "\"weka\""},
        {"weak,strong", "\"strong\""},
        {" weak", "\" weak\""},
        {"Weak", "\"Weak\""},
        {"weak=1", "\"weak=1\""},
        {"teams=2", "\"teams=2\""},
        {"team", "\"team\""},
        {"team=", "team= is not a number from 1 to 64"},
        {"team=0", "team=0 is not a number from 1 to 64"},
        {"team=65", "team=65"},
        {"team=-1", "team=-1"},
        {"team=2x", "team=2x"},
        {"team=2K", "team=2K"},
        {"blocks=0", "blocks=0 is not a number from 1 to 256"},
        {"blocks=257", "blocks=257"},
        {"streams=0", "streams=0 is not a number from 1 to 1000000"},
        {"memory=1K", "memory=1K is not a number from 1M to 1T"},
        {"memory=1025G", "memory=1025G"},
        {"memory=64GB", "memory=64GB"},
        {"memory=64X", "memory=64X"},
        {"memory=99999999999T", "memory=99999999999T"},
        {"memory=99999999999999999999", "memory=99999999999999999999"},
        {"gpu=256", "gpu=256 is not a number from 0 to 255"},
        {"seed=", "seed="},
        {"seed=18446744073709551616", "seed=18446744073709551616"},
        {"seed= 1", "seed= 1"},
        {"a_word_that_is_so_long_that_no_buffer_of_the_parser_would_take_all_of_its_letters", "too long"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct gf_emulated_options options;
        struct gf_reason why = {""};
        if (gf_emulated_options_parse(mistakes[i].text, &options, &why) != GF_ERR_INVALID) {
            fail_msg("\"%s\" was taken", mistakes[i].text);
        }
        if (!strstr(why.text, mistakes[i].named) || !strstr(why.text, "GPUFIFO_EMULATED")) {
            fail_msg("\"%s\" gives \"%s\"", mistakes[i].text, why.text);
        }
        assert_int_equal(gf_emulated_options_parse(mistakes[i].text, &options, NULL), GF_ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_said_gives_the_defaults),
        cmocka_unit_test(flags_set_themselves_only),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(a_mistake_is_named),
    };
    return cmocka_run_group_tests_name("emulated_options", tests, NULL, NULL);
}
