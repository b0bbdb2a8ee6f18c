/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The constants come from prototypes on one NVIDIA H200 under MPS with blocks of 512 threads, medians:
 *
 *   launched one-shot LL allreduce, one block     8 B: 9.6 / 11.5 / 15.4 µs, 32 KiB: 17.8 / 28.9 / 50.0 µs for 2 / 4 / 8 ranks
 *   a kernel pulling through 16-byte loads        48 GB/s for one block, 720 for 16, 1230 for 32
 *   two-shot over mapped buffers                  256 KiB: 15.0 / 18.6 / 26.6 µs, 64 MiB: 85 / 160 / 300 µs for 2 / 4 / 8 ranks
 * the one-shot and the ring of gpufifo          32 KiB: 13.0, 24.6 µs, 128 KiB: 15.4, 34.8 µs for 2, 8 ranks; 256 KiB: 22.2 /
 * 38.6 /
 *                                                 70.9 µs, 64 MiB: 181 / 321 / 669 µs for 2 / 4 / 8 ranks
 *   launch until the stream is known to be done   9.7 µs
 *
 * They only have to order the algorithms near where these cross; what a machine reaches is docs/performance.md's business.
 */
#include "core/tuner.h"

#include "kernels/work.h"

/* Medians of a one-shot allreduce by one block of 512 threads, µs: what is to be replaced by those of another machine, such as
 * tests/gpu/agent.sh prints ("row"). All else of the model of one-shot follows from them. The launched ones are a prototype's,
 * the agent's were measured through MPI on the same kind of GPU: with 8 blocks it took 8.3 for 32 KiB on 2 ranks (the model says
 * 7.9), with 4 blocks 14.5 for 16 KiB on 8 ranks (16.7). */
struct medians {
    int few, many;                /* ranks */
    double few_us, many_us;       /* of 8 bytes */
    int long_ranks;
    double long_us;               /* of LONG_BYTES, above what 8 bytes take */
};
enum { LONG_BYTES = 32 * 1024 };
static const struct medians launched = { 2, 8, 9.6, 15.4, 8, 50.0 - 15.4 };
static const struct medians by_agent = { 2, 8, 6.3, 10.5, 2, 18.8 - 6.3 };

/* base + rank · ranks + byte · bytes · ranks: every rank polls every other one's lines. */
static double model_us(const struct medians *m, double bytes, int ranks, int blocks)
{
    double rank_us = (m->many_us - m->few_us) / (m->many - m->few);
    double byte_us = m->long_us / LONG_BYTES / m->long_ranks;

    return m->few_us + rank_us * (ranks - m->few) + byte_us * bytes * ranks / blocks;
}

static const double ring_base_us = 9.7;
/* A hop is a block's barrier, a release at system scope, a poll that sees it and the barrier there: NCCL's tuning table has
 * 3.4 µs for Simple over NVLink; two ranks of one device see a flag 0.3 µs after its store, barriers and fences included about
 * 2.5. */
static const double ring_hop_us = 2.5;
/* Of the 48 GB/s of a block, half: a byte is read, reduced and written into a slot, and read again. */
static const double ring_block_bytes_us = 24e3;

/* An LL line carries 8 bytes of data. */
enum { LL_LINE_DATA = 8, WARP = 32 };
/* Eight threads work on two LL128 lines with 240 bytes of data. */
enum { LL128_GROUP = 8, LL128_GROUP_DATA = 240 };
/* One line a thread, or two a group. */
enum { ONE_SHOT_BLOCK_BYTES = LL_LINE_DATA * GF_BLOCK_THREADS,
    LL128_BLOCK_BYTES = LL128_GROUP_DATA * GF_BLOCK_THREADS / LL128_GROUP, RING_BLOCK_BYTES = 32 * 1024,
       /* of its rank's share: two items of 16 bytes a thread, for a prototype was fastest with 32 blocks for 1 MiB on two ranks,
          and one block loads 48 GB/s only */
       TWO_SHOT_BLOCK_BYTES = 16 * 1024,
       /* The same two items a thread. */
       EXCHANGE_BLOCK_BYTES = 16 * 1024, ITEM_BYTES = 16 };

static int clamp(size_t number, int most)
{
    if (number > (size_t)most) {
        return most;
    }
    return number < 1 ? 1 : (int)number;
}

