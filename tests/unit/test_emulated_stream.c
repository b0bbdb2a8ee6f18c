/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams of the emulated device: order within a stream, none between streams, and waiting for them. What could hang is ended by
 * an alarm.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/emulated_copy.h"
#include "device/emulated_launch.h"
#include "device/emulated_stream.h"

enum { WATCHDOG_SECONDS = 300 };

static void init(struct gf_emulated_queues *queues, const char *text)
{
    struct gf_emulated_options options;

    assert_int_equal(gf_emulated_options_parse(text, &options, NULL), GF_OK);
    assert_int_equal(gf_emulated_queues_init(queues, &options, NULL), GF_OK);
}

static gf_stream *create(struct gf_emulated_queues *queues)
{
    gf_stream *stream;
    assert_int_equal(gf_emulated_stream_create(queues, &stream, NULL), GF_OK);
    return stream;
}

/* ---- order ---- */

struct list {
    int count;
    int numbers[1000];
};

struct append {
    struct list *list;
    int number;
};

static void append(void *argument)
{
    struct append *append = argument;
    append->list->numbers[append->list->count++] = append->number;
}

static void a_stream_keeps_its_order(void **state)
{
    struct gf_emulated_queues queues;
    gf_stream *stream;
    struct append appends[1000];
    struct list list = {0};

    (void)state;
    init(&queues, "");
    stream = create(&queues);
    for (int i = 0; i < 1000; i++) {
        appends[i] = (struct append){&list, i};
        assert_int_equal(gf_emulated_call(stream, append, &appends[i]), GF_OK);
    }
    gf_emulated_stream_wait(stream);
    assert_int_equal(list.count, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(list.numbers[i], i);
    }
    gf_emulated_stream_destroy(stream);
    gf_emulated_queues_clear(&queues);
}

static void copies_see_what_came_before_in_the_stream(void **state)
{
    enum { LINKS = 200, BYTES = 300 };
    struct gf_emulated_queues queues;
    gf_stream *stream;
    static unsigned char chain[LINKS + 1][BYTES];

    (void)state;
    init(&queues, "seed=7");
    stream = create(&queues);
    for (int round = 1; round < 20; round++) {
        gf_emulated_fill(stream, chain[0], round, BYTES);
        for (int i = 0; i < LINKS; i++) {
            gf_emulated_copy(stream, chain[i + 1], chain[i], BYTES, false);
        }
    }
    gf_emulated_stream_wait(stream);
    for (int i = 0; i <= LINKS; i++) {
        assert_int_equal(chain[i][0], 19);
        assert_int_equal(chain[i][BYTES - 1], 19);
    }
    gf_emulated_stream_destroy(stream);
    gf_emulated_queues_clear(&queues);
}

static void wait_for_flag(void *argument)
{
    atomic_int *flag = argument;
    while (!atomic_load(flag)) {
        sched_yield();
    }
}

static void set_flag(void *argument)
{
    atomic_store((atomic_int *)argument, 1);
}

static void a_stream_that_waits_stops_no_other(void **state)
{
    struct gf_emulated_queues queues;
    gf_stream *a, *b;
    atomic_int flag = 0;

    (void)state;
    init(&queues, "");
    a = create(&queues);
    b = create(&queues);
    gf_emulated_call(a, wait_for_flag, &flag);
    assert_false(gf_emulated_stream_idle(a));
    assert_true(gf_emulated_stream_idle(b));
    gf_emulated_call(b, set_flag, &flag);
    gf_emulated_stream_wait(a);
    assert_true(gf_emulated_stream_idle(a));
    gf_emulated_stream_destroy(a);
    gf_emulated_stream_destroy(b);
    gf_emulated_queues_clear(&queues);
}

static void count_later(void *argument)
{
    for (int i = 0; i < 100; i++) {
        sched_yield();
    }
    atomic_fetch_add((atomic_int *)argument, 1);
}

static void waiting_for_all_waits_for_every_stream(void **state)
{
    struct gf_emulated_queues queues;
    gf_stream *streams[5];
    atomic_int done = 0;

    (void)state;
    init(&queues, "");
    for (int i = 0; i < 5; i++) {
        streams[i] = create(&queues);
    }
    for (int i = 0; i < 50; i++) {
        gf_emulated_call(streams[i % 5], count_later, &done);
    }
    gf_emulated_queues_wait(&queues);
    assert_int_equal(atomic_load(&done), 50);
    for (int i = 0; i < 5; i++) {
        gf_emulated_stream_destroy(streams[i]);
    }
    gf_emulated_queues_clear(&queues);
}

static void destroying_a_stream_waits_for_its_work(void **state)
{
    struct gf_emulated_queues queues;
    gf_stream *stream;
    atomic_int done = 0;

    (void)state;
    init(&queues, "");
    stream = create(&queues);
    for (int i = 0; i < 20; i++) {
        gf_emulated_call(stream, count_later, &done);
    }
    gf_emulated_stream_destroy(stream);
    assert_int_equal(atomic_load(&done), 20);
    assert_null(queues.streams);
    gf_emulated_queues_clear(&queues);
}

/* ---- copies ---- */

static void random_copies_equal_memmove(void **state)
{
    enum { BYTES = 3 << 20 };
    struct gf_emulated_queues queues;
    gf_stream *stream;
    unsigned char *copied = malloc(BYTES), *expected = malloc(BYTES);
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    init(&queues, "seed=3");
    stream = create(&queues);
    print_message("seed %u\n", seed);
    srand(seed);
    for (int i = 0; i < BYTES; i++) {
        copied[i] = expected[i] = (unsigned char)rand();
    }
    for (int round = 0; round < 300; round++) {
        size_t bytes = 1 + (size_t)rand() % (round % 4 ? 100 : BYTES / 2);
        size_t to = (size_t)rand() % (BYTES - bytes), from = (size_t)rand() % (BYTES - bytes);
        if (round % 7 == 0) {
            bytes = 8, to &= ~(size_t)7, from &= ~(size_t)7;
        }
        if (round % 5 == 0) {
            gf_emulated_fill(stream, copied + to, round, bytes);
            memset(expected + to, round, bytes);
        } else {
            gf_emulated_copy(stream, copied + to, copied + from, bytes, false);
            memmove(expected + to, expected + from, bytes);
        }
    }
    gf_emulated_stream_wait(stream);
    assert_memory_equal(copied, expected, BYTES);
    free(copied);
    free(expected);
    gf_emulated_stream_destroy(stream);
    gf_emulated_queues_clear(&queues);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_keeps_its_order),
        cmocka_unit_test(copies_see_what_came_before_in_the_stream),
        cmocka_unit_test(a_stream_that_waits_stops_no_other),
        cmocka_unit_test(waiting_for_all_waits_for_every_stream),
        cmocka_unit_test(destroying_a_stream_waits_for_its_work),
        cmocka_unit_test(random_copies_equal_memmove),
    };
    alarm(WATCHDOG_SECONDS);
    return cmocka_run_group_tests_name("emulated_stream", tests, NULL, NULL);
}
