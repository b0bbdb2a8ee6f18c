/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent between ranks that are threads: of one block and of several, commands one by one and several at a time, blocks that
 * leave while a command comes and the commands are given again, lines that arrive word by word, operations of the same
 * communicators that are launched in between, tables that change hands. Stores are seen late. Built from the sources of kernels
 * and ring: mutants.sh puts faults into them.
 *
 * GPUFIFO_TEST_SEED: another random sequence. GPUFIFO_TEST_DEADLINE_MS: how long one wait may last.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/ordered.h"
#include "tests/unit/agent_rank.h"

static uint64_t seed = 1;

/* As if the ring had been in use until shortly before the flags begin again: in each line is the command of the lap before. */
static void wear_ring(struct rank *r, uint64_t *random)
{
    const struct gf_command nothing = { .kind = GF_COMMAND_NOTHING };
    uint64_t first = FLAGS_END - agent_random(random, STEPS);

    for (uint64_t number = first - GF_COMMANDS; number < first; number++) {
        gf_command_encode(&nothing, number, r->lines + number % GF_COMMANDS * GF_COMMAND_WORDS);
    }
    for (int i = 0; i < GF_COMMAND_WORDS; i++) {
        r->relay.line[i] = (uint64_t)gf_relay_flag(first - 1) << 32;
    }
    r->ring.put = r->done = r->left = first;
}

/* hasty: most commands are put without waiting for those before, so that the ring fills up. */
static void write_script(struct script *script, bool hasty, uint64_t *random)
{
    for (int i = 0; i < STEPS; i++) {
        struct step *s = &script->step[i];

        s->comm = (uint32_t)agent_random(random, COMMS);
        s->count = (uint32_t)(1 + agent_random(random, agent_random(random, 2) ? 8 : MOST));
        s->blocks = (uint32_t)(1 + agent_random(random, MOST_MEMBERS / script->team));
        s->renew = agent_random(random, hasty ? 30 : 8) == 0;
        s->together = hasty || agent_random(random, 3) == 0;
        for (int r = 0; r < RANKS; r++) {
            s->launched[r] = agent_random(random, hasty ? 30 : 5) == 0;
            s->slowly[r] = agent_random(random, 4) == 0;
            s->linger_us[r] = agent_random(random, 3) == 0 ? 0 : (uint32_t)agent_random(random, 3000);
            s->pause_us[r] = agent_random(random, hasty ? 20 : 4) ? 0 : (uint32_t)agent_random(random, 2000);
            for (uint32_t k = 0; k < s->count; k++) {
                s->send[r][k] = (int32_t)agent_random(random, 1000000);
            }
        }
    }
}

static void *zeroed(size_t bytes)
{
    void *memory = aligned_alloc(GF_LINE, (bytes + GF_LINE - 1) / GF_LINE * GF_LINE);

    assert_non_null(memory);
    return memset(memory, 0, bytes);
}

static struct rank *make_rank(struct script *script, uint32_t me, uint64_t *random)
{
    struct rank *r = zeroed(sizeof *r);

    r->script = script;
    r->me = me;
    r->random = agent_random(random, UINT64_MAX);
    r->ring = (struct gf_command_ring){ .lines = r->lines, .done = &r->done, .left = &r->left };
    wear_ring(r, random);
    r->agent_blocks = (uint32_t)(1 + agent_random(random, MOST_MEMBERS / script->team));
    for (int b = 0; b < MOST_BLOCKS; b++) {
        r->agent[b] = gf_block_create(script->team, true, agent_random(random, UINT32_MAX));
        r->others[b] = gf_block_create(script->team, true, agent_random(random, UINT32_MAX));
    }
    return r;
}

static void destroy_rank(struct rank *r)
{
    for (int b = 0; b < MOST_BLOCKS; b++) {
        gf_block_destroy(r->agent[b]);
        gf_block_destroy(r->others[b]);
    }
    free(r);
}

/* One wait of the host's; those of blocks for one another have none, so the whole test has ten times that. */
static uint64_t deadline_ms(void)
{
    const char *given = getenv("GPUFIFO_TEST_DEADLINE_MS");

    return given ? strtoull(given, NULL, 0) : 60000;
}

static void play(uint32_t team, bool hasty, uint64_t *random)
{
    struct script *script = zeroed(sizeof *script);
    struct rank *rank[RANKS];
    uint32_t launches = 0, errors = 0;
    size_t wrong = 0;

    script->deadline_ns = deadline_ms() * 1000000u;
    script->team = team;
    write_script(script, hasty, random);
    pthread_barrier_init(&script->renewal, NULL, RANKS);
    for (uint32_t r = 0; r < RANKS; r++) {
        rank[r] = make_rank(script, r, random);
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(pthread_create(&rank[r]->id, NULL, agent_be_rank, rank[r]), 0);
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        pthread_join(rank[r]->id, NULL);
        launches += rank[r]->launches;
        errors += rank[r]->error;
        wrong += rank[r]->wrong;
        destroy_rank(rank[r]);
    }
    assert_false(script->failed);
    assert_int_equal(errors, 0);
    for (int i = 0; i < STEPS * RANKS; i++) {
        wrong += agent_count_wrong(&script->step[i / RANKS], (uint32_t)i % RANKS);
    }
    assert_int_equal(wrong, 0);
    assert_true(launches >= RANKS);
    pthread_barrier_destroy(&script->renewal);
    free(script);
}

static void test_every_command_is_done_once(void **state)
{
    uint64_t random = seed;

    (void)state;
    for (int begin = 0; begin < BEGINS; begin++) {
        play(begin < BEGINS / 2 ? 2 : 3, begin % 2 == 1, &random);
    }
}

int main(void)
{
    const char *given = getenv("GPUFIFO_TEST_SEED");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_command_is_done_once),
    };

    alarm((unsigned)(deadline_ms() / 100));
    seed = given ? strtoull(given, NULL, 0) : seed;
    print_message("GPUFIFO_TEST_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
