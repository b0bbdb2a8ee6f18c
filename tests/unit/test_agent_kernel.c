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
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/types.h"
#include "core/command_ring.h"
#include "core/host_ordered.h"
#include "kernels/emulated_table.h"
#include "kernels/team.h"

enum { RANKS = 3, COMMS = 2, MOST_MEMBERS = 6, MOST_BLOCKS = 3, STEPS = 80, MOST = 200, SLOT_BYTES = 16 * GF_LINE, BEGINS = 4,
       MOST_WISHES = GF_COMMANDS };

/* One allreduce of integers, the same on all ranks but for how each does it. */
struct step {
    uint32_t comm, count, blocks;
    bool renew;                    /* the communicator gets other slots first, and its table another number */
    bool together;                 /* does not wait for its end before the next step */
    bool launched[RANKS], slowly[RANKS];
    uint32_t linger_us[RANKS], pause_us[RANKS];
    int32_t send[RANKS][MOST], recv[RANKS][MOST];
};

struct script {
    struct step step[STEPS];
    uint64_t seed, deadline_ns;
    uint32_t team;                 /* threads of a block; of two each reduces what it has gathered: EARLY_RESULT needs three */
    pthread_barrier_t renewal;
    char slots[2][COMMS][RANKS][RANKS][2 * SLOT_BYTES] __attribute__((aligned(GF_LINE)));    /* [receiver][sender] */
    uint32_t abort;
    bool failed;
};

struct member {
    pthread_t id;
    struct gf_block *block;
    enum gf_kernel kernel;
    uint32_t number, blocks, thread;
    const void *work;
};

struct wish {
    const struct step *step;
    struct gf_command command;
    uint64_t number;
    bool slowly;
};

struct rank {
    uint64_t lines[GF_COMMANDS * GF_COMMAND_WORDS] __attribute__((aligned(GF_LINE)));
    uint64_t done __attribute__((aligned(GF_LINE)));
    uint64_t left __attribute__((aligned(GF_LINE)));
    struct gf_agent_relay relay __attribute__((aligned(GF_LINE)));
    struct gf_one_shot_work tables[GF_AGENT_TABLES];
    struct gf_command_ring ring;
    struct script *script;
    pthread_t id;
    uint32_t me, error;
    uint32_t table[COMMS], epoch[COMMS];
    struct gf_block *agent[MOST_BLOCKS], *others[MOST_BLOCKS];
    uint32_t agent_blocks;
    struct member team[MOST_MEMBERS];
    struct wish wishes[MOST_WISHES];    /* commands that have not ended, in order; the first `given` were put */
    int wished, given;
    size_t wrong;                  /* elements, when the host knew the end */
    struct gf_agent_work work;
    uint64_t random;
    uint32_t launches;
    bool running;
};

static uint64_t seed = 1;

static uint64_t next_random(uint64_t *state, uint64_t below)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    return (z ^ z >> 31) % below;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void give_up(struct rank *r)
{
    __atomic_store_n(&r->script->failed, true, __ATOMIC_RELAXED);
    gf_host_publish_flag(&r->script->abort, 1);
}

static bool has_failed(const struct rank *r)
{
    return __atomic_load_n(&r->script->failed, __ATOMIC_RELAXED);
}

static void *run_member(void *argument)
{
    const struct member *m = argument;

    gf_block_run(m->block, m->kernel, m->number, m->blocks, m->thread, m->work);
    return NULL;
}

static void start(struct member *m)
{
    if (pthread_create(&m->id, NULL, run_member, m) != 0) {
        abort();
    }
}

/* The stream of the agent: a launch begins when the one before it has ended. */
static void end_launch(struct rank *r)
{
    for (uint32_t t = 0; r->running && t < r->agent_blocks * r->script->team; t++) {
        pthread_join(r->team[t].id, NULL);
    }
    r->running = false;
}

static void launch(struct rank *r)
{
    uint32_t team = r->script->team;

    end_launch(r);
    r->work = (struct gf_agent_work){ .ring = r->lines, .done = &r->done, .left = &r->left, .tables = r->tables,
                                      .relay = &r->relay, .first = gf_command_ring_begin(&r->ring), .linger_us = 500 };
    for (uint32_t t = 0; t < r->agent_blocks * team; t++) {
        r->team[t] = (struct member){ .block = r->agent[t / team], .kernel = GF_KERNEL_AGENT, .number = t / team,
                                      .blocks = r->agent_blocks, .thread = t % team, .work = &r->work };
        start(&r->team[t]);
    }
    r->launches++;
    r->running = true;
}

