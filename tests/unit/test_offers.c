/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of offers: moved ones, taken back ones, those whose sender or receiver ends, buffers that go and come again at the
 * same place, and kernels that cannot start.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/types.h"
#include "core/pull_engine.h"
#include "tests/support/messages.h"

enum { SECONDS = 120, SENDER = 0, RECEIVER = 1, BYTES = 3000 };

#define ROOM (256u << 10)

static struct gf_pull_config usual(void)
{
    struct gf_pull_config config;

    gf_pull_config_default(&config);
    config.patience_us = 0;
    config.start_us = 1000000;     /* a machine that is busy is no reason to rescue anything */
    config.block_bytes = 512;
    return config;
}

static gf_status open_end(struct gftest_rank *rank, const struct gf_pull_config *config, struct gftest_messages *m)
{
    struct gf_reason why = { "" };
    gf_status status = gftest_messages_open(rank, "emulated", config, m, &why);

    if (status != GF_OK) {
        fprintf(stderr, "rank %d: %s\n", rank->rank, why.text);
        return status;
    }
    m->device->caps.concurrent_processes = true;    /* "solo" is to hold kernels back, not to keep us from launching */
    return GF_OK;
}

/* Starts a pull of all of an offer and waits for it. */
static gf_status fetch(struct gftest_messages *m, const struct gf_offer_name *name, void *to, size_t bytes, struct gf_reason *why)
{
    struct gf_pull pull;
    gf_status status = gf_pull_start(m->engine, name, to, NULL, bytes, &pull, why);

    return status == GF_OK ? gftest_wait_pull(m, &pull, why) : status;
}

/* Without a receiver each small offer ends, its buffer is used again, and the receiver still gets the data. */
static int moved_body(struct gftest_rank *rank)
{
    enum { COUNT = 60 };
    static const enum gf_memory_kind kinds[] = { GF_MEMORY_DEVICE, GF_MEMORY_HOST, GF_MEMORY_PINNED, GF_MEMORY_MANAGED };
    struct gf_pull_config config = usual();
    struct gf_offer_name names[COUNT];
    struct gftest_messages m;
    struct gf_reason why = { "" };

    GFTEST_CHECK(rank, open_end(rank, &config, &m) == GF_OK);
    char *buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, GF_OFFER_SLOT_BYTES);

    for (size_t i = 0; i < COUNT && rank->rank == SENDER; i++) {
        size_t bytes = i * 140 % GF_OFFER_SLOT_BYTES + 1;

        gftest_write(&m, buffer, bytes, i);
        GFTEST_CHECK(rank, gftest_offer(&m, buffer, bytes, true, &names[i], &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, gftest_wait_offer(&m, names[i].index, &why) == GF_OK, "%s", why.text);
    }
    GFTEST_CHECK(rank, gf_offer_board_busy(m.board) == (rank->rank == SENDER));
    gftest_tell(&m, SENDER, names, sizeof names);
    for (size_t i = COUNT; i-- > 0 && rank->rank == RECEIVER; ) {
        size_t bytes = i * 140 % GF_OFFER_SLOT_BYTES + 1;
        char *to = gftest_alloc(&m, kinds[i % 4], bytes);

        GFTEST_CHECK(rank, fetch(&m, &names[i], to, bytes, &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, gftest_holds(&m, to, bytes, i), "moved message %zu", i);
        gftest_free(&m, kinds[i % 4], to);
    }
    gftest_barrier(rank);
    GFTEST_CHECK(rank, !gf_offer_board_busy(m.board));
    gftest_messages_close(&m);
    return 0;
}

/* More than there are slots, those that are too large, and those that must not be moved: they wait for their receiver. */
static int unmoved_body(struct gftest_rank *rank)
{
    enum { COUNT = GF_OFFER_SLOTS + 20 };
    struct gf_pull_config config = usual();
    static struct gf_offer_name names[COUNT];
    struct gftest_messages m;
    struct gf_reason why = { "" };
    int moved = 0;

    config.move_bytes = 1000;
    GFTEST_CHECK(rank, open_end(rank, &config, &m) == GF_OK);
    char *buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, COUNT * 1001);

    gftest_write(&m, buffer, COUNT * 1001, 5);
    for (int i = 0; i < COUNT && rank->rank == SENDER; i++) {
        size_t bytes = i == 1 ? 1001 : 1000;

        GFTEST_CHECK(rank, gftest_offer(&m, buffer + 1001 * i, bytes, i != 0, &names[i], &why) == GF_OK, "%s", why.text);
    }
    for (int turn = 0; (turn < 1000 || moved < GF_OFFER_SLOTS) && rank->rank == SENDER; turn++) {
        for (int i = 0; i < COUNT; i++) {
            if (names[i].board.pid > 0 && gf_offer_poll(m.board, names[i].index, &why) == GF_OK) {
                GFTEST_CHECK(rank, i > 1 && ++moved <= GF_OFFER_SLOTS, "message %d was moved, %d in all", i, moved);
                names[i].board.pid = -names[i].board.pid;    /* marks it, for below */
            }
        }
        gftest_turn(&m);
    }
    for (int i = 0; i < COUNT; i++) {
        bool waits;

        gftest_tell(&m, SENDER, &names[i], sizeof names[i]);
        waits = names[i].board.pid > 0;
        names[i].board.pid = waits ? names[i].board.pid : -names[i].board.pid;
        if (rank->rank == RECEIVER) {
            gftest_write(&m, buffer, 1001, 6);
            GFTEST_CHECK(rank, fetch(&m, &names[i], buffer, 1000, &why) == GF_OK, "%s", why.text);
        } else if (waits) {
            GFTEST_CHECK(rank, gftest_wait_offer(&m, names[i].index, &why) == GF_OK, "%s", why.text);
        }
    }
    gftest_barrier(rank);
    GFTEST_CHECK(rank, !gf_offer_board_busy(m.board));
    gftest_messages_close(&m);
    return 0;
}

