/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators over several nodes, which here are names on one machine, and a transport between them that is shared memory.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/connector.h"
#include "core/exchange.h"
#include "core/watch.h"
#include "tests/support/core_comm.h"
#include "transport/transport.h"

enum { SECONDS = 120, LEAST = 1000 };

/* Stands for struct gf_net; counts the connections of this rank that were set up over it, and how often they were asked. */
struct fake_net {
    int connections;
    uint32_t *asks;                /* atomic; null: nobody counts */
};

static gf_status fake_setup(struct gf_connector *c, struct gf_blob *mine, struct gf_reason *why)
{
    struct fake_net *net = (void *)c->net;

    if (!net) {
        gf_reason_set(why, "there is no net");
        return GF_ERR_UNSUPPORTED;
    }
    net->connections++;
    return gf_transport_shm.setup(c, mine, why);
}

static gf_status fake_connect(struct gf_connector *c, const struct gf_blob *theirs, struct gf_reason *why)
{
    return gf_transport_shm.connect(c, theirs, why);
}

static void fake_ask(struct gf_connector *c)
{
    struct fake_net *net = (void *)c->net;

    if (net->asks) {
        __atomic_add_fetch(net->asks, 1, __ATOMIC_RELAXED);
    }
}

static void fake_destroy(struct gf_connector *c)
{
    gf_transport_shm.destroy(c);
}

static const struct gf_transport fake = {
    .name = "fake", .id = GF_TRANSPORT_NET, .on_request = true, .between_nodes = true,
    .setup = fake_setup, .connect = fake_connect, .ask = fake_ask, .destroy = fake_destroy,
};

static const struct gf_transport *const transports[] = { &fake, &gf_transport_p2p, &gf_transport_shm, NULL };

/* Ranks on nodes, and what must come out. */
struct run {
    const char *nodes;             /* a letter a rank: its node */
    enum gf_force_transport transport;
    enum gf_force_algorithm algorithm;
    int without_net;               /* this rank has none; -1: all have */
    gf_status created, status;     /* of gf_comm_create, and of a call of many bytes */
    const char *reason;            /* part of the sentence of a failure */
    const char *path;              /* part of what rank 0 says of its ways */
};

static struct gf_config config_of(const struct gftest_rank *rank, const struct run *run)
{
    struct gf_config config = gftest_config();

    config.node[0] = run->nodes[rank->rank];
    config.mapped = GF_MAPPED_KERNEL;
    config.net = GF_NET_ANY;
    config.net_bytes = LEAST;
    config.simple_slot_bytes = 1024;
    config.transport = run->transport;
    config.algorithm = run->algorithm;
    return config;
}

/* The links of this rank that lead to another node, where a ring leaves each node once: from its last rank to the first one of
 * the next node. */
static int crossings(const struct gftest_rank *rank, const char *nodes)
{
    char own = nodes[rank->rank];

    return (strchr(nodes, own) == nodes + rank->rank) + (strrchr(nodes, own) == nodes + rank->rank);
}

/* Of nothing; but for that the ranks would have to map memory. */
static gf_status try_exchange(struct gftest_comm *c, struct gf_reason *why)
{
    static const struct gf_exchange nothing = { .name = "test" };

    return gf_comm_exchange(c->comm, &nothing, why);
}

static int goes_well(struct gftest_rank *rank, struct gftest_comm *c, const struct run *run, const struct fake_net *net)
{
    static const size_t counts[] = { LEAST / 4, LEAST / 4 + 1, 5003, 200000 };
    bool forced = run->transport == GF_TRANSPORT_NET;
    struct gf_reason why = { "" };

    for (uint64_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct gftest_allreduce what = { .count = counts[i], .type = GF_INT32, .op = GF_SUM, .seed = i, .in_place = i % 2 };

        if (gftest_allreduce(rank, c, &what) != 0) {
            return 1;
        }
        GFTEST_CHECK(rank, gf_comm_last_plan(c->comm)->algorithm == GF_PLAN_RING, "%s", gf_comm_last_plan(c->comm)->reason);
    }
    GFTEST_CHECK(rank, net->connections == (forced ? 2 : crossings(rank, run->nodes)), "%d", net->connections);
    GFTEST_CHECK(rank, rank->rank != 0 || strstr(c->path, run->path), "%s", c->path);
    GFTEST_CHECK(rank, c->warnings == 0, "%s", c->warning);
    GFTEST_CHECK(rank, gftest_try_allreduce(c, LEAST / 4 - 1, &why) == GF_ERR_UNSUPPORTED);
    GFTEST_CHECK(rank, strstr(why.text, "bytes go through MPI"), "%s", why.text);
    GFTEST_CHECK(rank, try_exchange(c, &why) == GF_ERR_UNSUPPORTED, "%s", why.text);
    return 0;
}

