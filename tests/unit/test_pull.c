/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device messages that the receiver fetches: all sizes and alignments by both paths, many at a time, small ones that nobody comes
 * for, and buffers that go and come again. Two or more processes on the emulated device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/config.h"
#include "tests/support/messages.h"

enum { SECONDS = 120, MARGIN = 64 };

static uint64_t first_seed = 1;

/* By kernel, or all by copy engine. */
static struct gf_pull_config config_for(bool kernels)
{
    struct gf_pull_config config;

    gf_pull_config_default(&config);
    config.copy_engine_bytes = config.peer_engine_bytes = config.host_kernel_bytes = kernels ? SIZE_MAX : 0;
    config.block_bytes = 512;      /* so that small messages have several blocks */
    config.agent_bytes = GF_PULL_COMMAND_MOST;
    config.start_us = 1000000;     /* a machine that is busy is no reason to rescue anything */
    return config;
}

struct random_messages {
    bool kernels;
    uint32_t agent_us;             /* small ones by an agent that stays so long; 0: none */
    uint64_t seed;
    size_t rounds, messages;       /* of a round, all under way at a time */
};

/* One message of a round; both ranks draw the same. */
struct message {
    size_t bytes, fetched;         /* offered; asked for */
    size_t from, to;               /* offsets in the allocations */
    enum gf_memory_kind kind;      /* of the destination */
    uint64_t seed;
};

static struct message draw(uint64_t *state)
{
    static const size_t most[] = { 4, 40, 200, 1200, 9000, 70000, 300000 };
    static const enum gf_memory_kind kinds[] = { GF_MEMORY_DEVICE, GF_MEMORY_DEVICE, GF_MEMORY_PINNED, GF_MEMORY_HOST,
                                                 GF_MEMORY_MANAGED };
    struct message m = { .bytes = 1 + gftest_random(state, most[gftest_random(state, 7)]) };

    m.fetched = gftest_random(state, 6) == 0 ? gftest_random(state, m.bytes + 1) : m.bytes;
    m.from = gftest_random(state, 2) ? gftest_random(state, 64) : 16 * gftest_random(state, 4);
    m.to = MARGIN + (gftest_random(state, 2) ? m.from % 16 : gftest_random(state, 64));
    m.kind = kinds[gftest_random(state, 5)];
    m.seed = *state;
    return m;
}

static int send_round(struct gftest_messages *m, const struct message *messages, size_t count)
{
    struct gf_offer_name *names = calloc(count, sizeof *names);
    char **buffers = calloc(count, sizeof *buffers);
    struct gf_reason why = { "" };

    for (size_t i = 0; i < count; i++) {
        buffers[i] = gftest_alloc(m, GF_MEMORY_DEVICE, messages[i].from + messages[i].bytes);
        gftest_write(m, buffers[i] + messages[i].from, messages[i].bytes, messages[i].seed);
        gf_status status = gftest_offer(m, buffers[i] + messages[i].from, messages[i].bytes, false, &names[i], &why);

        GFTEST_CHECK(m->rank, status == GF_OK, "%s", why.text);
    }
    for (size_t i = 0; i < count; i++) {
        gftest_tell(m, 0, &names[i], sizeof names[i]);
    }
    for (size_t i = 0; i < count; i++) {
        GFTEST_CHECK(m->rank, gftest_wait_offer(m, names[i].index, &why) == GF_OK, "%s", why.text);
        gftest_write(m, buffers[i] + messages[i].from, messages[i].bytes, 0);    /* it is ours again */
        gftest_free(m, GF_MEMORY_DEVICE, buffers[i]);
    }
    GFTEST_CHECK(m->rank, !gf_offer_board_busy(m->board));
    free(names);
    free(buffers);
    return 0;
}

static int check_received(struct gftest_messages *m, const struct message *message, char *buffer)
{
    size_t before = message->to, after = MARGIN;

    GFTEST_CHECK(m->rank, gftest_holds(m, buffer, before, 1), "before %zu bytes at %zu", message->fetched, message->to);
    GFTEST_CHECK(m->rank, gftest_holds(m, buffer + before, message->fetched, message->seed), "%zu bytes from %zu to %zu, memory"
                 " %d", message->fetched, message->from, message->to, message->kind);
    GFTEST_CHECK(m->rank, gftest_holds(m, buffer + before + message->fetched, after, 2), "after %zu bytes at %zu",
                 message->fetched, message->to);
    return 0;
}

