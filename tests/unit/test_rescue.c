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

/* Launches a kernel that ends when words[0] is not 0, and waits until it runs. */
static int hold_device(struct gftest_rank *rank, struct gftest_messages *m, uint32_t *words)
{
    char *memory = gftest_alloc(m, GF_MEMORY_DEVICE, 1024), *seen = gf_device_kernel_address(m->device, memory);
    char *seen_words = gf_device_kernel_address(m->device, words);
    struct gf_reason why = { "" };
    struct gf_one_shot_work work = {
        .task = { .ranks = 2, .abort = (uint32_t *)(void *)seen_words, .blocks_done = (uint32_t *)(void *)(seen + 512),
                  .error = (uint32_t *)(void *)(seen_words + 8), .done = (uint64_t *)(void *)(seen_words + 16), .ticket = 1 },
        .data = { .send = seen + 600, .recv = seen + 640, .count = 1, .type = GF_FLOAT, .op = GF_SUM },
        .slot_bytes = 64, .epoch = 1, .pieces = 1,
    };

    work.peers[1] = (struct gf_peer_slots){ .to = seen, .from = seen + 256 };
    GFTEST_CHECK(rank, gf_device_launch(m->device, m->stream, GF_KERNEL_ALLREDUCE_ONE_SHOT, 1, 32, &work, sizeof work,
                                        &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, wait_for_line(m, memory + 64) == GF_OK);         /* of epoch 1: in the second slot */
    return 0;
}

/* A kernel of a third process keeps all others from the device ("solo"), and it ends only when the message has arrived. */
static int held_body(struct gftest_rank *rank)
{
    enum { HOLDER = 2, COUNT = 5 };
    struct gf_pull_config config = gftest_pull_config();
    struct gftest_messages m;
    struct gf_reason why = { "" };
    uint32_t *words = NULL;

    config.start_us = config.slices_us = 0;
    GFTEST_CHECK(rank, gftest_end_open(rank, &config, &m) == GF_OK);
    char *buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, COUNT * ROOM);
    struct gf_offer_name names[COUNT];

    if (rank->rank == HOLDER) {
        words = gftest_alloc(&m, GF_MEMORY_PINNED, GF_LINE);
        GFTEST_CHECK(rank, hold_device(rank, &m, words) == 0);
    }
    gftest_barrier(rank);
    for (size_t i = 0; i < COUNT && rank->rank == SENDER; i++) {
        gftest_write(&m, buffer + i * ROOM, ROOM, i);
        GFTEST_CHECK(rank, gftest_offer(&m, buffer + i * ROOM, ROOM, false, &names[i], &why) == GF_OK, "%s", why.text);
    }
    gftest_tell(&m, SENDER, names, sizeof names);
    for (size_t i = 0; i < COUNT; i++) {
        if (rank->rank == RECEIVER) {
            GFTEST_CHECK(rank, gftest_fetch(&m, &names[i], buffer + i * ROOM, ROOM - i, &why) == GF_OK, "%s", why.text);
            GFTEST_CHECK(rank, gftest_holds(&m, buffer + i * ROOM, ROOM - i, i), "message %zu", i);
            gftest_write(&m, buffer + i * ROOM, ROOM, 100);
        } else if (rank->rank == SENDER) {
            GFTEST_CHECK(rank, gftest_wait_offer(&m, names[i].index, &why) == GF_OK, "%s", why.text);
            gftest_write(&m, buffer + i * ROOM, ROOM, 100);
        }
    }
    gftest_barrier(rank);
    if (rank->rank == HOLDER) {
        GFTEST_CHECK(rank, gf_device_stream_query(m.device, m.stream) == GF_IN_PROGRESS, "it held nobody back");
        __atomic_store_n(words, 1, __ATOMIC_RELEASE);
        GFTEST_CHECK(rank, gf_device_stream_sync(m.device, m.stream) == GF_OK);
    }
    gftest_barrier(rank);
    if (rank->rank == RECEIVER) {
        struct gf_pull_statistics s = gf_pull_engine_statistics(m.engine);

        GFTEST_CHECK(rank, s.rescued == 1 && s.launches == 1 && s.by_copy_engine == COUNT, "%llu of %llu launches rescued",
                     (unsigned long long)s.rescued, (unsigned long long)s.launches);
        gf_pull_engine_destroy(m.engine);       /* the kernels that came late have gone */
        m.engine = NULL;
        for (size_t i = 0; i < COUNT; i++) {
            GFTEST_CHECK(rank, gftest_holds(&m, buffer + i * ROOM, ROOM, 100), "message %zu was written again", i);
        }
    }
    gftest_barrier(rank);
    gftest_messages_close(&m);
    return 0;
}

/* Each launch is closed as soon as the engine may, whether it has started, or ended, or not; and the kernel is used again
 * afterwards. The engine is left alone with some of them for a while. */
static int again_body(struct gftest_rank *rank)
{
    enum { COUNT = 150 };
    struct gf_pull_config config = gftest_pull_config();
    struct gftest_messages m;
    struct gf_reason why = { "" };
    uint64_t state = 1;

    config.start_us = config.slices_us = 0;
    GFTEST_CHECK(rank, gftest_end_open(rank, &config, &m) == GF_OK);
    char *buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, ROOM);

    for (uint64_t i = 0; i < COUNT; i++) {
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
    (void)state;
    expect("solo", 3, held_body, NULL);
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
