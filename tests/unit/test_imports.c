/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of mappings against a fake libcuda.so.1 that refuses what the real one refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/imports.h"
#include "device/cuda_device.h"
#include "tests/support/fake_cuda_run.h"

enum { BYTES = 4096 };

/* Of the owners. */
enum { PROCESS = 1, OTHER_PROCESS = 2 };

/* As a peer offers a buffer. buffer_id tells an allocation from a later one at the same place. */
static struct gf_buffer offer_of(gf_device *device, uint64_t base, uint64_t buffer_id)
{
    struct gf_buffer offer = {.id = buffer_id, .base = base, .size = BYTES};
    void *memory;

    assert_int_equal(gf_device_alloc(device, BYTES, &memory, NULL), GF_OK);
    assert_int_equal(gf_device_ipc_export(device, memory, &offer.handle, NULL), GF_OK);
    assert_int_equal(gf_device_free(device, memory), GF_OK);
    offer.handle = fake_cuda_from_another_process(offer.handle);
    return offer;
}

/* The device can be asked whether it is idle only if there are kernels. */
static struct gf_imports *make_table(gf_device *device)
{
    ((struct gf_cuda_device *)device)->kernels.image = "fat binary";
    struct gf_imports *imports;

    assert_int_equal(gf_imports_create(device, &imports, NULL), GF_OK);
    return imports;
}

static void test_kept(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    struct gf_imports *imports = make_table(device);
    struct gf_buffer offer = offer_of(device, 1 << 20, 7);
    struct gf_import *first, *again;
    struct gf_reason why;

    assert_int_equal(gf_imports_get(imports, PROCESS, &offer, &first, &why), GF_OK);
    gf_imports_put(imports, first);
    assert_int_equal(gf_imports_get(imports, PROCESS, &offer, &again, &why), GF_OK);
    assert_ptr_equal(again, first);
    assert_int_equal(fake->calls("cuIpcOpenMemHandle_v2"), 1);
    for (uint64_t process = OTHER_PROCESS; process < 3 * GF_IMPORTS_BUCKETS; process++) {      /* whose ids are their own */
        struct gf_import *other;

        assert_int_equal(gf_imports_get(imports, process, &offer, &other, &why), GF_OK);
        assert_ptr_not_equal(other, first);
        gf_imports_put(imports, other);
    }
    assert_int_equal(imports->idle, GF_IMPORTS_IDLE);
    assert_true(imports->count > GF_IMPORTS_IDLE + 1);
    gf_imports_look(imports);
    assert_int_equal(imports->count, GF_IMPORTS_IDLE + 1);
    gf_imports_put(imports, again);
    gf_imports_destroy(imports);
    assert_int_equal(fake->mappings, 0);
    gf_device_close(device);
}

/* The buffer was freed, and a new one is where it was: a driver that maps both keeps both until the next look. */
static void test_stale_goes_later(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    struct gf_imports *imports = make_table(device);
    struct gf_buffer old = offer_of(device, 1 << 20, 7), new = offer_of(device, 1 << 20, 8);
    struct gf_import *import;
    struct gf_reason why;

    assert_int_equal(gf_imports_get(imports, PROCESS, &old, &import, &why), GF_OK);
    gf_imports_put(imports, import);
    assert_int_equal(gf_imports_get(imports, PROCESS, &new, &import, &why), GF_OK);
    assert_int_equal(fake->mappings, 2);
    gf_imports_look(imports);
    assert_int_equal(fake->mappings, 1);
    gf_imports_put(imports, import);
    gf_imports_destroy(imports);
    gf_device_close(device);
}

/* A driver that refuses the second: near is 0 where the new buffer overlaps the freed one, else it only shares a piece of memory
 * with it. */
static void refuse_second(uint64_t near)
{
    gf_device *device = fake_cuda_open_device();
    struct gf_imports *imports = make_table(device);
    struct gf_buffer old = offer_of(device, 1 << 20, 7), new = offer_of(device, (1 << 20) + near, 8);
    struct gf_import *import, *second;
    struct gf_reason why = {""};

    fake->maps_once = true;
    assert_int_equal(gf_imports_get(imports, PROCESS, &old, &import, &why), GF_OK);
    /* It is in use: if it is known to be stale, that will pass. */
    assert_int_equal(gf_imports_get(imports, PROCESS, &new, &second, &why), near == 0 ? GF_NO_RESOURCE : GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "ALREADY_MAPPED"));
    gf_imports_put(imports, import);
    fake->busy = true;
    assert_int_equal(gf_imports_get(imports, OTHER_PROCESS, &new, &second, &why), GF_ERR_UNSUPPORTED);
    assert_int_equal(gf_imports_get(imports, PROCESS, &new, &second, &why), GF_NO_RESOURCE);
    assert_int_equal(fake->calls("cuIpcCloseMemHandle"), 0);
    fake->busy = false;
    assert_int_equal(gf_imports_get(imports, PROCESS, &new, &second, &why), GF_OK);
    assert_int_equal(fake->mappings, 1);
    assert_int_equal(fake->calls("cuIpcCloseMemHandle"), 1);
    gf_imports_put(imports, second);
    gf_imports_destroy(imports);
    gf_device_close(device);
}