static int receive_round(struct gftest_messages *m, const struct message *messages, size_t count, uint64_t *state)
{
    struct gf_offer_name *names = calloc(count, sizeof *names);
    struct gf_pull *pulls = calloc(count, sizeof *pulls);
    char **buffers = calloc(count, sizeof *buffers);
    struct gf_reason why = { "" };

    for (size_t i = 0; i < count; i++) {
        buffers[i] = gftest_alloc(m, messages[i].kind, messages[i].to + messages[i].fetched + MARGIN);
        gftest_write(m, buffers[i], messages[i].to, 1);
        gftest_write(m, buffers[i] + messages[i].to + messages[i].fetched, MARGIN, 2);
    }
    for (size_t i = 0; i < count; i++) {
        gftest_tell(m, 0, &names[i], sizeof names[i]);
    }
    for (size_t i = 0; i < count; i++) {
        gf_status status = gf_pull_start(m->engine, &names[i], buffers[i] + messages[i].to, NULL, messages[i].fetched,
                                         &pulls[i], &why);

        GFTEST_CHECK(m->rank, status == GF_OK, "%s", why.text);
        if (gftest_random(state, 8) == 0) {
            gf_pull_engine_progress(m->engine);
        }
    }
    for (size_t i = count; i-- > 0;) {
        GFTEST_CHECK(m->rank, gftest_wait_pull(m, &pulls[i], &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(m->rank, check_received(m, &messages[i], buffers[i]) == 0);
        gftest_free(m, messages[i].kind, buffers[i]);
    }
    free(names);
    free(pulls);
    free(buffers);
    return 0;
}

static struct gf_config agent_for(uint32_t us)
{
    return (struct gf_config){ .agent = GF_AGENT_FIXED, .agent_us = us, .agent_blocks = 1, .agent_start_us = 60000000 };
}

static int random_body(struct gftest_rank *rank)
{
    const struct random_messages *what = rank->argument;
    struct gf_pull_config config = config_for(what->kernels);
    struct gftest_messages m;
    gf_agent *agent = NULL;
    struct gf_reason why = { "" };
    struct message *messages = calloc(what->messages, sizeof *messages);
    uint64_t state = what->seed, own = what->seed + 1;
    int result = 0;

    GFTEST_CHECK(rank, gftest_messages_open(rank, "emulated", &config, &m, &why) == GF_OK, "%s", why.text);
    m.device->caps.concurrent_processes = true;    /* "solo" is to hold kernels back, not to keep us from launching */
    if (what->agent_us > 0) {
        const struct gf_config settings = agent_for(what->agent_us);

        GFTEST_CHECK(rank, gf_agent_create(m.device, &settings, &agent, &why) == GF_OK, "%s", why.text);
        gf_pull_engine_use_agent(m.engine, agent);
    }
    for (size_t round = 0; round < what->rounds && result == 0; round++) {
        for (size_t i = 0; i < what->messages; i++) {
            messages[i] = draw(&state);
        }
        result = rank->rank == 0 ? send_round(&m, messages, what->messages) : receive_round(&m, messages, what->messages, &own);
        gftest_barrier(rank);
    }
    GFTEST_CHECK(rank, what->agent_us > 0 || gf_pull_engine_statistics(m.engine).by_agent == 0);
    gf_pull_engine_destroy(m.engine);
    m.engine = NULL;
    gf_agent_destroy(agent);
    gftest_messages_close(&m);
    free(messages);
    return result;
}

static void run_random(const char *emulated, struct random_messages what)
{
    what.seed = first_seed++;
    print_message("emulated device \"%s\", seed %llu\n", emulated, (unsigned long long)what.seed);
    setenv("GPUFIFO_EMULATED", emulated, 1);
    gftest_expect(2, random_body, &what, SECONDS);
    unsetenv("GPUFIFO_EMULATED");
}

static void test_by_kernel(void **state)
{
    static const char *const devices[] = { "", "weak", "blocks=1", "team=3,blocks=3", "weak,team=2", "solo" };

    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        run_random(devices[i], (struct random_messages){ .kernels = true, .rounds = 12, .messages = 10 });
    }
}

static void test_by_copy_engine(void **state)
{
    (void)state;
    run_random("", (struct random_messages){ .kernels = false, .rounds = 12, .messages = 10 });
    run_random("solo", (struct random_messages){ .kernels = false, .rounds = 6, .messages = 10 });
}

/* An agent that stays, and some that leave all the time, so that messages are returned, or none is there. */
static void test_by_agent(void **state)
{
    static const uint32_t us[] = { GF_AGENT_US_MOST, 1, 100, 1000 };

    (void)state;
    for (size_t i = 0; i < sizeof us / sizeof us[0]; i++) {
        run_random("weak", (struct random_messages){ .kernels = true, .agent_us = us[i], .rounds = 12, .messages = 10 });
        run_random("team=2", (struct random_messages){ .kernels = true, .agent_us = us[i], .rounds = 12, .messages = 10 });
    }
}

/* In front of a message: the agent leaves, now or when the message lies behind this command already. */
static void send_agent_away(gf_agent *agent)
{
    static uint32_t ignored;
    struct gf_command leave = { .kind = GF_COMMAND_LEAVE };

    (void)gf_agent_post(agent, &leave, &ignored);
}

/* One message after another, until the agent has had some: it is there as soon as its launch has begun. leaves: until it has
 * left some lying, which arrive all the same. */
static int same_body(struct gftest_rank *rank)
{
    enum { BYTES = 40, WANTED = 20, RETURNED = 3 };
    const bool *leaves = rank->argument;
    struct gf_pull_config config = config_for(true);
    struct gf_reason why = { "" };
    struct gftest_messages m;
    gf_agent *agent;
    bool enough = false;

    GFTEST_CHECK(rank, gftest_messages_open(rank, "emulated", &config, &m, &why) == GF_OK, "%s", why.text);
    const struct gf_config settings = agent_for(GF_AGENT_US_MOST);

    GFTEST_CHECK(rank, gf_agent_create(m.device, &settings, &agent, &why) == GF_OK, "%s", why.text);
    gf_pull_engine_use_agent(m.engine, agent);
    char *buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, BYTES);

    for (uint64_t seed = 1; !enough; seed++) {
        struct gf_offer_name name = { .index = 0 };

        if (rank->rank == 0) {
            gftest_write(&m, buffer, BYTES, seed);
            GFTEST_CHECK(rank, gftest_offer(&m, buffer, BYTES, false, &name, &why) == GF_OK, "%s", why.text);
        }
        gftest_tell(&m, 0, &name, sizeof name);
        if (rank->rank == 0) {
            GFTEST_CHECK(rank, gftest_wait_offer(&m, name.index, &why) == GF_OK, "%s", why.text);
        } else {
            if (*leaves) {
                send_agent_away(agent);
            }
            GFTEST_CHECK(rank, gftest_fetch(&m, &name, buffer, BYTES, &why) == GF_OK, "%s", why.text);
            GFTEST_CHECK(rank, gftest_holds(&m, buffer, BYTES, seed));
            struct gf_pull_statistics s = gf_pull_engine_statistics(m.engine);

            enough = *leaves ? s.returned >= RETURNED : s.by_agent >= WANTED;
        }
        gftest_tell(&m, 1, &enough, sizeof enough);
    }
    gftest_free(&m, GF_MEMORY_DEVICE, buffer);
    gf_pull_engine_destroy(m.engine);
    m.engine = NULL;
    gf_agent_destroy(agent);
    gftest_messages_close(&m);
    return 0;
}

