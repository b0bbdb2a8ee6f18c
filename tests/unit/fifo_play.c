/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels that are threads.
 */
#include "tests/unit/fifo_play.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/host_ordered.h"
#include "core/layout.h"
#include "tests/unit/scalar.h"

uint64_t play_seed(void)
{
    const char *seed = getenv("GPUFIFO_TEST_SEED"), *deadline = getenv("GPUFIFO_TEST_DEADLINE_MS");

    alarm(deadline ? (unsigned)(atoi(deadline) + 999) / 1000 : 120);
    return seed ? strtoull(seed, NULL, 10) : 20261129;
}

static uint64_t mix(uint64_t seed, uint64_t channel, uint64_t step)
{
    uint64_t random = seed + channel * 1000003 + step * 97 + 1;

    return scalar_random(&random);
}

/* One in eight has nothing. */
uint32_t play_size(const struct play *p, int channel, uint64_t step)
{
    uint64_t random = mix(p->seed, (uint64_t)channel, step);

    return random / 1024 % 8 == 0 ? 0 : (uint32_t)(random % (PLAY_SLOT_BYTES + 1));
}

static unsigned char byte_of(const struct play *p, int channel, uint64_t step, uint32_t i)
{
    return (unsigned char)(mix(p->seed, (uint64_t)channel, step) / 256 + i);
}

static bool has_to_leave(struct play *p, int end)
{
    sched_yield();
    return gf_abort_check(p->aborts[end], NULL) != GF_OK;
}

static bool send_step(struct play *p, int channel, uint64_t step)
{
    struct gf_connector *c = &p->ends[PLAY_SENDER];
    struct gf_conn conn = gf_layout_conn(&c->endpoint, &c->shape, channel);
    unsigned char *slot = (unsigned char *)conn.slots + step % GF_FIFO_DEPTH * PLAY_SLOT_BYTES;
    uint32_t bytes = play_size(p, channel, step);

    while (step >= gf_host_observe(conn.head) + GF_FIFO_DEPTH) {
        if (has_to_leave(p, PLAY_SENDER)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < bytes; i++) {
        slot[i] = byte_of(p, channel, step, i);
    }
    conn.size[step % GF_FIFO_DEPTH] = bytes;
    gf_host_publish(conn.tail, step + 1);
    return true;
}

static bool receive_step(struct play *p, int channel, uint64_t step)
{
    struct gf_connector *c = &p->ends[PLAY_RECEIVER];
    struct gf_conn conn = gf_layout_conn(&c->endpoint, &c->shape, channel);
    const unsigned char *slot = (const unsigned char *)conn.slots + step % GF_FIFO_DEPTH * PLAY_SLOT_BYTES;

    while (step >= gf_host_observe(conn.tail)) {
        if (has_to_leave(p, PLAY_RECEIVER)) {
            return false;
        }
    }
    uint32_t bytes = conn.size[step % GF_FIFO_DEPTH];

    if (bytes != play_size(p, channel, step)) {
        p->failed = "a size is wrong";
    }
    for (uint32_t i = 0; i < bytes && !p->failed; i++) {
        if (slot[i] != byte_of(p, channel, step, i)) {
            p->failed = "payload is wrong";
        }
    }
    /* Who is slow may be overtaken. */
    if (mix(p->seed, 77, step) % 8 == 0) {
        sched_yield();
    }
    gf_host_publish(conn.head, step + 1);
    return true;
}

struct kernel {
    struct play *p;
    int end;
};

/* One step of each channel in turn, as blocks would that run at once. */
static void *run_kernel(void *ctx)
{
    const struct kernel *kernel = ctx;
    struct play *p = kernel->p;
    int channels = p->ends[kernel->end].shape.channels;

    for (uint64_t i = 0; i < PLAY_MOST_STEPS; i++) {
        for (int c = 0; c < channels; c++) {
            uint64_t step = p->done[kernel->end][c] + i;

            if (i < p->steps[c] && !(kernel->end == PLAY_SENDER ? send_step(p, c, step) : receive_step(p, c, step))) {
                return NULL;
            }
        }
    }
    for (int c = 0; c < channels; c++) {
        p->done[kernel->end][c] += p->steps[c];
    }
    return NULL;
}

void play_choose_steps(struct play *p, uint64_t *random)
{
    for (int c = 0; c < p->ends[PLAY_SENDER].shape.channels; c++) {
        p->steps[c] = scalar_random(random) % 4 == 0 ? 0 : scalar_random(random) % PLAY_MOST_STEPS;
    }
}

void play_launch(struct play *p, int first)
{
    struct kernel kernels[2] = { { p, PLAY_RECEIVER }, { p, PLAY_SENDER } };
    pthread_t threads[2];

    for (int i = 0; i < 2; i++) {
        gf_connector_expect(&p->ends[first ^ i], p->steps);
        assert_int_equal(pthread_create(&threads[first ^ i], NULL, run_kernel, &kernels[first ^ i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
}

void play_await_drained(struct play *p)
{
    struct gf_connector *c = &p->ends[PLAY_SENDER];

    for (int i = 0; i < c->shape.channels; i++) {
        struct gf_conn conn = gf_layout_conn(&c->endpoint, &c->shape, i);

        while (gf_host_observe(conn.head) < p->done[PLAY_SENDER][i]) {
            sched_yield();
        }
    }
}