static void rest(uint64_t us)
{
    for (uint64_t began = now_ns(); now_ns() - began < us * 1000; ) {
        sched_yield();
    }
}

/* As a bus might deliver it. */
static void put_slowly(struct rank *r, const struct gf_command *command)
{
    uint64_t words[GF_COMMAND_WORDS], *line = r->lines + r->ring.put % GF_COMMANDS * GF_COMMAND_WORDS;
    uint32_t begin = (uint32_t)next_random(&r->random, GF_COMMAND_WORDS);

    gf_command_encode(command, r->ring.put, words);
    for (uint32_t i = 0; i < GF_COMMAND_WORDS; i++) {
        uint32_t at = (begin + i) % GF_COMMAND_WORDS;

        gf_host_publish(&line[at], words[at]);
        if (i < 2) {
            rest(100);
        }
    }
    r->ring.put++;
}

static void put(struct rank *r, struct wish *wish)
{
    wish->number = r->ring.put;
    if (wish->slowly) {
        put_slowly(r, &wish->command);
    } else {
        gf_command_ring_put(&r->ring, &wish->command);
    }
}

/* Elements of this rank's result that are not as they must be. */
static size_t count_wrong(const struct step *s, uint32_t me)
{
    size_t wrong = 0;

    for (uint32_t k = 0; k < MOST; k++) {
        int32_t sum = 0;

        for (int r = 0; r < RANKS && k < s->count; r++) {
            sum += s->send[r][k];
        }
        wrong += s->recv[me][k] != sum;
    }
    return wrong;
}

/* Forgets what has ended, gives what was left lying once more, and launches where nobody is there. */
static void turn(struct rank *r)
{
    while (r->given > 0 && gf_command_ring_has_ended(&r->ring, r->wishes[0].number)) {
        r->wrong += count_wrong(r->wishes[0].step, r->me);
        memmove(r->wishes, r->wishes + 1, (size_t)(--r->wished) * sizeof r->wishes[0]);
        r->given--;
    }
    if (r->given > 0 && gf_command_ring_was_left(&r->ring, r->wishes[0].number)) {
        r->given = 0;
    }
    if (r->given == r->wished) {
        return;
    }
    if (!gf_command_ring_is_served(&r->ring)) {
        launch(r);
    } else if (gf_command_ring_is_running(&r->ring) && gf_command_ring_has_room(&r->ring)) {
        put(r, &r->wishes[r->given++]);
    }
}

/* Until no more than so many commands have not ended. */
static void await(struct rank *r, int most)
{
    uint64_t began = now_ns();

    for (turn(r); r->wished > most && !has_failed(r); turn(r)) {
        sched_yield();
        if (now_ns() - began > r->script->deadline_ns) {
            give_up(r);
        }
    }
}

static struct gf_one_shot_work *table_of(struct rank *r, uint32_t comm)
{
    return &r->tables[r->table[comm] % GF_AGENT_TABLES];
}

static void command_step(struct rank *r, struct step *s)
{
    struct gf_command command = {
        .kind = GF_COMMAND_ALLREDUCE, .type = GF_UINT32, .op = GF_SUM, .blocks = (uint8_t)s->blocks,
        .linger_us = (uint16_t)s->linger_us[r->me], .table = (uint16_t)r->table[s->comm], .send = s->send[r->me],
        .recv = s->recv[r->me], .bytes = s->count * (uint32_t)sizeof(int32_t), .epoch = r->epoch[s->comm]++,
    };

    await(r, MOST_WISHES - 1);
    r->wishes[r->wished++] = (struct wish){ .step = s, .command = command, .slowly = s->slowly[r->me] };
    await(r, s->together ? MOST_WISHES : 0);
}

/* Without the agent, as core/one_shot.c does it. */
static void launch_step(struct rank *r, struct step *s)
{
    struct gf_one_shot_work work = *table_of(r, s->comm);
    struct member members[MOST_MEMBERS];
    uint32_t team = r->script->team;
    uint64_t done = 0;
    uint32_t blocks_done = 0;

    await(r, 0);
    work.task.done = &done;
    work.task.blocks_done = &blocks_done;
    work.task.ticket = 1;
    work.data = (struct gf_reduction){ s->send[r->me], s->recv[r->me], s->count, GF_INT32, GF_SUM };
    work.epoch = r->epoch[s->comm]++;
    for (uint32_t i = 0; i < s->blocks * team; i++) {
        members[i] = (struct member){ .block = r->others[i / team], .kernel = GF_KERNEL_ALLREDUCE_ONE_SHOT, .number = i / team,
                                      .blocks = s->blocks, .thread = i % team, .work = &work };
        start(&members[i]);
    }
    for (uint32_t i = 0; i < s->blocks * team; i++) {
        pthread_join(members[i].id, NULL);
    }
}

