/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages in trouble: kernels that cannot start, and senders and receivers that end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/types.h"
#include "tests/support/messages.h"

enum { SECONDS = 120, SENDER = 0, RECEIVER = 1, BYTES = 3000 };

#define ROOM (256u << 10)
#define LARGE ((3u << 20) + 40)    /* more than a bounce of the engine's */

/* Until a kernel of this process has stored a line there: then it runs. */
static gf_status wait_for_line(struct gftest_messages *m, const char *line)
{
    uint64_t seen = 0;
    gf_stream *stream;
    gf_status status = gf_device_stream_create(m->device, &stream, NULL);

    while (status == GF_OK && seen == 0) {
        status = gf_device_copy(m->device, stream, &seen, line, sizeof seen);
        status = status == GF_OK ? gf_device_stream_sync(m->device, stream) : status;
    }
    gf_device_stream_destroy(m->device, stream);
    return status;
}

enum { HOLDER = 2, COUNT = 6 };

/* How long a launch may take to start: slices_us, and start_us = 0. Where kernels run side by side, that is nothing. */
struct patience {
    uint32_t slices_us;
    bool side_by_side;
    size_t bytes;                  /* of a message */
};

/* Three processes on a device that runs kernels of one at a time ("solo"). */
struct held {
    struct gftest_messages m;
    char *buffer;                  /* device memory, COUNT * room */
    size_t room;
    struct gf_offer_name names[COUNT];    /* of what the sender has there */
    uint32_t *words;               /* the holder's, pinned: nonzero lets its kernel go */
};

