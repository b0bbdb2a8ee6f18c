/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank of test_agent_kernel does.
 */
#include "tests/unit/agent_rank.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/types.h"
#include "core/host_ordered.h"

uint64_t agent_random(uint64_t *state, uint64_t below)
{
    return gf_random_next(state) % below;
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
    for (uint64_t began = gf_now_ns(); gf_now_ns() - began < us * 1000; ) {
        sched_yield();
    }
}

/* As a bus might deliver it. */
static void put_slowly(struct rank *r, const struct gf_command *command)
{
    uint64_t words[GF_COMMAND_WORDS], *line = r->lines + r->ring.put % GF_COMMANDS * GF_COMMAND_WORDS;
    uint32_t begin = (uint32_t)agent_random(&r->random, GF_COMMAND_WORDS);

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

size_t agent_count_wrong(const struct step *s, uint32_t me)
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
        r->wrong += agent_count_wrong(r->wishes[0].step, r->me);
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
    uint64_t began = gf_now_ns();

    for (turn(r); r->wished > most && !has_failed(r); turn(r)) {
        sched_yield();
        if (gf_now_ns() - began > r->script->deadline_ns) {
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

/* Told to leave, it takes nothing that is behind that, although it may stay. */
static void send_away(struct rank *r)
{
    if (gf_command_ring_is_running(&r->ring)) {
        gf_command_ring_put(&r->ring, &(struct gf_command){ .kind = GF_COMMAND_LEAVE, .linger_us = UINT16_MAX });
        uint64_t behind = gf_command_ring_put(&r->ring, &(struct gf_command){ .kind = GF_COMMAND_NOTHING });

        end_launch(r);
        r->wrong += gf_command_ring_has_ended(&r->ring, behind);
    }
    end_launch(r);
}

void *agent_be_rank(void *argument)
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
    send_away(r);
    return NULL;
}
