/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device messages through slots of shared host memory: sizes round the ends of chunks, all kinds of memory, more messages than
 * there are slots in any order, sides that leave the work to their pump, and sides that fail or die. Two processes on the
 * emulated device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sched.h>

#include "core/pipe.h"
#include "proxy/pump.h"
#include "tests/support/messages.h"

enum { SECONDS = 120, MARGIN = 64, CHUNK = GF_PIPE_CHUNK_UNIT, MESSAGES = 12 };

static uint64_t first_seed = 1;

/* One rank: both ends, of which rank 0 uses the source, rank 1 the sink. */
struct ends {
    struct gftest_messages m;
    gf_pipe_source *source;
    gf_pipe_sink *sink;
    gf_pump *pump;
};

struct traffic {
    struct gf_pipe_config config;
    bool pump;                     /* nobody calls progress but the pump */
    uint64_t seed;
};

static enum gf_pump_turn turn(void *ctx)
{
    struct ends *e = ctx;
    enum gf_pipe_turn out = gf_pipe_source_progress(e->source), in = gf_pipe_sink_progress(e->sink);

    if (out == GF_PIPE_MOVED || in == GF_PIPE_MOVED) {
        return GF_PUMP_MOVED;
    }
    return out == GF_PIPE_IDLE && in == GF_PIPE_IDLE ? GF_PUMP_IDLE : GF_PUMP_WAITING;
}

static gf_status open_ends(struct gftest_rank *rank, const struct traffic *traffic, struct ends *e, struct gf_reason *why)
{
    *e = (struct ends){ .m.rank = rank };
    gf_status status = gf_driver_open("emulated", &e->m.driver, why);

    if (status == GF_OK) {
        status = gf_device_open(e->m.driver, 0, &e->m.device, why);
    }
    if (status == GF_OK) {
        status = gf_device_stream_create(e->m.device, &e->m.stream, why);
    }
    if (status == GF_OK) {
        status = gf_pipe_source_create(e->m.device, &traffic->config, &e->source, why);
    }
    if (status == GF_OK) {
        status = gf_pipe_sink_create(e->m.device, &e->sink, why);
    }
    if (status == GF_OK && traffic->pump) {
        status = gf_pump_create(turn, e, &e->pump, why);
    }
    return status;
}

static void close_ends(struct ends *e)
{
    gf_pump_destroy(e->pump);
    gf_pipe_sink_destroy(e->sink);
    gf_pipe_source_destroy(e->source);
    gf_device_stream_destroy(e->m.device, e->m.stream);
    gf_device_close(e->m.device);
}

static void go_on(struct ends *e)
{
    if (e->pump) {
        gf_pump_wake(e->pump, NULL);
    } else {
        turn(e);
    }
    sched_yield();
}

static gf_status wait_offer(struct ends *e, uint32_t index, struct gf_reason *why)
{
    gf_status status;

    while ((status = gf_pipe_offer_poll(e->source, index, why)) == GF_IN_PROGRESS) {
        go_on(e);
    }
    return status;
}

static gf_status wait_take(struct ends *e, struct gf_pipe_take *take, struct gf_reason *why)
{
    gf_status status;

    while ((status = gf_pipe_take_poll(e->sink, take, why)) == GF_IN_PROGRESS) {
        go_on(e);
    }
    return status;
}

/* Both ranks draw the same. */
struct message {
    size_t bytes, fetched, from;
    enum gf_memory_kind kind;      /* of the destination */
    int place;                     /* in the order in which they are taken */
    uint64_t seed;
};