/* The holder's kernel runs and keeps all others from the device. */
static int hold(struct gftest_rank *rank, struct held *h)
{
    struct gftest_messages *m = &h->m;
    char *memory = gftest_alloc(m, GF_MEMORY_DEVICE, 1024);
    struct gf_reason why = { "" };

    h->words = gftest_alloc(m, GF_MEMORY_PINNED, GF_LINE);
    char *seen = gf_device_kernel_address(m->device, memory), *seen_words = gf_device_kernel_address(m->device, h->words);
    struct gf_one_shot_work work = {
        .task = { .ranks = 2, .abort = (uint32_t *)(void *)seen_words, .blocks_done = (uint32_t *)(void *)(seen + 512),
                  .error = (uint32_t *)(void *)(seen_words + 8), .done = (uint64_t *)(void *)(seen_words + 16), .ticket = 1 },
        .data = { .send = seen + 600, .recv = seen + 640, .count = 1, .type = GF_FLOAT, .op = GF_SUM },
        .slot_bytes = 64, .epoch = 1, .pieces = 1,
    };

    work.peers[1] = (struct gf_peer_slots){ .to = seen, .from = seen + 256 };
    GFTEST_CHECK(rank, gf_device_launch(m->device, m->stream, GF_KERNEL_ALLREDUCE_ONE_SHOT, 1, 32, &work, sizeof work,
                                        &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, wait_for_line(m, memory + 64) == GF_OK);    /* of epoch 1: in the second slot */
    return 0;
}

/* If the holder's kernel still runs; and it lets go. */
static int let_go(struct gftest_rank *rank, struct held *h)
{
    if (rank->rank == HOLDER) {
        GFTEST_CHECK(rank, gf_device_stream_query(h->m.device, h->m.stream) == GF_IN_PROGRESS, "it held nobody back");
        __atomic_store_n(h->words, 1, __ATOMIC_RELEASE);
        GFTEST_CHECK(rank, gf_device_stream_sync(h->m.device, h->m.stream) == GF_OK);
    }
    return 0;
}

/* All is open, the holder holds, and the sender has offered its messages. */
static int open_held(struct gftest_rank *rank, struct held *h)
{
    const struct patience *patience = rank->argument;
    struct gf_pull_config config = gftest_pull_config();
    struct gf_reason why = { "" };

    config.start_us = config.solo_bytes = 0;
    config.slices_us = patience->slices_us;
    GFTEST_CHECK(rank, gftest_end_open(rank, &config, &h->m) == GF_OK);
    h->m.device->caps.concurrent_processes = patience->side_by_side;
    h->room = patience->bytes;
    h->buffer = gftest_alloc(&h->m, GF_MEMORY_DEVICE, COUNT * h->room);
    GFTEST_CHECK(rank, rank->rank != HOLDER || hold(rank, h) == 0);
    gftest_barrier(rank);
    for (size_t i = 0; i < COUNT && rank->rank == SENDER; i++) {
        char *buffer = h->buffer + i * h->room;

        gftest_write(&h->m, buffer, h->room, i);
        GFTEST_CHECK(rank, gftest_offer(&h->m, buffer, h->room, false, &h->names[i], &why) == GF_OK, "%s", why.text);
    }
    gftest_tell(&h->m, SENDER, h->names, sizeof h->names);
    return 0;
}

/* By kernel again, once the kernel that was cancelled has come and gone: with the first message, or the next, as it has to be
 * noticed. */
static int fetch_again(struct gftest_rank *rank, struct held *h)
{
    struct gf_reason why = { "" };
    uint64_t before = gf_pull_engine_statistics(h->m.engine).launches;
    bool again = false;

    while (!again) {
        struct gf_offer_name name = { .index = 0 };

        if (rank->rank == SENDER) {
            gftest_write(&h->m, h->buffer, h->room, 200);
            GFTEST_CHECK(rank, gftest_offer(&h->m, h->buffer, h->room, false, &name, &why) == GF_OK, "%s", why.text);
        }
        gftest_tell(&h->m, SENDER, &name, sizeof name);
        if (rank->rank == SENDER) {
            GFTEST_CHECK(rank, gftest_wait_offer(&h->m, name.index, &why) == GF_OK, "%s", why.text);
        } else if (rank->rank == RECEIVER) {
            GFTEST_CHECK(rank, gftest_fetch(&h->m, &name, h->buffer, h->room, &why) == GF_OK, "%s", why.text);
            GFTEST_CHECK(rank, gftest_holds(&h->m, h->buffer, h->room, 200));
            again = gf_pull_engine_statistics(h->m.engine).launches > before;
        }
        gftest_tell(&h->m, RECEIVER, &again, sizeof again);
    }
    return 0;
}

/* One launch told that the device is full, and nothing else was tried. */
static int check_held(struct gftest_rank *rank, struct held *h)
{
    struct gf_pull_statistics s = gf_pull_engine_statistics(h->m.engine);

    GFTEST_CHECK(rank, s.rescued == 1 && s.launches == 1 && s.by_copy_engine == COUNT, "%llu of %llu launches rescued",
                 (unsigned long long)s.rescued, (unsigned long long)s.launches);
    return 0;
}

/* The holder lets go only when the messages have arrived. */
static int held_body(struct gftest_rank *rank)
{
    struct gf_reason why = { "" };
    struct held h;

    GFTEST_CHECK(rank, open_held(rank, &h) == 0);
    for (size_t i = 0; i < COUNT; i++) {
        char *buffer = h.buffer + i * h.room;

        if (rank->rank == RECEIVER) {
            GFTEST_CHECK(rank, gftest_fetch(&h.m, &h.names[i], buffer, h.room - i, &why) == GF_OK, "%s", why.text);
            GFTEST_CHECK(rank, gftest_holds(&h.m, buffer, h.room - i, i), "message %zu", i);
            gftest_write(&h.m, buffer, h.room, 100);
        } else if (rank->rank == SENDER) {
            GFTEST_CHECK(rank, gftest_wait_offer(&h.m, h.names[i].index, &why) == GF_OK, "%s", why.text);
            gftest_write(&h.m, buffer, h.room, 100);
        }
    }
    GFTEST_CHECK(rank, rank->rank != RECEIVER || check_held(rank, &h) == 0);
    gftest_barrier(rank);
    GFTEST_CHECK(rank, let_go(rank, &h) == 0);
    gftest_barrier(rank);
    GFTEST_CHECK(rank, fetch_again(rank, &h) == 0);
    if (rank->rank == RECEIVER) {
        gf_pull_engine_destroy(h.m.engine);       /* the kernels that came late have gone */
        h.m.engine = NULL;
        for (size_t i = 1; i < COUNT; i++) {
            GFTEST_CHECK(rank, gftest_holds(&h.m, h.buffer + i * h.room, h.room, 100), "message %zu was written again", i);
        }
    }
    gftest_barrier(rank);
    gftest_messages_close(&h.m);
    return 0;
}

/* The holder's turn may still end: the kernel is waited for, and moves the message. */
static int turns_body(struct gftest_rank *rank)
{
    enum { LOOKS = 2000 };
    struct gf_reason why = { "" };
    struct gf_pull pull;
    struct held h;

    GFTEST_CHECK(rank, open_held(rank, &h) == 0);
    if (rank->rank == RECEIVER) {
        GFTEST_CHECK(rank, gf_pull_start(h.m.engine, &h.names[0], h.buffer, NULL, h.room, &pull, &why) == GF_OK, "%s", why.text);
        for (int look = 0; look < LOOKS; look++) {
            gftest_turn(&h.m);
        }
    }
    gftest_barrier(rank);
    GFTEST_CHECK(rank, let_go(rank, &h) == 0);
    if (rank->rank == RECEIVER) {
        GFTEST_CHECK(rank, gftest_wait_pull(&h.m, &pull, &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, gftest_holds(&h.m, h.buffer, h.room, 0));
        struct gf_pull_statistics s = gf_pull_engine_statistics(h.m.engine);

        GFTEST_CHECK(rank, s.rescued == 0 && s.launches == 1 && s.by_copy_engine == 0, "%llu of %llu launches rescued",
                     (unsigned long long)s.rescued, (unsigned long long)s.launches);
    }
    gftest_barrier(rank);
    gftest_messages_close(&h.m);
    return 0;
}

/* Each launch is closed as soon as the engine may, whether it has started, or ended, or not; and the kernel is used again
 * afterwards. The engine is left alone with some of them for a while. */
static int again_body(struct gftest_rank *rank)
{
    enum { MESSAGES = 150 };
    struct gf_pull_config config = gftest_pull_config();
    struct gftest_messages m;
    struct gf_reason why = { "" };
    uint64_t state = 1;

    config.start_us = config.slices_us = 0;
    GFTEST_CHECK(rank, gftest_end_open(rank, &config, &m) == GF_OK);
    char *buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, ROOM);

    for (uint64_t i = 0; i < MESSAGES; i++) {
        struct gf_offer_name name;
        size_t bytes = 1 + i * 1733 % ROOM;

        if (rank->rank == SENDER) {
            gftest_write(&m, buffer, bytes, i);
            GFTEST_CHECK(rank, gftest_offer(&m, buffer, bytes, false, &name, &why) == GF_OK, "%s", why.text);
        }
        gftest_tell(&m, SENDER, &name, sizeof name);
        if (rank->rank == SENDER) {
            GFTEST_CHECK(rank, gftest_wait_offer(&m, name.index, &why) == GF_OK, "%s", why.text);
        } else {
            struct gf_pull pull;

            GFTEST_CHECK(rank, gf_pull_start(m.engine, &name, buffer, NULL, bytes, &pull, &why) == GF_OK, "%s", why.text);
            for (uint64_t turn = gftest_random(&state, 100); turn > 0; turn--) {
                gftest_turn(&m);
            }
            GFTEST_CHECK(rank, gftest_wait_pull(&m, &pull, &why) == GF_OK, "%s", why.text);
            GFTEST_CHECK(rank, gftest_holds(&m, buffer, bytes, i), "message %llu", (unsigned long long)i);
        }
    }
    gftest_barrier(rank);
    GFTEST_CHECK(rank, rank->rank == SENDER || gf_pull_engine_statistics(m.engine).launches > 1);
    gftest_messages_close(&m);
    return 0;
}

/* The sender ends before, or after, the receiver has mapped its memory; the receiver gets an error, or the data. */
static int dead_sender_body(struct gftest_rank *rank)
{
    bool mapped = *(const bool *)rank->argument;
    struct gf_pull_config config = gftest_pull_config();
    struct gf_offer_name names[2];
    struct gftest_messages m;
    struct gf_reason why = { "" };

    GFTEST_CHECK(rank, gftest_end_open(rank, &config, &m) == GF_OK);
    char *buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, BYTES);

    gftest_write(&m, buffer, BYTES, (uint64_t)rank->rank);
    for (int i = 0; i < 2 && rank->rank == SENDER; i++) {
        GFTEST_CHECK(rank, gftest_offer(&m, buffer, BYTES, false, &names[i], &why) == GF_OK, "%s", why.text);
    }
    gftest_tell(&m, SENDER, names, sizeof names);
    if (mapped && rank->rank == RECEIVER) {
        GFTEST_CHECK(rank, gftest_fetch(&m, &names[0], buffer, BYTES, &why) == GF_OK, "%s", why.text);
    }
    gftest_barrier(rank);
    if (rank->rank == SENDER) {
        gftest_die();
    }
    gftest_barrier(rank);
    gf_status status = gftest_fetch(&m, &names[1], buffer, BYTES, &why);

    GFTEST_CHECK(rank, status == (mapped ? GF_OK : GF_ERR_PEER), "%s: %s", gf_status_string(status), why.text);
    GFTEST_CHECK(rank, gftest_holds(&m, buffer, BYTES, mapped ? SENDER : RECEIVER));
    gftest_messages_close(&m);
    return 0;
}

