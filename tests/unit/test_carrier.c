/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages over a network, whole.
 *   GPUFIFO_TEST_SEED: the seed.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/soft_wire.h"
#include "tests/unit/carrier_world.h"
#include "tests/unit/copied_device.h"
#include "tests/unit/fifo_play.h"
#include "tests/unit/scalar.h"
#include "transport/net_buffers.h"

enum { MESSAGES = 24, MOST_BYTES = 60000 };

/* Many at once both ways, some cut short, received in another order than they were sent. */
static void run_traffic(enum gf_choice device_memory, bool refuse_device, bool program)
{
    uint64_t seed = play_seed(), random = seed;
    struct message m[MESSAGES];
    int order[MESSAGES];
    struct carrier_world w;

    print_message("device memory %d%s%s, seed %llu\n", device_memory, refuse_device ? ", refused" : "",
                  program ? ", with the program" : "", (unsigned long long)seed);
    gftest_soft_wants = (struct gftest_soft_wants){ .refuse_device = refuse_device, .put_bytes = 10000 };
    carrier_world_open(&w, device_memory, seed);
    w.program = program;
    for (int i = 0; i < MESSAGES; i++) {
        size_t bytes = 1 + scalar_random(&random) % MOST_BYTES;

        message_make(&w, &m[i], scalar_random(&random) % 2, (uint64_t)i + 1, bytes,
             scalar_random(&random) % 3 ? bytes : scalar_random(&random) % (bytes + 1));
        m[i].to_host = scalar_random(&random) % 4 == 0;
        assert_int_equal(message_send(&w, &m[i]), GF_OK);
        order[i] = i;
    }
    for (int i = MESSAGES - 1; i >= 0; i--) {
        int other = (int)(scalar_random(&random) % (uint64_t)(i + 1)), chosen = order[other];

        order[other] = order[i];
        assert_int_equal(message_receive(&w, &m[chosen]), GF_OK);
    }
    messages_await(&w, m, MESSAGES);
    for (int i = 0; i < MESSAGES; i++) {
        assert_int_equal(m[i].sent, GF_OK);
        assert_int_equal(m[i].received, GF_OK);
        message_expect_data(&m[i]);
        message_unmake(&w, &m[i]);
    }
    carrier_world_close(&w);
}

static void test_registered(void **state)
{
    (void)state;
    run_traffic(GF_CHOICE_YES, false, false);
    run_traffic(GF_CHOICE_YES, false, true);
}

static void test_pieces(void **state)
{
    (void)state;
    run_traffic(GF_CHOICE_NO, false, false);
    run_traffic(GF_CHOICE_AUTO, true, true);
}

