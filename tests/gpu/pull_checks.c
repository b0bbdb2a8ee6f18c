/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Are the data right? All sizes and alignments, on a device that is full of other kernels, and with launches that are closed at
 * any moment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/gpu/pull_programs.h"

/* Long enough to tell what waits for the filling from what does not; a program that hangs ends. */
#define FILLING_NS 3000000000u

enum { MARGIN = 64, SEED = 1000, CANARY = 7, LATE_NS = 3000000 };

/* Offsets of source and destination. */
static const size_t offsets[][2] = { { 0, 0 }, { 0, 1 }, { 5, 5 }, { 3, 8 }, { 4, 0 }, { 1, 15 }, { 9, 2 }, { 12, 48 } };
enum { OFFSETS = sizeof offsets / sizeof offsets[0] };

static void send_all(struct pair *pair, size_t bytes)
{
    struct gf_offer_name names[OFFSETS];
    struct gf_reason why = { "" };
    size_t room = bytes + MARGIN;
    char *buffer = gftest_alloc(&pair->m, GF_MEMORY_DEVICE, OFFSETS * room);

    for (size_t i = 0; i < OFFSETS; i++) {
        char *from = buffer + i * room + offsets[i][0];

        gftest_write(&pair->m, from, bytes, SEED + i);
        pair_need(pair, gftest_offer(&pair->m, from, bytes, false, &names[i], &why), "an offer", &why);
    }
    pair_offer(pair, names, OFFSETS);
    for (size_t i = 0; i < OFFSETS; i++) {
        gf_status status = gftest_wait_offer(&pair->m, names[i].index, &why);

        pair_check(pair, status == GF_OK, "%zu bytes: %s", bytes, why.text);
    }
    gftest_free(&pair->m, GF_MEMORY_DEVICE, buffer);
}

static void receive_all(struct pair *pair, size_t bytes, enum gf_memory_kind kind)
{
    struct gf_pull pulls[OFFSETS];
    struct gf_reason why = { "" };
    size_t room = 2 * MARGIN + bytes + MARGIN;
    char *buffer = gftest_alloc(&pair->m, kind, OFFSETS * room);

    gftest_write(&pair->m, buffer, OFFSETS * room, CANARY);
    pair_await(pair);
    for (size_t i = 0; i < OFFSETS; i++) {
        char *to = buffer + i * room + MARGIN + offsets[i][1];

        pair_need(pair, gf_pull_start(pair->m.engine, &pair->shared->names[i], to, NULL, bytes, &pulls[i], &why), "a pull", &why);
        if (i % 3 == 0) {
            gf_pull_engine_progress(pair->m.engine);
        }
    }
    for (size_t i = 0; i < OFFSETS; i++) {
        pair_need(pair, gftest_wait_pull(&pair->m, &pulls[i], &why), "the end of a pull", &why);
        pair_check(pair, gftest_holds(&pair->m, buffer + i * room + MARGIN + offsets[i][1], bytes, SEED + i),
                   "%zu bytes from offset %zu to %zu, memory %d", bytes, offsets[i][0], offsets[i][1], kind);
    }
    unsigned char *image = malloc(OFFSETS * room), *expected = malloc(OFFSETS * room);

    gftest_write(&pair->m, expected, OFFSETS * room, CANARY);
    gf_device_copy(pair->m.device, pair->m.stream, image, buffer, OFFSETS * room);
    pair_need(pair, gf_device_stream_sync(pair->m.device, pair->m.stream), "reading back", NULL);
    for (size_t i = 0; i < OFFSETS; i++) {
        size_t start = i * room, end = start + MARGIN + offsets[i][1];

        pair_check(pair, memcmp(image + start, expected + start, end - start) == 0, "before %zu bytes at %zu", bytes,
                   offsets[i][1]);
        start = end + bytes;
        pair_check(pair, memcmp(image + start, expected + start, (i + 1) * room - start) == 0, "after %zu bytes at %zu", bytes,
                   offsets[i][1]);
    }
    free(image);
    free(expected);
    gftest_free(&pair->m, kind, buffer);
}

