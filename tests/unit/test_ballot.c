/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ballot between the nodes of a communicator: its words one by one, and whole nodes in one process, whose words arrive in
 * order but at random moments, making calls with host or device buffers at random. Every verdict is compared with what all nodes
 * really passed, and nobody may be left waiting.
 *
 * Usage: test_ballot [SEED]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "mca_coll_gpufifo/ballot.h"

enum { NODES_MOST = 5, CALLS = 300, ON_THE_WAY = 2 * CALLS + 8 };

static uint64_t seed = 20262;

static uint64_t draw(void)
{
    return gf_random_next(&seed);
}

struct word {
    enum gf_ballot_word word;
    uint64_t call;
};

/* Words from one leader to another. */
struct way {
    struct word words[ON_THE_WAY];
    int first, end;
};

struct node {
    struct world *world;
    struct gf_ballot ballot;
    int number;
    uint64_t passed;             /* calls that it has passed, or entered with host buffers */
    bool waits;                  /* in call passed + 1, for the verdict */
};

struct world {
    int nodes;
    struct node node[NODES_MOST];
    struct way way[NODES_MOST][NODES_MOST];      /* from, to */
    uint64_t device[CALLS + 1];                  /* bit n: node n has device buffers */
    int sent[GF_BALLOT_NEVER + 1];
};

static void send_word(void *ctx, int to, enum gf_ballot_word word, uint64_t call)
{
    struct node *from = ctx;
    struct way *way = &from->world->way[from->number][to];

    assert_int_not_equal(to, from->number);
    assert_true(way->end < ON_THE_WAY);
    way->words[way->end++] = (struct word){word, call};
    from->world->sent[word]++;
}

static struct world *world_new(int nodes)
{
    struct world *world = calloc(1, sizeof *world);

    assert_non_null(world);
    world->nodes = nodes;
    for (int n = 0; n < nodes; n++) {
        world->node[n].world = world;
        world->node[n].number = n;
        gf_ballot_init(&world->node[n].ballot, nodes, n, send_word, &world->node[n]);
    }
    return world;
}

/* Delivers the next word between these two. */
static bool deliver(struct world *world, int from, int to)
{
    struct way *way = &world->way[from][to];

    if (way->first == way->end) {
        return false;
    }
    struct word word = way->words[way->first++];
    gf_ballot_hear(&world->node[to].ballot, from, word.word, word.call);
    return true;
}

static void assert_next(const struct world *world, int from, int to, enum gf_ballot_word word, uint64_t call)
{
    const struct way *way = &world->way[from][to];

    assert_true(way->first < way->end);
    assert_int_equal(way->words[way->first].word, word);
    assert_int_equal(way->words[way->first].call, call);
}

static void assert_nothing(const struct world *world, int from, int to)
{
    assert_int_equal(world->way[from][to].first, world->way[from][to].end);
}

/* Node 1 says YES before it could be asked, node 2 once it has been, and at node 3 YES and the question cross. */
static void test_all_say_yes(void **state)
{
    struct world *world = world_new(4);
    struct gf_ballot *decider = &world->node[0].ballot;
    (void)state;

    gf_ballot_enter(&world->node[1].ballot, 7);
    assert_true(deliver(world, 1, 0));
    gf_ballot_enter(&world->node[3].ballot, 7);
    gf_ballot_enter(decider, 7);
    assert_nothing(world, 0, 1);
    assert_next(world, 0, 2, GF_BALLOT_ASK, 7);
    assert_int_equal(gf_ballot_verdict(decider), GF_AGREE_UNKNOWN);
    deliver(world, 0, 2);
    gf_ballot_enter(&world->node[2].ballot, 7);
    deliver(world, 0, 3);
    for (int n = 2; n < 4; n++) {
        assert_false(gf_ballot_answer(&world->node[n].ballot, 7));
        assert_true(deliver(world, n, 0));
        assert_nothing(world, n, 0);             /* YES was the answer */
    }
    assert_int_equal(gf_ballot_verdict(decider), GF_AGREE_NATIVE);
    for (int n = 1; n < 4; n++) {
        assert_next(world, 0, n, GF_BALLOT_ALL, 7);
        assert_int_equal(gf_ballot_verdict(&world->node[n].ballot), GF_AGREE_UNKNOWN);
        deliver(world, 0, n);
        assert_int_equal(gf_ballot_verdict(&world->node[n].ballot), GF_AGREE_NATIVE);
    }
    free(world);
}

static void test_one_says_no(void **state)
{
    struct world *world = world_new(3);
    struct gf_ballot *decider = &world->node[0].ballot, *host = &world->node[2].ballot;
    (void)state;

    gf_ballot_enter(decider, 4);
    deliver(world, 0, 2);
    assert_true(gf_ballot_answer(host, 3));      /* not there yet */
    assert_nothing(world, 2, 0);
    assert_false(gf_ballot_answer(host, 4));
    assert_next(world, 2, 0, GF_BALLOT_NO, 4);
    deliver(world, 2, 0);
    assert_int_equal(gf_ballot_verdict(decider), GF_AGREE_STAGE);
    gf_ballot_enter(&world->node[1].ballot, 4);
    deliver(world, 1, 0);
    assert_true(gf_ballot_answer(decider, 3));
    assert_false(gf_ballot_answer(decider, 4));
    deliver(world, 0, 1);                        /* ASK, which is late */
    assert_next(world, 0, 1, GF_BALLOT_STAGE, 4);
    deliver(world, 0, 1);
    assert_int_equal(gf_ballot_verdict(&world->node[1].ballot), GF_AGREE_STAGE);
    free(world);
}