static void draw(uint64_t *state, struct message *messages)
{
    static const enum gf_memory_kind kinds[] = { GF_MEMORY_DEVICE, GF_MEMORY_DEVICE, GF_MEMORY_PINNED, GF_MEMORY_HOST,
                                                 GF_MEMORY_MANAGED };

    for (int i = 0; i < MESSAGES; i++) {
        struct message *m = &messages[i];
        size_t whole = (size_t)CHUNK * gftest_random(state, gftest_random(state, 4) ? 12 : 3 * GF_PIPE_DEPTH);

        m->bytes = whole + gftest_random(state, 3) < 2 ? 1 : whole + gftest_random(state, 3) - 1;
        m->fetched = gftest_random(state, 4) == 0 ? gftest_random(state, m->bytes + 1) : m->bytes;
        m->from = gftest_random(state, 64);
        m->kind = kinds[gftest_random(state, 5)];
        m->seed = *state;
        m->place = i;
    }
    for (int i = MESSAGES - 1; i > 0; i--) {
        int j = (int)gftest_random(state, (uint64_t)i + 1), place = messages[i].place;

        messages[i].place = messages[j].place;
        messages[j].place = place;
    }
}

static int send_all(struct ends *e, const struct message *messages)
{
    struct gf_offer_name names[MESSAGES];
    char *buffers[MESSAGES];
    struct gf_reason why = { "" };

    for (int i = 0; i < MESSAGES; i++) {
        buffers[i] = gftest_alloc(&e->m, GF_MEMORY_DEVICE, messages[i].from + messages[i].bytes);
        gftest_write(&e->m, buffers[i] + messages[i].from, messages[i].bytes, messages[i].seed);
        gf_status status = gf_pipe_offer(e->source, buffers[i] + messages[i].from, messages[i].bytes, &names[i], &why);

        GFTEST_CHECK(e->m.rank, status == GF_OK, "%s", why.text);
    }
    gftest_tell(&e->m, 0, names, sizeof names);
    for (int i = 0; i < MESSAGES; i++) {
        GFTEST_CHECK(e->m.rank, wait_offer(e, names[i].index, &why) == GF_OK, "%s", why.text);
        gftest_write(&e->m, buffers[i] + messages[i].from, messages[i].bytes, 0);    /* it is ours again */
        gftest_free(&e->m, GF_MEMORY_DEVICE, buffers[i]);
    }
    return 0;
}