enum { BURST = GF_PULL_POSTED_MOST + 2, BURST_BYTES = 64 };

static int send_burst(struct gftest_messages *m, char *buffer)
{
    struct gf_offer_name names[BURST];
    struct gf_reason why = { "" };

    for (int i = 0; i < BURST; i++) {
        GFTEST_CHECK(m->rank, gftest_offer(m, buffer + i * BURST_BYTES, BURST_BYTES, false, &names[i], &why) == GF_OK, "%s",
                     why.text);
    }
    gftest_tell(m, 0, names, sizeof names);
    for (int i = 0; i < BURST; i++) {
        GFTEST_CHECK(m->rank, gftest_wait_offer(m, names[i].index, &why) == GF_OK, "%s", why.text);
    }
    return 0;
}

/* All are started before any end can be noticed. */
static int receive_burst(struct gftest_messages *m, char *buffer)
{
    struct gf_offer_name names[BURST];
    struct gf_pull pulls[BURST];
    struct gf_reason why = { "" };

    gftest_tell(m, 0, names, sizeof names);
    for (int i = 0; i < BURST; i++) {
        GFTEST_CHECK(m->rank, gf_pull_start(m->engine, &names[i], buffer + i * BURST_BYTES, NULL, BURST_BYTES, &pulls[i], &why)
                     == GF_OK, "%s", why.text);
    }
    for (int i = 0; i < BURST; i++) {
        GFTEST_CHECK(m->rank, gftest_wait_pull(m, &pulls[i], &why) == GF_OK, "%s", why.text);
    }
    return 0;
}