/* The receiver ends between taking and fetching: the sender is told, and never uses that offer again. */
static int dead_receiver_body(struct gftest_rank *rank)
{
    struct gf_pull_config config = gftest_pull_config();
    struct gf_offer_name name, next;
    struct gftest_messages m;
    struct gf_reason why = { "" };
    struct gf_pull pull;

    GFTEST_CHECK(rank, gftest_end_open(rank, &config, &m) == GF_OK);
    char *buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, BYTES);

    if (rank->rank == SENDER) {
        GFTEST_CHECK(rank, gftest_offer(&m, buffer, BYTES, false, &name, &why) == GF_OK, "%s", why.text);
    }
    gftest_tell(&m, SENDER, &name, sizeof name);
    if (rank->rank == RECEIVER) {
        GFTEST_CHECK(rank, gf_pull_start(m.engine, &name, buffer, NULL, BYTES, &pull, &why) == GF_OK, "%s", why.text);
        gftest_die();
    }
    gf_status status = gftest_wait_offer(&m, name.index, &why);

    GFTEST_CHECK(rank, status == GF_ERR_PEER && strstr(why.text, "has ended"), "%s: %s", gf_status_string(status), why.text);
    GFTEST_CHECK(rank, !gf_offer_board_busy(m.board));
    for (int i = 0; i < GF_OFFERS - 1; i++) {
        GFTEST_CHECK(rank, gftest_offer(&m, buffer, BYTES, false, &next, &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, next.index != name.index);
    }
    GFTEST_CHECK(rank, gftest_offer(&m, buffer, BYTES, false, &next, &why) == GF_NO_RESOURCE);
    gftest_messages_close(&m);
    return 0;
}

