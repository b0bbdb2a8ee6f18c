/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cost model of the algorithms, latency + bytes / bandwidth, for ranks and blocks of which the table of core/tuning.h does not
 * tell, and the sizes of launches. It decides nothing; core/plan.c compares its answers. Pure functions.
 */
#ifndef GF_CORE_TUNER_H
#define GF_CORE_TUNER_H

#include <stddef.h>

#include "core/tuning.h"

/* The most blocks (= channels) that a ring uses, and so the FIFOs that a ring connection gets: GF_FIFO_DEPTH slots each. */
enum { GF_RING_CHANNELS = 32 };

/* Blocks worth launching for a message of so many bytes, at most `share`, at least 1. piece_bytes: data of one LL slot. */
int gf_tuner_one_shot_blocks(size_t bytes, size_t piece_bytes, int share);
/* Threads of each of these blocks, a multiple of 32: a small block meets at its barriers sooner. */
int gf_tuner_one_shot_threads(size_t bytes, size_t piece_bytes, int blocks);
/* The same for LL128 lines. */
int gf_tuner_ll128_blocks(size_t bytes, size_t piece_bytes, int share);
int gf_tuner_ll128_threads(size_t bytes, size_t piece_bytes, int blocks);
int gf_tuner_ring_blocks(size_t bytes, int ranks, int share);
int gf_tuner_two_shot_blocks(size_t bytes, int ranks, int share);
/* The least bytes for which, where kernels take turns on a device, one-shot over mapped buffers is faster than the hosts. */
size_t gf_tuner_in_turns_least(int ranks);

/* Of a rank that fetches `count` blocks, in all `bytes` bytes: small blocks have one of the launch's each, side by side. */
int gf_tuner_exchange_blocks(size_t bytes, int count, int share);
int gf_tuner_exchange_threads(size_t bytes, int blocks);

/* Expected microseconds from the call until the host knows, with these blocks. */
double gf_tuner_one_shot_us(size_t bytes, int ranks, int blocks);
double gf_tuner_agent_us(size_t bytes, int ranks, int blocks);    /* of one piece, one-shot, when the agent is there */
double gf_tuner_ring_us(size_t bytes, int ranks, int blocks);


/* The ranks, and what a call of theirs may use. */
struct gf_tuner_launch {
    enum gf_topology topology;
    int ranks, blocks;             /* blocks: a rank's share */
    size_t piece_bytes;            /* data of one LL slot */
};

/* What one-shot and the ring are expected to take: as they were measured, or else by the model, which knows other numbers of
 * ranks and what fewer blocks cost. limited: a setting limits the blocks. */
struct gf_tuner_expected {
    double one_shot_us, ring_us;
    bool measured;
};
struct gf_tuner_expected gf_tuner_expect(const struct gf_tuning *tuning, const struct gf_tuner_launch *launch, bool limited,
                                         size_t bytes);

#endif
