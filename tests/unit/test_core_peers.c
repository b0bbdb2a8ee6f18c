/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ranks conclude from one another's descriptions, fault settings, and whether a process still lives.
 */
#include "core/peers.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/fault.h"
#include "core/tuning.h"

static struct gf_device device = {
    .ordinal = 0,
    .caps = { .ipc = true, .concurrent_processes = true, .blocks = 64, .uuid = "gpu0" },
};
static struct gf_config config = { .one_shot_bytes = 1000, .ll_slot_bytes = 2000, .simple_slot_bytes = 3000 };

/* Peers that are all like this process. */
static struct gf_peers make_peers(struct gf_peer_info *infos, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        gf_peer_describe(&device, &config, 0, &infos[r]);
    }
    return (struct gf_peers){ .rank = 0, .ranks = ranks, .infos = infos };
}

static void test_describes_this_process(void **state)
{
    struct gf_peer_info info;

    (void)state;
    gf_peer_describe(&device, &config, 7, &info);
    assert_int_equal(info.pid, getpid());
    assert_int_equal(strlen(info.boot_id), 36);
    assert_true(info.pid_namespace != 0);
    assert_true(info.start_time != 0);
    assert_int_equal(info.device_ranks, 7);
    assert_true(gf_peer_alive(&info));
    info.start_time++;
    assert_false(gf_peer_alive(&info));
}

static void test_dead_processes_are_noticed(void **state)
{
    struct gf_peer_info info;
    int pipe_ends[2];
    char byte;

    (void)state;
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t pid = fork();

    if (pid == 0) {
        close(pipe_ends[1]);
        _exit(read(pipe_ends[0], &byte, 1) < 0);
    }
    gf_peer_describe(&device, &config, 0, &info);
    info.pid = (int32_t)pid;
    info.start_time = 0;
    assert_true(gf_peer_alive(&info));
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    siginfo_t ended;

    /* WNOWAIT: it has ended, but stays a zombie until the next wait. */
    assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
    assert_false(gf_peer_alive(&info));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(gf_peer_alive(&info));
}

static void test_blocks_are_divided(void **state)
{
    struct gf_peer_info infos[8];
    struct gf_peers peers = make_peers(infos, 8);

    (void)state;
    assert_int_equal(gf_peers_judge(&peers, &config, NULL), GF_OK);
    assert_true(peers.kernels_may_wait);
    assert_int_equal(peers.blocks, 8);
    for (int r = 0; r < 6; r++) {
        infos[r].device_uuid[0] = (unsigned char)r;
    }
    assert_int_equal(gf_peers_judge(&peers, &config, NULL), GF_OK);
    assert_int_equal(peers.blocks, 32);
    infos[5].blocks = 9;
    assert_int_equal(gf_peers_judge(&peers, &config, NULL), GF_OK);
    assert_int_equal(peers.blocks, 9);
    infos[7].device_ranks = 16;
    assert_int_equal(gf_peers_judge(&peers, &config, NULL), GF_OK);
    assert_int_equal(peers.blocks, 4);
    struct gf_config limited = config;

    limited.channels = 3;
    assert_int_equal(gf_peers_judge(&peers, &limited, NULL), GF_OK);
    assert_int_equal(peers.blocks, 3);
}

/* A rank's agent has a block of its share; where the share is one block there is none. */
static void test_an_agent_takes_a_block(void **state)
{
    struct gf_config with = config;
    struct gf_peer_info infos[4];
    struct gf_peers peers = make_peers(infos, 4);

    (void)state;
    with.agent = GF_AGENT_AUTO;
    with.agent_blocks = 1;
    assert_int_equal(gf_peers_judge(&peers, &config, NULL), GF_OK);
    assert_int_equal(peers.blocks, 16);
    assert_false(peers.agents);
    assert_int_equal(gf_peers_judge(&peers, &with, NULL), GF_OK);
    assert_int_equal(peers.blocks, 15);
    assert_true(peers.agents);
    with.agent_blocks = 4;
    assert_int_equal(gf_peers_judge(&peers, &with, NULL), GF_OK);
    assert_int_equal(peers.blocks, 12);
    assert_true(peers.agents);
    with.agent_blocks = 0;
    assert_int_equal(gf_peers_judge(&peers, &with, NULL), GF_OK);
    assert_int_equal(peers.agent_blocks, 1);
    assert_int_equal(peers.blocks, 15);
    for (int r = 0; r < 4; r++) {
        infos[r].blocks = 128;
    }
    assert_int_equal(gf_peers_judge(&peers, &with, NULL), GF_OK);
    assert_int_equal(peers.agent_blocks, 8);
    assert_int_equal(peers.blocks, 24);
    for (int r = 0; r < 4; r++) {
        infos[r].blocks = 4;
    }
    assert_int_equal(gf_peers_judge(&peers, &with, NULL), GF_OK);
    assert_int_equal(peers.agent_blocks, 1);
    assert_int_equal(peers.blocks, 1);
    assert_false(peers.agents);
}

