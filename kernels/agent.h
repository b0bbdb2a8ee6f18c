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
 * What is little the leading threads do alone, while the others wait where they meet again: an allreduce of few entries
 * (kernels/agent_few.h), a message of an item a thread.
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

#include "kernels/agent_few.h"
#include "kernels/agent_pull.h"

enum { GF_AGENT_NO_TABLE = 1 << 16 };    /* no table of a command has this number */
#define GF_AGENT_STAY_MOST (GF_LL_EPOCH_LAST / 2)

/* What the threads of a block share, in the block's own memory. */
struct gf_agent_block {
    struct gf_one_shot_work work;    /* the table that the last command named, with what the command says put in */
    union gf_command_line line;      /* the command */
    uint32_t held;                   /* `table` of that command; GF_AGENT_NO_TABLE: none */
    uint32_t linger_us;              /* of that command */
    struct gf_few few;               /* of that command, an allreduce, */
    uint32_t players;                /* which so many blocks of the agent execute */
    union gf_item items[GF_AGENT_ENTRIES];
};

/* The leading threads: makes block->work hold the table that the command names. */
GF_INLINE void gf_agent_hold(const struct gf_team *lead, const struct gf_agent_work *work, struct gf_agent_block *block)
{
    uint32_t table = block->line.command.table;
    bool forget = GF_MUTANT != GF_MUTANT_OLD_TABLE;
    if (table == block->held || !(forget || (table ^ block->held) % GF_AGENT_TABLES != 0))
        return;
    const uint64_t *from = (const uint64_t *)&work->tables[table % GF_AGENT_TABLES];
    uint64_t *to = (uint64_t *)&block->work;
    for (uint32_t i = lead->thread; i < sizeof block->work / sizeof *to; i += lead->threads)
        to[i] = gf_load_relaxed64(from + i);
    gf_leaders_meet(lead);
    if (lead->thread == 0)
        block->held = table;    /* behind the meeting: all have looked at it */
}

/* The leading threads, of a command that they have observed and so many blocks execute, before they or all do it. */
GF_INLINE void gf_agent_prepare(const struct gf_team *lead, const struct gf_agent_work *work, struct gf_agent_block *block,
                                uint32_t players)
{
    const struct gf_command *command = &block->line.command;
    if (command->kind != GF_COMMAND_ALLREDUCE)
        return;
    gf_agent_hold(lead, work, block);
    if (lead->thread == 0) {
        block->work.data.send = command->send;
        block->work.data.recv = command->recv;
        block->work.data.type = command->type;
        block->work.data.op = command->op;
        block->work.epoch = command->epoch;
        block->few = gf_few_of(command->bytes, block->work.task.ranks, command->blocks);
        block->players = players;
    }
    gf_leaders_meet(lead);
}

/* Of a piece that a launch of `most` blocks would do, what falls to this block of `players`: their lines lie where those blocks'
 * do, since peers may launch. */
