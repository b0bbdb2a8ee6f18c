/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent: one block that stays on the device between operations and takes commands from a ring in pinned host memory, so
 * that a small operation needs no launch.
 *
 * A command is a line of 64 bytes, eight words {data, flag} of eight bytes, each stored at once. One warp loads the line
 * whole and believes it when all flags are those of the command's lap round the ring: one trip to the host's memory, with no
 * word of its own that says how many commands there are. All words of a line are stored in each lap, so what a line holds
 * before is the flag of the lap before, or 0: two laps in a row never have the same flag, and none has 0.
 *
 * The end of a command is one store to a pinned word, after a flush at the scope of the device.
 *
 * Leaving. A block that has waited its time in vain leaves, and that is its own decision, which nothing can turn: it looks at the
 * ring no more, stores how many commands it has taken into `left`, and ends. So of a command that comes at that time the host
 * learns either the end, from `done`, or from `left` that it was not taken: it waits for both words, and launches the agent
 * again from there on. Neither side has to see the other's store before it acts, so no fence and no atomic operation across
 * the bus is needed: what decides is one word with one writer. Every launch has a first command inside and takes it, so
 * `left` grows with each, which tells the launches apart. tests/model/agent.pml shows that no command is lost or done twice.
 */
#ifndef GF_KERNELS_AGENT_H
#define GF_KERNELS_AGENT_H

#include "kernels/agent_pull.h"
#include "kernels/allreduce.h"

enum { GF_AGENT_NO_TABLE = 1 << 16 };    /* no table of a command has this number */

/* What the threads of the block share, in the block's own memory. */
struct gf_agent_block {
    struct gf_one_shot_work work;    /* the table that the last command named, with what the command says put in */
    union gf_command_line line;      /* the command */
    uint32_t held;                   /* `table` of that command; GF_AGENT_NO_TABLE: none */
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

/* One piece, as a launch of `most` blocks would do it: their lines lie where those blocks' do, since peers may launch. */
GF_INLINE void gf_agent_play(const struct gf_team *team, const struct gf_one_shot_work *work, uint32_t most)
{
    uint64_t bytes = work->data.count * gf_element_bytes((enum gf_type)work->data.type);
    uint32_t blocks = gf_one_shot_blocks(most, gf_one_shot_slot_units(work, gf_ll_unit()));
    struct gf_team played = *team;
    union gf_item own = {{0}};
    enum gf_kernel_error error = GF_KERNEL_OK;
    GF_ROLL
    for (played.block = 0; played.block < blocks; played.block++) {
        struct gf_one_shot_part part = gf_one_shot_cut(&played, work, gf_ll_unit(), 0, blocks, bytes);
        own = gf_one_shot_send(&played, work, &part);
    }
    GF_ROLL
    for (played.block = 0; played.block < blocks && error == GF_KERNEL_OK; played.block++) {
        struct gf_one_shot_part part = gf_one_shot_cut(&played, work, gf_ll_unit(), 0, blocks, bytes);
        if (blocks > 1 && team->thread < gf_part_units(&part, gf_ll_unit()))
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
    gf_agent_play(team, &block->work, command->blocks);
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
    default:    /* GF_COMMAND_LEAVE, GF_COMMAND_NOTHING */
        break;
    }
}

/* The leading threads: until the line of command `number` has come, which is then in block->line, or the time is over. */
GF_INLINE bool gf_agent_await(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block,
                              uint64_t number)
{
    const uint64_t *line = work->ring + number % GF_COMMANDS * GF_COMMAND_WORDS;
    uint64_t linger_ns = block->line.command.linger_us * 1000ull, began = gf_clock_ns();
    bool came, over = false;
    for (;;) {
        came = gf_observe_command(team, line, gf_command_flag(number), block->line.word);
        if (came || over)
            return came;
        gf_pause(team);
        over = gf_leaders_any(team, gf_clock_ns() - began >= linger_ns);
    }
}

GF_INLINE void gf_agent_serve(const struct gf_team *team, const struct gf_agent_work *work, struct gf_agent_block *block)
{
    uint64_t number = work->first;
    bool stays = true;
    if (team->thread == 0) {
        block->held = GF_AGENT_NO_TABLE;
        block->line.command = work->command;
    }
    gf_team_barrier(team);
    while (stays) {
        bool leave = block->line.command.kind == GF_COMMAND_LEAVE;
        gf_agent_execute(team, work, block);
        number++;
        if (GF_MUTANT != GF_MUTANT_EARLY_DONE)
            gf_team_barrier(team);
        if (team->thread == 0)
            gf_publish_done(team, work->done, number);
        stays = gf_team_any(team, gf_leads(team) && !leave && gf_agent_await(team, work, block, number));
    }
    if (team->thread == 0)
        gf_publish_left(team, work->left, number);
}

#endif
