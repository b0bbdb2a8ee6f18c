/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several adapters: rxe0 on eth0, and rxe1 on a link of its own that this program makes. Lanes go by them in turn; one that fails
 * takes its own lanes with it, and no others.
 */
#include "tests/unit/wire_ends.h"

#include <stdlib.h>
#include <string.h>

#include "transport/verbs_private.h"

enum { LANES = 4 };

const struct gf_wire_ops *wire_tested = &gf_wire_verbs;

/* Lanes 0 to 3 of two wires, each wire with the same settings. */
struct lanes {
    struct wire_pair pair;
    struct gf_wire_lane *a[LANES], *b[LANES];
};

static int open_lanes(void **state)
{
    struct lanes *lanes = calloc(1, sizeof *lanes);
    struct gf_wire_address here[LANES], there[LANES];

    assert_non_null(lanes);
    wire_end_open(&lanes->pair.a);
    wire_end_open(&lanes->pair.b);
    for (unsigned i = 0; i < LANES; i++) {
        assert_int_equal(wire_tested->create(lanes->pair.a.wire, i, 1, &lanes->a[i], &here[i], NULL), GF_OK);
        assert_int_equal(wire_tested->create(lanes->pair.b.wire, i, 1, &lanes->b[i], &there[i], NULL), GF_OK);
        assert_int_equal(wire_tested->connect(lanes->a[i], &there[i], NULL), GF_OK);
        assert_int_equal(wire_tested->connect(lanes->b[i], &here[i], NULL), GF_OK);
    }
    *state = lanes;
    return 0;
}

static int close_lanes(void **state)
{
    struct lanes *lanes = *state;

    for (int i = 0; i < LANES; i++) {
        wire_tested->destroy(lanes->a[i], false);
        wire_tested->destroy(lanes->b[i], false);
    }
    wire_end_close(&lanes->pair.a);
    wire_end_close(&lanes->pair.b);
    free(lanes);
    return 0;
}

static void fill(const struct gf_wire_memory *memory, unsigned seed)
{
    for (size_t i = 0; i < WIRE_MEMORY; i++) {
        memory->address[i] = (char)(i * 31 + i / 251 + seed);
    }
}

/* One message over the lane, and the flush of it at the receiver. */
static void expect_works(struct lanes *lanes, int i)
{
    struct wire_pair *pair = &lanes->pair;
    const struct gf_wire_memory *from = &pair->a.memory, *to = &pair->b.memory;
    const struct gf_wire_place place = { (uintptr_t)to->address + 64, gf_wire_key(lanes->b[i], to) };
    uint64_t ended = 0, flushed = 0;
    uint32_t immediate = 0;

    fill(from, (unsigned)i);
    memset(to->address, 0, WIRE_MEMORY);
    WIRE_BEGIN(pair, wire_tested->expect(lanes->b[i]));
    WIRE_BEGIN(pair, wire_tested->put_notify(lanes->a[i], from, from->address, &place, 70000, (uint32_t)i,
                                             &(struct gf_wire_ticket){ &ended, 1 }));
    WIRE_UNTIL(pair, wire_tested->take(lanes->b[i], &immediate));
    assert_int_equal(immediate, i);
    assert_memory_equal(to->address + 64, from->address, 70000);
    assert_int_equal(to->address[70064], 0);
    WIRE_BEGIN(pair, wire_tested->flush(lanes->b[i], to, to->address, &(struct gf_wire_ticket){ &flushed, 1 }));
    WIRE_UNTIL(pair, ended == 1 && flushed == 1);
}

static void test_lanes_go_by_the_adapters_in_turn(void **state)
{
    struct lanes *lanes = *state;

    assert_string_equal(lanes->pair.a.wire->name, "verbs rxe0, rxe1");
    assert_int_not_equal(lanes->pair.a.memory.key[0], lanes->pair.a.memory.key[1]);
    for (int i = 0; i < LANES; i++) {
        assert_int_equal(lanes->a[i]->adapter, i % 2);
        assert_int_equal(lanes->b[i]->adapter, i % 2);
        assert_non_null(strstr(lanes->a[i]->name, i % 2 ? "verbs rxe1 port 1 gid" : "verbs rxe0 port 1 gid"));
        assert_non_null(strstr(lanes->a[i]->name, ", MTU 4096"));
        expect_works(lanes, i);
    }
}

