/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table that is built in: one NVIDIA H200 that 2, 4 or 8 ranks share through MPS, medians of docs/performance.md, rounded.
 * Where two-shot meets one-shot, at 96, 80 and 48 KiB, runs scatter by half a microsecond; there the figures are drawn through
 * these crossings, and so that for the numbers of ranks between these the crossings lie between in proportion.
 * Smaller messages are not worth a mapping, so two-shot has no rows for them.
 *
 * Of messages on one device, the copy engine has no rows: the driver's copy there, which is a kernel, too, takes 18 us at 1 MiB
 * and 49 at 64 MiB, and is faster from some 200 MiB on (140 against 146 at 256 MiB); but it cannot be cancelled when it does not
 * start. Between two H200 a message by kernel takes 17 us at 2 MiB, 58 at 16 and 196 at 64; the copy engine moves 388 GB/s, and
 * 64 blocks of a kernel 372 (prototypes), so it is drawn a little longer for short messages, to be met at 16 MiB.
 * By the agent a message of any size that it takes is faster than by a launch. Data with gaps take 46.6 and 52.8 us packed in
 * device memory, 38.2 and 51.5 in host memory for 512 bytes and 32 KiB, so they are drawn to meet there.
 * Where processes take turns on a GPU, kernels and device copies wait for the next time slice, 270 us for 2 processes whatever
 * their size, while staging takes 90 us for 1 MiB and 1200 for 16 MiB; drawn so that they meet at 4 MiB.
 */
#include "core/tuning.h"

enum { KIB = 1024, MIB = 1024 * KIB };

#define ROW(ranks, algorithm, bytes, us) { GF_TOPOLOGY_SHARED, ranks, algorithm, bytes, us, GF_TUNED_ALLREDUCE }
#define MESSAGE(topology, way, bytes, us) { topology, 2, way, bytes, us, GF_TUNED_MESSAGE }

