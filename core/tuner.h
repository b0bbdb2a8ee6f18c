/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cost model of the algorithms: latency + bytes / bandwidth. It decides nothing; core/plan.c compares its answers. Pure
 * functions.
 */
#ifndef GF_CORE_TUNER_H
#define GF_CORE_TUNER_H

#include <stddef.h>

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
/* The least bytes for which two-shot is faster than one-shot and ring. */
size_t gf_tuner_two_shot_least(int ranks);
/* The least bytes for which, where kernels take turns on a device, one-shot over mapped buffers is faster than the hosts. */
size_t gf_tuner_in_turns_least(int ranks);

/* Of a rank that fetches `count` blocks, in all `bytes` bytes: small blocks have one of the launch's each, side by side. */
int gf_tuner_exchange_blocks(size_t bytes, int count, int share);
int gf_tuner_exchange_threads(size_t bytes, int blocks);

/* Expected microseconds from the call until the host knows, with these blocks. */
double gf_tuner_one_shot_us(size_t bytes, int ranks, int blocks);
double gf_tuner_agent_us(size_t bytes, int ranks, int blocks);    /* of one piece, one-shot, when the agent is there */
double gf_tuner_ring_us(size_t bytes, int ranks, int blocks);

#endif