/* Each adapter has keys of its own. */
static void test_key_of_another_adapter_is_refused(void **state)
{
    struct lanes *lanes = *state;
    struct wire_pair *pair = &lanes->pair;
    const struct gf_wire_place place = { (uintptr_t)pair->b.memory.address, pair->b.memory.key[0] };
    struct gf_reason why = { "" };

    assert_int_equal(wire_tested->put(lanes->a[1], &pair->a.memory, pair->a.memory.address, &place, 100, NULL), GF_OK);
    WIRE_UNTIL(pair, wire_tested->state(lanes->a[1], &why) != GF_OK);
    assert_non_null(strstr(why.text, "verbs rxe1"));
    expect_works(lanes, 0);
    expect_works(lanes, 3);
}

static void test_an_adapter_that_fails_breaks_its_own_lanes(void **state)
{
    struct lanes *lanes = *state;
    struct wire_pair *pair = &lanes->pair;
    const struct gf_wire_place nowhere = { 0, 0 };
    struct gf_reason why = { "" };

    for (int i = 0; i < LANES; i++) {
        expect_works(lanes, i);
    }
    assert_int_equal(system("ip link set eth1 down"), 0);
    (void)wire_tested->put(lanes->a[1], NULL, NULL, &nowhere, 0, NULL);
    for (int i = 1; i < LANES; i += 2) {
        WIRE_UNTIL(pair, wire_tested->state(lanes->a[i], &why) != GF_OK && wire_tested->state(lanes->b[i], &why) != GF_OK);
        assert_int_equal(wire_tested->state(lanes->b[i], &why), GF_ERR_PEER);
        assert_non_null(strstr(why.text, "verbs rxe1 port 1"));
        assert_int_equal(wire_tested->put(lanes->a[i], NULL, NULL, &nowhere, 0, NULL), GF_ERR_PEER);
        assert_int_equal(wire_tested->expect(lanes->b[i]), GF_ERR_PEER);
    }
    expect_works(lanes, 0);
    expect_works(lanes, 2);
    struct gf_wire *wire = wire_open();

    assert_non_null(strstr(wire->name, "verbs rxe0 port 1"));
    wire_tested->close(wire);
    assert_int_equal(system("ip link set eth1 up"), 0);
}

/* What is configured, and the wire's name, or what is wrong. */
static void test_adapters_are_those_named(void **state)
{
    static const struct { const char *adapters; int most; gf_status status; const char *says; } cases[] = {
        { "rxe1", 0, GF_OK, "verbs rxe1 port 1 gid" },
        { "rxe1,rxe0", 0, GF_OK, "verbs rxe1, rxe0" },
        { " rxe1 , rxe0 ", 0, GF_OK, "verbs rxe1, rxe0" },
        { "rxe1,rxe0", 1, GF_OK, "verbs rxe1 port 1 gid" },
        { NULL, 0, GF_OK, "verbs rxe0 port 1 gid" },     /* how near they are is not known */
        { "rxe0,rxe7", 0, GF_ERR_INVALID, "no verbs adapter rxe7 here, but: rxe0 rxe1" },
        { "rxe,rxe0,mlx5_0", 0, GF_ERR_INVALID, "no verbs adapter rxe, mlx5_0 here" },
        { NULL, 9, GF_ERR_INVALID, "the number of adapters is 9, but must be from 0 to 8" },
        { NULL, -1, GF_ERR_INVALID, "the number of adapters is -1" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gf_wire_config config = wire_config;
        struct gf_wire *wire = NULL;
        struct gf_reason why = { "" };

        config.adapters = cases[i].adapters;
        config.most_adapters = cases[i].most;
        assert_int_equal(wire_tested->open(&config, &wire, &why), cases[i].status);
        const char *said = wire ? wire->name : why.text;

        if (!strstr(said, cases[i].says)) {
            fail_msg("\"%s\" does not say \"%s\"", said, cases[i].says);
        }
        if (wire) {
            wire_tested->close(wire);
        }
    }
}

static int make_second(void **state)
{
    (void)state;
    return system("ip link add eth1 type dummy && ip link set eth1 mtu 9000 up && ip address add 10.78.0.1/24 dev eth1 && "
                  "rdma link add rxe1 type rxe netdev eth1");
}

static int remove_second(void **state)
{
    (void)state;
    return system("rdma link delete rxe1 && ip link delete eth1");
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, open_lanes, close_lanes)
    const struct CMUnitTest tests[] = {
        CASE(test_lanes_go_by_the_adapters_in_turn),
        CASE(test_key_of_another_adapter_is_refused),
        CASE(test_an_adapter_that_fails_breaks_its_own_lanes),
        cmocka_unit_test(test_adapters_are_those_named),
    };

    wire_config.adapters = "rxe0,rxe1";
    wire_config.timeout = 15;
    return cmocka_run_group_tests(tests, make_second, remove_second);
}
