/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of a connector, the layout of its memory, and connecting a pattern over transports that fail where a test wants it.
 */
#include "core/connect.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/layout.h"
#include "tests/support/ranks.h"

static const struct gf_connector_shape shape = { .ll_bytes = 1024, .channels = 3, .slot_bytes = 256 };

/* A transport that counts what is alive, and fails when `fails` says so. One process has one. */
struct fake {
    int alive;
    bool (*fails)(const char *step, const struct gf_connector *c);
};
static struct fake fake;

static gf_status fake_setup(struct gf_connector *c, struct gf_blob *mine, struct gf_reason *why)
{
    c->private = &fake;
    fake.alive++;
    memcpy(mine->bytes, c->transport->name, strlen(c->transport->name) + 1);
    if (fake.fails && fake.fails("setup", c)) {
        gf_reason_set(why, "setup was told to fail");
        return GF_ERR_NO_MEMORY;
    }
    return GF_OK;
}

static gf_status fake_connect(struct gf_connector *c, const struct gf_blob *theirs, struct gf_reason *why)
{
    if (strcmp((const char *)theirs->bytes, c->transport->name) != 0) {
        gf_reason_set(why, "the peer came with another transport");
        return GF_ERR_PEER;
    }
    if (fake.fails && fake.fails("connect", c)) {
        gf_reason_set(why, "connect was told to fail");
        return GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}

static void fake_destroy(struct gf_connector *c)
{
    if (c->private) {
        fake.alive--;
        c->private = NULL;
    }
}

static bool always(const struct gf_peer_info *a, const struct gf_peer_info *b, struct gf_reason *why)
{
    (void)a;
    (void)b;
    (void)why;
    return true;
}

static bool if_ipc(const struct gf_peer_info *a, const struct gf_peer_info *b, struct gf_reason *why)
{
    gf_reason_set(why, "no ipc");
    return a->ipc && b->ipc;
}

static const struct gf_transport fast = {
    .name = "fast", .id = GF_TRANSPORT_P2P, .probe = if_ipc, .setup = fake_setup, .connect = fake_connect,
    .destroy = fake_destroy, .whole_lines = true,
};
static const struct gf_transport slow = {
    .name = "slow", .id = GF_TRANSPORT_SHM, .probe = always, .setup = fake_setup, .connect = fake_connect,
    .destroy = fake_destroy,
};
static const struct gf_transport *const transports[] = { &fast, &slow, NULL };

static void test_only_legal_steps(void **state)
{
    /* [from][to] */
    static const bool legal[6][6] = {
        [GF_CONN_NEW] = { [GF_CONN_SETTING_UP] = true, [GF_CONN_DEAD] = true },
        [GF_CONN_SETTING_UP] = { [GF_CONN_CONNECTING] = true, [GF_CONN_DEAD] = true },
        [GF_CONN_CONNECTING] = { [GF_CONN_READY] = true, [GF_CONN_DEAD] = true },
        [GF_CONN_READY] = { [GF_CONN_DRAINING] = true },
        [GF_CONN_DRAINING] = { [GF_CONN_DEAD] = true },
    };

    (void)state;
    for (int from = 0; from < 6; from++) {
        for (int to = 0; to < 6; to++) {
            assert_int_equal(gf_connector_may_move((enum gf_connector_state)from, (enum gf_connector_state)to), legal[from][to]);
        }
    }
    assert_string_equal(gf_connector_state_name(GF_CONN_READY), "ready");
    assert_string_equal(gf_connector_state_name((enum gf_connector_state)17), "unknown");
}

/* Builds with assertions stop at an illegal step; others (NDEBUG) have nothing to show. */
static void test_illegal_step_is_caught(void **state)
{
    int status = 0;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        struct gf_connector c;

        gf_connector_init(&c, true, 0, 1, &shape, NULL, NULL, NULL);
        freopen("/dev/null", "w", stderr);
        gf_connector_move(&c, GF_CONN_READY);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
#ifdef NDEBUG
    assert_true(WIFEXITED(status));
#else
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
#endif
}

static bool fail_setup(const char *step, const struct gf_connector *c)
{
    (void)c;
    return strcmp(step, "setup") == 0;
}

static bool fail_connect(const char *step, const struct gf_connector *c)
{
    (void)c;
    return strcmp(step, "connect") == 0;
}

static void test_failure_leaves_nothing(void **state)
{
    struct gf_connector c;
    struct gf_blob blob;
    struct gf_reason why = { "" };

    (void)state;
    fake = (struct fake){ .fails = fail_setup };
    gf_connector_init(&c, true, 0, 1, &shape, NULL, NULL, NULL);
    assert_int_equal(gf_connector_setup(&c, &slow, &blob, &why), GF_ERR_NO_MEMORY);
    assert_int_equal(c.state, GF_CONN_DEAD);
    assert_int_equal(fake.alive, 0);

    fake.fails = fail_connect;
    gf_connector_init(&c, true, 0, 1, &shape, NULL, NULL, NULL);
    assert_int_equal(gf_connector_setup(&c, &slow, &blob, &why), GF_OK);
    assert_int_equal(c.state, GF_CONN_CONNECTING);
    assert_int_equal(gf_connector_connect(&c, &blob, &why), GF_ERR_UNSUPPORTED);
    assert_int_equal(c.state, GF_CONN_DEAD);
    assert_int_equal(fake.alive, 0);

    fake.fails = NULL;
    gf_connector_init(&c, true, 0, 1, &shape, NULL, NULL, NULL);
    assert_int_equal(gf_connector_setup(&c, &slow, &blob, &why), GF_OK);
    assert_int_equal(gf_connector_connect(&c, &blob, &why), GF_OK);
    assert_int_equal(c.state, GF_CONN_READY);
    gf_connector_destroy(&c);
    gf_connector_destroy(&c);
    assert_int_equal(c.state, GF_CONN_DEAD);
    assert_int_equal(fake.alive, 0);
}

static void test_words_of_two_agents_share_no_line(void **state)
{
    char *receiver = aligned_alloc(GF_LINE, 1 << 16), *sender = aligned_alloc(GF_LINE, 1 << 16);
    struct gf_connector c;
    struct gf_layout layout = gf_layout_receiver(&shape);

    (void)state;
    gf_connector_init(&c, false, 0, 1, &shape, NULL, NULL, NULL);
    gf_connector_fill_endpoint(&c, receiver, sender);
    assert_int_equal(gf_layout_sender(&shape).bytes, 3 * GF_LINE);
    assert_ptr_equal(c.endpoint.ll_slots, receiver);
    assert_int_equal(layout.bytes, 2 * 1024 + 3 * GF_FIFO_DEPTH * 256 + 3 * GF_LINE);
    for (int i = 0; i < shape.channels; i++) {
        struct gf_conn conn = gf_layout_conn(&c.endpoint, &shape, i);

        assert_int_equal((char *)conn.head - sender, i * GF_LINE);
        assert_int_equal((char *)conn.tail - receiver, (ptrdiff_t)layout.words + i * GF_LINE);
        assert_true((char *)conn.size > (char *)conn.tail && (char *)(conn.size + GF_FIFO_DEPTH) <= (char *)conn.tail + GF_LINE);
        assert_int_equal((size_t)(conn.slots - receiver), 2 * 1024 + (size_t)i * GF_FIFO_DEPTH * 256);
        assert_true(conn.address > conn.head && conn.address + GF_ADDRESS_WORDS <= conn.answers);
        assert_true((char *)conn.tail >= receiver + layout.words && (char *)conn.tail + GF_LINE <= receiver + layout.bytes);
    }
    free(receiver);
    free(sender);
}

/* Tails stay at the receiver and heads at the sender, behind or before the slots, so that each polls its own memory. */
static void test_the_buffer_may_be_at_the_sender(void **state)
{
    char *receiver = aligned_alloc(GF_LINE, 1 << 16), *sender = aligned_alloc(GF_LINE, 1 << 16);
    struct gf_connector_shape at_sender = shape;
    struct gf_connector c;

    (void)state;
    at_sender.sender_buffer = true;
    gf_connector_init(&c, true, 0, 1, &at_sender, NULL, NULL, NULL);
    gf_connector_fill_endpoint(&c, receiver, sender);
    assert_int_equal(gf_connector_own_bytes(&c), 3 * GF_LINE + 3 * GF_FIFO_DEPTH * 256);
    assert_int_equal(gf_connector_peer_bytes(&c), 2 * 1024 + 3 * GF_LINE);
    assert_ptr_equal(c.endpoint.ll_slots, receiver);
    for (int i = 0; i < shape.channels; i++) {
        struct gf_conn conn = gf_layout_conn(&c.endpoint, &at_sender, i);

        assert_int_equal((char *)conn.head - sender, i * GF_LINE);
        assert_int_equal((char *)conn.tail - receiver, 2 * 1024 + i * GF_LINE);
        assert_int_equal((size_t)(conn.slots - sender), 3 * GF_LINE + (size_t)i * GF_FIFO_DEPTH * 256);
        assert_true(conn.address > conn.tail && (char *)(conn.address + GF_ADDRESS_WORDS) <= (char *)conn.size);
        assert_true(conn.slots + GF_FIFO_DEPTH * 256 <= sender + gf_connector_own_bytes(&c));
    }
    free(receiver);
    free(sender);
}

static void test_descriptions_are_checked(void **state)
{
    struct gf_connector sender, receiver;
    struct gf_wire_shape wire;
    struct gf_reason why = { "" };

    (void)state;
    gf_connector_init(&sender, true, 0, 1, &shape, NULL, NULL, NULL);
    gf_connector_init(&receiver, false, 1, 0, &shape, NULL, NULL, NULL);
    gf_connector_describe(&receiver, gf_connector_own_bytes(&receiver), &wire);
    assert_int_equal(gf_connector_check(&sender, &wire, &why), GF_OK);
    assert_int_equal(gf_connector_check(&receiver, &wire, &why), GF_ERR_PEER);
    struct gf_wire_shape wrong = wire;

    wrong.bytes -= GF_LINE;
    assert_int_equal(gf_connector_check(&sender, &wrong, &why), GF_ERR_PEER);
    wrong = wire;
    wrong.slot_bytes *= 2;
    assert_int_equal(gf_connector_check(&sender, &wrong, &why), GF_ERR_PEER);
    assert_non_null(strstr(why.text, "rank 1"));
    wrong = wire;
    wrong.sender_buffer = !wrong.sender_buffer;
    assert_int_equal(gf_connector_check(&sender, &wrong, &why), GF_ERR_PEER);
    wrong = wire;
    wrong.magic++;
    assert_int_equal(gf_connector_check(&sender, &wrong, &why), GF_ERR_PEER);
}

/* A pattern connected in forked ranks: who fails what, what must come out. */
struct scenario {
    enum gf_pattern_kind kind;
    struct gf_config config;
    bool (*fails)(const char *step, const struct gf_connector *c);
    int without_ipc;                   /* this rank's device has no IPC; -1: all have */
    gf_status expected;
    const char *reason;                /* part of the sentence if it fails */
    const char *(*transport)(int a, int b);   /* the name expected between two ranks */
};

static void count_line(void *ctx, enum gf_log_level level, const char *line)
{
    (void)line;
    if (level <= GF_LOG_PATH) {
        ++*(int *)ctx;
    }
}

static int check_links(struct gftest_rank *rank, const struct scenario *scenario, const struct gf_peers *peers,
                       const struct gf_pattern *pattern)
{
    int links = 0;

    for (int q = 0; q < rank->ranks; q++) {
        bool to = gf_pattern_connects(scenario->kind, rank->rank, q, peers);
        bool from = gf_pattern_connects(scenario->kind, q, rank->rank, peers);
        const struct gf_connector *send = &pattern->send[q].connector, *recv = &pattern->recv[q].connector;

        links += to + from;
        GFTEST_CHECK(rank, (send->state == GF_CONN_READY) == to);
        GFTEST_CHECK(rank, (recv->state == GF_CONN_READY) == from);
        GFTEST_CHECK(rank, !to || strcmp(send->transport->name, scenario->transport(rank->rank, q)) == 0, "to %d by %s", q,
                     send->transport->name);
        GFTEST_CHECK(rank, !from || strcmp(recv->transport->name, scenario->transport(q, rank->rank)) == 0, "from %d by %s", q,
                     recv->transport->name);
    }
    GFTEST_CHECK(rank, fake.alive == links, "%d alive, %d links", fake.alive, links);
    return 0;
}

static int pattern_body(struct gftest_rank *rank)
{
    const struct scenario *scenario = rank->argument;
    struct gf_peer_info infos[GFTEST_MAX_RANKS];
    struct gf_peers peers = { .rank = rank->rank, .ranks = rank->ranks, .infos = infos };
    int lines = 0;
    const struct gf_log log = { .write = count_line, .ctx = &lines, .verbose = GF_LOG_PATH };
    const struct gf_connect_setup setup = {
        .config = &scenario->config, .log = &log, .name = "test", .bootstrap = &rank->bootstrap, .peers = &peers,
        .transports = transports,
    };
    struct gf_pattern pattern;
    struct gf_reason why = { "" };

    memset(infos, 0, sizeof infos);
    for (int r = 0; r < rank->ranks; r++) {
        infos[r].ipc = r != scenario->without_ipc;
        peers.ring[r] = peers.place[r] = (uint8_t)r;
    }
    fake = (struct fake){ .fails = scenario->fails };
    gf_status status = gf_pattern_connect(&pattern, scenario->kind, &shape, &setup, &why);

    GFTEST_CHECK(rank, status == scenario->expected, "%s: %s", gf_status_string(status), why.text);
    if (status != GF_OK) {
        GFTEST_CHECK(rank, strstr(why.text, scenario->reason) != NULL, "%s", why.text);
    } else if (check_links(rank, scenario, &peers, &pattern) != 0) {
        return 1;
    }
    GFTEST_CHECK(rank, lines <= 2, "%d lines: a transport is left in silence after the first time", lines);
    gf_pattern_destroy(&pattern);
    gf_pattern_destroy(&pattern);
    GFTEST_CHECK(rank, fake.alive == 0);
    return 0;
}

static const char *all_fast(int a, int b)
{
    (void)a;
    (void)b;
    return "fast";
}

/* Rank 1 cannot connect the fast transport to what it receives from rank 0. */
static bool one_direction(const char *step, const struct gf_connector *c)
{
    return strcmp(step, "connect") == 0 && c->transport == &fast && c->me == 1 && c->peer == 0 && !c->is_sender;
}

static const char *slow_from_0_to_1(int a, int b)
{
    return a == 0 && b == 1 ? "slow" : "fast";
}

/* Rank 2 cannot set up the fast transport. */
static bool setup_at_2(const char *step, const struct gf_connector *c)
{
    return strcmp(step, "setup") == 0 && c->transport == &fast && c->me == 2;
}

static const char *slow_at_2(int a, int b)
{
    return a == 2 || b == 2 ? "slow" : "fast";
}

static bool everything_at_1(const char *step, const struct gf_connector *c)
{
    (void)step;
    return c->me == 1;
}

static void expect_scenario(struct scenario scenario)
{
    for (int ranks = 3; ranks <= 5; ranks++) {
        scenario.kind = GF_PATTERN_DIRECT;
        gftest_expect(ranks, pattern_body, &scenario, 30);
        scenario.kind = GF_PATTERN_RING;
        gftest_expect(ranks, pattern_body, &scenario, 30);
    }
}

static void test_best_transport_is_taken(void **state)
{
    struct scenario scenario = { .without_ipc = -1, .transport = all_fast };

    (void)state;
    expect_scenario(scenario);
    gftest_expect(1, pattern_body, &scenario, 30);
    gftest_expect(2, pattern_body, &scenario, 30);
    scenario.kind = GF_PATTERN_RING;
    gftest_expect(2, pattern_body, &scenario, 30);
}

static void test_failure_takes_the_next_transport_at_both_ends(void **state)
{
    (void)state;
    expect_scenario((struct scenario){ .without_ipc = -1, .fails = one_direction, .transport = slow_from_0_to_1 });
    expect_scenario((struct scenario){ .without_ipc = -1, .fails = setup_at_2, .transport = slow_at_2 });
    expect_scenario((struct scenario){ .without_ipc = 2, .transport = slow_at_2 });
}

static void test_no_transport_is_the_same_answer_everywhere(void **state)
{
    (void)state;
    expect_scenario((struct scenario){ .without_ipc = -1, .fails = everything_at_1, .expected = GF_ERR_UNSUPPORTED,
        .reason = "no transport connects" });
    expect_scenario((struct scenario){
        .without_ipc = 0, .config = { .transport = GF_TRANSPORT_P2P }, .expected = GF_ERR_UNSUPPORTED,
        .reason = "no forced transport" });
}

static void test_strict_makes_a_fall_back_an_error(void **state)
{
    (void)state;
    expect_scenario((struct scenario){
        .without_ipc = -1, .config = { .strict = true }, .fails = one_direction, .expected = GF_ERR_DEVICE,
        .reason = "strict: rank" });
    expect_scenario((struct scenario){ .without_ipc = -1, .config = { .strict = true }, .transport = all_fast });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_legal_steps),
        cmocka_unit_test(test_illegal_step_is_caught),
        cmocka_unit_test(test_failure_leaves_nothing),
        cmocka_unit_test(test_words_of_two_agents_share_no_line),
        cmocka_unit_test(test_the_buffer_may_be_at_the_sender),
        cmocka_unit_test(test_descriptions_are_checked),
        cmocka_unit_test(test_best_transport_is_taken),
        cmocka_unit_test(test_failure_takes_the_next_transport_at_both_ends),
        cmocka_unit_test(test_no_transport_is_the_same_answer_everywhere),
        cmocka_unit_test(test_strict_makes_a_fall_back_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
