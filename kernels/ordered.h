/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every load and store that another agent (a block, a process, the host) sees, by its purpose, and every fence. Nowhere
 * else is memory order spoken of.
 *
 * Contract. Publishing is a release at system scope, made by one thread after the barrier of its block, and so covers what the
 * whole block did; observing is an acquire at system scope by one thread, before the barrier of its block. Payload itself
 * is moved by plain loads and stores, licensed by tail and head. LL lines carry their own proof: data and flag of one
 * eight-byte word are stored at once, so these need no order at all.
 *
 * nvcc: PTX. gcc: C11 atomics, which ThreadSanitizer understands; in weak mode the stores wait in a buffer (emulated_block.h).
 */
#ifndef GF_KERNELS_ORDERED_H
#define GF_KERNELS_ORDERED_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/item.h"
#include "kernels/mutants.h"
#include "kernels/team.h"

#ifdef __CUDACC__
#include "kernels/ordered_cuda.h"
#else
#include "kernels/ordered_host.h"
#endif

/* The sender's promise: slots below `step` are filled, and their sizes are written. */
GF_INLINE void gf_publish_tail(const struct gf_team *team, uint64_t *tail, uint64_t step)
{
    if (GF_MUTANT == GF_MUTANT_RELAXED_TAIL)
        gf_store_relaxed64(team, tail, step);
    else
        gf_store_release64(team, tail, GF_MUTANT == GF_MUTANT_SHORT_TAIL ? (uint32_t)step : step);
}

/* What the receiver may read: slots below the result. */
GF_INLINE uint64_t gf_observe_tail(const uint64_t *tail)
{
    return GF_MUTANT == GF_MUTANT_RELAXED_OBSERVE ? gf_load_relaxed64(tail) : gf_load_acquire64(tail);
}

/* The receiver's promise: slots below `step` are read. A release too, since it licenses the sender to overwrite them. */
GF_INLINE void gf_publish_head(const struct gf_team *team, uint64_t *head, uint64_t step)
{
    if (GF_MUTANT == GF_MUTANT_RELAXED_HEAD)
        gf_store_relaxed64(team, head, step);
    else
        gf_store_release64(team, head, GF_MUTANT == GF_MUTANT_SHORT_HEAD ? (uint32_t)step : step);
}

/* What the sender may overwrite: slots below the result plus the depth. */
GF_INLINE uint64_t gf_observe_head(const uint64_t *head)
{
    return gf_load_acquire64(head);
}

/* Where the data of a step go from: it tells that the buffer which they go to is there, too. */
GF_INLINE uint64_t gf_observe_answer(const uint64_t *answer)
{
    return gf_load_acquire64(answer);
}

/* To the neighbour that goes straight to this rank's buffers: where they are in the launch whose first step this is. A release,
 * of the words and of what was done to the buffers before: the neighbour may store there from now on, or load. It has taken the
 * words of the launch before, which else would not have ended. */
GF_INLINE void gf_publish_address(const struct gf_team *team, uint64_t *address, uint64_t step, const uint64_t *words)
{
    if (GF_MUTANT == GF_MUTANT_EARLY_EPOCH)
        gf_store_release64(team, address, step + 1);
    for (uint32_t i = 1; i < GF_ADDRESS_WORDS; i++)
        gf_store_payload64(team, address + i, words[i - 1]);
    if (GF_MUTANT == GF_MUTANT_RELAXED_ADDRESS)
        gf_store_relaxed64(team, address, step + 1);
    else if (GF_MUTANT != GF_MUTANT_EARLY_EPOCH)
        gf_store_release64(team, address, step + 1);
}

/* Are the words behind it those of the launch whose first step this is? Those of a launch before are still there until then. */
GF_INLINE bool gf_observe_address(const uint64_t *address, uint64_t step)
{
    uint64_t epoch = GF_MUTANT == GF_MUTANT_BLIND_ADDRESS ? gf_load_relaxed64(address) : gf_load_acquire64(address);
    return GF_MUTANT == GF_MUTANT_OLD_ADDRESS ? epoch != 0 : epoch == step + 1;
}

/* Bytes in a slot: covered by the tail, as the payload is. */
GF_INLINE void gf_store_size(const struct gf_team *team, uint32_t *size, uint32_t bytes)
{
    gf_store_payload32(team, size, bytes);
}

GF_INLINE uint32_t gf_load_size(const uint32_t *size)
{
    return gf_load_payload32(size);
}

