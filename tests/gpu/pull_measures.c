/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long does it take? Medians over many messages, the receiver's time from the start of a pull until it knows the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/pull_programs.h"
#include "tests/gpu/times.h"

enum { WARM_UP = 20, MOST_ITERATIONS = 2000 };

static int iterations_for(const struct pair *pair, size_t bytes)
{
    int count = bytes <= 64 << 10 ? 1000 : bytes <= 1 << 20 ? 400 : bytes <= 16 << 20 ? 100 : 40;

    return strcmp(pair->driver, "emulated") == 0 ? 10 : count;
}

static void wait_pull(struct pair *pair, struct gf_pull *pull)
{
    struct gf_reason why = { "" };
    gf_status status;

    while ((status = gf_pull_poll(pair->m.engine, pull, &why)) == GF_IN_PROGRESS) {
        gf_pull_engine_progress(pair->m.engine);
    }
    pair_need(pair, status, "the end of a pull", &why);
}

/* Both sides' medians: the receiver's of pulls, the sender's from before the offer until it knows the end. */
static double measure(struct pair *pair, char *buffer, size_t bytes)
{
    static double times[MOST_ITERATIONS];
    int count = iterations_for(pair, bytes);
    struct gf_reason why = { "" };
    struct gf_offer_name name;
    struct gf_pointer where;
    struct gf_pull pull;

    gf_driver_pointer(pair->m.driver, buffer, &where);
    for (int i = -WARM_UP; i < count; i++) {
        uint64_t start;

        if (pair->sends) {
            start = pair_now_ns();
            pair_need(pair, gftest_offer(&pair->m, buffer, bytes, false, &name, &why), "an offer", &why);
            pair_offer(pair, &name, 1);
            while (gf_offer_poll(pair->m.board, name.index, &why) == GF_IN_PROGRESS) {
            }
        } else {
            pair_await(pair);
            start = pair_now_ns();
            pair_need(pair, gf_pull_start(pair->m.engine, &pair->shared->names[0], buffer, &where, bytes, &pull, &why), "a pull",
                      &why);
            gf_pull_engine_progress(pair->m.engine);
            wait_pull(pair, &pull);
        }
        if (i >= 0) {
            times[i] = (double)(pair_now_ns() - start) / 1e3;
        }
    }
    pair_meet(pair);
    return times_median(times, (size_t)count);
}

static const char *size_text(size_t bytes)
{
    static char text[2][32];
    static int next;

    next = !next;
    if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) {
        snprintf(text[next], sizeof text[next], "%zu MiB", bytes >> 20);
    } else if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) {
        snprintf(text[next], sizeof text[next], "%zu KiB", bytes >> 10);
    } else {
        snprintf(text[next], sizeof text[next], "%zu B", bytes);
    }
    return text[next];
}

void pull_measure_sizes(struct pair *pair)
{
    static const size_t sizes[] = { 8, 512, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 32 << 20,
                                    64 << 20 };
    static const uint32_t blocks[] = { 1, 4, 8, 16, 32, 64, 96, 128 };
    enum { BLOCKS = sizeof blocks / sizeof blocks[0] };
    bool emulated = strcmp(pair->driver, "emulated") == 0;
    char *buffer = gftest_alloc(&pair->m, GF_MEMORY_DEVICE, 64 << 20);

    if (!pair->sends) {
        printf("one message, us at the receiver: by kernel with so many blocks, copy engine, defaults; and at the sender\n");
        printf("%8s", "");
        for (size_t b = 0; b < BLOCKS; b++) {
            printf(" %7u", blocks[b]);
        }
        printf("  engine default  sender\n");
    }
    for (size_t s = 0; s < (emulated ? 6 : sizeof sizes / sizeof sizes[0]); s++) {
        if (!pair->sends) {
            printf("%8s", size_text(sizes[s]));
        }
        for (size_t b = 0; b <= BLOCKS + 1; b++) {
            gf_pull_config_default(&pair->config);
            if (b < BLOCKS) {
                size_t share = sizes[s] / blocks[b];

                if (b > 0 && share < 512) {
                    if (!pair->sends) {
                        printf(" %7s", "");
                    }
                    continue;
                }
                pair->config.blocks = blocks[b];
                pair->config.block_bytes = 512;
            }
            pair->config.copy_engine_bytes = b < BLOCKS ? SIZE_MAX : b == BLOCKS ? 0 : pair->config.copy_engine_bytes;
            pair->config.start_us = b <= BLOCKS ? 1000000 : pair->config.start_us;
            pair_configure(pair);
            double us = measure(pair, buffer, sizes[s]);

            if (pair->sends) {
                pair->shared->sender_us = us;
            } else {
                printf(" %7.2f", us);
            }
            pair_meet(pair);
        }
        if (!pair->sends) {
            printf(" %7.2f\n", pair->shared->sender_us);
            fflush(stdout);
        }
    }
    gf_pull_config_default(&pair->config);
    pair_configure(pair);
    gftest_free(&pair->m, GF_MEMORY_DEVICE, buffer);
}

