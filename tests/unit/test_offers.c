/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of offers: moved ones, taken back ones, and buffers that go and come again at the same place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/offer_entries.h"
#include "core/pull_engine.h"
#include "tests/support/messages.h"

enum { SECONDS = 120, SENDER = 0, RECEIVER = 1, BYTES = 3000 };

/* Without a receiver each small offer ends, its buffer is used again, and the receiver still gets the data. */
static int moved_body(struct gftest_rank *rank)
{
    enum { COUNT = 60 };
    static const enum gf_memory_kind kinds[] = { GF_MEMORY_DEVICE, GF_MEMORY_HOST, GF_MEMORY_PINNED, GF_MEMORY_MANAGED };
    struct gf_pull_config config = gftest_pull_config();
    struct gf_offer_name names[COUNT];
    struct gftest_messages m;
    struct gf_reason why = { "" };

    GFTEST_CHECK(rank, gftest_end_open(rank, &config, &m) == GF_OK);
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

        GFTEST_CHECK(rank, gftest_fetch(&m, &names[i], to, bytes, &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, gftest_holds(&m, to, bytes, i), "moved message %zu", i);
        gftest_free(&m, kinds[i % 4], to);
    }
    gftest_barrier(rank);
    GFTEST_CHECK(rank, !gf_offer_board_busy(m.board));
    gftest_messages_close(&m);
    return 0;
}

/* Those that are too large, and those that must not be moved, wait for their receiver; more than there are slots are not offered
 * until some were fetched. */
static int unmoved_body(struct gftest_rank *rank)
{
    enum { COUNT = GF_OFFER_SLOTS + 2 };
    struct gf_pull_config config = gftest_pull_config();
    static struct gf_offer_name names[COUNT];
    struct gftest_messages m;
    struct gf_reason why = { "" };
    struct gf_offer_name more;
    int moved = 0;

    config.move_bytes = 1000;
    GFTEST_CHECK(rank, gftest_end_open(rank, &config, &m) == GF_OK);
    char *buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, COUNT * 1001);

    gftest_write(&m, buffer, COUNT * 1001, 5);
    for (int i = 0; i < COUNT && rank->rank == SENDER; i++) {
        size_t bytes = i == 1 ? 1001 : 1000;

        GFTEST_CHECK(rank, gftest_offer(&m, buffer + 1001 * i, bytes, i != 0, &names[i], &why) == GF_OK, "%s", why.text);
    }
    GFTEST_CHECK(rank, rank->rank != SENDER || gftest_offer(&m, buffer, 1000, true, &more, &why) == GF_NO_RESOURCE);
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
            GFTEST_CHECK(rank, gftest_fetch(&m, &names[i], buffer, 1000, &why) == GF_OK, "%s", why.text);
        } else if (waits) {
            GFTEST_CHECK(rank, gftest_wait_offer(&m, names[i].index, &why) == GF_OK, "%s", why.text);
        }
    }
    gftest_barrier(rank);
    GFTEST_CHECK(rank, !gf_offer_board_busy(m.board));
    if (rank->rank == SENDER) {
        GFTEST_CHECK(rank, gftest_offer(&m, buffer, 1000, true, &more, &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, gf_offer_withdraw(m.board, more.index) == GF_OK);
    }
    gftest_messages_close(&m);
    return 0;
}

/* The sender moves while the receiver takes; whoever wins, the data are those of the message, though the sender writes into its
 * buffer as soon as it may. */