/* The communicator as seen by this rank's kernels, with the slots of side 0 or 1. */
static void connect(struct rank *r, uint32_t comm, uint32_t side)
{
    struct script *script = r->script;
    struct gf_one_shot_work *work = table_of(r, comm);

    *work = (struct gf_one_shot_work){
        .task = { .rank = r->me, .ranks = RANKS, .abort = &script->abort, .deadline_ns = script->deadline_ns,
                  .error = &r->error },
        .slot_bytes = SLOT_BYTES, .pieces = 1,
    };
    for (uint32_t q = 0; q < RANKS; q++) {
        work->peers[q] = (struct gf_peer_slots){ script->slots[side][comm][q][r->me], script->slots[side][comm][r->me][q] };
    }
    r->epoch[comm] = 1;
}

/* Both communicators change, since the agent holds the table of the last command only. */
static void renew(struct rank *r, uint32_t comm, uint32_t side)
{
    await(r, 0);
    pthread_barrier_wait(&r->script->renewal);
    r->table[comm] += GF_AGENT_TABLES;
    memset(r->script->slots[side][comm][r->me], 0, sizeof r->script->slots[side][comm][r->me]);
    connect(r, comm, side);
    pthread_barrier_wait(&r->script->renewal);
}

static void *be_rank(void *argument)
{
    struct rank *r = argument;
    uint32_t side[COMMS] = { 0 };

    for (uint32_t comm = 0; comm < COMMS; comm++) {
        r->table[comm] = 5 + comm;
        connect(r, comm, 0);
    }
    for (int i = 0; i < STEPS; i++) {
        struct step *s = &r->script->step[i];

        if (s->renew) {
            renew(r, s->comm, side[s->comm] ^= 1);
        }
        rest(s->pause_us[r->me]);
        if (s->launched[r->me]) {
            launch_step(r, s);
        } else {
            command_step(r, s);
        }
    }
    await(r, 0);
    if (gf_command_ring_is_running(&r->ring)) {
        gf_command_ring_put(&r->ring, &(struct gf_command){ .kind = GF_COMMAND_LEAVE });
    }
    end_launch(r);
    return NULL;
}

/* hasty: most commands are put without waiting for those before, so that the ring fills up. */
static void write_script(struct script *script, bool hasty, uint64_t *random)
{
    for (int i = 0; i < STEPS; i++) {
        struct step *s = &script->step[i];

        s->comm = (uint32_t)next_random(random, COMMS);
        s->count = (uint32_t)(1 + next_random(random, next_random(random, 2) ? 8 : MOST));
        s->blocks = (uint32_t)(1 + next_random(random, MOST_MEMBERS / script->team));
        s->renew = next_random(random, hasty ? 30 : 8) == 0;
        s->together = hasty || next_random(random, 3) == 0;
        for (int r = 0; r < RANKS; r++) {
            s->launched[r] = next_random(random, hasty ? 30 : 5) == 0;
            s->slowly[r] = next_random(random, 4) == 0;
            s->linger_us[r] = next_random(random, 3) == 0 ? 0 : (uint32_t)next_random(random, 3000);
            s->pause_us[r] = next_random(random, hasty ? 20 : 4) ? 0 : (uint32_t)next_random(random, 2000);
            for (uint32_t k = 0; k < s->count; k++) {
                s->send[r][k] = (int32_t)next_random(random, 1000000);
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
    r->random = next_random(random, UINT64_MAX);
    r->ring = (struct gf_command_ring){ .lines = r->lines, .done = &r->done, .left = &r->left };
    r->agent_blocks = (uint32_t)(1 + next_random(random, MOST_MEMBERS / script->team));
    for (int b = 0; b < MOST_BLOCKS; b++) {
        r->agent[b] = gf_block_create(script->team, true, next_random(random, UINT32_MAX));
        r->others[b] = gf_block_create(script->team, true, next_random(random, UINT32_MAX));
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
        assert_int_equal(pthread_create(&rank[r]->id, NULL, be_rank, rank[r]), 0);
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
        wrong += count_wrong(&script->step[i / RANKS], (uint32_t)i % RANKS);
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