void pull_check_sizes(struct pair *pair)
{
    static const size_t sizes[] = { 1, 3, 8, 15, 16, 17, 33, 63, 100, 512, 4095, 4096, 8192, 65536, 65541, 1 << 20, (4 << 20) + 5,
                                    24 << 20 };
    static const enum gf_memory_kind kinds[] = { GF_MEMORY_DEVICE, GF_MEMORY_PINNED, GF_MEMORY_HOST };

    for (int kernels = 0; kernels < 2; kernels++) {
        pair->config.copy_engine_bytes = pair->config.host_kernel_bytes = kernels ? SIZE_MAX : 0;
        pair_configure(pair);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            for (size_t k = 0; k < 3 && (k == 0 || sizes[s] < 1 << 20); k++) {
                if (pair->sends) {
                    send_all(pair, sizes[s]);
                } else {
                    receive_all(pair, sizes[s], kinds[k]);
                }
            }
        }
        pair_meet(pair);
    }
    gf_pull_config_default(&pair->config);
    pair_configure(pair);
}

static void send_one(struct pair *pair, char *buffer, size_t bytes, uint64_t seed)
{
    struct gf_offer_name name;
    struct gf_reason why = { "" };

    gftest_write(&pair->m, buffer, bytes, seed);
    pair_need(pair, gftest_offer(&pair->m, buffer, bytes, false, &name, &why), "an offer", &why);
    pair_offer(pair, &name, 1);
    pair_need(pair, gftest_wait_offer(&pair->m, name.index, &why), "the end of an offer", &why);
}

/* Returns how long it took, in microseconds. */
static double receive_one(struct pair *pair, char *buffer, size_t bytes)
{
    struct gf_pull pull;
    struct gf_reason why = { "" };

    pair_await(pair);
    uint64_t start = pair_now_ns();

    pair_need(pair, gf_pull_start(pair->m.engine, &pair->shared->names[0], buffer, NULL, bytes, &pull, &why), "a pull", &why);
    pair_need(pair, gftest_wait_pull(&pair->m, &pull, &why), "the end of a pull", &why);
    return (double)(pair_now_ns() - start) / 1e3;
}

/* The device is full of a kernel that ends when all messages have arrived. */
static void check_filled(struct pair *pair, bool by_sender)
{
    static const size_t sizes[] = { 8, 65536, 8, 4 << 20 };
    enum { SIZES = 4, MOST = 4 << 20 };
    char *buffer = gftest_alloc(&pair->m, GF_MEMORY_DEVICE, SIZES * MOST);
    struct pair_filling *filling = pair->sends == by_sender ? pair_fill_device(pair, FILLING_NS) : NULL;
    uint64_t rescued = gf_pull_engine_statistics(pair->m.engine).rescued;

    pair_meet(pair);
    for (size_t i = 0; i < SIZES; i++) {
        if (pair->sends) {
            send_one(pair, buffer + i * MOST, sizes[i], 50 + i);
        } else {
            double us = receive_one(pair, buffer + i * MOST, sizes[i]);

            printf("  full by the %s's kernel: %8zu bytes %9.1f us\n", by_sender ? "sender" : "receiver", sizes[i], us);
            pair_check(pair, us * 1e3 < FILLING_NS / 2, "a message of %zu bytes waited for the program's kernel", sizes[i]);
        }
    }
    pair_meet(pair);
    if (!pair->sends) {
        printf("  of these rescued: %llu\n",
               (unsigned long long)(gf_pull_engine_statistics(pair->m.engine).rescued - rescued));
    }
    for (size_t i = 0; i < SIZES && !pair->sends; i++) {
        pair_check(pair, gftest_holds(&pair->m, buffer + i * MOST, sizes[i], 50 + i), "%zu bytes on a full device", sizes[i]);
        gftest_write(&pair->m, buffer + i * MOST, sizes[i], 60 + i);    /* ours again: late blocks must not touch it */
    }
    if (filling) {
        pair_let_go(pair, filling);
    }
    pair_meet(pair);
    for (size_t i = 0; i < SIZES && !pair->sends; i++) {
        pair_check(pair, gftest_holds(&pair->m, buffer + i * MOST, sizes[i], 60 + i), "%zu bytes were touched later", sizes[i]);
    }
    gftest_free(&pair->m, GF_MEMORY_DEVICE, buffer);
}