static int race_body(struct gftest_rank *rank)
{
    enum { COUNT = 400 };
    struct gf_pull_config config = gftest_pull_config();
    struct gftest_messages m;
    struct gf_reason why = { "" };
    uint64_t state = *(const uint64_t *)rank->argument + (uint64_t)rank->rank;

    GFTEST_CHECK(rank, gftest_end_open(rank, &config, &m) == GF_OK);
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
            GFTEST_CHECK(rank, gftest_fetch(&m, &name, buffer, BYTES, &why) == GF_OK, "%s", why.text);
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

/* Generations begin again at 0; the name of a message that is over never stands for the one that has its place now. The tickets
 * of launches pass over the one whose lower half is 0, by which a gate that nobody has closed would seem closed. */
static int generations_body(struct gftest_rank *rank)
{
    enum { COUNT = 8 };
    struct gf_pull_config config = gftest_pull_config();
    struct gf_offer_name name, before;
    struct gftest_messages m;
    struct gf_reason why = { "" };
    int passed = 0;

    GFTEST_CHECK(rank, gftest_end_open(rank, &config, &m) == GF_OK);
    char *buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, BYTES);

    for (int i = 0; i < GF_OFFERS; i++) {
        m.board->entries[i].generation = UINT32_MAX - COUNT / 2;
    }
    for (int i = 0; i < GF_KERNEL_FLIGHTS; i++) {
        m.engine->flights[i].ticket = UINT32_MAX;
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        if (rank->rank == SENDER) {
            gftest_write(&m, buffer, BYTES, i);
            GFTEST_CHECK(rank, gftest_offer(&m, buffer, BYTES, false, &name, &why) == GF_OK, "%s", why.text);
        }
        gftest_tell(&m, SENDER, &name, sizeof name);
        if (rank->rank == RECEIVER) {
            GFTEST_CHECK(rank, i == 0 || before.index == name.index);
            GFTEST_CHECK(rank, i == 0 || gftest_fetch(&m, &before, buffer, BYTES, &why) == GF_ERR_PEER);
            GFTEST_CHECK(rank, gftest_fetch(&m, &name, buffer, BYTES, &why) == GF_OK, "%s", why.text);
            GFTEST_CHECK(rank, gftest_holds(&m, buffer, BYTES, i), "message %llu", (unsigned long long)i);
        } else {
            GFTEST_CHECK(rank, gftest_wait_offer(&m, name.index, &why) == GF_OK, "%s", why.text);
        }
        before = name;
        for (int f = 0; f < GF_KERNEL_FLIGHTS; f++) {
            passed += i == 0 && m.engine->flights[f].ticket == ((uint64_t)1 << 32) + 1;
        }
    }
    GFTEST_CHECK(rank, passed == (rank->rank == RECEIVER), "%d", passed);
    gftest_barrier(rank);
    gftest_messages_close(&m);
    return 0;
}

static bool overlaps(const struct gf_import *import, const struct gf_import *others)
{
    for (const struct gf_import *other = others; other; other = other->next) {
        if (other != import && import->base < other->base + other->size && other->base < import->base + import->size) {
            return true;
        }
    }
    return false;
}

static bool any_overlap(const struct gf_imports *imports)
{
    for (int i = 0; i < GF_IMPORTS_BUCKETS * GF_IMPORTS_BUCKETS; i++) {
        for (const struct gf_import *import = imports->buckets[i % GF_IMPORTS_BUCKETS]; import; import = import->next) {
            if (overlaps(import, imports->buckets[i / GF_IMPORTS_BUCKETS])) {
                return true;
            }
        }
    }
    return false;
}

/* The sender frees its buffer and gets another one at the same address; and more buffers than mappings are kept. */
static int stale_body(struct gftest_rank *rank)
{
    enum { COUNT = 200 };
    struct gf_pull_config config = gftest_pull_config();
    struct gftest_messages m;
    struct gf_reason why = { "" };
    int again = 0;

    GFTEST_CHECK(rank, gftest_end_open(rank, &config, &m) == GF_OK);
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

            gf_device_sync(m.device);      /* so that what is in the way can go */
            GFTEST_CHECK(rank, gf_pull_start(m.engine, &name, to, NULL, BYTES, &pull, &why) == GF_OK, "%s", why.text);
            GFTEST_CHECK(rank, pull.import->buffer_id == pull.offer->buffer.id, "the mapping of another buffer");
            GFTEST_CHECK(rank, gftest_wait_pull(&m, &pull, &why) == GF_OK, "%s", why.text);
            GFTEST_CHECK(rank, gftest_holds(&m, to, BYTES, i), "message %llu", (unsigned long long)i);
        }
    }
    GFTEST_CHECK(rank, rank->rank != SENDER || again > 10, "the same address came back only %d times", again);
    GFTEST_CHECK(rank, m.engine->imports->idle <= GF_IMPORTS_IDLE, "%zu mappings are kept", m.engine->imports->idle);
    GFTEST_CHECK(rank, !any_overlap(m.engine->imports), "the device refuses what a stale one is in the way of");
    gftest_barrier(rank);
    gftest_messages_close(&m);
    return 0;
}

/* Names that mean nothing, offers that are taken back or refused, wrong sizes and wrong memory; and a process's message to
 * itself. */
static int errors_body(struct gftest_rank *rank)
{
    struct gf_pull_config config = gftest_pull_config();
    struct gf_offer_name name, other;
    struct gftest_messages m;
    struct gf_reason why = { "" };
    struct gf_pull pull;

    GFTEST_CHECK(rank, gftest_end_open(rank, &config, &m) == GF_OK);
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
    struct gf_pull_config config = gftest_pull_config();
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

static void test_generations_begin_again(void **state)
{
    (void)state;
    expect("", 2, generations_body, NULL);
}

static void test_stale_mappings(void **state)
{
    (void)state;
    expect("lingering", 2, stale_body, NULL);
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
        cmocka_unit_test(test_generations_begin_again),
        cmocka_unit_test(test_stale_mappings),
        cmocka_unit_test(test_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
