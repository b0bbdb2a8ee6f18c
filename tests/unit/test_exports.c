/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The words by which a process tells what it has freed (core/exports.h), as those read them that have it mapped
 * (core/import_words.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "core/exports.h"
#include "core/import_words.h"

enum { LARGE = GF_EXPORTS_LARGE, LITTLE = LARGE - 4096, PROCESS = 1 };

/* A process, and what another one has attached of it. */
struct owner {
    gf_device *device;
    struct gf_exports *exports;
    struct gf_import_words *words;
};

static struct owner open_owner(void)
{
    struct owner owner = { .exports = calloc(1, sizeof *owner.exports) };
    gf_driver *driver;

    assert_non_null(owner.exports);
    assert_int_equal(gf_driver_open("emulated", &driver, NULL), GF_OK);
    assert_int_equal(gf_device_open(driver, 0, &owner.device, NULL), GF_OK);
    gf_exports_init(owner.exports, owner.device);
    return owner;
}

static void close_owner(struct owner *owner)
{
    gf_import_words_clear(&owner->words);
    gf_exports_destroy(owner->exports);
    free(owner->exports);
    gf_device_close(owner->device);
}

/* One allocation, and its word as others see it. */
struct exported {
    void *address;
    struct gf_buffer buffer;
    const uint64_t *word;
};

static void export(struct owner *owner, struct exported *exported)
{
    struct gf_pointer pointer;

    assert_int_equal(gf_driver_pointer(owner->device->driver, exported->address, &pointer), GF_OK);
    assert_int_equal(gf_exports_get(owner->exports, &pointer, false, &exported->buffer, NULL), GF_OK);
    assert_int_equal(exported->buffer.id, pointer.buffer_id);
    exported->word = gf_import_word(&owner->words, PROCESS, &exported->buffer);
}

static struct exported make(struct owner *owner, size_t bytes)
{
    struct exported made;

    assert_int_equal(gf_device_alloc(owner->device, bytes, &made.address, NULL), GF_OK);
    export(owner, &made);
    return made;
}

static bool told(const struct exported *exported)
{
    return *exported->word != exported->buffer.id;
}

static void test_freed(void **state)
{
    (void)state;
    struct owner owner = open_owner();
    struct exported little = make(&owner, LITTLE), kept = make(&owner, LARGE), freed = make(&owner, LARGE);

    assert_null(little.word);
    gf_exports_look(owner.exports);
    assert_true(!told(&kept) && !told(&freed));
    gf_device_free(owner.device, freed.address);
    assert_false(told(&freed));
    gf_exports_look(owner.exports);
    assert_true(!told(&kept) && told(&freed));
    gf_device_free(owner.device, kept.address);
    gf_device_free(owner.device, little.address);
    close_owner(&owner);
}

/* Where it lay lies another one, by the time the owner looks; that one has another word, and the first is free for a third one
 * only then. */
static void test_same_address(void **state)
{
    (void)state;
    struct owner owner = open_owner();
    struct exported first = make(&owner, LARGE);

    gf_device_free(owner.device, first.address);
    struct exported second = make(&owner, LARGE);

    assert_ptr_equal(second.address, first.address);
    assert_ptr_not_equal(second.word, first.word);
    assert_false(told(&first));
    gf_exports_look(owner.exports);
    assert_true(told(&first) && !told(&second));
    struct exported third = make(&owner, LARGE);

    assert_ptr_equal(third.word, first.word);
    assert_true(told(&first) && !told(&third));
    gf_device_free(owner.device, second.address);
    gf_device_free(owner.device, third.address);
    close_owner(&owner);
}

/* A handle goes for another buffer of the same place in the table; the word stays, and is the same one when the buffer comes
 * again. */
static void test_handle_forgotten(void **state)
{
    (void)state;
    struct owner owner = open_owner();
    struct exported first = make(&owner, LARGE), again = { .address = first.address };
    void *filler;

    for (uint64_t i = 1; i < GF_EXPORTS; i++) {
        assert_int_equal(gf_device_alloc(owner.device, 1, &filler, NULL), GF_OK);
        gf_device_free(owner.device, filler);
    }
    struct exported second = make(&owner, LARGE);

    assert_int_equal(second.buffer.id, first.buffer.id + GF_EXPORTS);
    gf_exports_look(owner.exports);
    assert_false(told(&first));
    export(&owner, &again);
    assert_ptr_equal(again.word, first.word);
    gf_device_free(owner.device, first.address);
    gf_exports_look(owner.exports);
    assert_true(told(&first) && !told(&second));
    gf_device_free(owner.device, second.address);
    close_owner(&owner);
}

/* With all words taken, a buffer has none: others will not be told, which is right, if late. */
static void test_no_word_left(void **state)
{
    (void)state;
    struct owner owner = open_owner();
    struct exported *all = calloc(GF_EXPORTS_WATCHED, sizeof *all);

    assert_non_null(all);
    for (int i = 0; i < GF_EXPORTS_WATCHED; i++) {
        all[i] = make(&owner, LARGE);
        assert_non_null(all[i].word);
    }
    struct exported one_more = make(&owner, LARGE);

    assert_null(one_more.word);
    for (int i = 0; i < GF_EXPORTS_WATCHED; i++) {
        assert_false(told(&all[i]));
        gf_device_free(owner.device, all[i].address);
    }
    gf_exports_look(owner.exports);
    for (int i = 0; i < GF_EXPORTS_WATCHED; i++) {
        assert_true(told(&all[i]));
    }
    gf_device_free(owner.device, one_more.address);
    free(all);
    close_owner(&owner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_freed), cmocka_unit_test(test_same_address), cmocka_unit_test(test_handle_forgotten),
        cmocka_unit_test(test_no_word_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
