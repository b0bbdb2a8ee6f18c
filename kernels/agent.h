/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent: blocks that stay on the device between operations. The first, the leader, takes commands from a ring in pinned host
 * memory, so that a small operation needs no launch, and passes those that are worth it on to the others, its helpers.
 *
 * A command is a line of 64 bytes, eight words {data, flag} of eight bytes, each stored at once. One warp loads the line
 * whole and believes it when all flags are those of the command's lap round the ring: one trip to the host's memory, with no
 * word of its own that says how many commands there are. All words of a line are stored in each lap, so what a line holds
 * before is the flag of the lap before, or 0: two laps in a row never have the same flag, and none has 0.
 *
 * The end of a command is one store to a pinned word, after a flush at the scope of the device.
 *
 * Coming. A launch begins with a command that does nothing, whose end tells that the agent runs. The host gives commands to an
 * agent that runs, and to no other: where a full device keeps it from starting, the host finds another way, and nothing has to
 * be taken back from a block that may start at that very moment.
 *
 * Leaving. A leader that has waited its time in vain leaves, and that is its own decision, which nothing can turn: it looks at
 * the ring no more, stores how many commands it has taken into `left`, and ends. So of a command that comes at that time the
 * host learns either the end, from `done`, or from `left` that it was not taken, and will not be: it waits for both words.
 * Neither side has to see the other's store before it acts, so no fence and no atomic operation across the bus is needed: what
 * decides is one word with one writer. Every launch takes its first command, so `left` grows with each, which tells the launches
 * apart. tests/model/agent.pml shows that no command is lost or done twice.
 *
 * Helpers. The leader alone looks at the host's memory: blocks that all do it get in one another's way. It stores the command, as
 * it is, into a line of device memory that all helpers look at, 0.3 µs away; and only commands of several parts, and none before
 * all helpers have come: until then it does everything by itself. Each helper tells by a word of its own what it has done, and
 * the leader waits for all before it tells the host: so `done` keeps its one writer, and one line is enough, since it is read
 * when it is written again. Relayed commands are counted on from the launch's first number, so none comes twice; and a leader
 * leaves at the latest after GF_AGENT_STAY_MOST commands, so the flag that an earlier launch has left on the line is never that
 * of a command to come.
 */
#ifndef GF_KERNELS_AGENT_H
#define GF_KERNELS_AGENT_H

#include "kernels/agent_pull.h"
#include "kernels/allreduce.h"

enum { GF_AGENT_NO_TABLE = 1 << 16 };    /* no table of a command has this number */
#define GF_AGENT_STAY_MOST (GF_LL_EPOCH_LAST / 2)

/* What the threads of a block share, in the block's own memory. */
struct gf_agent_block {
    struct gf_one_shot_work work;    /* the table that the last command named, with what the command says put in */
    union gf_command_line line;      /* the command */
    uint32_t held;                   /* `table` of that command; GF_AGENT_NO_TABLE: none */
    uint32_t linger_us;              /* of that command */
};

/* Makes block->work hold the table that the command names; the whole team, which meets if it changes. */
GF_INLINE void gf_agent_hold(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block)
{
    uint32_t table = block->line.command.table;
    bool forget = GF_MUTANT != GF_MUTANT_OLD_TABLE;
    if (table == block->held || !(forget || (table ^ block->held) % GF_AGENT_TABLES != 0))
        return;
    const uint64_t *from = (const uint64_t *)&work->tables[table % GF_AGENT_TABLES];
    uint64_t *to = (uint64_t *)&block->work;
    for (uint32_t i = team->thread; i < sizeof block->work / sizeof *to; i += team->threads)
        to[i] = gf_load_relaxed64(from + i);
    gf_team_barrier(team);
    if (team->thread == 0)
        block->held = table;    /* behind the barrier: all have looked at it */
}

/* Of a piece that a launch of `most` blocks would do, what falls to this block of `players`: their lines lie where those blocks'
 * do, since peers may launch. */
GF_INLINE void gf_agent_play(const struct gf_team *team, const struct gf_one_shot_work *work, uint32_t most, uint32_t players)
{
    uint64_t bytes = work->data.count * gf_element_bytes((enum gf_type)work->data.type);
    uint32_t blocks = gf_one_shot_blocks(most, gf_one_shot_slot_units(work, gf_ll_unit()));
    struct gf_team played = *team;
    union gf_item own = {{0}};
    enum gf_kernel_error error = GF_KERNEL_OK;
    GF_ROLL
    for (played.block = team->block; played.block < blocks; played.block += players) {
        struct gf_one_shot_part part = gf_one_shot_cut(&played, work, gf_ll_unit(), 0, blocks, bytes);
        own = gf_one_shot_send(&played, work, &part);
    }
    GF_ROLL
    for (played.block = team->block; played.block < blocks && error == GF_KERNEL_OK; played.block += players) {
        struct gf_one_shot_part part = gf_one_shot_cut(&played, work, gf_ll_unit(), 0, blocks, bytes);
        if (blocks > players && team->thread < gf_part_units(&part, gf_ll_unit()))
            own = gf_load_ragged(part.own + team->thread * GF_ITEM_BYTES, gf_valid_bytes(&part, team->thread));
        error = gf_one_shot_reduce(&played, work, &part, own);
    }
    if (error != GF_KERNEL_OK)
        gf_publish_error(team, work->task.error, error);
}