GF_INLINE void gf_agent_play(const struct gf_team *team, const struct gf_one_shot_work *work, uint32_t bytes, uint32_t most,
                             uint32_t players)
{
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

GF_INLINE void gf_agent_allreduce(const struct gf_team *team, struct gf_agent_block *block)
{
    const struct gf_command *command = &block->line.command;
    if (block->few.entries > 0)
        gf_few_allreduce(team, &block->work, &block->few, block->items);
    else
        gf_agent_play(team, &block->work, command->bytes, command->blocks, block->players);
}

/* What each kind of command means; the whole team. Its end is told, and the line forgotten, when the team has met again. */
GF_INLINE void gf_agent_execute(const struct gf_team *team, struct gf_agent_block *block)
{
    switch (block->line.command.kind) {
    case GF_COMMAND_ALLREDUCE:
        gf_agent_allreduce(team, block);
        break;
    case GF_COMMAND_PULL:
        gf_agent_pull(team, &block->line.pull);
        break;
    default:    /* GF_COMMAND_NOTHING, GF_COMMAND_LEAVE */
        break;
    }
}

/* Its threads have done their part of all commands below `number`, and no helper has any left. */
GF_INLINE void gf_agent_end(const struct gf_team *team, const struct gf_agent_work *work, uint64_t number)
{
    if (GF_MUTANT != GF_MUTANT_EARLY_DONE)
        gf_team_meet(team);
    if (team->thread == 0)
        gf_publish_done(team, work->done, number);
}

/* ---- the leader and its helpers ---- */

/* What the leading threads of the leader know, each of them. */
struct gf_agent_leader {
    uint64_t number;     /* of the next command */
    uint64_t relayed;    /* all commands of this launch that were relayed are below this number, GF_COMMAND_NOTHING included */
    bool together;       /* all helpers have come */
    bool shared;         /* they execute the command, too */
    bool leaves;         /* it was the last one: asked of the line before they meet, for then the next one may take its place */
};

/* The leading threads of the leader: have all helpers done all relayed commands below this number? */
GF_INLINE bool gf_agent_helped(const struct gf_team *team, const struct gf_agent_work *work, uint64_t number)
{
    bool missing = false;
    for (uint32_t b = 1 + team->thread; b < team->blocks; b += GF_LEADERS)
        missing |= gf_observe_share(work->relay->did[b]) < number;
    return !gf_leaders_any(team, missing);
}

/* The same threads: who executes what they have observed. */
GF_INLINE void gf_agent_share(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block,
                              struct gf_agent_leader *leader)
{
    const struct gf_command *command = &block->line.command;
    leader->leaves = command->kind == GF_COMMAND_LEAVE;
    leader->shared = leader->together && command->kind == GF_COMMAND_ALLREDUCE && command->blocks > 1;
    if (team->thread == 0)
        block->linger_us = command->linger_us;
    if (leader->shared)
        gf_relay_command(team, work->relay->line, gf_relay_flag(leader->relayed++), block->line.word);
}

/* The same threads: until the next command has come, which is then in block->line, or none is to come or the time is over. */
GF_INLINE bool gf_agent_await(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block,
                              struct gf_agent_leader *leader)
{
    uint64_t number = leader->number;
    const uint64_t *line = work->ring + number % GF_COMMANDS * GF_COMMAND_WORDS;
    uint64_t linger_ns = block->linger_us * 1000ull, began = gf_clock_ns();
    bool over = leader->leaves || number - work->first >= GF_AGENT_STAY_MOST;
    while (!over) {
        over = gf_leaders_any(team, gf_clock_ns() - began >= linger_ns);
        if (gf_observe_command(team, line, gf_command_flag(number), block->line.word))
            return true;
        gf_pause(team);
        leader->together = leader->together || (team->blocks > 1 && gf_agent_helped(team, work, work->first + 1));
    }
    return false;
}

/* Is it done sooner by the leading threads alone than all threads of the block can meet? */
GF_INLINE bool gf_agent_is_small(const struct gf_agent_block *block)
{
    switch (block->line.command.kind) {
    case GF_COMMAND_ALLREDUCE:
        return block->few.entries - 1 < GF_AGENT_ENTRIES_ALONE;
    case GF_COMMAND_PULL:
        return block->line.pull.last < GF_LEADERS * GF_ITEM_BYTES;
    default:
        return false;
    }
}

/* The same threads, once all is done that has come: takes what comes, and does what is small, while the other threads wait. True:
 * something has come for all of them. */
GF_INLINE bool gf_agent_next(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block,
                             struct gf_agent_leader *leader)
{
    struct gf_team lead = gf_leading_team(team);
    while (gf_agent_await(team, work, block, leader)) {
        gf_agent_share(team, work, block, leader);
        gf_agent_prepare(&lead, work, block, leader->shared ? team->blocks : 1);
        if (!gf_agent_is_small(block))
            return true;
        gf_agent_execute(&lead, block);
        gf_agent_end(&lead, work, ++leader->number);
    }
    return false;
}

GF_INLINE void gf_agent_lead(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block)
{
    struct gf_agent_leader leader = {work->first, work->first + 1, false, false, false};
    bool stays = true;
    while (stays) {
        gf_agent_execute(team, block);
        while (leader.shared && GF_MUTANT != GF_MUTANT_LONE_DONE && !gf_agent_helped(team, work, leader.relayed))
            gf_pause(team);
        gf_agent_end(team, work, ++leader.number);
        stays = gf_team_any(team, gf_leads(team) && gf_agent_next(team, work, block, &leader));
    }
    if (team->blocks > 1 && gf_leads(team)) {
        if (team->thread == 0)
            block->line.command.kind = GF_COMMAND_LEAVE;
        gf_relay_command(team, work->relay->line, gf_relay_flag(leader.relayed), block->line.word);
    }
    if (team->thread == 0)
        gf_publish_left(team, work->left, leader.number);
}

GF_INLINE void gf_agent_help(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block)
{
    uint64_t number = work->first;
    while (block->line.command.kind != GF_COMMAND_LEAVE) {
        gf_agent_execute(team, block);
        number++;
        if (GF_MUTANT != GF_MUTANT_EARLY_SHARE)
            gf_team_barrier(team);
        if (team->thread == 0)
            gf_publish_share(team, work->relay->did[team->block], number);
        if (gf_leads(team)) {
            struct gf_team lead = gf_leading_team(team);
            while (!gf_observe_command(team, work->relay->line, gf_relay_flag(number), block->line.word))
                gf_pause(team);
            gf_agent_prepare(&lead, work, block, team->blocks);
        }
        gf_team_barrier(team);
    }
}

GF_INLINE void gf_agent_serve(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block)
{
    if (team->thread == 0) {
        block->held = GF_AGENT_NO_TABLE;
        block->line.command.kind = GF_COMMAND_NOTHING;
        block->linger_us = (uint32_t)work->linger_us;
    }
    gf_team_barrier(team);
    if (team->block == 0)
        gf_agent_lead(team, work, block);
    else
        gf_agent_help(team, work, block);
}

#endif