/* What the wire counts tells which way data went: whole messages, or pieces. */
static void test_ways(void **state)
{
    static const struct { enum gf_choice device_memory; const char *how; uint64_t notifies; } cases[] = {
        { GF_CHOICE_YES, "registered", 1 }, { GF_CHOICE_NO, "net_device_memory is no", 5 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct message m;
        struct gf_wire *wire;
        struct carrier_world w;

        carrier_world_open(&w, cases[i].device_memory, play_seed());
        message_make(&w, &m, 0, 1, 4 * PIECE_BYTES + 1, 4 * PIECE_BYTES + 1);
        assert_int_equal(message_send(&w, &m), GF_OK);
        assert_non_null(strstr(m.out_why.text, cases[i].how));
        assert_int_equal(message_receive(&w, &m), GF_OK);
        assert_non_null(strstr(m.in_why.text, cases[i].how));
        messages_await(&w, &m, 1);
        message_expect_data(&m);
        assert_int_equal(gf_net_open(w.nets[0], &wire, NULL), GF_OK);
        assert_int_equal(wire->ops->counts(wire)->notifies, cases[i].notifies);
        assert_int_equal(wire->ops->counts(wire)->puts, 0);
        assert_int_equal(gf_net_open(w.nets[1], &wire, NULL), GF_OK);
        assert_int_equal(wire->ops->counts(wire)->flushes, cases[i].device_memory == GF_CHOICE_YES);
        message_unmake(&w, &m);
        carrier_world_close(&w);
    }
}

/* The end that sends cannot register its buffer: pieces. Nor those: another way. What was refused is not asked for again. */
static void test_registration_fails(void **state)
{
    struct message m;
    struct carrier_world w;

    (void)state;
    carrier_world_open(&w, GF_CHOICE_YES, play_seed());
    message_make(&w, &m, 0, 1, 30000, 30000);
    assert_int_equal(gf_fault_parse("register:1+", 0, &w.faults[0], NULL), GF_OK);
    assert_int_equal(message_send(&w, &m), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(m.out_why.text, "register"));
    assert_int_equal(gf_fault_parse("", 0, &w.faults[0], NULL), GF_OK);
    assert_int_equal(gf_fault_parse("register:1", 0, &w.faults[1], NULL), GF_OK);
    assert_int_equal(message_send(&w, &m), GF_OK);
    assert_non_null(strstr(m.out_why.text, "by way of pinned memory here: the step register"));
    assert_int_equal(message_receive(&w, &m), GF_OK);
    messages_await(&w, &m, 1);
    assert_int_equal(m.sent, GF_OK);
    assert_int_equal(m.received, GF_OK);
    message_expect_data(&m);
    message_unmake(&w, &m);
    carrier_world_close(&w);
}

/* One message of each of the parts that the buffers of m are cut into. */
static void send_parts(struct carrier_world *w, const struct message *m, int parts)
{
    for (int i = 0; i < parts; i++) {
        struct message part = *m;
        size_t at = m->bytes / (size_t)parts * (size_t)i;

        part.bytes = part.wanted = m->bytes / (size_t)parts;
        part.source += at;
        part.target += at;
        assert_int_equal(message_send(w, &part), GF_OK);
        assert_int_equal(message_receive(w, &part), GF_OK);
        messages_await(w, &part, 1);
        assert_memory_equal(part.target, part.source, part.wanted);
    }
}

/* Buffers that come again are not registered again, whichever part of them; what was freed is, and goes back. */
static void test_registered_once(void **state)
{
    struct gf_net_buffers *buffers[2];
    struct message m;
    struct carrier_world w;

    (void)state;
    carrier_world_open(&w, GF_CHOICE_YES, play_seed());
    copied_device_give_dmabuf(true);
    for (int end = 0; end < 2; end++) {
        buffers[end] = gf_net_buffers_of(w.nets[end]);
    }
    message_make(&w, &m, 0, 1, 40000, 40000);
    send_parts(&w, &m, 10);
    assert_int_equal(gftest_soft_wants.registrations, 2);
    assert_int_equal(gftest_soft_wants.dmabufs, 2);
    copied_device_renew(m.source);
    send_parts(&w, &m, 4);
    assert_int_equal(gftest_soft_wants.registrations, 3);
    copied_device_renew(m.target);
    send_parts(&w, &m, 4);
    assert_int_equal(gftest_soft_wants.registrations, 4);
    message_unmake(&w, &m);
    for (int end = 0; end < 2; end++) {
        gf_net_buffers_look(buffers[end]);
        for (int i = 0; i < GF_NET_BUFFERS; i++) {
            assert_int_equal(buffers[end]->of[i].id, 0);
        }
    }
    carrier_world_close(&w);
}

/* Of which messages credits were given, by their numbers: written as they leave, in any order, read when all messages have
 * ended. */
static struct { uint64_t id[256]; uint64_t count; } credited;

static void note_credit(enum gftest_soft_kind kind, void *data, size_t bytes, uint32_t *immediate)
{
    const uint64_t *words = data;

    (void)bytes;
    (void)immediate;
    if (kind == GFTEST_SOFT_LINES && words[0] > 0 && words[0] <= sizeof credited.id / sizeof credited.id[0]) {
        credited.id[words[0] - 1] = words[1];
        credited.count = words[0] > credited.count ? words[0] : credited.count;
    }
}

/* The first one takes all credits that there are, and nothing is sent before all are wanted. */
static void test_order(void **state)
{
    static const uint64_t order[] = { 4, 2, 3, 1 };
    struct message m[4];
    struct carrier_world w;
    uint64_t at = 0;

    (void)state;
    credited.count = 0;
    carrier_world_open(&w, GF_CHOICE_NO, play_seed());
    gftest_soft_wants.tamper = note_credit;
    for (int i = 0; i < 4; i++) {
        size_t bytes = i == 0 ? (GF_CARRIER_CREDITS + 1) * PIECE_BYTES : 100;

        message_make(&w, &m[i], 0, order[i], bytes, bytes);
        assert_int_equal(message_receive(&w, &m[i]), GF_OK);
    }
    for (int i = 3; i >= 0; i--) {
        assert_int_equal(message_send(&w, &m[i]), GF_OK);
    }
    messages_await(&w, m, 4);
    for (int i = 0; i < 4; i++) {
        message_expect_data(&m[i]);
        message_unmake(&w, &m[i]);
    }
    carrier_world_close(&w);
    for (uint64_t i = 0; i < credited.count; i++) {
        at += credited.id[i] != order[at];
        assert_true(at < 4 && credited.id[i] == order[at]);
    }
    assert_int_equal(at, 3);
}

static void await_sent(struct message *m)
{
    while ((m->sent = gf_carrier_send_poll(&m->out, &m->out_why)) == GF_IN_PROGRESS) {
        sched_yield();
    }
}

/* And messages behind them are not disturbed. */
static void test_answers(void **state)
{
    struct message m[3];
    struct carrier_world w;

    (void)state;
    carrier_world_open(&w, GF_CHOICE_AUTO, play_seed());
    for (int i = 0; i < 3; i++) {
        message_make(&w, &m[i], 1, (uint64_t)i + 1, 20000, 20000);
        assert_int_equal(message_send(&w, &m[i]), GF_OK);
    }
    gf_carrier_refuse(w.in[1], 1, false);
    gf_carrier_refuse(w.in[1], 2, true);
    assert_int_equal(message_receive(&w, &m[2]), GF_OK);
    messages_await(&w, &m[2], 1);
    message_expect_data(&m[2]);
    await_sent(&m[0]);
    await_sent(&m[1]);
    assert_int_equal(m[0].sent, GF_ERR_PEER);
    expect_rank(&m[0].out_why, 6);
    assert_int_equal(m[1].sent, GF_ERR_UNSUPPORTED);
    expect_rank(&m[1].out_why, 6);
    for (int i = 0; i < 3; i++) {
        message_unmake(&w, &m[i]);
    }
    carrier_world_close(&w);
}

static void test_withdrawn(void **state)
{
    struct message m[2];
    struct carrier_world w;

    (void)state;
    carrier_world_open(&w, GF_CHOICE_YES, play_seed());
    for (int i = 0; i < 2; i++) {
        message_make(&w, &m[i], 0, (uint64_t)i + 1, 5000, 5000);
        assert_int_equal(message_send(&w, &m[i]), GF_OK);
    }
    gf_carrier_send_withdraw(w.out[0], &m[0].out);
    assert_int_equal(gf_carrier_send_poll(&m[0].out, &m[0].out_why), GF_OK);
    assert_int_equal(message_receive(&w, &m[1]), GF_OK);
    messages_await(&w, &m[1], 1);
    message_expect_data(&m[1]);
    message_unmake(&w, &m[0]);
    message_unmake(&w, &m[1]);
    carrier_world_close(&w);
}

/* Messages that nobody has taken when a process ends. */
static void test_ends_early(void **state)
{
    struct message m;
    struct carrier_world w;

    (void)state;
    carrier_world_open(&w, GF_CHOICE_YES, play_seed());
    message_make(&w, &m, 0, 1, 5000, 5000);
    assert_int_equal(message_send(&w, &m), GF_OK);
    assert_true(gf_carrier_busy(w.carriers[0]));
    assert_false(gf_carrier_busy(w.carriers[1]));
    message_unmake(&w, &m);
    carrier_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registered), cmocka_unit_test(test_pieces), cmocka_unit_test(test_ways),
        cmocka_unit_test(test_registration_fails), cmocka_unit_test(test_registered_once), cmocka_unit_test(test_order),
        cmocka_unit_test(test_answers), cmocka_unit_test(test_withdrawn), cmocka_unit_test(test_ends_early),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