/* The sender moves while the receiver takes; whoever wins, the data are those of the message, though the sender writes into its
 * buffer as soon as it may. */
static int race_body(struct gftest_rank *rank)
{
    enum { COUNT = 400 };
    struct gf_pull_config config = usual();
    struct gftest_messages m;
    struct gf_reason why = { "" };
    uint64_t state = *(const uint64_t *)rank->argument + (uint64_t)rank->rank;

    GFTEST_CHECK(rank, open_end(rank, &config, &m) == GF_OK);
    char *buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, BYTES);

    for (uint64_t i = 1; i <= COUNT; i++) {
        struct gf_offer_name name;

        if (rank->rank == SENDER) {
            gftest_write(&m, buffer, BYTES, i);
            GFTEST_CHECK(rank, gftest_offer(&m, buffer, BYTES, true, &name, &why) == GF_OK, "%s", why.text);
        }
        gftest_tell(&m, SENDER, &name, sizeof name);
        for (uint64_t turn = gftest_random(&state, 12); turn > 0; turn--) {
            gftest_turn(&m);
        }
        if (rank->rank == SENDER) {
            GFTEST_CHECK(rank, gftest_wait_offer(&m, name.index, &why) == GF_OK, "%s", why.text);
            gftest_write(&m, buffer, BYTES, 0);
        } else {
            GFTEST_CHECK(rank, fetch(&m, &name, buffer, BYTES, &why) == GF_OK, "%s", why.text);
            GFTEST_CHECK(rank, gftest_holds(&m, buffer, BYTES, i), "message %llu", (unsigned long long)i);
        }
    }
    gftest_barrier(rank);
    while (gf_offer_board_busy(m.board)) {    /* with a copy for a move that came too late */
        gftest_turn(&m);
    }
    gftest_messages_close(&m);
    return 0;
}