/* Shapes for large messages: blocks, and what each takes at a time (0: all that it has). */
void pull_measure_large(struct pair *pair)
{
    static const size_t sizes[] = { 16 << 20, 64 << 20, 256 << 20, 1024 << 20 };
    static const struct { uint32_t blocks; size_t share; } shapes[] = { { 128, 0 }, { 132, 0 }, { 264, 0 }, { 132, 16 << 10 },
        { 132, 64 << 10 }, { 132, 256 << 10 }, { 264, 16 << 10 }, { 264, 64 << 10 }, { 264, 128 << 10 } };
    char *buffer = gftest_alloc(&pair->m, GF_MEMORY_DEVICE, sizes[3]);

    for (size_t shape = 0; shape <= sizeof shapes / sizeof shapes[0]; shape++) {
        bool engine = shape == sizeof shapes / sizeof shapes[0];

        gf_pull_config_default(&pair->config);
        pair->config.copy_engine_bytes = engine ? 0 : SIZE_MAX;
        pair->config.start_us = 1000000;
        if (!engine) {
            pair->config.blocks = shapes[shape].blocks;
            pair->config.share_bytes = shapes[shape].share;
        }
        pair_configure(pair);
        if (!pair->sends) {
            printf("  %3u blocks, %6zu bytes at a time:", pair->config.blocks, pair->config.share_bytes);
        }
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            double us = measure(pair, buffer, sizes[s]);

            if (!pair->sends) {
                printf(" %s %.2f us", size_text(sizes[s]), us);
            }
        }
        if (!pair->sends) {
            printf("%s\n", engine ? " (copy engine)" : "");
            fflush(stdout);
        }
    }
    gf_pull_config_default(&pair->config);
    pair_configure(pair);
    gftest_free(&pair->m, GF_MEMORY_DEVICE, buffer);
}

/* A window of messages that lie ready; launched together, or each at once. Returns microseconds. */
static double window(struct pair *pair, char *buffer, size_t bytes, int count, bool together)
{
    static double times[MOST_ITERATIONS];
    static struct gf_pull pulls[PAIR_MESSAGES];
    struct gf_offer_name names[PAIR_MESSAGES];
    struct gf_pointer where;
    struct gf_reason why = { "" };
    int rounds = strcmp(pair->driver, "emulated") == 0 ? 3 : 60;

    gf_driver_pointer(pair->m.driver, buffer, &where);
    for (int r = -3; r < rounds; r++) {
        uint64_t start = 0;

        for (int i = 0; i < count && pair->sends; i++) {
            pair_need(pair, gftest_offer(&pair->m, buffer + (size_t)i * bytes, bytes, false, &names[i], &why), "an offer", &why);
        }
        if (pair->sends) {
            pair_offer(pair, names, (size_t)count);
        } else {
            pair_await(pair);
            start = pair_now_ns();
        }
        for (int i = 0; i < count && !pair->sends; i++) {
            pair_need(pair, gf_pull_start(pair->m.engine, &pair->shared->names[i], buffer + (size_t)i * bytes, &where, bytes,
                                          &pulls[i], &why), "a pull", &why);
            if (!together) {
                gf_pull_engine_progress(pair->m.engine);
            }
        }
        for (int i = 0; i < count; i++) {
            if (pair->sends) {
                pair_need(pair, gftest_wait_offer(&pair->m, names[i].index, &why), "the end of an offer", &why);
            } else {
                wait_pull(pair, &pulls[i]);
            }
        }
        if (r >= 0) {
            times[r] = (double)(pair_now_ns() - start) / 1e3;
        }
        pair_meet(pair);
    }
    return times_median(times, (size_t)rounds);
}

void pull_measure_windows(struct pair *pair)
{
    static const struct { size_t bytes; int count; } windows[] = { { 8, 64 }, { 8 << 10, 64 }, { 64 << 10, 64 }, { 1 << 20, 16 },
                                                                   { 1 << 20, 64 }, { 4 << 20, 16 }, { 16 << 20, 8 },
                                                                   { 16 << 20, 64 } };
    static const char *const names[] = { "by kernel, started together", "by kernel, each launched if it can", "by copy engine" };
    bool emulated = strcmp(pair->driver, "emulated") == 0;
    char *buffer = gftest_alloc(&pair->m, GF_MEMORY_DEVICE, 1024 << 20);

    for (size_t w = 0; w < (emulated ? 3 : sizeof windows / sizeof windows[0]); w++) {
        for (int path = 0; path < 3; path++) {
            gf_pull_config_default(&pair->config);
            pair->config.copy_engine_bytes = path < 2 ? SIZE_MAX : 0;
            pair_configure(pair);
            double us = window(pair, buffer, windows[w].bytes, windows[w].count, path == 0);

            if (!pair->sends) {
                struct gf_pull_statistics found = gf_pull_engine_statistics(pair->m.engine);

                printf("  %2d x %8s %-38s %8.1f us %8.1f GB/s, %llu launches\n", windows[w].count, size_text(windows[w].bytes),
                       names[path],
                       us, (double)windows[w].bytes * windows[w].count / us / 1e3,
                       (unsigned long long)found.launches);
                pair_check(pair, emulated || found.rescued == 0, "%llu messages were rescued on a device that is only busy",
                           (unsigned long long)found.rescued);
            }
        }
    }
    gf_pull_config_default(&pair->config);
    pair_configure(pair);
    gftest_free(&pair->m, GF_MEMORY_DEVICE, buffer);
}

