/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the ranks of a communicator on two nodes get their boards, or are told that there will be none: all of them in one process,
 * whose messages arrive in order between two ranks, else at random. Each rank asks, or has host memory and does not; some cannot
 * have a board, or free the communicator at some moment. Every mixture of them: nobody who has asked may be left waiting.
 *
 * Usage: test_arming [SEED]
 */
#define _GNU_SOURCE                    /* Open MPI's headers: asprintf */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "mca_coll_gpufifo/agree.h"
#include "mca_coll_gpufifo/agree_nodes.h"
#include "mca_coll_gpufifo/arming.h"
#include "mca_coll_gpufifo/gone.h"
#include "mca_coll_gpufifo/mailbox.h"

/* Nodes: ranks 0 and 1, and the others. */
enum { RANKS = 5, NODES = 2, NODE_1 = 2, MESSAGES = 128, ORDERS = 6, STEPS = 1000 };

/* What a rank does. BLIND: it cannot have a board. SURE: it has found out by itself that there can be none, and told nobody. */
enum part { ASKS, HOST, LEAVES, ASKS_BLIND, HOST_BLIND, PARTS, SURE = PARTS };

mca_coll_gpufifo_component_t mca_coll_gpufifo_component;

struct rank {
    enum part part;
    bool acts;                         /* still has to ask or to leave */
    bool gone, shown;                  /* it has left; with a board, on which all see what it had */
    bool has_answered;                 /* what the ballot had open */
    ompi_communicator_t comm;
    mca_coll_gpufifo_module_t module;
    struct gf_agree agree;
    struct gf_agree_board *board;      /* where it makes one */
};

struct mail {
    struct gf_mail_message message;
    int to;
};

static struct {
    uint64_t random;
    ompi_group_t group;
    struct rank ranks[RANKS];
    struct mail mail[MESSAGES];
    int mail_count;
} world;

static unsigned any_of(unsigned count)
{
    return (unsigned)(gf_random_next(&world.random) % count);
}

static int number_of(const mca_coll_gpufifo_module_t *module) { return ompi_comm_rank(module->comm); }

static bool is_blind(const struct rank *rank) { return rank->part == ASKS_BLIND || rank->part == HOST_BLIND; }

static bool asks(const struct rank *rank) { return rank->part == ASKS || rank->part == ASKS_BLIND; }

static void post(const struct gf_mail_message *message, int to)
{
    assert_true(world.mail_count < MESSAGES);
    world.mail[world.mail_count].message = *message;
    world.mail[world.mail_count++].to = to;
}

/* What arming.c calls. */

struct gf_mail_message gf_mailbox_message(const mca_coll_gpufifo_module_t *module, enum gf_mail_kind kind)
{
    return (struct gf_mail_message){.kind = kind, .from = number_of(module)};
}

void gf_mailbox_post(const mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message, int rank)
{
    (void)module;
    post(message, rank);
}

void gf_mailbox_answer(const struct gf_mail_message *question, const struct gf_mail_message *answer)
{
    post(answer, question->from);
}

const struct gf_agree_map *gf_agree_map_of(mca_coll_gpufifo_module_t *module)
{
    return module->map;
}

static gf_status show(struct rank *rank, struct rank *maker)
{
    if (is_blind(rank) || maker->gone) {
        return GF_ERR_NO_MEMORY;
    }
    rank->agree = (struct gf_agree){.board = maker->board, .map = rank->module.map};
    rank->agree.name.pid = number_of(&maker->module) + 1;
    rank->module.agree = &rank->agree;
    return GF_OK;
}

gf_status gf_agree_create(mca_coll_gpufifo_module_t *module, struct gf_reason *why)
{
    struct rank *rank = &world.ranks[number_of(module)];

    (void)why;
    assert_int_equal(rank->module.map->place, 0);
    return module->agree ? GF_OK : show(rank, rank);
}