/* The sender frees its buffer and gets another one at the same address; and more buffers than mappings are kept. */
static int stale_body(struct gftest_rank *rank)
{
    enum { COUNT = 200 };
    struct gf_pull_config config = usual();
    struct gftest_messages m;
    struct gf_reason why = { "" };
    int again = 0;

    GFTEST_CHECK(rank, open_end(rank, &config, &m) == GF_OK);
    char *to = gftest_alloc(&m, GF_MEMORY_DEVICE, BYTES), *buffer = NULL, *kept[COUNT];

    for (uint64_t i = 0; i < COUNT; i++) {
        struct gf_offer_name name;

        if (rank->rank == SENDER) {
            char *before = buffer;

            size_t bytes = BYTES + i / 2 % 4 * 50000;

            buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, bytes);
            kept[i] = i % 2 ? gftest_alloc(&m, GF_MEMORY_DEVICE, BYTES + i * 4096) : NULL;
            again += buffer == before;
            char *from = kept[i] ? kept[i] : buffer + bytes - BYTES;

            gftest_write(&m, from, BYTES, i);
            GFTEST_CHECK(rank, gftest_offer(&m, from, BYTES, false, &name, &why) == GF_OK, "%s", why.text);
        }
        gftest_tell(&m, SENDER, &name, sizeof name);
        if (rank->rank == SENDER) {
            GFTEST_CHECK(rank, gftest_wait_offer(&m, name.index, &why) == GF_OK, "%s", why.text);
            gftest_free(&m, GF_MEMORY_DEVICE, buffer);
        } else {
            struct gf_pull pull;

            GFTEST_CHECK(rank, gf_pull_start(m.engine, &name, to, NULL, BYTES, &pull, &why) == GF_OK, "%s", why.text);
            GFTEST_CHECK(rank, pull.import->buffer_id == pull.offer->buffer_id, "the mapping of another buffer");
            GFTEST_CHECK(rank, gftest_wait_pull(&m, &pull, &why) == GF_OK, "%s", why.text);
            GFTEST_CHECK(rank, gftest_holds(&m, to, BYTES, i), "message %llu", (unsigned long long)i);
        }
    }
    GFTEST_CHECK(rank, rank->rank != SENDER || again > 10, "the same address came back only %d times", again);
    GFTEST_CHECK(rank, m.engine->imports.idle <= GF_IMPORTS_IDLE, "%zu mappings are kept", m.engine->imports.idle);
    GFTEST_CHECK(rank, m.engine->imports.stale_bytes <= GF_IMPORTS_STALE_BYTES);
    GFTEST_CHECK(rank, rank->rank == SENDER || m.engine->imports.stale_bytes > 0);
    for (const struct gf_import *a = m.engine->imports.oldest; a; a = a->newer) {
        for (const struct gf_import *b = a->newer; b && !a->stale; b = b->newer) {
            GFTEST_CHECK(rank, b->stale || a->base + a->size <= b->base || b->base + b->size <= a->base, "stale, and not known");
        }
    }
    gftest_barrier(rank);
    gftest_messages_close(&m);
    return 0;
}

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

