/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel that fetches messages, block by block on host threads, so that a test decides which blocks start and when the
 * launch is closed; and the agent, which fetches them by commands. Built from the kernels' sources: mutants.sh puts faults into
 * them.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "kernels/ordered.h"
#include "kernels/team.h"
#include "kernels/work.h"

void gf_block_run(struct gf_block *shared, enum gf_kernel kernel, uint32_t block, uint32_t blocks, uint32_t thread,
                  const void *work);

enum { ITEMS = 6, TEAM = 2, SHARE = 2 * GF_LINE, MOST = 700, ROUNDS = 40 };

/* One launch: its messages, and what their peers see. */
struct launch {
    struct gf_pull_list_work work;
    struct gf_pull_gate *gate;
    unsigned char from[ITEMS][MOST], to[ITEMS][MOST], expected[ITEMS][MOST];
    uint64_t end[ITEMS];
    uint32_t blocks;
};

static uint64_t seed = 1, state;

static uint64_t next_random(uint64_t below)
{
    return gf_random_next(&state) % below;
}

static int setup(void **test_state)
{
    const char *text = getenv("GPUFIFO_TEST_SEED");

    (void)test_state;
    seed = text ? strtoull(text, NULL, 0) : seed;
    state = seed;
    print_message("seed %llu\n", (unsigned long long)seed);
    return 0;
}

/* Messages of random sizes at random alignments; nothing else in the last 64 bytes of each. */
static void make_launch(struct launch *l, struct gf_pull_gate *gate, uint64_t ticket)
{
    uint64_t start = 0;

    memset(l, 0, sizeof *l);
    l->gate = gate;
    l->work.launch = (struct gf_pull_launch){ .gate = gate, .ticket = ticket, .share = SHARE, .count = ITEMS };
    for (int i = 0; i < ITEMS; i++) {
        struct gf_pull_item *item = &l->work.items[i];
        uint64_t bytes = 1 + next_random(i % 2 ? MOST - 100 : 60), from = next_random(40), to = next_random(40);

        for (int b = 0; b < MOST; b++) {
            l->from[i][b] = (unsigned char)next_random(256);
        }
        memcpy(l->expected[i] + to, l->from[i] + from, bytes);
        *item = (struct gf_pull_item){
            .to = l->to[i] + to, .from = l->from[i] + from, .bytes = bytes, .end = &l->end[i], .start = start,
            .blocks = (uint32_t)((start + bytes - 1) / SHARE - start / SHARE + 1), .to_host = i % 3 == 0,
        };
        for (uint64_t b = start / SHARE; b * SHARE < start + bytes; b++) {
            if (b * SHARE >= start) {
                l->work.first[b] = (uint8_t)i;
            }
        }
        start += (bytes + GF_LINE - 1) / GF_LINE * GF_LINE;
    }
    l->blocks = (uint32_t)((start + SHARE - 1) / SHARE);
}

struct thread {
    pthread_t id;
    enum gf_kernel kernel;
    const void *work;
    struct gf_block *shared;
    uint32_t block, blocks, thread;
};

static void *run_thread(void *argument)
{
    struct thread *t = argument;

    gf_block_run(t->shared, t->kernel, t->block, t->blocks, t->thread, t->work);
    return NULL;
}

struct running {
    struct thread threads[TEAM];
    struct gf_block *shared;
};

static void start_threads(struct thread like, struct running *running)
{
    running->shared = gf_block_create(TEAM, true, next_random(UINT32_MAX));
    assert_non_null(running->shared);
    for (uint32_t t = 0; t < TEAM; t++) {
        running->threads[t] = like;
        running->threads[t].shared = running->shared;
        running->threads[t].thread = t;
        assert_int_equal(pthread_create(&running->threads[t].id, NULL, run_thread, &running->threads[t]), 0);
    }
}

static void start_block(const struct launch *l, uint32_t block, struct running *running)
{
    start_threads((struct thread){ .kernel = GF_KERNEL_PULL_LIST, .work = &l->work, .block = block, .blocks = l->blocks },
                  running);
}

static void finish_block(struct running *running)
{
    for (int t = 0; t < TEAM; t++) {
        pthread_join(running->threads[t].id, NULL);
    }
    gf_block_destroy(running->shared);
}

static bool has_ended(const struct launch *l, int item)
{
    return __atomic_load_n(&l->end[item], __ATOMIC_ACQUIRE) == GF_PULL_END;
}

/* The peer of a message: once it knows the end, it looks, and then writes into its buffer again. */
static void *be_peer(void *argument)
{
    struct launch *l = argument;
    bool seen[ITEMS] = { false };
    size_t wrong = 0;

    for (int left = ITEMS; left > 0; sched_yield()) {
        for (int i = 0; i < ITEMS; i++) {
            if (!seen[i] && has_ended(l, i)) {
                wrong += memcmp(l->to[i], l->expected[i], MOST) != 0;
                memset(l->from[i], 0x5a, MOST);
                seen[i] = true;
                left--;
            }
        }
    }
    return (void *)wrong;
}