/* To a peer: this block has done its part of that epoch. A release: the peer may read what the block has stored into its buffer,
 * and overwrite what the block has loaded from it. */
GF_INLINE void gf_publish_part(const struct gf_team *team, uint64_t *flag, uint64_t epoch)
{
    if (GF_MUTANT == GF_MUTANT_RELAXED_FLAG)
        gf_store_relaxed64(team, flag, epoch);
    else
        gf_store_release64(team, flag, epoch);
}

/* The last epoch in which a peer's block has done its part. */
GF_INLINE uint64_t gf_observe_part(const uint64_t *flag)
{
    return GF_MUTANT == GF_MUTANT_BLIND_FLAG ? gf_load_relaxed64(flag) : gf_load_acquire64(flag);
}

/* What this block has stored into memory of other devices is there before anything that it tells later. */
GF_INLINE void gf_flush_peer_writes(const struct gf_team *team)
{
    gf_flush_host_writes(team);
}

/* One more block of this launch is done with all it does. The result tells whether it was the last; to that block
 * everything that the others did is then visible, and the counter is 0 for the next launch. */
GF_INLINE bool gf_count_block_done(const struct gf_team *team, uint32_t *blocks_done)
{
    if (gf_add_acquire_release32(team, blocks_done, 1) + 1 != team->blocks)
        return false;
    gf_store_relaxed32(team, blocks_done, 0);
    return true;
}

/* To the host: the launch with this ticket has ended, and what it stored is visible to all later work on this device,
 * copies to the host included. Stores into memory of other devices or the host are not covered: results go to memory of
 * this device only. */
GF_INLINE void gf_publish_done(const struct gf_team *team, uint64_t *done, uint64_t ticket)
{
    gf_flush_device_writes(team);
    gf_store_release_to_host64(team, done, ticket);
}

/* To host and peer: a pull has ended, `end` is the peer's word in host memory. Its data are visible to all later work on this
 * device, to the host where they went to host memory; and the peer may overwrite what they were loaded from, since what has
 * been stored had been loaded. */
GF_INLINE void gf_publish_pulled(const struct gf_team *team, uint64_t *end, bool to_host)
{
    if (to_host)
        gf_flush_host_writes(team);
    else
        gf_flush_device_writes(team);
    gf_store_release_to_host64(team, end, GF_PULL_END);
}

/* Enters a launch; false if the host has closed it. The count and the closing are one word, so of a block and the host, one
 * sees the other: a block that was too early to see the gate closed has been counted before, and the host will wait for it to
 * leave. Orders nothing else: what a block loads before it enters it throws away where it may not. */
GF_INLINE bool gf_enter_gate(const struct gf_team *team, struct gf_pull_gate *gate, uint64_t ticket)
{
    uint64_t before = gf_add_relaxed64(team, (uint64_t *)&gate->entered, 1);
    return before >> 32 != (uint32_t)ticket || GF_MUTANT == GF_MUTANT_OPEN_GATE;
}

/* This item is moved whole. For the host that has closed the gate, once it sees that all have left. */
GF_INLINE void gf_note_finished(const struct gf_team *team, struct gf_pull_gate *gate, uint32_t item, uint64_t ticket)
{
    gf_store_relaxed64(team, &gate->finished[item], ticket);
}

/* One more block of the item is done with its part. The result tells whether it was the last; to that block everything that the
 * others did is then visible. */
GF_INLINE bool gf_count_part_done(const struct gf_team *team, struct gf_pull_gate *gate, uint32_t item, uint32_t parts)
{
    if (gf_add_acquire_release32(team, &gate->done[item], 1) + 1 != parts)
        return false;
    gf_store_relaxed32(team, &gate->done[item], 0);
    return true;
}

/* This block has stored all that it will: a release. The last of the launch makes the gate ready for the next one, but leaves
 * `closed` alone, which may already be for the next one. A host that reads `left` first and then as many in `entered` knows
 * that no block is inside that saw the gate open. */
GF_INLINE void gf_leave_gate(const struct gf_team *team, struct gf_pull_gate *gate)
{
    if (team->blocks > 1 && gf_add_acquire_release32(team, &gate->left, 1) + 1 != team->blocks)
        return;
    gf_flush_device_writes(team);
    gf_store_relaxed32(team, &gate->left, 0);
    gf_store_relaxed32(team, &gate->entered, 0);
}

/* Why a kernel gave up: read by the host after done, or while it waits. Comes before the barrier that done comes after. */
GF_INLINE void gf_publish_error(const struct gf_team *team, uint32_t *error, uint32_t code)
{
    gf_store_relaxed32(team, error, code);
    gf_flush_host_writes(team);
}