static void expect(const char *emulated, int ranks, int (*body)(struct gftest_rank *), void *argument)
{
    setenv("GPUFIFO_EMULATED", emulated, 1);
    gftest_expect(ranks, body, argument, SECONDS);
    unsetenv("GPUFIFO_EMULATED");
}

static void test_kernels_that_cannot_start(void **state)
{
    struct patience none = { .bytes = ROOM }, no_turns = { .slices_us = UINT32_MAX, .side_by_side = true, .bytes = ROOM };
    struct patience turns = { .slices_us = UINT32_MAX, .bytes = ROOM }, large = { .bytes = LARGE };

    (void)state;
    expect("solo", 3, held_body, &none);
    expect("solo", 3, held_body, &no_turns);
    expect("solo", 3, held_body, &large);
    expect("solo", 3, turns_body, &turns);
    expect("", 2, again_body, NULL);
    expect("weak,team=2", 2, again_body, NULL);
}

static void test_dead_ends(void **state)
{
    bool mapped[] = { false, true };
    struct gftest_end end;

    (void)state;
    for (int i = 0; i < 2; i++) {
        end = gftest_run(2, dead_sender_body, &mapped[i], SECONDS);
        assert_true(end.failed == 0 && end.killed == 1 && !end.timed_out);
    }
    end = gftest_run(2, dead_receiver_body, NULL, SECONDS);
    assert_true(end.failed == 0 && end.killed == 1 && !end.timed_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_that_cannot_start),
        cmocka_unit_test(test_dead_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