/* NO to another call than the decider's says nothing about this one. */
static void test_late_no(void **state)
{
    struct world *world = world_new(2);
    struct gf_ballot *decider = &world->node[0].ballot;
    (void)state;

    gf_ballot_enter(decider, 9);
    gf_ballot_hear(decider, 1, GF_BALLOT_NO, 8);
    assert_int_equal(gf_ballot_verdict(decider), GF_AGREE_UNKNOWN);
    gf_ballot_hear(decider, 1, GF_BALLOT_YES, 9);
    assert_int_equal(gf_ballot_verdict(decider), GF_AGREE_NATIVE);
    free(world);
}

static void test_never(void **state)
{
    struct world *world = world_new(3);
    struct gf_ballot *decider = &world->node[0].ballot, *node = &world->node[1].ballot;
    (void)state;

    gf_ballot_enter(node, 1);
    deliver(world, 1, 0);
    gf_ballot_enter(decider, 1);
    gf_ballot_end(decider);
    assert_int_equal(gf_ballot_verdict(decider), GF_AGREE_STAGE);
    assert_next(world, 0, 1, GF_BALLOT_NEVER, 1);
    deliver(world, 0, 1);
    assert_int_equal(gf_ballot_verdict(node), GF_AGREE_STAGE);
    assert_true(node->never);
    gf_ballot_enter(&world->node[2].ballot, 1);
    deliver(world, 2, 0);
    deliver(world, 0, 2);                        /* ASK */
    assert_next(world, 0, 2, GF_BALLOT_NEVER, 1);
    gf_ballot_enter(decider, 2);
    assert_int_equal(gf_ballot_verdict(decider), GF_AGREE_STAGE);
    free(world);
}

/* The node's own way on: into a call, or out of it. */
static bool move(struct node *node)
{
    struct world *world = node->world;
    uint64_t all = (1u << world->nodes) - 1, call = node->passed + 1;

    if (node->waits) {
        enum gf_agree_verdict verdict = gf_ballot_verdict(&node->ballot);
        if (verdict == GF_AGREE_UNKNOWN) {
            return false;
        }
        assert_int_equal(verdict, world->device[call] == all ? GF_AGREE_NATIVE : GF_AGREE_STAGE);
        node->waits = false;
        node->passed = call;
        return true;
    }
    if (call > CALLS) {
        return false;
    }
    node->waits = world->device[call] >> node->number & 1;
    if (node->waits) {
        gf_ballot_enter(&node->ballot, call);
    } else {
        node->passed = call;
    }
    return true;
}

/* One thing that can happen, if it can. */
static bool happen(struct world *world, uint64_t which)
{
    int n = (int)(which % (uint64_t)world->nodes), other = (int)(which / 8 % (uint64_t)(world->nodes - 1)) + 1;
    int before = 0, after = 0;

    switch (which >> 32 & 3) {
    case 0: return move(&world->node[n]);
    case 1: return deliver(world, 0, other);
    case 2: return deliver(world, other, 0);
    default:
        for (int word = 1; word <= GF_BALLOT_NEVER; word++) {
            before += world->sent[word];
        }
        gf_ballot_answer(&world->node[n].ballot, world->node[n].passed);
        for (int word = 1; word <= GF_BALLOT_NEVER; word++) {
            after += world->sent[word];
        }
        return after > before;
    }
}

static bool all_are_through(const struct world *world)
{
    for (int n = 0; n < world->nodes; n++) {
        if (world->node[n].passed < CALLS) {
            return false;
        }
    }
    return true;
}

static void test_random_calls(void **state)
{
    (void)state;

    for (int round = 0; round < 40; round++) {
        struct world *world = world_new(2 + round % (NODES_MOST - 1));
        int natives = 0, nothing = 0;
        for (uint64_t call = 1; call <= CALLS; call++) {
            uint64_t all = (1u << world->nodes) - 1;
            world->device[call] = draw() % 3 == 0 ? draw() & all : all;
            natives += world->device[call] == all;
        }
        while (!all_are_through(world)) {
            nothing = happen(world, draw()) ? 0 : nothing + 1;
            assert_true(nothing < 100000);       /* something that can happen is drawn long before */
        }
        assert_int_equal(world->sent[GF_BALLOT_ALL], natives * (world->nodes - 1));
        free(world);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_say_yes),
        cmocka_unit_test(test_one_says_no),
        cmocka_unit_test(test_late_no),
        cmocka_unit_test(test_never),
        cmocka_unit_test(test_random_calls),
    };

    if (argc > 1) {
        seed = strtoull(argv[1], NULL, 0);
    }
    printf("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