/* A kernel of a third process keeps all others from the device ("solo"), and it ends only when the message has arrived. */
static int held_body(struct gftest_rank *rank)
{
    enum { HOLDER = 2, COUNT = 5 };
    struct gf_pull_config config = usual();
    struct gftest_messages m;
    struct gf_reason why = { "" };
    uint32_t *words = NULL;
    char *memory = NULL;

    config.start_us = 0;
    GFTEST_CHECK(rank, open_end(rank, &config, &m) == GF_OK);
    char *buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, COUNT * ROOM);
    struct gf_offer_name names[COUNT];

    if (rank->rank == HOLDER) {
        words = gftest_alloc(&m, GF_MEMORY_PINNED, GF_LINE);
        memory = gftest_alloc(&m, GF_MEMORY_DEVICE, 1024);
        char *seen = gf_device_kernel_address(m.device, memory), *seen_words = gf_device_kernel_address(m.device, words);
        struct gf_one_shot_work work = {
            .task = { .ranks = 2, .abort = (uint32_t *)(void *)seen_words, .blocks_done = (uint32_t *)(void *)(seen + 512),
                      .error = (uint32_t *)(void *)(seen_words + 8), .done = (uint64_t *)(void *)(seen_words + 16), .ticket = 1 },
            .data = { .send = seen + 600, .recv = seen + 640, .count = 1, .type = GF_FLOAT, .op = GF_SUM },
            .slot_bytes = 64, .epoch = 1, .pieces = 1,
        };

        work.peers[1] = (struct gf_peer_slots){ .to = seen, .from = seen + 256 };
        GFTEST_CHECK(rank, gf_device_launch(m.device, m.stream, GF_KERNEL_ALLREDUCE_ONE_SHOT, 1, 32, &work, sizeof work,
                                            &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, wait_for_line(&m, memory + 64) == GF_OK);    /* of epoch 1: in the second slot */
    }
    gftest_barrier(rank);
    for (size_t i = 0; i < COUNT && rank->rank == SENDER; i++) {
        gftest_write(&m, buffer + i * ROOM, ROOM, i);
        GFTEST_CHECK(rank, gftest_offer(&m, buffer + i * ROOM, ROOM, false, &names[i], &why) == GF_OK, "%s", why.text);
    }
    gftest_tell(&m, SENDER, names, sizeof names);
    for (size_t i = 0; i < COUNT; i++) {
        if (rank->rank == RECEIVER) {
            GFTEST_CHECK(rank, fetch(&m, &names[i], buffer + i * ROOM, ROOM - i, &why) == GF_OK, "%s", why.text);
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
    struct gf_pull_config config = usual();
    struct gftest_messages m;
    struct gf_reason why = { "" };
    uint64_t state = 1;

    config.start_us = 0;
    GFTEST_CHECK(rank, open_end(rank, &config, &m) == GF_OK);
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
    struct gf_pull_config config = usual();
    struct gf_offer_name names[2];
    struct gftest_messages m;
    struct gf_reason why = { "" };

    GFTEST_CHECK(rank, open_end(rank, &config, &m) == GF_OK);
    char *buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, BYTES);

    gftest_write(&m, buffer, BYTES, (uint64_t)rank->rank);
    for (int i = 0; i < 2 && rank->rank == SENDER; i++) {
        GFTEST_CHECK(rank, gftest_offer(&m, buffer, BYTES, false, &names[i], &why) == GF_OK, "%s", why.text);
    }
    gftest_tell(&m, SENDER, names, sizeof names);
    if (mapped && rank->rank == RECEIVER) {
        GFTEST_CHECK(rank, fetch(&m, &names[0], buffer, BYTES, &why) == GF_OK, "%s", why.text);
    }
    gftest_barrier(rank);
    if (rank->rank == SENDER) {
        gftest_die();
    }
    gftest_barrier(rank);
    gf_status status = fetch(&m, &names[1], buffer, BYTES, &why);

    GFTEST_CHECK(rank, status == (mapped ? GF_OK : GF_ERR_PEER), "%s: %s", gf_status_string(status), why.text);
    GFTEST_CHECK(rank, gftest_holds(&m, buffer, BYTES, mapped ? SENDER : RECEIVER));
    gftest_messages_close(&m);
    return 0;
}

/* The receiver ends between taking and fetching: the sender is told, and never uses that offer again. */
static int dead_receiver_body(struct gftest_rank *rank)
{
    struct gf_pull_config config = usual();
    struct gf_offer_name name, next;
    struct gftest_messages m;
    struct gf_reason why = { "" };
    struct gf_pull pull;

    GFTEST_CHECK(rank, open_end(rank, &config, &m) == GF_OK);
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

/* Names that mean nothing, offers that are taken back or refused, wrong sizes and wrong memory; and a process's message to
 * itself. */
static int errors_body(struct gftest_rank *rank)
{
    struct gf_pull_config config = usual();
    struct gf_offer_name name, other;
    struct gftest_messages m;
    struct gf_reason why = { "" };
    struct gf_pull pull;

    GFTEST_CHECK(rank, open_end(rank, &config, &m) == GF_OK);
    char *from = gftest_alloc(&m, GF_MEMORY_DEVICE, BYTES), *to = gftest_alloc(&m, GF_MEMORY_DEVICE, BYTES);
    char *pinned = gftest_alloc(&m, GF_MEMORY_PINNED, BYTES);

    GFTEST_CHECK(rank, gftest_offer(&m, pinned, BYTES, false, &name, &why) == GF_ERR_UNSUPPORTED);
    GFTEST_CHECK(rank, gftest_offer(&m, from, BYTES + 1, false, &name, &why) == GF_ERR_UNSUPPORTED);
    GFTEST_CHECK(rank, gftest_offer(&m, from, 0, false, &name, &why) == GF_ERR_UNSUPPORTED);

    GFTEST_CHECK(rank, gftest_offer(&m, from, BYTES, false, &name, &why) == GF_OK, "%s", why.text);
    other = name;
    other.generation++;
    GFTEST_CHECK(rank, gf_pull_start(m.engine, &other, to, NULL, BYTES, &pull, &why) == GF_ERR_PEER);
    other = name;
    other.index = GF_OFFERS;
    GFTEST_CHECK(rank, gf_pull_start(m.engine, &other, to, NULL, BYTES, &pull, &why) == GF_ERR_PEER);
    GFTEST_CHECK(rank, gf_offer_withdraw(m.board, name.index) == GF_OK);
    GFTEST_CHECK(rank, gf_pull_start(m.engine, &name, to, NULL, BYTES, &pull, &why) == GF_ERR_PEER);
    GFTEST_CHECK(rank, strstr(why.text, "any more"), "%s", why.text);

    GFTEST_CHECK(rank, gftest_offer(&m, from, BYTES, false, &name, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gf_pull_start(m.engine, &name, to, NULL, BYTES + 1, &pull, &why) == GF_ERR_INVALID);
    GFTEST_CHECK(rank, gf_offer_poll(m.board, name.index, &why) == GF_ERR_INVALID, "%s", why.text);

    GFTEST_CHECK(rank, gftest_offer(&m, from, BYTES, false, &name, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gf_pull_refuse(m.engine, &name, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gf_offer_poll(m.board, name.index, &why) == GF_ERR_PEER);

    gftest_write(&m, from, BYTES, 8);
    GFTEST_CHECK(rank, gftest_offer(&m, from + 1, BYTES - 1, false, &name, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gf_pull_start(m.engine, &name, to + 1, NULL, BYTES - 1, &pull, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gf_offer_withdraw(m.board, name.index) == GF_IN_PROGRESS);
    GFTEST_CHECK(rank, gftest_wait_pull(&m, &pull, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gftest_wait_offer(&m, name.index, &why) == GF_OK, "%s", why.text);
    gftest_write(&m, to, 1, 8);
    GFTEST_CHECK(rank, gftest_holds(&m, to, BYTES, 8));

    gftest_free(&m, GF_MEMORY_DEVICE, to);
    GFTEST_CHECK(rank, gftest_offer(&m, from, BYTES, false, &name, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gf_pull_start(m.engine, &name, to, NULL, BYTES, &pull, &why) == GF_ERR_INVALID);
    GFTEST_CHECK(rank, strstr(why.text, "freed"), "%s", why.text);
    GFTEST_CHECK(rank, gf_offer_poll(m.board, name.index, &why) == GF_ERR_INVALID);
    GFTEST_CHECK(rank, !gf_offer_board_busy(m.board));
    gftest_messages_close(&m);
    return 0;
}

static int noipc_body(struct gftest_rank *rank)
{
    struct gf_pull_config config = usual();
    struct gftest_messages m;
    struct gf_reason why = { "" };
    gf_status status = gftest_messages_open(rank, "emulated", &config, &m, &why);

    GFTEST_CHECK(rank, status == GF_ERR_UNSUPPORTED && strstr(why.text, "cannot be mapped"), "%s", why.text);
    gftest_messages_close(&m);
    return 0;
}

static void expect(const char *emulated, int ranks, int (*body)(struct gftest_rank *), void *argument)
{
    setenv("GPUFIFO_EMULATED", emulated, 1);
    gftest_expect(ranks, body, argument, SECONDS);
    unsetenv("GPUFIFO_EMULATED");
}

static void test_moved(void **state)
{
    (void)state;
    expect("", 2, moved_body, NULL);
    expect("weak", 2, unmoved_body, NULL);
}

static void test_move_and_take_race(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        expect("weak", 2, race_body, &seed);
    }
}

static void test_stale_mappings(void **state)
{
    (void)state;
    expect("", 2, stale_body, NULL);
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

static void test_errors(void **state)
{
    (void)state;
    expect("", 1, errors_body, NULL);
    expect("noipc", 1, noipc_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moved),
        cmocka_unit_test(test_move_and_take_race),
        cmocka_unit_test(test_stale_mappings),
        cmocka_unit_test(test_kernels_that_cannot_start),
        cmocka_unit_test(test_dead_ends),
        cmocka_unit_test(test_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
