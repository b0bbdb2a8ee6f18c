/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is configured reaches the queue pairs: read back from them, on one adapter whose network interface is eth0. Soft-RoCE has
 * no service levels, and forgets them: that one is seen on its way to the library.
 */
#define _GNU_SOURCE 1      /* RTLD_NEXT */
#include "tests/unit/wire_ends.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "transport/verbs_private.h"

const struct gf_wire_ops *wire_tested = &gf_wire_verbs;

static uint8_t last_service_level, service_levels[2];     /* of open_differing: a's and b's */

/* Stands before the library's. */
int ibv_modify_qp(struct ibv_qp *pair, struct ibv_qp_attr *attributes, int mask)
{
    int (*modify)(struct ibv_qp *, struct ibv_qp_attr *, int) =
        (int (*)(struct ibv_qp *, struct ibv_qp_attr *, int))dlsym(RTLD_NEXT, "ibv_modify_qp");

    if (mask & IBV_QP_AV) {
        last_service_level = attributes->ah_attr.sl;
    }
    return modify(pair, attributes, mask);
}

/* wire_config is the first's, and then as changed by `second` the other's. */
static void open_differing(struct wire_pair *pair, void (*second)(struct gf_wire_config *config))
{
    wire_end_open(&pair->a);
    second(&wire_config);
    wire_end_open(&pair->b);
    wire_end_connect(&pair->a, &pair->b.address, pair->b.wire);
    service_levels[0] = last_service_level;
    wire_end_connect(&pair->b, &pair->a.address, pair->a.wire);
    service_levels[1] = last_service_level;
}

static void close_both(struct wire_pair *pair)
{
    wire_end_close(&pair->a);
    wire_end_close(&pair->b);
}

static int reset(void **state)
{
    (void)state;
    wire_config.adapters = "rxe0";
    wire_config.service_level = wire_config.traffic_class = wire_config.mtu = wire_config.timeout = wire_config.retries = 0;
    return 0;
}

static struct ibv_qp_attr attributes_of(const struct wire_end *end)
{
    struct ibv_qp_attr attributes;
    struct ibv_qp_init_attr initial;
    int mask = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;

    assert_int_equal(ibv_query_qp(verbs_lane_of(end->lane)->queues[0].pair, &attributes, mask, &initial), 0);
    return attributes;
}

static void other_numbers(struct gf_wire_config *config)
{
    config->service_level = 5;
    config->traffic_class = 32;
    config->timeout = 20;
    config->retries = 2;
}

static void test_settings_reach_the_queue_pair(void **state)
{
    struct wire_pair pair = { .a = { .wire = NULL } };

    (void)state;
    wire_config.service_level = 3;
    wire_config.traffic_class = 106;
    wire_config.timeout = 15;
    wire_config.retries = 4;
    open_differing(&pair, other_numbers);
    const struct ibv_qp_attr a = attributes_of(&pair.a), b = attributes_of(&pair.b);

    assert_int_equal(a.timeout, 15);
    assert_int_equal(a.retry_cnt, 4);
    assert_int_equal(service_levels[0], 3);
    assert_int_equal(a.ah_attr.grh.traffic_class, 106);
    assert_int_equal(b.timeout, 20);
    assert_int_equal(b.retry_cnt, 2);
    assert_int_equal(service_levels[1], 5);
    assert_int_equal(b.ah_attr.grh.traffic_class, 32);
    close_both(&pair);
}

static void nothing_else(struct gf_wire_config *config)
{
    (void)config;
}

static void test_defaults_are_as_documented(void **state)
{
    struct wire_pair pair = { .a = { .wire = NULL } };

    (void)state;
    open_differing(&pair, nothing_else);
    const struct ibv_qp_attr a = attributes_of(&pair.a);

    assert_int_equal(a.timeout, 18);
    assert_int_equal(a.retry_cnt, 6);
    assert_int_equal(a.path_mtu, IBV_MTU_4096);
    assert_int_equal(service_levels[0], 0);
    assert_int_equal(a.ah_attr.grh.traffic_class, 0);
    assert_true(a.ah_attr.is_global);
    close_both(&pair);
}

static void mtu_1024(struct gf_wire_config *config)
{
    config->mtu = 1024;
}

static void mtu_auto(struct gf_wire_config *config)
{
    config->mtu = 0;
}

/* Whichever end wants less, both have it. */
static void test_both_ends_have_the_smaller_mtu(void **state)
{
    void (*const seconds[])(struct gf_wire_config *) = { mtu_1024, mtu_auto };
    const int firsts[] = { 2048, 512 }, expected[] = { IBV_MTU_1024, IBV_MTU_512 };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct wire_pair pair = { .a = { .wire = NULL } };

        wire_config.mtu = firsts[i];
        open_differing(&pair, seconds[i]);
        assert_int_equal(attributes_of(&pair.a).path_mtu, expected[i]);
        assert_int_equal(attributes_of(&pair.b).path_mtu, expected[i]);
        close_both(&pair);
    }
}

static void test_mtu_follows_the_network_interface(void **state)
{
    struct wire_pair pair = { .a = { .wire = NULL } };
    struct gf_wire *wire = NULL;
    struct gf_reason why = { "" };

    (void)state;
    assert_int_equal(system("ip link set eth0 mtu 1500"), 0);
    open_differing(&pair, nothing_else);
    assert_int_equal(attributes_of(&pair.a).path_mtu, IBV_MTU_1024);
    close_both(&pair);
    wire_config.mtu = 4096;
    assert_int_equal(wire_tested->open(&wire_config, &wire, &why), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "the MTU is to be 4096, but port 1 of the verbs adapter rxe0 has 1024"));
    assert_int_equal(system("ip link set eth0 mtu 9000"), 0);
    assert_int_equal(wire_tested->open(&wire_config, &wire, &why), GF_OK);
    wire_tested->close(wire);
}

static void test_an_mtu_that_there_is_not_is_refused(void **state)
{
    const int wrong[] = { 1, 128, 255, 1000, 3072, 4097, 8192, -256 };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct gf_wire *wire = NULL;
        struct gf_reason why = { "" };

        wire_config.mtu = wrong[i];
        assert_int_equal(wire_tested->open(&wire_config, &wire, &why), GF_ERR_INVALID);
        assert_non_null(strstr(why.text, "the MTU is "));
        assert_non_null(strstr(why.text, "4096"));
    }
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup(test, reset)
    const struct CMUnitTest tests[] = {
        CASE(test_settings_reach_the_queue_pair),
        CASE(test_defaults_are_as_documented),
        CASE(test_both_ends_have_the_smaller_mtu),
        CASE(test_mtu_follows_the_network_interface),
        CASE(test_an_mtu_that_there_is_not_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