int gf_tuner_one_shot_blocks(size_t bytes, size_t piece_bytes, int share)
{
    size_t at_once = bytes < piece_bytes ? bytes : piece_bytes;

    return clamp(at_once / ONE_SHOT_BLOCK_BYTES, share);
}

int gf_tuner_one_shot_threads(size_t bytes, size_t piece_bytes, int blocks)
{
    size_t at_once = bytes < piece_bytes ? bytes : piece_bytes;
    size_t lines = (at_once / (size_t)blocks + LL_LINE_DATA - 1) / LL_LINE_DATA;

    return clamp((lines + WARP - 1) / WARP, GF_BLOCK_THREADS / WARP) * WARP;
}

int gf_tuner_ll128_blocks(size_t bytes, size_t piece_bytes, int share)
{
    size_t at_once = bytes < piece_bytes ? bytes : piece_bytes;

    return clamp(at_once / LL128_BLOCK_BYTES, share);
}

int gf_tuner_ll128_threads(size_t bytes, size_t piece_bytes, int blocks)
{
    size_t at_once = bytes < piece_bytes ? bytes : piece_bytes;
    size_t groups = (at_once / (size_t)blocks + LL128_GROUP_DATA - 1) / LL128_GROUP_DATA;

    return clamp((groups * LL128_GROUP + WARP - 1) / WARP, GF_BLOCK_THREADS / WARP) * WARP;
}

int gf_tuner_ring_blocks(size_t bytes, int ranks, int share)
{
    int most = share < GF_RING_CHANNELS ? share : GF_RING_CHANNELS;

    return clamp(bytes / (size_t)ranks / RING_BLOCK_BYTES, most);
}

int gf_tuner_two_shot_blocks(size_t bytes, int ranks, int share)
{
    return clamp(bytes / (size_t)ranks / TWO_SHOT_BLOCK_BYTES, share < GF_MAX_CHANNELS ? share : GF_MAX_CHANNELS);
}

int gf_tuner_exchange_blocks(size_t bytes, int count, int share)
{
    size_t by_bytes = bytes / EXCHANGE_BLOCK_BYTES;

    return clamp(by_bytes > (size_t)count ? by_bytes : (size_t)count, share);
}

int gf_tuner_exchange_threads(size_t bytes, int blocks)
{
    size_t items = bytes / (size_t)blocks / ITEM_BYTES + 1;

    return clamp((items + WARP - 1) / WARP, GF_BLOCK_THREADS / WARP) * WARP;
}

/* A kernel waits some 290 µs for its turn on 2 ranks and 590 on 4, and moves little data meanwhile: 4 MiB take 302 and 630. The
 * hosts take 107 and 142 for 256 KiB, 646 for 2 MiB on 2 ranks. */
size_t gf_tuner_in_turns_least(int ranks)
{
    return (size_t)ranks * 512 * 1024;
}

double gf_tuner_one_shot_us(size_t bytes, int ranks, int blocks)
{
    return model_us(&launched, (double)bytes, ranks, blocks);
}

double gf_tuner_agent_us(size_t bytes, int ranks, int blocks)
{
    return model_us(&by_agent, (double)bytes, ranks, blocks);
}

double gf_tuner_ring_us(size_t bytes, int ranks, int blocks)
{
    int hops = 2 * (ranks - 1);

    return ring_base_us + ring_hop_us * hops + hops * ((double)bytes / ranks) / (blocks * ring_block_bytes_us);
}

struct gf_tuner_expected gf_tuner_expect(const struct gf_tuning *tuning, const struct gf_tuner_launch *launch, bool limited,
                                         size_t bytes)
{
    int ranks = launch->ranks;
    struct gf_tuning_figure one_shot = gf_tuning_figure(tuning, launch->topology, ranks, GF_PLAN_ONE_SHOT, bytes);
    struct gf_tuning_figure ring = gf_tuning_figure(tuning, launch->topology, ranks, GF_PLAN_RING, bytes);

    if (one_shot.measured && ring.measured && !limited && launch->blocks >= tuning->least_blocks) {
        return (struct gf_tuner_expected){ one_shot.us, ring.us, true };
    }
    int one_shot_blocks = gf_tuner_one_shot_blocks(bytes, launch->piece_bytes, launch->blocks);
    int ring_blocks = gf_tuner_ring_blocks(bytes, ranks, launch->blocks);

    return (struct gf_tuner_expected){ gf_tuner_one_shot_us(bytes, ranks, one_shot_blocks),
                                       gf_tuner_ring_us(bytes, ranks, ring_blocks), false };
}