gf_status gf_agree_attach(mca_coll_gpufifo_module_t *module, const struct gf_segment_name *name, struct gf_reason *why)
{
    (void)why;
    return module->agree ? GF_OK : show(&world.ranks[number_of(module)], &world.ranks[name->pid - 1]);
}

void gf_agree_give_up(mca_coll_gpufifo_module_t *module, const char *why)
{
    (void)why;
    module->never_native = GF_AGREE_UNSEEN;
}

void gf_agree_freed(mca_coll_gpufifo_module_t *module) { module->never_native = GF_AGREE_FREED; }

void gf_agree_nodes_end(mca_coll_gpufifo_module_t *module) { assert_int_equal(number_of(module), 0); }

bool gf_agree_nodes_answer(mca_coll_gpufifo_module_t *module)
{
    world.ranks[number_of(module)].has_answered = true;
    return false;
}

/* The ranks' doings. */

static void start(int number, enum part part)
{
    struct rank *rank = &world.ranks[number];
    int node = number >= NODE_1, members = node ? RANKS - NODE_1 : NODE_1;

    *rank = (struct rank){.part = part, .acts = part != HOST && part != HOST_BLIND && part != SURE};
    rank->comm.c_my_rank = number;
    rank->comm.c_local_group = &world.group;
    rank->module.comm = &rank->comm;
    rank->module.never_native = part == SURE;
    rank->board = aligned_alloc(GF_AGREE_LINE, gf_agree_board_bytes(0));
    rank->module.map = calloc(1, sizeof *rank->module.map + (size_t)members * sizeof(int));
    assert_true(rank->board && rank->module.map);
    memset(rank->board, 0, gf_agree_board_bytes(0));
    rank->module.map->nodes = NODES;
    rank->module.map->node = node;
    rank->module.map->members = members;
    rank->module.map->place = node ? number - NODE_1 : number;
    rank->module.map->leaders = calloc(NODES, sizeof(int));
    assert_non_null(rank->module.map->leaders);
    rank->module.map->leaders[1] = NODE_1;
    for (int member = 0; member < members; member++) {
        rank->module.map->ranks[member] = node * NODE_1 + member;
    }
}

static void stop(struct rank *rank)
{
    free(rank->module.map->leaders);
    free(rank->module.map);
    free(rank->board);
}

static void act(struct rank *rank)
{
    rank->acts = false;
    if (rank->part == LEAVES) {
        gf_arming_leave(&rank->module);
        assert_true(rank->has_answered);
        rank->gone = true;
        rank->shown = rank->module.agree != NULL;
        rank->module.agree = NULL;
    } else if (rank->module.agree == NULL && !rank->module.never_native) {
        gf_arming_begin(&rank->module);
    }
}

/* The first message between its two ranks that was posted no later than this one. */
static int first_of_pair(int mail)
{
    for (int i = 0; i < mail; i++) {
        if (world.mail[i].to == world.mail[mail].to && world.mail[i].message.from == world.mail[mail].message.from) {
            return i;
        }
    }
    return mail;
}

static void deliver(int mail)
{
    struct gf_mail_message message = world.mail[mail].message, answer;
    int to = world.mail[mail].to;

    world.mail_count--;
    for (int i = mail; i < world.mail_count; i++) {
        world.mail[i] = world.mail[i + 1];
    }
    if (!world.ranks[to].gone) {
        gf_arming_handle(&world.ranks[to].module, &message);
    } else if (gf_gone_answer(&message, &answer)) {
        answer.from = to;
        gf_mailbox_answer(&message, &answer);
    }
}

static bool one_acts(void)
{
    unsigned first = any_of(RANKS);

    for (unsigned i = 0; i < RANKS; i++) {
        struct rank *rank = &world.ranks[(first + i) % RANKS];

        if (rank->acts) {
            act(rank);
            return true;
        }
    }
    return false;
}

static bool has_failed(const struct gf_agree *agree) { return agree && agree->board->failed != 0; }