static void test_refused_for_a_stale_one(void **state)
{
    (void)state;
    refuse_second(0);
}

static void test_refused_for_a_neighbour(void **state)
{
    (void)state;
    refuse_second(BYTES);
}

/* A registry knows that the buffer is gone while a message is still under way: closed after the message's end, and not before. */
static void test_dropped(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    struct gf_imports *imports = make_table(device);
    struct gf_buffer offer = offer_of(device, 1 << 20, 7);
    struct gf_import *of_registry, *of_message;

    assert_int_equal(gf_imports_get(imports, PROCESS, &offer, &of_registry, NULL), GF_OK);
    assert_int_equal(gf_imports_get(imports, PROCESS, &offer, &of_message, NULL), GF_OK);
    assert_ptr_equal(of_registry, of_message);
    gf_imports_drop(imports, of_registry);
    assert_int_equal(fake->mappings, 1);
    gf_imports_put(imports, of_message);
    gf_imports_look(imports);
    assert_int_equal(fake->mappings, 0);
    assert_int_equal(imports->idle, 0);

    /* The other way round; and at once where there is no other use. */
    assert_int_equal(gf_imports_get(imports, PROCESS, &offer, &of_registry, NULL), GF_OK);
    assert_int_equal(gf_imports_get(imports, PROCESS, &offer, &of_message, NULL), GF_OK);
    gf_imports_put(imports, of_message);
    gf_imports_drop(imports, of_registry);
    assert_int_equal(fake->mappings, 0);
    gf_imports_drop(imports, NULL);
    gf_imports_put(imports, NULL);
    gf_imports_destroy(imports);
    gf_device_close(device);
}

/* The same beside a kernel of the program: nothing is closed then, and what is asked for again before it was is there. */
static void test_busy(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    struct gf_imports *imports = make_table(device);
    struct gf_buffer offer = offer_of(device, 1 << 20, 7);
    struct gf_import *first, *again;

    fake->busy = true;
    assert_int_equal(gf_imports_get(imports, PROCESS, &offer, &first, NULL), GF_OK);
    gf_imports_drop(imports, first);
    gf_imports_look(imports);
    assert_int_equal(fake->mappings, 1);
    assert_int_equal(gf_imports_get(imports, PROCESS, &offer, &again, NULL), GF_OK);
    assert_ptr_equal(again, first);
    fake->busy = false;
    gf_imports_put(imports, again);
    gf_imports_look(imports);
    assert_int_equal(fake->mappings, 1);
    assert_int_equal(imports->idle, 1);
    assert_int_equal(fake->calls("cuIpcCloseMemHandle"), 0);
    gf_imports_destroy(imports);
    gf_device_close(device);
}

/* Beside a kernel that lasts, there are more and more that should go: some time no more are mapped. */
static void test_no_more(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    struct gf_imports *imports = make_table(device);
    struct gf_buffer offer = offer_of(device, 1 << 20, 7);
    struct gf_import *import;
    struct gf_reason why;

    fake->busy = true;
    for (uint64_t process = 1; process <= GF_IMPORTS_MOST; process++) {
        assert_int_equal(gf_imports_get(imports, process, &offer, &import, NULL), GF_OK);
        gf_imports_put(imports, import);
    }
    assert_int_equal(gf_imports_get(imports, GF_IMPORTS_MOST + 1, &offer, &import, &why), GF_NO_RESOURCE);
    assert_non_null(strstr(why.text, "are mapped"));
    fake->busy = false;
    assert_int_equal(gf_imports_get(imports, GF_IMPORTS_MOST + 1, &offer, &import, &why), GF_OK);
    assert_int_equal(imports->count, GF_IMPORTS_IDLE + 1);
    gf_imports_put(imports, import);
    gf_imports_destroy(imports);
    assert_int_equal(fake->mappings, 0);
    gf_device_close(device);
}