static int run_body(struct gftest_rank *rank)
{
    const struct run *run = rank->argument;
    struct gf_config config = config_of(rank, run);
    struct fake_net net = { .connections = 0 };
    bool has_net = rank->rank != run->without_net;
    struct gftest_comm c;
    struct gf_reason why = { "" };
    int result = 0;
    gf_status status = gftest_comm_open_over(rank, &config, transports, has_net ? (struct gf_net *)&net : NULL, 0, &c, &why);

    GFTEST_CHECK(rank, status == run->created, "%s: %s", gf_status_string(status), why.text);
    if (status == GF_OK && run->status == GF_OK) {
        result = goes_well(rank, &c, run, &net);
    } else if (status == GF_OK) {
        status = gftest_try_allreduce(&c, LEAST, &why);
        GFTEST_CHECK(rank, status == run->status, "%s: %s", gf_status_string(status), why.text);
    }
    GFTEST_CHECK(rank, status == GF_OK || strstr(why.text, run->reason), "%s", why.text);
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return result;
}

static void expect_run(struct run run)
{
    print_message("nodes %s\n", run.nodes);
    gftest_expect((int)strlen(run.nodes), run_body, &run, SECONDS);
}

static void test_ring_crosses_nodes(void **state)
{
    (void)state;
    expect_run((struct run){ .nodes = "ab", .without_net = -1, .path = "from rank 0 to 1, 1 to 0" });
    expect_run((struct run){ .nodes = "aab", .without_net = -1,
        .path = "by p2p; between nodes by coll_gpufifo_net, from rank 1 to 2, 2 to 0" });
    expect_run((struct run){ .nodes = "abab", .without_net = -1,
        .path = "by p2p; between nodes by coll_gpufifo_net, from rank 2 to 1, 3 to 0" });
    expect_run((struct run){ .nodes = "abcacbb", .without_net = -1, .path = "from rank 3 to 1, 4 to 0, 6 to 2" });
    expect_run((struct run){ .nodes = "aabb", .without_net = -1, .path = "by shm", .transport = GF_TRANSPORT_SHM });
    expect_run((struct run){ .nodes = "aabc", .without_net = -1, .path = "by fake", .transport = GF_TRANSPORT_NET });
}

static void test_what_cannot_be(void **state)
{
    (void)state;
    expect_run((struct run){ .nodes = "aab", .without_net = 1, .created = GF_ERR_UNSUPPORTED, .reason = "rank 1 does not have" });
    expect_run((struct run){ .nodes = "aab", .without_net = -1, .algorithm = GF_ALGORITHM_ONE_SHOT, .status = GF_ERR_UNSUPPORTED,
        .reason = "the ring alone" });
    expect_run((struct run){ .nodes = "aab", .without_net = -1, .transport = GF_TRANSPORT_P2P_COPY, .status = GF_ERR_UNSUPPORTED,
        .reason = "could not be connected" });
}