/* spoiled: somebody has no board. shown: what somebody had who has left stands on a board, which is enough. */
static void check(bool spoiled, bool shown)
{
    for (int number = 0; number < RANKS; number++) {
        const mca_coll_gpufifo_module_t *module = &world.ranks[number].module;
        /* Who asks on another node's board learns from the ballot that the leader's has failed. */
        bool stages = module->never_native || has_failed(module->agree) || has_failed(world.ranks[0].module.agree);

        if (!asks(&world.ranks[number])) {
            continue;
        }
        if (!module->agree && !module->never_native) {
            fail_msg("rank %d waits for ever", number);
        }
        if (!shown && stages != spoiled) {
            fail_msg("rank %d %s", number, stages ? "stages, and need not" : "may go on, where others cannot");
        }
    }
}

/* parts: those of the ranks, as a number to the base PARTS. */
static void play(int parts, bool sure)
{
    bool spoiled = false, shown = false;
    int steps = 0;

    world.mail_count = 0;
    for (int number = 0; number < RANKS; number++, parts /= PARTS) {
        start(number, number == 0 && sure ? SURE : (enum part)(parts % PARTS));
        spoiled |= is_blind(&world.ranks[number]) || world.ranks[number].part == SURE;
    }
    while ((any_of(3) == 0 && one_acts()) || world.mail_count > 0 || one_acts()) {
        assert_true(++steps < STEPS);
        if (world.mail_count > 0) {
            deliver(first_of_pair((int)any_of((unsigned)world.mail_count)));
        }
    }
    for (int number = 0; number < RANKS; number++) {
        spoiled |= world.ranks[number].gone && !world.ranks[number].shown;
        shown |= world.ranks[number].shown;
    }
    check(spoiled, shown);
    for (int number = 0; number < RANKS; number++) {
        stop(&world.ranks[number]);
    }
}

static void all_mixtures(bool sure)
{
    int mixtures = 1;

    for (int number = 0; number < RANKS; number++) {
        mixtures *= PARTS;
    }
    for (int parts = 0; parts < mixtures; parts += sure ? PARTS : 1) {
        for (int order = 0; order < ORDERS; order++) {
            play(parts, sure);
        }
    }
}

static void test_everybody_who_asks_is_told(void **state)
{
    (void)state;
    all_mixtures(false);
}

static void test_a_leader_that_will_never_have_a_board_tells_who_asks(void **state)
{
    (void)state;
    all_mixtures(true);
}

static void test_an_answer_to_another_question_is_none(void **state)
{
    struct gf_mail_message message = {.kind = GF_MAIL_NEVER, .why = GF_AGREE_FREED, .from = 0};
    mca_coll_gpufifo_module_t *module = &world.ranks[1].module;

    (void)state;
    world.mail_count = 0;
    start(1, ASKS);
    gf_arming_begin(module);
    message.call = module->request + 1;
    gf_arming_handle(module, &message);
    assert_false(module->never_native);
    message.call = module->request;
    gf_arming_handle(module, &message);
    assert_true(module->never_native);
    stop(&world.ranks[1]);
}

static void test_a_member_that_speaks_of_an_earlier_board_is_not_heard(void **state)
{
    struct gf_mail_message message = {.kind = GF_MAIL_NEVER, .why = GF_AGREE_UNSEEN, .from = NODE_1 + 1, .board = {.pid = 1}};
    struct rank *leader = &world.ranks[NODE_1];

    (void)state;
    world.mail_count = 0;
    start(NODE_1, ASKS);
    gf_arming_handle(&leader->module, &message);
    assert_false(leader->module.never_native);
    assert_int_equal(world.mail_count, 0);
    stop(leader);
}