static void test_kernels_wait_only_where_they_run_at_once(void **state)
{
    struct gf_peer_info infos[4];
    struct gf_peers peers = make_peers(infos, 4);

    (void)state;
    for (int r = 0; r < 4; r++) {
        infos[r].concurrent_processes = 0;
    }
    assert_int_equal(gf_peers_judge(&peers, &config, NULL), GF_OK);
    assert_false(peers.kernels_may_wait);
    assert_non_null(strstr(peers.sharing, "MPS"));
    for (int r = 0; r < 4; r++) {
        infos[r].device_uuid[0] = (unsigned char)r;
    }
    assert_int_equal(gf_peers_judge(&peers, &config, NULL), GF_OK);
    assert_true(peers.kernels_may_wait);

    peers = make_peers(infos, 4);
    for (int r = 0; r < 4; r++) {
        infos[r].blocks = 3;
    }
    assert_int_equal(gf_peers_judge(&peers, &config, NULL), GF_OK);
    assert_false(peers.kernels_may_wait);
    assert_int_equal(peers.blocks, 1);
}

static void test_differences_are_named(void **state)
{
    struct gf_peer_info infos[3];
    struct gf_peers peers = make_peers(infos, 3);
    struct gf_config other = config;
    struct gf_reason why = { "" };

    (void)state;
    other.ll_slot_bytes = 4000;
    gf_peer_describe(&device, &other, 0, &infos[2]);
    assert_int_equal(gf_peers_judge(&peers, &config, &why), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "rank 2"));
    assert_non_null(strstr(why.text, "ll_slot_bytes = 4000"));
    peers = make_peers(infos, 3);
    other = config;
    other.strict = true;
    gf_peer_describe(&device, &other, 0, &infos[1]);
    assert_int_equal(gf_peers_judge(&peers, &config, &why), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "strict"));
    peers = make_peers(infos, 3);
    other = config;
    other.tuning = &(struct gf_tuning){ .hash = 5 };
    gf_peer_describe(&device, &other, 0, &infos[2]);
    assert_int_equal(gf_peers_judge(&peers, &config, &why), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "rank 2"));
    assert_non_null(strstr(why.text, "setting tuning"));

    peers = make_peers(infos, 3);
    other = config;
    other.net = GF_NET_UCX;
    gf_peer_describe(&device, &other, 0, &infos[1]);
    assert_int_equal(gf_peers_judge(&peers, &config, &why), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "setting net"));

    peers = make_peers(infos, 3);
    infos[1].boot_id[0] ^= 1;
    strcpy(infos[1].host, "othernode");
    assert_int_equal(gf_peers_judge(&peers, &config, &why), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "rank 1 on othernode"));
    peers.ranks = GF_MAX_RANKS + 1;
    assert_int_equal(gf_peers_judge(&peers, &config, &why), GF_ERR_UNSUPPORTED);
}