/* Has somebody asked all kernels of the communicator to leave? Orders nothing: who sees it only leaves. */
GF_INLINE bool gf_observe_abort(const uint32_t *abort)
{
    return gf_load_relaxed32(abort) != 0;
}

/* One LL line, 16 bytes at a 16-byte address: eight bytes of data, each half of it beside its flag. */
GF_INLINE void gf_store_ll_line(const struct gf_team *team, void *line, uint64_t data, uint32_t flag)
{
    uint64_t tag = (uint64_t)flag << 32;
    if (GF_MUTANT == GF_MUTANT_SPLIT_LINE) {
        uint32_t words[4] = {(uint32_t)data, flag, (uint32_t)(data >> 32), flag};
        for (int i = 0; i < 4; i++)
            gf_store_payload32(team, (uint32_t *)line + i, words[i]);
        return;
    }
    gf_store_words(team, line, (data & 0xffffffffu) | tag, (data >> 32) | tag);
}

/* True if both halves carry this flag; *data is whole then and undefined otherwise. */
GF_INLINE bool gf_load_ll_line(const void *line, uint64_t *data, uint32_t flag)
{
    uint64_t low, high;
    gf_load_words(line, &low, &high);
    *data = (low & 0xffffffffu) | high << 32;
    return (uint32_t)(low >> 32) == flag && (uint32_t)(high >> 32) == flag;
}

/* The flag of a command: its lap round the ring, never 0, and never that of the lap before. */
GF_INLINE uint32_t gf_command_flag(uint64_t number)
{
    uint64_t lap = number / GF_COMMANDS;
    if (GF_MUTANT == GF_MUTANT_LAST_LAP && lap >= GF_LL_EPOCH_LAST)
        return GF_LL_EPOCH_LAST;
    return (uint32_t)(lap % GF_LL_EPOCH_LAST) + 1;
}

/* One look at the line of a command, by the leading threads. True: all its words carry this flag, and their data are in
 * `word`, of the block's memory; for threads that do not lead, behind a barrier. An acquire: what was stored into memory of
 * this device before the host stored the command is what the block loads from now on. A launch begins with that, but a block
 * that stays may have old contents of a buffer in its first-level cache. At the scope of the device: what the host knows of is in
 * the device's shared cache, and at system scope it takes half a microsecond more. */
GF_INLINE bool gf_observe_command(const struct gf_team *team, const uint64_t *line, uint32_t flag, uint32_t *word)
{
    if (!gf_load_command(line, flag, word))
        return false;
    gf_refresh_device_reads(team);
    return true;
}

/* To the helpers of an agent, by the leading threads of its leader, which were the ones to observe the command: so who observes
 * it here has all that the leader had. No earlier command is still wanted from the line. */
GF_INLINE void gf_relay_command(const struct gf_team *team, uint64_t *line, uint32_t flag, const uint32_t *word)
{
    gf_store_command(team, line, flag, word);
}

/* As the flag of a command, on one line: no two that follow one another are equal, and none is 0. */
GF_INLINE uint32_t gf_relay_flag(uint64_t number)
{
    if (GF_MUTANT == GF_MUTANT_LAST_RELAY && number / GF_COMMANDS >= GF_LL_EPOCH_LAST)
        return GF_LL_EPOCH_LAST;
    return (uint32_t)(number % GF_LL_EPOCH_LAST) + 1;
}

/* To the leader: this helper has done its share of all relayed commands below `number`; one thread, behind the block's barrier. A
 * release at the scope of the device, where all of its stores go that gf_publish_done tells the host of. */
GF_INLINE void gf_publish_share(const struct gf_team *team, uint64_t *did, uint64_t number)
{
    gf_store_release_device64(team, did, number);
}

GF_INLINE uint64_t gf_observe_share(const uint64_t *did)
{
    return GF_MUTANT == GF_MUTANT_BLIND_SHARE ? gf_load_relaxed64(did) : gf_load_acquire_device64(did);
}

/* To the host: this launch of the agent has taken all commands below `number`, and takes none from it on. Needs no order with
 * anything: of what was done `done` tells, and nothing comes behind. */
GF_INLINE void gf_publish_left(const struct gf_team *team, uint64_t *left, uint64_t number)
{
    if (GF_MUTANT != GF_MUTANT_SILENT_LEAVE)
        gf_store_release_to_host64(team, left, number);
}

#endif