/* All blocks start; the peer watches all the time. */
static void test_end_means_moved(void **test_state)
{
    struct gf_pull_gate gate = { 0 };
    struct launch *l = malloc(sizeof *l);

    (void)test_state;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        struct running running[GF_PULL_BLOCKS];
        pthread_t peer;
        void *wrong;

        make_launch(l, &gate, round);
        assert_int_equal(pthread_create(&peer, NULL, be_peer, l), 0);
        for (uint32_t b = 0; b < l->blocks; b++) {
            start_block(l, b, &running[b]);
        }
        for (uint32_t b = 0; b < l->blocks; b++) {
            finish_block(&running[b]);
        }
        pthread_join(peer, &wrong);
        assert_int_equal((size_t)wrong, 0);
        assert_int_equal(gate.entered, 0);
        assert_int_equal(gate.left, 0);
    }
    free(l);
}

/* What an agent needs, with all commands in its ring before it starts. */
struct agent {
    uint64_t ring[GF_COMMANDS * GF_COMMAND_WORDS] __attribute__((aligned(GF_LINE)));
    uint64_t done, left;
    struct gf_agent_work work;
};
_Static_assert(ITEMS < (int)GF_COMMANDS, "all messages fit into the ring, behind what begins the launch");

static void put_commands(const struct launch *l, struct agent *agent)
{
    for (uint64_t number = 1; number <= ITEMS; number++) {
        const struct gf_pull_item *item = &l->work.items[number - 1];
        union gf_command_line line = { .pull = {
            .kind = GF_COMMAND_PULL, .to_host = (uint8_t)item->to_host, .last = (uint16_t)(item->bytes - 1), .from = item->from,
            .to = item->to, .end = item->end,
        } };

        for (int i = 0; i < GF_COMMAND_WORDS; i++) {
            agent->ring[number * GF_COMMAND_WORDS + i] = line.word[i] | (uint64_t)gf_command_flag(number) << 32;
        }
    }
}

static void test_end_means_moved_by_the_agent(void **test_state)
{
    struct launch *l = malloc(sizeof *l);

    (void)test_state;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        struct agent agent = { .done = 0 };
        struct running running;
        pthread_t peer;
        void *wrong;

        make_launch(l, NULL, round);
        put_commands(l, &agent);
        agent.work = (struct gf_agent_work){ .ring = agent.ring, .done = &agent.done, .left = &agent.left };
        assert_int_equal(pthread_create(&peer, NULL, be_peer, l), 0);
        start_threads((struct thread){ .kernel = GF_KERNEL_AGENT, .work = &agent.work, .blocks = 1 }, &running);
        finish_block(&running);
        pthread_join(peer, &wrong);
        assert_int_equal((size_t)wrong, 0);
        assert_int_equal(agent.left, ITEMS + 1);
    }
    free(l);
}

/* The host closes the launch, waits for those inside, and does what is left. */
static void close_and_finish(struct launch *l, bool *by_host)
{
    struct gf_pull_gate *gate = l->gate;
    uint32_t left, entered;

    __atomic_store_n(&gate->closed, (uint32_t)l->work.launch.ticket, __ATOMIC_SEQ_CST);
    do {
        sched_yield();
        left = __atomic_load_n(&gate->left, __ATOMIC_ACQUIRE);
        entered = __atomic_load_n(&gate->entered, __ATOMIC_ACQUIRE);
    } while (left != entered);
    for (int i = 0; i < ITEMS; i++) {
        const struct gf_pull_item *item = &l->work.items[i];

        by_host[i] = __atomic_load_n(&gate->finished[i], __ATOMIC_RELAXED) != l->work.launch.ticket;
        if (by_host[i]) {
            assert_false(has_ended(l, i));
            memcpy(item->to, item->from, item->bytes);
        }
        assert_true(by_host[i] || has_ended(l, i));
        assert_memory_equal(l->to[i], l->expected[i], MOST);
        memset(l->to[i], 0xa5, MOST);       /* the program's again */
    }
}

static void wait_for_all(const struct launch *l)
{
    for (int i = 0; i < ITEMS; i++) {
        while (!has_ended(l, i)) {
            sched_yield();
        }
    }
}

/* Some blocks start, in any order; the launch is closed while they run; the others come when all is over. In the first round
 * none has started, in the second all are done: what happens in the others is up to the scheduler. */
static void test_closed_launch_touches_nothing(void **test_state)
{
    struct gf_pull_gate gate = { 0 };
    struct launch *l = malloc(sizeof *l);
    int rescued = 0;

    (void)test_state;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        struct running running[GF_PULL_BLOCKS];
        bool by_host[ITEMS];

        make_launch(l, &gate, round);
        uint32_t any = (uint32_t)next_random(l->blocks + 1);
        uint32_t early = round == 1 ? 0 : round == 2 ? l->blocks : any;

        for (uint32_t b = 0; b < early; b++) {
            start_block(l, l->blocks - 1 - b, &running[b]);
        }
        if (round == 2) {
            wait_for_all(l);
        }
        close_and_finish(l, by_host);
        for (uint32_t b = early; b < l->blocks; b++) {
            start_block(l, l->blocks - 1 - b, &running[b]);
        }
        for (uint32_t b = 0; b < l->blocks; b++) {
            finish_block(&running[b]);
        }
        for (int i = 0; i < ITEMS; i++) {
            rescued += by_host[i];
            assert_true(!by_host[i] || !has_ended(l, i));
            for (int b = 0; b < MOST; b++) {
                assert_int_equal(l->to[i][b], 0xa5);
            }
        }
        memset(&gate, 0, offsetof(struct gf_pull_gate, finished));
    }
    assert_true(rescued > 0 && rescued < ROUNDS * ITEMS);
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_means_moved),
        cmocka_unit_test(test_end_means_moved_by_the_agent),
        cmocka_unit_test(test_closed_launch_touches_nothing),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