/* An owner tells that it has freed what is in use, held and kept: the last two go at the next look, the first one after its
 * use. */
static void test_owner_tells(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    struct gf_imports *imports = make_table(device);
    struct gf_segment segment;
    struct gf_segment_name name;
    struct gf_import *mapped[4];
    enum { USED, HELD, KEPT, ALIVE };

    assert_int_equal(gf_segment_create(4 * sizeof(uint64_t), &segment, &name, NULL), GF_OK);
    uint64_t *words = segment.address;

    for (uint64_t i = 0; i < 4; i++) {
        struct gf_buffer offer = offer_of(device, (i + 1) << 20, 100 + i);

        offer.words = name;
        offer.word = i;
        words[i] = offer.id;
        assert_int_equal(gf_imports_get(imports, PROCESS, &offer, &mapped[i], NULL), GF_OK);
    }
    gf_imports_hold(imports, mapped[HELD]);
    gf_imports_put(imports, mapped[KEPT]);
    gf_imports_put(imports, mapped[ALIVE]);
    gf_imports_look(imports);
    assert_int_equal(fake->mappings, 4);
    words[USED] = words[HELD] = 0;
    words[KEPT] = 200;                 /* another buffer's by now */
    fake->busy = true;
    gf_imports_look(imports);
    assert_int_equal(fake->mappings, 4);
    fake->busy = false;
    gf_imports_look(imports);
    assert_int_equal(fake->mappings, 2);
    assert_true(mapped[USED]->address && !mapped[HELD]->address && mapped[ALIVE]->address);
    gf_imports_put(imports, mapped[USED]);
    gf_imports_release(imports, mapped[HELD]);
    gf_imports_look(imports);
    assert_int_equal(fake->mappings, 1);
    gf_imports_destroy(imports);
    assert_int_equal(fake->mappings, 0);
    gf_segment_close(&segment);
    gf_device_close(device);
}

struct waiting {
    struct gf_imports *imports;
    struct gf_import *used;
    int turns;
};

/* The owner's progress: after some turns the kernel has left. */
static void progress(void *ctx)
{
    struct waiting *waiting = ctx;

    if (++waiting->turns == 5) {
        gf_imports_put(waiting->imports, waiting->used);
    }
}

/* What is only held goes when it is stale and in the way; what is in use is waited for. */
static void test_held_and_awaited(void **state)
{
    (void)state;
    gf_device *device = fake_cuda_open_device();
    struct gf_imports *imports = make_table(device);
    struct gf_buffer old = offer_of(device, 1 << 20, 7), new = offer_of(device, 1 << 20, 8), next = offer_of(device, 1 << 20, 9);
    struct gf_import *first, *second, *third;
    struct waiting waiting = {.imports = imports};
    const struct gf_bootstrap bootstrap = {.ctx = &waiting, .progress = progress};

    fake->maps_once = true;
    assert_int_equal(gf_imports_get(imports, PROCESS, &old, &first, NULL), GF_OK);
    gf_imports_hold(imports, first);
    gf_imports_share(imports, first);
    assert_int_equal(gf_imports_get(imports, PROCESS, &new, &second, NULL), GF_NO_RESOURCE);
    gf_imports_put(imports, first);
    assert_int_equal(gf_imports_get(imports, PROCESS, &new, &second, NULL), GF_OK);
    assert_null(first->address);
    assert_int_equal(gf_imports_get(imports, PROCESS, &old, &third, NULL), GF_ERR_UNSUPPORTED);
    gf_imports_release(imports, first);
    assert_int_equal(fake->mappings, 1);

    waiting.used = second;
    assert_int_equal(gf_imports_await(imports, PROCESS, &next, NULL, &third, NULL), GF_ERR_UNSUPPORTED);
    assert_int_equal(gf_imports_await(imports, PROCESS, &next, &bootstrap, &third, NULL), GF_OK);
    assert_int_equal(waiting.turns, 5);
    gf_imports_drop(imports, third);
    assert_int_equal(fake->mappings, 0);
    gf_imports_destroy(imports);
    gf_device_close(device);
}

int main(int argc, char **argv)
{
    (void)argv;
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_cuda_setup, fake_cuda_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_kept), TEST(test_stale_goes_later), TEST(test_refused_for_a_stale_one), TEST(test_refused_for_a_neighbour),
        TEST(test_dropped), TEST(test_busy), TEST(test_no_more), TEST(test_owner_tells), TEST(test_held_and_awaited),
    };
    return argc < 2 ? fake_cuda_rerun("fake_cuda", "whole") : cmocka_run_group_tests(tests, NULL, NULL);
}