/* Small messages that nobody receives: until the sender has its buffer back, and then until the receiver has them. */
void pull_measure_moves(struct pair *pair)
{
    static double times[MOST_ITERATIONS];
    enum { COUNT = 50 };
    char *buffer = gftest_alloc(&pair->m, GF_MEMORY_DEVICE, 8192);
    struct gf_reason why = { "" };
    struct gf_offer_name name;
    struct gf_pointer where;
    struct gf_pull pull;

    gf_driver_pointer(pair->m.driver, buffer, &where);
    for (size_t bytes = 8; bytes <= 8192; bytes *= 32) {
        for (int i = 0; i < COUNT; i++) {
            uint64_t start = pair_now_ns();

            if (pair->sends) {
                pair_need(pair, gftest_offer(&pair->m, buffer, bytes, true, &name, &why), "an offer", &why);
                while (gf_offer_poll(pair->m.board, name.index, &why) == GF_IN_PROGRESS) {
                    gf_offer_board_progress(pair->m.board, &why);
                }
                times[i] = (double)(pair_now_ns() - start) / 1e3;
                pair_offer(pair, &name, 1);
            } else {
                pair_await(pair);
                start = pair_now_ns();
                pair_need(pair, gf_pull_start(pair->m.engine, &pair->shared->names[0], buffer, &where, bytes, &pull, &why),
                          "a pull", &why);
                gf_pull_engine_progress(pair->m.engine);
                wait_pull(pair, &pull);
                times[i] = (double)(pair_now_ns() - start) / 1e3;
            }
            pair_meet(pair);
        }
        double us = times_median(times, COUNT);

        if (pair->sends) {
            pair->shared->sender_us = us;
        }
        pair_meet(pair);
        if (!pair->sends) {
            printf("  moved: %8s, the sender is free after %.1f us (of patience: %u), the receiver fetches in %.1f us\n",
                   size_text(bytes), pair->shared->sender_us, pair->config.patience_us, us);
        }
        pair_meet(pair);
    }
    gftest_free(&pair->m, GF_MEMORY_DEVICE, buffer);
}

/* What the host pays for each step. */
void pull_measure_host(struct pair *pair)
{
    static double offers[MOST_ITERATIONS], starts[MOST_ITERATIONS], launches[MOST_ITERATIONS], polls[MOST_ITERATIONS];
    enum { COUNT = 200 };
    char *buffer = gftest_alloc(&pair->m, GF_MEMORY_DEVICE, 8192);
    struct gf_reason why = { "" };
    struct gf_offer_name name;
    struct gf_pointer where;
    struct gf_pull pull;

    gf_driver_pointer(pair->m.driver, buffer, &where);
    for (int i = 0; i < COUNT; i++) {
        uint64_t a = pair_now_ns();

        if (pair->sends) {
            pair_need(pair, gftest_offer(&pair->m, buffer, 8, false, &name, &why), "an offer", &why);
            offers[i] = (double)(pair_now_ns() - a);
            pair_offer(pair, &name, 1);
            pair_need(pair, gftest_wait_offer(&pair->m, name.index, &why), "the end of an offer", &why);
        } else {
            pair_await(pair);
            a = pair_now_ns();
            pair_need(pair, gf_pull_start(pair->m.engine, &pair->shared->names[0], buffer, &where, 8, &pull, &why), "a pull",
                      &why);
            uint64_t b = pair_now_ns();

            gf_pull_engine_progress(pair->m.engine);
            uint64_t c = pair_now_ns();

            gf_pull_poll(pair->m.engine, &pull, &why);
            gf_pull_engine_progress(pair->m.engine);
            polls[i] = (double)(pair_now_ns() - c);
            starts[i] = (double)(b - a);
            launches[i] = (double)(c - b);
            wait_pull(pair, &pull);
        }
    }
    if (pair->sends) {
        printf("  host, ns: pointer query and offer %.0f\n", times_median(offers, COUNT));
    } else {
        printf("  host, ns: start of a pull %.0f, launch %.0f, poll and progress %.0f\n", times_median(starts, COUNT),
               times_median(launches, COUNT), times_median(polls, COUNT));
    }
    pair_meet(pair);
    gftest_free(&pair->m, GF_MEMORY_DEVICE, buffer);
}