/* Of messages that come at once the agent gets a few, and the others go together in a launch. Until it was there for some. */
static int burst_body(struct gftest_rank *rank)
{
    struct gf_pull_config config = config_for(true);
    const struct gf_config settings = agent_for(GF_AGENT_US_MOST);
    struct gf_reason why = { "" };
    struct gftest_messages m;
    gf_agent *agent;
    uint64_t before, by_agent = 0;

    GFTEST_CHECK(rank, gftest_messages_open(rank, "emulated", &config, &m, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gf_agent_create(m.device, &settings, &agent, &why) == GF_OK, "%s", why.text);
    gf_pull_engine_use_agent(m.engine, agent);
    char *buffer = gftest_alloc(&m, GF_MEMORY_DEVICE, BURST * BURST_BYTES);

    gftest_write(&m, buffer, BURST * BURST_BYTES, 1 + (uint64_t)rank->rank);
    do {
        before = by_agent;
        GFTEST_CHECK(rank, (rank->rank == 0 ? send_burst(&m, buffer) : receive_burst(&m, buffer)) == 0);
        by_agent = gf_pull_engine_statistics(m.engine).by_agent;
        gftest_tell(&m, 1, &by_agent, sizeof by_agent);
        GFTEST_CHECK(rank, by_agent - before <= GF_PULL_POSTED_MOST, "%llu", (unsigned long long)(by_agent - before));
    } while (by_agent < 3 * GF_PULL_POSTED_MOST);
    GFTEST_CHECK(rank, gftest_holds(&m, buffer, BURST * BURST_BYTES, 1));
    gftest_free(&m, GF_MEMORY_DEVICE, buffer);
    gf_pull_engine_destroy(m.engine);
    m.engine = NULL;
    gf_agent_destroy(agent);
    gftest_messages_close(&m);
    return 0;
}

static void test_a_burst_is_launched(void **state)
{
    (void)state;
    gftest_expect(2, burst_body, NULL, SECONDS);
}

static void test_the_agent_gets_them(void **state)
{
    bool leaves = false;

    (void)state;
    gftest_expect(2, same_body, &leaves, SECONDS);
}

static void test_the_agent_leaves_them_lying(void **state)
{
    bool leaves = true;

    (void)state;
    gftest_expect(2, same_body, &leaves, SECONDS);
}

static void test_many(void **state)
{
    (void)state;
    run_random("weak", (struct random_messages){ .kernels = true, .rounds = 2, .messages = 300 });
    run_random("", (struct random_messages){ .kernels = false, .rounds = 2, .messages = 300 });
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_kernel),
        cmocka_unit_test(test_by_copy_engine),
        cmocka_unit_test(test_by_agent),
        cmocka_unit_test(test_a_burst_is_launched),
        cmocka_unit_test(test_the_agent_gets_them),
        cmocka_unit_test(test_the_agent_leaves_them_lying),
        cmocka_unit_test(test_many),
    };

    if (argc > 1) {
        first_seed = strtoull(argv[1], NULL, 0);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