/* By their machines, their names and their numbers; only where all have a net. */
static void test_several_nodes(void **state)
{
    struct gf_peer_info infos[5];
    struct gf_peers peers = make_peers(infos, 5);
    struct gf_config agent = config;
    struct gf_reason why = { "" };

    (void)state;
    agent.agent = GF_AGENT_AUTO;
    assert_int_equal(gf_peers_judge(&peers, &config, &why), GF_OK);
    assert_int_equal(peers.nodes, 1);
    strcpy(infos[1].node, "another");
    strcpy(infos[3].node, "another");
    infos[4].boot_id[0] ^= 1;
    assert_true(gf_peers_same_node(&infos[0], &infos[2]));
    assert_true(gf_peers_same_node(&infos[1], &infos[3]));
    assert_false(gf_peers_same_node(&infos[1], &infos[2]));
    assert_false(gf_peers_are_near(&peers, 4));
    for (int r = 0; r < 5; r++) {
        assert_int_equal(gf_peers_judge(&peers, &config, &why), GF_ERR_UNSUPPORTED);
        assert_non_null(strstr(why.text, "rank 1 on"));
        infos[r].net = true;
    }
    assert_int_equal(gf_peers_judge(&peers, &agent, &why), GF_OK);
    assert_int_equal(peers.nodes, 3);
    assert_false(peers.agents);
    infos[2].numbered_node = 1;
    assert_false(gf_peers_same_node(&infos[0], &infos[2]));
    assert_int_equal(gf_peers_judge(&peers, &agent, &why), GF_OK);
    assert_int_equal(peers.nodes, 4);
    assert_memory_equal(peers.ring, ((uint8_t[]){ 0, 1, 3, 2, 4 }), 5);
    infos[2].net = false;
    assert_int_equal(gf_peers_judge(&peers, &config, &why), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "rank 2 does not have"));
}

static void test_fault_settings(void **state)
{
    struct gf_fault fault;
    struct gf_reason why = { "" };

    (void)state;
    assert_int_equal(gf_fault_parse(NULL, 0, &fault, &why), GF_OK);
    assert_false(gf_fault_hits(&fault, GF_FAULT_SEGMENT, &why));
    assert_false(gf_fault_hits(NULL, GF_FAULT_SEGMENT, &why));
    assert_int_equal(gf_fault_parse("ipc_open:2,segment:1@3,launch:1@0", 0, &fault, &why), GF_OK);
    assert_false(gf_fault_hits(&fault, GF_FAULT_IPC_OPEN, &why));
    assert_true(gf_fault_hits(&fault, GF_FAULT_IPC_OPEN, &why));
    assert_non_null(strstr(why.text, "ipc_open"));
    assert_false(gf_fault_hits(&fault, GF_FAULT_IPC_OPEN, &why));
    assert_false(gf_fault_hits(&fault, GF_FAULT_SEGMENT, &why));
    assert_true(gf_fault_hits(&fault, GF_FAULT_LAUNCH, &why));
    assert_int_equal(gf_fault_parse("attach:2+@1", 1, &fault, &why), GF_OK);
    assert_false(gf_fault_hits(&fault, GF_FAULT_ATTACH, &why));
    assert_true(gf_fault_hits(&fault, GF_FAULT_ATTACH, &why));
    assert_true(gf_fault_hits(&fault, GF_FAULT_ATTACH, &why));
    static const char *const wrong[] = { "ipc_open", "ipc_open:", "ipc_open:0", "ipc_open:-1", "ipc:1", "segment:1,",
        "segment:1@", "segment:1;", ":1", "agree:1",
        "kill:", "kill:1", "kill:kill:agree:1", "kill:agree" };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(gf_fault_parse(wrong[i], 0, &fault, &why), GF_ERR_INVALID);
        assert_non_null(strstr(why.text, "step:n"));
        assert_non_null(strstr(why.text, "fetch"));        /* all of the sentence fits */
    }
}

/* The second pass kills; elsewhere nobody is. */
static void test_fault_kills(void **state)
{
    struct gf_fault fault;
    int status;

    (void)state;
    assert_int_equal(gf_fault_parse("kill:agree:1@1,kill:launch:2@0", 0, &fault, NULL), GF_OK);
    gf_fault_pass(&fault, GF_FAULT_AGREE);
    gf_fault_pass(NULL, GF_FAULT_AGREE);
    assert_false(gf_fault_hits(&fault, GF_FAULT_LAUNCH, NULL));

    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        gf_fault_hits(&fault, GF_FAULT_LAUNCH, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_describes_this_process),
        cmocka_unit_test(test_dead_processes_are_noticed),
        cmocka_unit_test(test_blocks_are_divided),
        cmocka_unit_test(test_an_agent_takes_a_block),
        cmocka_unit_test(test_kernels_wait_only_where_they_run_at_once),
        cmocka_unit_test(test_differences_are_named),
        cmocka_unit_test(test_several_nodes), cmocka_unit_test(test_fault_settings), cmocka_unit_test(test_fault_kills),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