static const struct gf_tuning_row rows[] = {
    ROW(2, GF_PLAN_ONE_SHOT, 8, 12.0), ROW(2, GF_PLAN_ONE_SHOT, 32 * KIB, 13.0), ROW(2, GF_PLAN_ONE_SHOT, 80 * KIB, 14.25),
    ROW(2, GF_PLAN_ONE_SHOT, 96 * KIB, 14.5), ROW(2, GF_PLAN_ONE_SHOT, 128 * KIB, 15.4),
    ROW(2, GF_PLAN_ONE_SHOT, 512 * KIB, 27.9),
    ROW(2, GF_PLAN_RING, 1 * KIB, 17.8), ROW(2, GF_PLAN_RING, 16 * KIB, 18.6), ROW(2, GF_PLAN_RING, 64 * KIB, 21.3),
    ROW(2, GF_PLAN_RING, 1 * MIB, 22.6), ROW(2, GF_PLAN_RING, 4 * MIB, 25.4), ROW(2, GF_PLAN_RING, 16 * MIB, 55.3),
    ROW(2, GF_PLAN_RING, 64 * MIB, 179.3), ROW(2, GF_PLAN_RING, 256 * MIB, 675.4),
    ROW(2, GF_PLAN_TWO_SHOT, 48 * KIB, 14.5), ROW(2, GF_PLAN_TWO_SHOT, 256 * KIB, 14.5),
    ROW(2, GF_PLAN_TWO_SHOT, 1 * MIB, 14.8), ROW(2, GF_PLAN_TWO_SHOT, 4 * MIB, 16.7), ROW(2, GF_PLAN_TWO_SHOT, 16 * MIB, 29.2),
    ROW(2, GF_PLAN_TWO_SHOT, 64 * MIB, 85.1), ROW(2, GF_PLAN_TWO_SHOT, 256 * MIB, 295.0),

    ROW(4, GF_PLAN_ONE_SHOT, 8, 15.6), ROW(4, GF_PLAN_ONE_SHOT, 32 * KIB, 17.8), ROW(4, GF_PLAN_ONE_SHOT, 48 * KIB, 18.0),
    ROW(4, GF_PLAN_ONE_SHOT, 96 * KIB, 18.75), ROW(4, GF_PLAN_ONE_SHOT, 256 * KIB, 31.0),
    ROW(4, GF_PLAN_RING, 16 * KIB, 32.2), ROW(4, GF_PLAN_RING, 64 * KIB, 34.6), ROW(4, GF_PLAN_RING, 256 * KIB, 39.3),
    ROW(4, GF_PLAN_RING, 4 * MIB, 50.4), ROW(4, GF_PLAN_RING, 16 * MIB, 97.1), ROW(4, GF_PLAN_RING, 64 * MIB, 323.7),
    ROW(4, GF_PLAN_RING, 256 * MIB, 1201),
    ROW(4, GF_PLAN_TWO_SHOT, 48 * KIB, 18.5), ROW(4, GF_PLAN_TWO_SHOT, 96 * KIB, 18.5),
    ROW(4, GF_PLAN_TWO_SHOT, 256 * KIB, 19.1), ROW(4, GF_PLAN_TWO_SHOT, 1 * MIB, 19.3), ROW(4, GF_PLAN_TWO_SHOT, 4 * MIB, 25.9),
    ROW(4, GF_PLAN_TWO_SHOT, 16 * MIB, 56.8),
    ROW(4, GF_PLAN_TWO_SHOT, 64 * MIB, 159.5), ROW(4, GF_PLAN_TWO_SHOT, 256 * MIB, 577.5),

    ROW(8, GF_PLAN_ONE_SHOT, 8, 22.5), ROW(8, GF_PLAN_ONE_SHOT, 4 * KIB, 23.4), ROW(8, GF_PLAN_ONE_SHOT, 32 * KIB, 25.4),
    ROW(8, GF_PLAN_ONE_SHOT, 48 * KIB, 26.5), ROW(8, GF_PLAN_ONE_SHOT, 80 * KIB, 27.0), ROW(8, GF_PLAN_ONE_SHOT, 128 * KIB, 34.8),
    ROW(8, GF_PLAN_ONE_SHOT, 512 * KIB, 85.8),
    ROW(8, GF_PLAN_RING, 16 * KIB, 59.6), ROW(8, GF_PLAN_RING, 64 * KIB, 60.8), ROW(8, GF_PLAN_RING, 256 * KIB, 72.3),
    ROW(8, GF_PLAN_RING, 1 * MIB, 73.1), ROW(8, GF_PLAN_RING, 4 * MIB, 89.0), ROW(8, GF_PLAN_RING, 16 * MIB, 187.0),
    ROW(8, GF_PLAN_RING, 64 * MIB, 672.6), ROW(8, GF_PLAN_RING, 256 * MIB, 2594),
    ROW(8, GF_PLAN_TWO_SHOT, 48 * KIB, 26.5), ROW(8, GF_PLAN_TWO_SHOT, 256 * KIB, 26.5), ROW(8, GF_PLAN_TWO_SHOT, 1 * MIB, 27.8),
    ROW(8, GF_PLAN_TWO_SHOT, 4 * MIB, 36.3), ROW(8, GF_PLAN_TWO_SHOT, 16 * MIB, 91.9), ROW(8, GF_PLAN_TWO_SHOT, 64 * MIB, 301.1),
    ROW(8, GF_PLAN_TWO_SHOT, 256 * MIB, 1134),

    MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_KERNEL, 8, 8.8), MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_KERNEL, 64 * KIB, 9.7),
    MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_KERNEL, 1 * MIB, 10.1), MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_KERNEL, 64 * MIB, 44.0),
    MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_KERNEL, 256 * MIB, 146.0),
    MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_AGENT, 8, 4.9), MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_AGENT, 4 * KIB, 4.9),
    MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_AGENT, 32 * KIB, 5.7), MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_AGENT, 64 * KIB, 6.0),
    MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_PACK, 512, 46.6), MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_PACK, 32 * KIB, 52.0),
    MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_PACK, 1 * MIB, 53.1), MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_PACK, 8 * MIB, 103),
    MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_PACK_STAGE, 512, 38.2), MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_PACK_STAGE, 32 * KIB, 52.0),
    MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_PACK_STAGE, 256 * KIB, 102), MESSAGE(GF_TOPOLOGY_SHARED, GF_WAY_PACK_STAGE, 1 * MIB, 347),
    MESSAGE(GF_TOPOLOGY_TURNS, GF_WAY_KERNEL, 8, 270), MESSAGE(GF_TOPOLOGY_TURNS, GF_WAY_KERNEL, 16 * MIB, 270),
    MESSAGE(GF_TOPOLOGY_TURNS, GF_WAY_STAGE, 1 * MIB, 90), MESSAGE(GF_TOPOLOGY_TURNS, GF_WAY_STAGE, 4 * MIB, 270),
    MESSAGE(GF_TOPOLOGY_TURNS, GF_WAY_STAGE, 16 * MIB, 1200),
    MESSAGE(GF_TOPOLOGY_DEVICES, GF_WAY_KERNEL, 2 * MIB, 17.4), MESSAGE(GF_TOPOLOGY_DEVICES, GF_WAY_KERNEL, 16 * MIB, 58),
    MESSAGE(GF_TOPOLOGY_DEVICES, GF_WAY_KERNEL, 64 * MIB, 196),
    MESSAGE(GF_TOPOLOGY_DEVICES, GF_WAY_COPY_ENGINE, 2 * MIB, 18),
    MESSAGE(GF_TOPOLOGY_DEVICES, GF_WAY_COPY_ENGINE, 16 * MIB, 58),
    MESSAGE(GF_TOPOLOGY_DEVICES, GF_WAY_COPY_ENGINE, 64 * MIB, 188),
};

/* The ranks of these runs had 16 blocks each, or more. */
const struct gf_tuning gf_tuning_default = { .rows = rows, .count = sizeof rows / sizeof rows[0], .least_blocks = 16 };