void pull_check_filled(struct pair *pair)
{
    pair->config.copy_engine_bytes = SIZE_MAX;
    pair_configure(pair);
    check_filled(pair, false);
    check_filled(pair, true);
    gf_pull_config_default(&pair->config);
    pair_configure(pair);
}

/* Launches are closed after start_us, whether they have started or not; late blocks must touch nothing. */
static void check_races(struct pair *pair, uint32_t start_us, int messages)
{
    enum { REGIONS = 64, MOST = 256 << 10, AFTER = 0xaa };
    char *buffer = gftest_alloc(&pair->m, GF_MEMORY_DEVICE, (size_t)REGIONS * MOST);
    unsigned char *image = malloc(MOST);
    uint64_t random = start_us + 1, bytes[REGIONS] = { 0 };

    pair->config.copy_engine_bytes = SIZE_MAX;
    pair->config.block_bytes = 1024;
    pair->config.start_us = start_us;
    pair_configure(pair);
    for (int i = 0; i < messages; i++) {
        char *region = buffer + (size_t)(i % REGIONS) * MOST;

        bytes[i % REGIONS] = 1 + gftest_random(&random, gftest_random(&random, 2) ? 4096 : MOST);
        if (pair->sends) {
            send_one(pair, region, bytes[i % REGIONS], 90 + (uint64_t)i);
            continue;
        }
        receive_one(pair, region, bytes[i % REGIONS]);
        pair_check(pair, gftest_holds(&pair->m, region, bytes[i % REGIONS], 90 + (uint64_t)i), "message %d closed after %u us", i,
                   start_us);
        gf_device_fill(pair->m.device, pair->m.stream, region, AFTER, bytes[i % REGIONS]);
        gf_device_stream_sync(pair->m.device, pair->m.stream);
    }
    for (uint64_t end = pair_now_ns() + LATE_NS; pair_now_ns() < end; ) {    /* late blocks come */
        gftest_turn(&pair->m);
    }
    for (int r = 0; r < REGIONS && !pair->sends; r++) {
        gf_device_copy(pair->m.device, pair->m.stream, image, buffer + (size_t)r * MOST, bytes[r]);
        gf_device_stream_sync(pair->m.device, pair->m.stream);
        size_t right = 0;

        while (right < bytes[r] && image[right] == AFTER) {
            right++;
        }
        pair_check(pair, right == bytes[r], "byte %zu of %zu was touched later (closed after %u us)", right, (size_t)bytes[r],
                   start_us);
    }
    if (!pair->sends) {
        struct gf_pull_statistics s = gf_pull_engine_statistics(pair->m.engine);

        printf("  closed after %2u us: %llu of %llu messages rescued\n", start_us, (unsigned long long)s.rescued,
               (unsigned long long)s.by_kernel);
    }
    pair_meet(pair);
    free(image);
    gftest_free(&pair->m, GF_MEMORY_DEVICE, buffer);
    gf_pull_config_default(&pair->config);
    pair_configure(pair);
}

void pull_check_races(struct pair *pair)
{
    static const uint32_t after[] = { 0, 2, 4, 6, 8, 10 };

    for (size_t i = 0; i < sizeof after / sizeof after[0]; i++) {
        check_races(pair, after[i], strcmp(pair->driver, "emulated") == 0 ? 100 : 500);
    }
}
