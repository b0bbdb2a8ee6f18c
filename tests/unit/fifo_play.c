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
#include <string.h>
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

/* Where every second step of a launch has its data. */
static struct gf_span span_of(const struct play *p, int end, int channel, uint64_t step)
{
    uint64_t at = ((uint64_t)channel * PLAY_MOST_STEPS + step) * PLAY_SLOT_BYTES;

    return (struct gf_span){ .at = at, .bytes = step % 2 ? play_size(p, channel, p->done[end][channel] + step) : 0 };
}

static struct gf_span sent_span(const void *p, int channel, uint64_t step)
{
    return span_of(p, PLAY_SENDER, channel, step);
}

static struct gf_span received_span(const void *p, int channel, uint64_t step)
{
    return span_of(p, PLAY_RECEIVER, channel, step);
}

static unsigned char *place_of(const struct play *p, int end, int channel, uint64_t step)
{
    return (unsigned char *)p->buffers[end] + span_of(p, end, channel, step - p->done[end][channel]).at;
}

static void lend(struct play *p, int end)
{
    const struct gf_pointer where = {
        .kind = GF_MEMORY_DEVICE, .base = p->buffers[end], .size = PLAY_BUFFER_BYTES,
        .buffer_id = (uint64_t)(uintptr_t)p->buffers[end],
    };
    const struct gf_loan loan = {
        .buffer = p->buffers[end], .where = &where, .kernel_address = p->buffers[end], .bytes = PLAY_BUFFER_BYTES, .ctx = p,
        .span = end == PLAY_SENDER ? sent_span : received_span,
    };

    p->lends[end] = p->buffers[end] && gf_connector_lend(&p->ends[end], &loan);
}

/* The kernel's part of an answer: does this step go from the buffer? False: leave. */
static bool await_answer(struct play *p, const struct gf_conn *conn, int channel, uint64_t step, bool *lent)
{
    const uint64_t *answer = conn->answers + step % GF_FIFO_DEPTH;

    *lent = false;
    if (!p->lends[PLAY_SENDER] || (step - p->done[PLAY_SENDER][channel]) % 2 == 0) {
        return true;
    }
    while (gf_host_observe(answer) / 2 != step + 1) {
        if (has_to_leave(p, PLAY_SENDER)) {
            return false;
        }
    }
    *lent = *answer % 2;
    return true;
}

/* Until all of it has left the buffer, which then is the program's. */
static bool await_over(struct play *p)
{
    struct gf_connector *c = &p->ends[PLAY_SENDER];

    for (int i = 0; i < c->shape.channels; i++) {
        struct gf_conn conn = gf_layout_conn(&c->endpoint, &c->shape, i);

        while (gf_host_observe(conn.head) < p->done[PLAY_SENDER][i] + p->steps[i]) {
            if (has_to_leave(p, PLAY_SENDER)) {
                return false;
            }
        }
    }
    memset(p->buffers[PLAY_SENDER], 0, PLAY_BUFFER_BYTES);
    return true;
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
    bool lent;

    if (!await_answer(p, &conn, channel, step, &lent)) {
        return false;
    }
    unsigned char *to = lent ? place_of(p, PLAY_SENDER, channel, step) : slot;

    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = byte_of(p, channel, step, i);
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
    uint32_t size = conn.size[step % GF_FIFO_DEPTH], bytes = size & ~GF_SIZE_LENT;
    const unsigned char *from = size & GF_SIZE_LENT ? place_of(p, PLAY_RECEIVER, channel, step) : slot;

    p->lent += from != slot;
    if (bytes != play_size(p, channel, step)) {
        p->failed = "a size is wrong";
    }
    for (uint32_t i = 0; i < bytes && !p->failed; i++) {
        if (from[i] != byte_of(p, channel, step, i)) {
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
    if (kernel->end == PLAY_SENDER && p->lends[PLAY_SENDER] && !await_over(p)) {
        return NULL;
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
        lend(p, first ^ i);
        gf_connector_expect(&p->ends[first ^ i], p->steps);
        assert_int_equal(pthread_create(&threads[first ^ i], NULL, run_kernel, &kernels[first ^ i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 2; i++) {
        if (p->lends[i]) {
            gf_connector_reclaim(&p->ends[i], gf_abort_check(p->aborts[i], NULL) != GF_OK);
        }
    }
}

void play_give_up(struct play *p, int end)
{
    lend(p, end);
    if (p->lends[end]) {
        gf_connector_reclaim(&p->ends[end], true);
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
