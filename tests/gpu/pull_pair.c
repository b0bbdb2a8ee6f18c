/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A sender and a receiver.
 */
#include "tests/gpu/pull_pair.h"

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/types.h"

enum { HANG_SECONDS = 200 };

uint64_t pair_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void run_side(const char *driver, struct pair_shared *shared, bool sends, void (*body)(struct pair *))
{
    struct pair pair = { .sends = sends, .driver = driver, .shared = shared };
    struct gf_reason why = { "" };

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(HANG_SECONDS);
    gf_pull_config_default(&pair.config);
    pair_need(&pair, gftest_messages_open(NULL, driver, &pair.config, &pair.m, &why), driver, &why);
    if (strcmp(driver, "emulated") == 0) {
        pair.m.device->caps.concurrent_processes = true;    /* "solo" is to hold kernels back, not to keep us from launching */
    }
    body(&pair);
    pair_meet(&pair);
    gftest_messages_close(&pair.m);
    fflush(NULL);
    _exit(0);
}

long pair_run(const char *driver, void (*body)(struct pair *))
{
    struct pair_shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t sides[2];

    if (shared == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        sides[i] = fork();
        if (sides[i] == 0) {
            run_side(driver, shared, i == 0, body);
        }
    }
    long failures = 0;

    for (int i = 0; i < 2; i++) {
        int status = 0;
        pid_t ended = wait(&status);

        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fprintf(stderr, "the %s ended with status %x\n", ended == sides[0] ? "sender" : "receiver", (unsigned)status);
            kill(sides[ended == sides[0]], SIGKILL);
            failures++;
        }
    }
    failures += shared->failures[0] + shared->failures[1];
    munmap(shared, sizeof *shared);
    return failures;
}

void pair_meet(struct pair *pair)
{
    struct pair_shared *shared = pair->shared;
    uint64_t mine = __atomic_add_fetch(&shared->met[pair->sends], 1, __ATOMIC_ACQ_REL);

    while (__atomic_load_n(&shared->met[!pair->sends], __ATOMIC_ACQUIRE) < mine) {
        gftest_turn(&pair->m);
    }
}

bool pair_check(struct pair *pair, bool right, const char *format, ...)
{
    if (!right && pair->shared->failures[pair->sends]++ < 10) {
        va_list arguments;

        va_start(arguments, format);
        fprintf(stderr, "%s: ", pair->sends ? "sender" : "receiver");
        vfprintf(stderr, format, arguments);
        fprintf(stderr, "\n");
        va_end(arguments);
    }
    return right;
}

void pair_need(struct pair *pair, gf_status status, const char *what, const struct gf_reason *why)
{
    if (status != GF_OK) {
        fprintf(stderr, "%s: %s: %s (%s)\n", pair->sends ? "sender" : "receiver", what, gf_status_string(status),
                why ? why->text : "");
        _exit(1);
    }
}

void pair_configure(struct pair *pair)
{
    struct gf_reason why = { "" };

    gf_pull_engine_destroy(pair->m.engine);
    pair_need(pair, gf_pull_engine_create(pair->m.imports, &pair->config, &pair->m.engine, &why), "an engine", &why);
}

void pair_offer(struct pair *pair, const struct gf_offer_name *names, size_t count)
{
    memcpy(pair->shared->names, names, count * sizeof *names);
    __atomic_store_n(&pair->shared->round, ++pair->round, __ATOMIC_RELEASE);
}

void pair_await(struct pair *pair)
{
    pair->round++;
    while (__atomic_load_n(&pair->shared->round, __ATOMIC_ACQUIRE) < pair->round) {
        if (strcmp(pair->driver, "emulated") == 0) {
            sched_yield();
        }
    }
}

struct pair_filling {
    gf_stream *stream;
    uint32_t *words;               /* pinned: abort, error, done */
    char *memory;                  /* device: slots, and a line of blocks_done */
};

/* A one-shot allreduce of which nobody else knows waits for its peer until it is told to leave. */
struct pair_filling *pair_fill_device(struct pair *pair, uint64_t deadline_ns)
{
    gf_device *device = pair->m.device;
    struct pair_filling *filling = calloc(1, sizeof *filling);
    bool emulated = strcmp(pair->driver, "emulated") == 0;
    int blocks = emulated ? device->caps.blocks : device->caps.blocks * 32;
    size_t slot = (size_t)blocks * 64, bytes = 4 * slot + GF_LINE;
    struct gf_reason why = { "" };
    void *memory = NULL;

    pair_need(pair, gf_device_stream_create(device, &filling->stream, &why), "a stream", &why);
    pair_need(pair, gf_device_pinned_alloc(device, GF_LINE, &memory, &why), "pinned memory", &why);
    filling->words = memory;
    pair_need(pair, gf_device_alloc(device, bytes, &memory, &why), "device memory", &why);
    filling->memory = memory;
    pair_need(pair, gf_device_fill(device, filling->stream, memory, 0, bytes), "fill", &why);
    char *slots = gf_device_kernel_address(device, memory);
    char *words = gf_device_kernel_address(device, filling->words);
    struct gf_one_shot_work work = {
        .task = { .rank = 0, .ranks = 2, .abort = (uint32_t *)(void *)words, .deadline_ns = deadline_ns,
                  .blocks_done = (uint32_t *)(void *)(slots + 4 * slot), .done = (uint64_t *)(void *)(words + 16),
                  .error = (uint32_t *)(void *)(words + 8), .ticket = 1 },
        .data = { .send = slots + 4 * slot + 64, .recv = slots + 4 * slot + 96, .count = 1, .type = GF_FLOAT, .op = GF_SUM },
        .slot_bytes = slot, .epoch = 1, .pieces = 1,
    };

    work.peers[1].to = slots;
    work.peers[1].from = slots + 2 * slot;
    pair_need(pair, gf_device_launch(device, filling->stream, GF_KERNEL_ALLREDUCE_ONE_SHOT, blocks, 32, &work, sizeof work, &why),
              "the filling", &why);
    usleep(20000);                 /* until its blocks are there */
    return filling;
}

void pair_let_go(struct pair *pair, struct pair_filling *filling)
{
    gf_device *device = pair->m.device;

    __atomic_store_n(filling->words, 1, __ATOMIC_RELEASE);
    pair_need(pair, gf_device_stream_sync(device, filling->stream), "the end of the filling", NULL);
    gf_device_stream_destroy(device, filling->stream);
    gf_device_free(device, filling->memory);
    gf_device_pinned_free(device, filling->words);
    free(filling);
}