GF_INLINE void gf_agent_allreduce(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block)
{
    const struct gf_command *command = &block->line.command;
    gf_agent_hold(team, work, block);
    if (team->thread == 0) {
        block->work.data.send = command->send;
        block->work.data.recv = command->recv;
        block->work.data.count = command->count;
        block->work.data.type = command->type;
        block->work.data.op = command->op;
        block->work.epoch = command->epoch;
    }
    gf_team_barrier(team);
    gf_agent_play(team, &block->work, command->blocks, command->players);
}

/* What each kind of command means; the whole team. Its end is told, and the line forgotten, behind the barrier that follows. */
GF_INLINE void gf_agent_execute(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block)
{
    switch (block->line.command.kind) {
    case GF_COMMAND_ALLREDUCE:
        gf_agent_allreduce(team, work, block);
        break;
    case GF_COMMAND_PULL:
        gf_agent_pull(team, &block->line.pull);
        break;
    default:    /* GF_COMMAND_NOTHING, GF_COMMAND_LEAVE */
        break;
    }
}

/* ---- the leader and its helpers ---- */

/* What the leading threads of the leader know of its helpers. */
struct gf_agent_helpers {
    uint64_t relayed;    /* all commands of this launch that were relayed are below this number, GF_COMMAND_NOTHING included */
    bool together;       /* all have come */
};

/* The leading threads of the leader: have all helpers done all relayed commands below this number? */
GF_INLINE bool gf_agent_helped(const struct gf_team *team, const struct gf_agent_work *work, uint64_t number)
{
    bool missing = false;
    for (uint32_t b = 1 + team->thread; b < team->blocks; b += GF_LEADERS)
        missing |= gf_observe_share(work->relay->did[b]) < number;
    return !gf_leaders_any(team, missing);
}

/* The leading threads of the leader, before it executes what it has taken. The result: helpers do, too. */
GF_INLINE bool gf_agent_share(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block,
                              struct gf_agent_helpers *helpers)
{
    struct gf_command *command = &block->line.command;
    bool shared = helpers->together && command->kind == GF_COMMAND_ALLREDUCE && command->blocks > 1;
    if (team->thread == 0) {
        block->linger_us = command->linger_us;
        command->players = shared ? (uint16_t)team->blocks : 1;
    }
    if (shared)
        gf_relay_command(team, work->relay->line, gf_relay_flag(helpers->relayed++), block->line.word);
    return shared;
}

/* The same threads: until the line of command `number` has come, which is then in block->line, or the time is over. */
GF_INLINE bool gf_agent_await(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block,
                              struct gf_agent_helpers *helpers, uint64_t number)
{
    const uint64_t *line = work->ring + number % GF_COMMANDS * GF_COMMAND_WORDS;
    uint64_t linger_ns = block->linger_us * 1000ull, began = gf_clock_ns();
    bool came, over = false;
    for (;;) {
        came = gf_observe_command(team, line, gf_command_flag(number), block->line.word);
        if (came || over)
            return came;
        gf_pause(team);
        helpers->together = helpers->together || (team->blocks > 1 && gf_agent_helped(team, work, work->first + 1));
        over = gf_leaders_any(team, gf_clock_ns() - began >= linger_ns);
    }
}

GF_INLINE void gf_agent_lead(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block)
{
    struct gf_agent_helpers helpers = {work->first + 1, false};
    uint64_t number = work->first;
    bool stays = true;
    while (stays) {
        bool leave = block->line.command.kind == GF_COMMAND_LEAVE;
        bool shared = gf_leads(team) && gf_agent_share(team, work, block, &helpers);
        gf_agent_execute(team, work, block);
        number++;
        while (shared && GF_MUTANT != GF_MUTANT_LONE_DONE && !gf_agent_helped(team, work, helpers.relayed))
            gf_pause(team);
        if (GF_MUTANT != GF_MUTANT_EARLY_DONE)
            gf_team_barrier(team);
        if (team->thread == 0)
            gf_publish_done(team, work->done, number);
        leave = leave || number - work->first >= GF_AGENT_STAY_MOST;
        stays = gf_team_any(team, gf_leads(team) && !leave && gf_agent_await(team, work, block, &helpers, number));
    }
    if (team->blocks > 1 && gf_leads(team)) {
        if (team->thread == 0)
            block->line.command.kind = GF_COMMAND_LEAVE;
        gf_relay_command(team, work->relay->line, gf_relay_flag(helpers.relayed), block->line.word);
    }
    if (team->thread == 0)
        gf_publish_left(team, work->left, number);
}

GF_INLINE void gf_agent_help(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block)
{
    uint64_t number = work->first;
    while (block->line.command.kind != GF_COMMAND_LEAVE) {
        gf_agent_execute(team, work, block);
        number++;
        if (GF_MUTANT != GF_MUTANT_EARLY_SHARE)
            gf_team_barrier(team);
        if (team->thread == 0)
            gf_publish_share(team, work->relay->did[team->block], number);
        if (gf_leads(team))
            while (!gf_observe_command(team, work->relay->line, gf_relay_flag(number), block->line.word))
                gf_pause(team);
        gf_team_barrier(team);
    }
}

GF_INLINE void gf_agent_serve(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block)
{
    if (team->thread == 0) {
        struct gf_command *command = &block->line.command;
        block->held = GF_AGENT_NO_TABLE;
        command->kind = GF_COMMAND_NOTHING;
        command->linger_us = (uint16_t)work->linger_us;
    }
    gf_team_barrier(team);
    if (team->block == 0)
        gf_agent_lead(team, work, block);
    else
        gf_agent_help(team, work, block);
}

#endif
