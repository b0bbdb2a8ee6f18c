/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduces of forked ranks while a kernel of the program fills the device, so that no agent can start: they come back all the
 * same, and are right. What fills it is an allreduce whose peer never comes, until the test raises the abort word: so nothing
 * depends on time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/host_ordered.h"
#include "tests/support/core_comm.h"

enum { SECONDS = 120, CALLS = 6, COUNT = 700, BLOCKS = 4, SLOT_BYTES = 16 * GF_LINE };

struct run {
    const char *emulated;
    enum gf_force_transport transport;
    int every;                     /* ranks that are multiples of this are filled */
};

/* What fills the device of a rank. */
struct filling {
    gf_stream *stream;
    char *words;                   /* pinned: abort, error and ticket, a line each, then slots and what is reduced */
};

enum { LINES_AT = 3 * GF_LINE, WORDS_BYTES = LINES_AT + 5 * SLOT_BYTES };

static uint32_t *abort_word(const struct filling *f)
{
    return (uint32_t *)(void *)f->words;
}

static uint64_t observe(const struct filling *f, size_t at)
{
    return gf_host_observe((const uint64_t *)(const void *)(f->words + at));
}

static int fill_device(struct gftest_rank *rank, const struct gftest_comm *c, struct filling *f)
{
    void *memory;

    GFTEST_CHECK(rank, gf_device_stream_create(c->device, &f->stream, NULL) == GF_OK);
    GFTEST_CHECK(rank, gf_device_pinned_alloc(c->device, WORDS_BYTES, &memory, NULL) == GF_OK);
    f->words = memory;
    char *words = gf_device_kernel_address(c->device, memory), *slots = words + LINES_AT;
    struct gf_one_shot_work work = {
        .task = { .ranks = 2, .abort = (uint32_t *)(void *)words, .error = (uint32_t *)(void *)(words + GF_LINE),
                  .done = (uint64_t *)(void *)(words + 2 * GF_LINE), .blocks_done = (uint32_t *)(void *)(slots + 4 * SLOT_BYTES),
                  .ticket = 1 },
        .data = { slots + 4 * SLOT_BYTES + 8, slots + 4 * SLOT_BYTES + 16, 1, GF_INT32, GF_SUM },
        .slot_bytes = SLOT_BYTES, .epoch = 1, .pieces = 1,
        .peers = { { NULL, NULL }, { slots, slots + 2 * SLOT_BYTES } },
    };

    GFTEST_CHECK(rank, gf_device_launch(c->device, f->stream, GF_KERNEL_ALLREDUCE_ONE_SHOT, BLOCKS, 32, &work, sizeof work, NULL)
                       == GF_OK);
    while (observe(f, LINES_AT + SLOT_BYTES) == 0) {            /* until it has stored a line: then it runs */
    }
    return 0;
}

static int end_filling(struct gftest_rank *rank, const struct gftest_comm *c, struct filling *f)
{
    GFTEST_CHECK(rank, observe(f, 2 * GF_LINE) == 0);
    gf_host_publish_flag(abort_word(f), 1);
    GFTEST_CHECK(rank, gf_device_stream_sync(c->device, f->stream) == GF_OK);
    gf_device_stream_destroy(c->device, f->stream);
    gf_device_pinned_free(c->device, f->words);
    return 0;
}

/* data: COUNT doubles on the device. Each rank sends its number + call. */
static int call(struct gftest_rank *rank, struct gftest_comm *c, void *data, int number)
{
    double values[COUNT];
    const struct gf_comm_buffers buffers = { .send = data, .recv = data };
    struct gf_reason why = { "" };

    for (int i = 0; i < COUNT; i++) {
        values[i] = rank->rank + number + i;
    }
    GFTEST_CHECK(rank, gf_device_copy(c->device, c->stream, data, values, sizeof values) == GF_OK);
    GFTEST_CHECK(rank, gf_device_stream_sync(c->device, c->stream) == GF_OK);
    GFTEST_CHECK(rank, gf_comm_allreduce(c->comm, &buffers, COUNT, GF_DOUBLE, GF_SUM, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gf_device_copy(c->device, c->stream, values, data, sizeof values) == GF_OK);
    GFTEST_CHECK(rank, gf_device_stream_sync(c->device, c->stream) == GF_OK);
    for (int i = 0; i < COUNT; i++) {
        GFTEST_CHECK(rank, values[i] == rank->ranks * (rank->ranks - 1) / 2.0 + rank->ranks * (double)(number + i), "call %d: %g",
                     number, values[i]);
    }
    return 0;
}

static int filled_body(struct gftest_rank *rank)
{
    const struct run *run = rank->argument;
    struct gf_config config = gftest_config();
    struct filling filling = { 0 };
    struct gf_reason why = { "" };
    struct gftest_comm c;
    bool filled = rank->rank % run->every == 0;
    void *data;

    config.algorithm = GF_ALGORITHM_ONE_SHOT;
    config.transport = run->transport;
    config.agent = GF_AGENT_FIXED;
    config.agent_us = 1;
    config.agent_start_us = filled ? 2000 : config.agent_start_us;
    setenv("GPUFIFO_EMULATED", run->emulated, 1);
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gf_device_alloc(c.device, COUNT * sizeof(double), &data, NULL) == GF_OK);
    if (call(rank, &c, data, 0) != 0) {
        return 1;
    }
    gf_agent_dismiss(c.agent);
    uint64_t before = gf_agent_statistics_of(c.agent).refused;

    if (filled && fill_device(rank, &c, &filling) != 0) {
        return 1;
    }
    for (int i = 1; i <= CALLS; i++) {
        if (call(rank, &c, data, i) != 0) {
            return 1;
        }
        GFTEST_CHECK(rank, !filled || gf_comm_last_way(c.comm) == GF_ONE_SHOT_PLAYED);
    }
    GFTEST_CHECK(rank, !filled || gf_agent_statistics_of(c.agent).refused == before + CALLS);
    if (filled && end_filling(rank, &c, &filling) != 0) {
        return 1;
    }
    gf_agent_dismiss(c.agent);
    if (call(rank, &c, data, CALLS + 1) != 0) {
        return 1;
    }
    gftest_barrier(rank);
    gf_device_free(c.device, data);
    gftest_comm_close(&c);
    return 0;
}

static void test_a_filled_device_keeps_nobody_waiting(void **state)
{
    (void)state;
    for (int transport = GF_TRANSPORT_P2P; transport <= GF_TRANSPORT_SHM; transport++) {
        for (int every = 1; every <= 2; every++) {
            struct run run = { "filled,weak,blocks=4", (enum gf_force_transport)transport, every };

            gftest_expect(2, filled_body, &run, SECONDS);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_filled_device_keeps_nobody_waiting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