static int receive_all(struct ends *e, const struct message *messages)
{
    struct gf_offer_name names[MESSAGES] = { { .index = 0 } };
    struct gf_pipe_take takes[MESSAGES];
    char *buffers[MESSAGES];
    struct gf_reason why = { "" };

    gftest_tell(&e->m, 0, names, sizeof names);
    for (int i = 0; i < MESSAGES; i++) {
        buffers[i] = gftest_alloc(&e->m, messages[i].kind, messages[i].fetched + MARGIN);
        gftest_write(&e->m, buffers[i] + messages[i].fetched, MARGIN, 2);
    }
    for (int i = 0; i < MESSAGES; i++) {
        int j = messages[i].place;
        gf_status status = gf_pipe_take_start(e->sink, &names[j], buffers[j], messages[j].fetched, &takes[j], &why);

        GFTEST_CHECK(e->m.rank, status == GF_OK, "%s", why.text);
    }
    for (int i = 0; i < MESSAGES; i++) {
        const struct message *m = &messages[i];

        GFTEST_CHECK(e->m.rank, wait_take(e, &takes[i], &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(e->m.rank, gftest_holds(&e->m, buffers[i], m->fetched, m->seed), "%zu of %zu bytes", m->fetched, m->bytes);
        GFTEST_CHECK(e->m.rank, gftest_holds(&e->m, buffers[i] + m->fetched, MARGIN, 2), "behind %zu bytes", m->fetched);
        gftest_free(&e->m, m->kind, buffers[i]);
    }
    return 0;
}

static int traffic_body(struct gftest_rank *rank)
{
    const struct traffic *traffic = rank->argument;
    uint64_t state = traffic->seed;
    struct message messages[MESSAGES];
    struct gf_reason why = { "" };
    struct ends e;
    int result = 0;

    GFTEST_CHECK(rank, open_ends(rank, traffic, &e, &why) == GF_OK, "%s", why.text);
    for (int round = 0; round < 4 && result == 0; round++) {
        draw(&state, messages);
        result = rank->rank == 0 ? send_all(&e, messages) : receive_all(&e, messages);
        gftest_barrier(rank);
    }
    close_ends(&e);
    return result;
}

static void run(const char *emulated, int (*body)(struct gftest_rank *), struct traffic traffic)
{
    traffic.seed = first_seed++;
    print_message("emulated device \"%s\", seed %llu\n", emulated, (unsigned long long)traffic.seed);
    setenv("GPUFIFO_EMULATED", emulated, 1);
    gftest_expect(2, body, &traffic, SECONDS);
    unsetenv("GPUFIFO_EMULATED");
}

static const struct gf_pipe_config few = { .chunk_bytes = CHUNK, .slots = 5, .depth = 3 };
static const struct gf_pipe_config one = { .chunk_bytes = CHUNK, .slots = 1, .depth = 1 };
static const struct gf_pipe_config many = { .chunk_bytes = CHUNK, .slots = 5 * GF_PIPE_DEPTH, .depth = GF_PIPE_DEPTH };

static void test_traffic(void **state)
{
    (void)state;
    run("noipc", traffic_body, (struct traffic){ .config = few });
    run("noipc", traffic_body, (struct traffic){ .config = one });
    run("noipc,weak", traffic_body, (struct traffic){ .config = many });
}

static void test_pump(void **state)
{
    (void)state;
    run("noipc", traffic_body, (struct traffic){ .config = few, .pump = true });
    run("noipc", traffic_body, (struct traffic){ .config = many, .pump = true });
}

/* An offer that is refused, one that is withdrawn, and one that is taken back too late. */
static int refuse_body(struct gftest_rank *rank)
{
    struct gf_offer_name names[3] = { { .index = 0 } };
    struct gf_reason why = { "" };
    struct gf_pipe_take take;
    struct ends e;

    GFTEST_CHECK(rank, open_ends(rank, rank->argument, &e, &why) == GF_OK, "%s", why.text);
    char *buffer = gftest_alloc(&e.m, GF_MEMORY_DEVICE, 3 * CHUNK);

    for (int i = 0; i < 3 && rank->rank == 0; i++) {
        GFTEST_CHECK(rank, gf_pipe_offer(e.source, buffer, 3 * CHUNK, &names[i], &why) == GF_OK, "%s", why.text);
    }
    if (rank->rank == 0) {
        GFTEST_CHECK(rank, gf_pipe_offer_withdraw(e.source, names[1].index) == GF_OK);
    }
    gftest_tell(&e.m, 0, names, sizeof names);
    if (rank->rank == 1) {
        GFTEST_CHECK(rank, gf_pipe_refuse(e.sink, &names[0], &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, gf_pipe_take_start(e.sink, &names[1], buffer, 1, &take, &why) == GF_ERR_PEER);
        GFTEST_CHECK(rank, gf_pipe_take_start(e.sink, &names[2], buffer, 3 * CHUNK, &take, &why) == GF_OK, "%s", why.text);
    }
    gftest_barrier(rank);
    if (rank->rank == 0) {
        GFTEST_CHECK(rank, gf_pipe_offer_withdraw(e.source, names[2].index) == GF_IN_PROGRESS);
        GFTEST_CHECK(rank, wait_offer(&e, names[0].index, &why) == GF_ERR_PEER);
        GFTEST_CHECK(rank, wait_offer(&e, names[2].index, &why) == GF_OK, "%s", why.text);
    } else {
        GFTEST_CHECK(rank, wait_take(&e, &take, &why) == GF_OK, "%s", why.text);
    }
    gftest_barrier(rank);
    close_ends(&e);
    return 0;
}

/* The sender serves what is wanted at once. Of a message that the receiver then could not take it must not hear that it was
 * received. Many at a time, so that both are at it at once. */
static int unfit_body(struct gftest_rank *rank)
{
    enum { ROUNDS = 40, AT_ONCE = 100 };
    struct gf_offer_name names[AT_ONCE] = { { .index = 0 } };
    struct gf_reason why = { "" };
    struct gf_pipe_take take;
    struct ends e;

    GFTEST_CHECK(rank, open_ends(rank, rank->argument, &e, &why) == GF_OK, "%s", why.text);
    char *buffer = gftest_alloc(&e.m, GF_MEMORY_DEVICE, 1), *gone = gftest_alloc(&e.m, GF_MEMORY_DEVICE, 1);

    gf_device_free(e.m.device, gone);
    for (int i = 0; i < ROUNDS * AT_ONCE; i++) {
        struct gf_offer_name *name = &names[i % AT_ONCE];

        for (int j = 0; j < AT_ONCE && rank->rank == 0 && i % AT_ONCE == 0; j++) {
            GFTEST_CHECK(rank, gf_pipe_offer(e.source, buffer, 1, &names[j], &why) == GF_OK, "%s", why.text);
        }
        if (i % AT_ONCE == 0) {
            gftest_tell(&e.m, 0, names, sizeof names);
        }
        if (rank->rank == 0) {
            GFTEST_CHECK(rank, wait_offer(&e, name->index, &why) < 0, "message %d was received", i);
        } else if (i % 2) {
            GFTEST_CHECK(rank, gf_pipe_take_start(e.sink, name, gone, 1, &take, &why) == GF_ERR_INVALID);
        } else {
            GFTEST_CHECK(rank, gf_pipe_refuse(e.sink, name, &why) == GF_OK, "%s", why.text);
        }
    }
    gftest_barrier(rank);
    close_ends(&e);
    return 0;
}

/* The receiver rests, and the sender fills all that it may. */
static int rest_body(struct gftest_rank *rank)
{
    enum { BYTES = 40 * CHUNK + 1, TURNS = 20000 };
    struct gf_offer_name name = { .index = 0 };
    struct gf_reason why = { "" };
    struct gf_pipe_take take;
    struct ends e;

    GFTEST_CHECK(rank, open_ends(rank, rank->argument, &e, &why) == GF_OK, "%s", why.text);
    char *buffer = gftest_alloc(&e.m, GF_MEMORY_DEVICE, BYTES);

    if (rank->rank == 0) {
        gftest_write(&e.m, buffer, BYTES, 7);
        GFTEST_CHECK(rank, gf_pipe_offer(e.source, buffer, BYTES, &name, &why) == GF_OK, "%s", why.text);
    }
    gftest_tell(&e.m, 0, &name, sizeof name);
    if (rank->rank == 1) {
        GFTEST_CHECK(rank, gf_pipe_take_start(e.sink, &name, buffer, BYTES, &take, &why) == GF_OK, "%s", why.text);
    }
    gftest_barrier(rank);
    for (int i = 0; i < TURNS && rank->rank == 0; i++) {
        go_on(&e);
    }
    gftest_barrier(rank);
    if (rank->rank == 0) {
        GFTEST_CHECK(rank, wait_offer(&e, name.index, &why) == GF_OK, "%s", why.text);
    } else {
        GFTEST_CHECK(rank, wait_take(&e, &take, &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, gftest_holds(&e.m, buffer, BYTES, 7));
    }
    gftest_barrier(rank);
    close_ends(&e);
    return 0;
}

/* The sender's memory is freed: both ends hear of it, the other message goes on. */
static int broken_body(struct gftest_rank *rank)
{
    struct gf_offer_name names[2] = { { .index = 0 } };
    struct gf_reason why = { "" };
    struct gf_pipe_take takes[2];
    struct ends e;

    GFTEST_CHECK(rank, open_ends(rank, rank->argument, &e, &why) == GF_OK, "%s", why.text);
    char *gone = gftest_alloc(&e.m, GF_MEMORY_DEVICE, 9 * CHUNK), *kept = gftest_alloc(&e.m, GF_MEMORY_DEVICE, 9 * CHUNK);

    if (rank->rank == 0) {
        GFTEST_CHECK(rank, gf_pipe_offer(e.source, gone, 9 * CHUNK, &names[0], &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, gf_pipe_offer(e.source, kept, 9 * CHUNK, &names[1], &why) == GF_OK, "%s", why.text);
        gf_device_free(e.m.device, gone);
    }
    gftest_tell(&e.m, 0, names, sizeof names);
    if (rank->rank == 0) {
        GFTEST_CHECK(rank, wait_offer(&e, names[0].index, &why) < 0);
        GFTEST_CHECK(rank, wait_offer(&e, names[1].index, &why) == GF_OK, "%s", why.text);
    } else {
        GFTEST_CHECK(rank, gf_pipe_take_start(e.sink, &names[0], gone, 9 * CHUNK, &takes[0], &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, gf_pipe_take_start(e.sink, &names[1], kept, 9 * CHUNK, &takes[1], &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, wait_take(&e, &takes[0], &why) == GF_ERR_PEER);
        GFTEST_CHECK(rank, wait_take(&e, &takes[1], &why) == GF_OK, "%s", why.text);
    }
    gftest_barrier(rank);
    close_ends(&e);
    return 0;
}

/* Dies in the middle: the other side hears of it. */
static int death_body(struct gftest_rank *rank, int victim)
{
    struct gf_offer_name name = { .index = 0 };
    struct gf_reason why = { "" };
    struct gf_pipe_take take;
    struct ends e;

    GFTEST_CHECK(rank, open_ends(rank, rank->argument, &e, &why) == GF_OK, "%s", why.text);
    char *buffer = gftest_alloc(&e.m, GF_MEMORY_DEVICE, 20 * CHUNK);

    if (rank->rank == 0) {
        GFTEST_CHECK(rank, gf_pipe_offer(e.source, buffer, 20 * CHUNK, &name, &why) == GF_OK, "%s", why.text);
    }
    gftest_tell(&e.m, 0, &name, sizeof name);
    if (rank->rank == 1) {
        GFTEST_CHECK(rank, gf_pipe_take_start(e.sink, &name, buffer, 20 * CHUNK, &take, &why) == GF_OK, "%s", why.text);
    }
    gftest_barrier(rank);
    if (rank->rank == victim) {
        gftest_die();
    }
    GFTEST_CHECK(rank, (victim == 1 ? wait_offer(&e, name.index, &why) : wait_take(&e, &take, &why)) == GF_ERR_PEER);
    close_ends(&e);
    return 0;
}

static int sender_dies(struct gftest_rank *rank) { return death_body(rank, 0); }
static int receiver_dies(struct gftest_rank *rank) { return death_body(rank, 1); }

static void test_trouble(void **state)
{
    (void)state;
    run("noipc", rest_body, (struct traffic){ .config = few });
    run("noipc", rest_body, (struct traffic){ .config = many });
    run("noipc", refuse_body, (struct traffic){ .config = few });
    run("noipc", unfit_body, (struct traffic){ .config = few });
    run("noipc", broken_body, (struct traffic){ .config = few });
}

static void test_death(void **state)
{
    static int (*const bodies[])(struct gftest_rank *) = { sender_dies, receiver_dies };
    struct traffic traffic = { .config = few };

    (void)state;
    setenv("GPUFIFO_EMULATED", "noipc", 1);
    for (int i = 0; i < 2; i++) {
        struct gftest_end ended = gftest_run(2, bodies[i], &traffic, SECONDS);

        assert_int_equal(ended.killed, 1);
        assert_int_equal(ended.failed, 0);
        assert_false(ended.timed_out);
    }
    unsetenv("GPUFIFO_EMULATED");
}

static void test_settings(void **state)
{
    struct gf_pipe_config bad[] = { few, few, few, few };
    struct gf_reason why = { "" };
    gf_pipe_source *source;
    gf_driver *driver;
    gf_device *device;

    (void)state;
    bad[0].chunk_bytes = CHUNK + 1;
    bad[1].depth = GF_PIPE_DEPTH + 1;
    bad[2].slots = 0;
    bad[3].depth = 0;
    assert_int_equal(gf_driver_open("emulated", &driver, &why), GF_OK);
    assert_int_equal(gf_device_open(driver, 0, &device, &why), GF_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(gf_pipe_source_create(device, &bad[i], &source, &why), GF_ERR_INVALID);
    }
    gf_device_close(device);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traffic), cmocka_unit_test(test_pump),     cmocka_unit_test(test_trouble),
        cmocka_unit_test(test_death),   cmocka_unit_test(test_settings),
    };

    if (argc > 1) {
        first_seed = strtoull(argv[1], NULL, 0);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