/* Within one node a net is taken only where a setting names it. */
static int one_node_body(struct gftest_rank *rank)
{
    enum gf_force_transport forced = *(enum gf_force_transport *)rank->argument;
    struct gf_config config = gftest_config();
    struct fake_net net = { .connections = 0 };
    struct gftest_comm c;
    struct gf_reason why = { "" };

    config.transport = forced;
    config.algorithm = GF_ALGORITHM_RING;
    gf_status status = gftest_comm_open_over(rank, &config, transports, (struct gf_net *)&net, 0, &c, &why);

    GFTEST_CHECK(rank, status == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gftest_try_allreduce(&c, 100, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gf_comm_last_plan(c.comm)->algorithm == GF_PLAN_RING);
    GFTEST_CHECK(rank, net.connections == (forced == GF_TRANSPORT_NET ? 2 : 0), "%d", net.connections);
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

static void test_one_node(void **state)
{
    static enum gf_force_transport forced[] = { GF_TRANSPORT_AUTO, GF_TRANSPORT_NET };

    (void)state;
    gftest_expect(2, one_node_body, &forced[0], SECONDS);
    gftest_expect(2, one_node_body, &forced[1], SECONDS);
}

/* An abort reaches the ranks of the node; further it is carried by the transport, if any is connected. */
static int abort_body(struct gftest_rank *rank)
{
    static const struct run run = { .nodes = "aab", .without_net = -1 };
    struct gf_config config = config_of(rank, &run);
    struct fake_net net = { .connections = 0 };
    struct gftest_comm c;
    struct gf_reason why = { "" };

    gf_status status = gftest_comm_open_over(rank, &config, transports, (struct gf_net *)&net, 0, &c, &why);

    GFTEST_CHECK(rank, status == GF_OK, "%s", why.text);
    if (rank->rank == 0) {
        gf_comm_abort(c.comm, "a test");
    }
    gftest_barrier(rank);
    status = gf_comm_poll(c.comm, &why);
    GFTEST_CHECK(rank, status == (rank->rank == 2 ? GF_OK : GF_ERR_ABORTED), "%s", why.text);
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

static void test_abort_stays_on_its_node(void **state)
{
    (void)state;
    gftest_expect(3, abort_body, NULL, SECONDS);
}

/* Rank 0 waits, in the call or before it, for rank 1, which stays away until both connections of rank 0 have been asked. */
struct late {
    bool in_call;
    uint32_t *asks;                /* shared by the ranks */
};

static int late_body(struct gftest_rank *rank)
{
    static const struct run run = { .nodes = "ab", .without_net = -1 };
    const struct late *late = rank->argument;
    struct gf_config config = config_of(rank, &run);
    struct fake_net net = { .asks = rank->rank == 0 ? late->asks : NULL };
    struct gftest_comm c;
    struct gf_reason why = { "" };

    gf_status status = gftest_comm_open_over(rank, &config, transports, (struct gf_net *)&net, 0, &c, &why);

    GFTEST_CHECK(rank, status == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gftest_try_allreduce(&c, LEAST, &why) == GF_OK, "%s", why.text);
    while (__atomic_load_n(late->asks, __ATOMIC_RELAXED) < 2 && (rank->rank == 1 || !late->in_call)) {
        GFTEST_CHECK(rank, rank->rank == 1 || gf_comm_poll(c.comm, &why) == GF_OK, "%s", why.text);
    }
    GFTEST_CHECK(rank, gftest_try_allreduce(&c, LEAST, &why) == GF_OK, "%s", why.text);
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

static void test_who_waits_asks(void **state)
{
    struct late late = { .asks = mmap(NULL, sizeof *late.asks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) };

    (void)state;
    assert_ptr_not_equal(late.asks, MAP_FAILED);
    for (int in_call = 0; in_call < 2; in_call++) {
        late.in_call = in_call;
        *late.asks = 0;
        gftest_expect(2, late_body, &late, SECONDS);
    }
    munmap(late.asks, sizeof *late.asks);
}

static pid_t ended_process(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    return pid;
}

/* Processes of other nodes have numbers that say nothing here. */
static void test_watch_looks_at_its_node(void **state)
{
    struct gf_peer_info infos[3] = { { .pid = getpid() }, { .pid = ended_process(), .node = "b" }, { .pid = ended_process() } };
    struct gf_peers peers = { .rank = 0, .ranks = 3, .infos = infos };
    const struct gf_bootstrap bootstrap = { .rank = 0, .ranks = 3 };
    struct gf_abort abort;
    struct gf_segment_name name;
    struct gf_watch watch = { .abort = &abort, .peers = &peers, .bootstrap = &bootstrap };
    struct gf_reason why = { "" };

    (void)state;
    assert_int_equal(gf_abort_open(&abort, 0, 3, &name, &why), GF_OK);
    while (gf_watch_poll(&watch, &why) == GF_OK) {
    }
    assert_non_null(strstr(why.text, "rank 2 "));
    gf_abort_close(&abort);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_crosses_nodes), cmocka_unit_test(test_what_cannot_be), cmocka_unit_test(test_one_node),
        cmocka_unit_test(test_abort_stays_on_its_node), cmocka_unit_test(test_who_waits_asks),
        cmocka_unit_test(test_watch_looks_at_its_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