static void test_who_has_not_asked_is_not_refused(void **state)
{
    struct gf_mail_message message = {.kind = GF_MAIL_NEVER, .why = GF_AGREE_FREED, .from = 0};

    (void)state;
    for (int number = 1; number <= NODE_1; number++) {
        mca_coll_gpufifo_module_t *module = &world.ranks[number].module;

        world.mail_count = 0;
        start(number, ASKS);
        gf_arming_handle(module, &message);
        assert_int_equal(module->never_native, 0);
        assert_int_equal(world.mail_count, 0);
        gf_arming_begin(module);
        gf_arming_handle(module, &message);
        assert_int_equal(module->never_native, GF_AGREE_FREED);
        stop(&world.ranks[number]);
    }
}

/* A leader and that of another node, with a board that has failed, or with none. */
static void test_who_asks_late_is_told_why(void **state)
{
    const int leaders[] = {0, NODE_1};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct rank *leader = &world.ranks[leaders[i % 2]];
        struct gf_mail_message question = {.kind = GF_MAIL_REQUEST, .from = leaders[i % 2] + 1, .call = 7};

        world.mail_count = 0;
        start(leaders[i % 2], ASKS);
        if (i < 2) {
            assert_int_equal(show(leader, leader), GF_OK);
            leader->board->failed = GF_AGREE_FREED;
        } else {
            leader->module.never_native = GF_AGREE_FREED;
        }
        gf_arming_handle(&leader->module, &question);
        assert_int_equal(world.mail_count, 1);
        assert_int_equal(world.mail[0].to, question.from);
        assert_int_equal(world.mail[0].message.kind, GF_MAIL_NEVER);
        assert_int_equal(world.mail[0].message.why, GF_AGREE_FREED);
        assert_int_equal(world.mail[0].message.call, 7);
        stop(leader);
    }
}

static void test_a_leader_hears_why_a_node_has_no_board(void **state)
{
    struct gf_mail_message announced = {.kind = GF_MAIL_ANNOUNCE, .from = 0, .board = {.pid = 1}};
    struct rank *leader = &world.ranks[NODE_1];

    (void)state;
    world.mail_count = 0;
    start(NODE_1, HOST);
    assert_int_equal(show(leader, leader), GF_OK);
    leader->board->failed = GF_AGREE_FREED;
    gf_arming_handle(&leader->module, &announced);
    assert_int_equal(world.mail_count, 1);
    assert_int_equal(world.mail[0].to, 0);
    assert_int_equal(world.mail[0].message.why, GF_AGREE_FREED);
    stop(leader);
}

static void test_members_that_were_refused_are_not_told_again(void **state)
{
    struct gf_mail_message question = {.kind = GF_MAIL_REQUEST, .from = NODE_1 + 1, .call = 7};
    struct gf_mail_message refusal = {.kind = GF_MAIL_NEVER, .why = GF_AGREE_FREED, .from = 0};
    struct rank *leader = &world.ranks[NODE_1];

    (void)state;
    world.mail_count = 0;
    start(NODE_1, LEAVES);
    gf_arming_handle(&leader->module, &question);
    assert_int_equal(world.mail_count, 1);
    refusal.call = world.mail[0].message.call;
    gf_arming_handle(&leader->module, &refusal);
    assert_int_equal(world.mail_count, RANKS - NODE_1);
    gf_arming_leave(&leader->module);
    assert_int_equal(world.mail_count, RANKS - NODE_1);
    stop(leader);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everybody_who_asks_is_told),
        cmocka_unit_test(test_a_leader_that_will_never_have_a_board_tells_who_asks),
        cmocka_unit_test(test_an_answer_to_another_question_is_none),
        cmocka_unit_test(test_a_member_that_speaks_of_an_earlier_board_is_not_heard),
        cmocka_unit_test(test_who_has_not_asked_is_not_refused),
        cmocka_unit_test(test_who_asks_late_is_told_why),
        cmocka_unit_test(test_a_leader_hears_why_a_node_has_no_board),
        cmocka_unit_test(test_members_that_were_refused_are_not_told_again),
    };

    world.random = argc > 1 ? strtoull(argv[1], NULL, 0) : 20265;
    print_message("seed %llu\n", (unsigned long long)world.random);
    world.group.grp_proc_count = RANKS;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
