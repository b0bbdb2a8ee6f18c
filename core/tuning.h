/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table of what allreduce and messages took on a machine, by which the plan chooses, and messages their path: rows of
 * (function, topology, ranks, algorithm, bytes, microseconds). One is built in; a file may bring another, which gpufifo-bench
 * --tune writes. Pure functions of the table, which nobody changes once it is made.
 *
 * A file is text, read line by line:
 *
 *     gpufifo-tuning 1                               the first line: what it is, and the version of the format
 *     # anything                                     a comment, like empty lines, anywhere below
 *     allreduce shared 2 one_shot 8 12.0             function, topology, ranks, algorithm, bytes, microseconds
 *     message shared 2 kernel 8 8.8
 *
 * Words are parted by blanks; the order of the rows does not matter. Topologies: shared, turns, devices. Algorithms of allreduce:
 * one_shot, ring, two_shot, one_shot_mapped, host; of message, whose ranks are 2, its ways: enum gf_message_way.
 */
#ifndef GF_CORE_TUNING_H
#define GF_CORE_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "core/plan.h"
#include "core/pull_plan.h"

/* How the ranks of a node have their devices. */
enum gf_topology {
    GF_TOPOLOGY_SHARED,            /* some share one, whose processes run side by side (MPS) */
    GF_TOPOLOGY_TURNS,             /* some share one, whose processes take turns */
    GF_TOPOLOGY_DEVICES,           /* each has its own; without rows of their own they go by those of GF_TOPOLOGY_SHARED */
    GF_TOPOLOGY_COUNT
};

enum gf_tuned { GF_TUNED_ALLREDUCE, GF_TUNED_MESSAGE };

/* Ways of a message, in pairs of which the faster one is taken: the word of each in a file, without GF_WAY_. */
enum gf_message_way {
    GF_WAY_KERNEL = GF_PULL_KERNEL,                /* fetched from device memory into device memory */
    GF_WAY_COPY_ENGINE = GF_PULL_COPY_ENGINE,      /* likewise; rival: kernel */
    GF_WAY_STAGE = GF_PULL_STAGE,                  /* through host memory, as a whole; rivals: kernel (in turns), pipe */
    GF_WAY_AGENT,                                  /* fetched without a launch; rival: kernel */
    GF_WAY_KERNEL_TO_HOST,                         /* fetched into pinned host memory */
    GF_WAY_COPY_ENGINE_TO_HOST,                    /* likewise; rival: kernel_to_host */
    GF_WAY_PIPE,                                   /* through host memory, in pieces; rival: stage */
    GF_WAY_PACK,                                   /* data with gaps, packed in device memory */
    GF_WAY_PACK_STAGE,                             /* the same, packed in host memory; rival: pack */
    GF_WAY_NET,                                    /* between nodes by the network */
    GF_WAY_CHUNKS                                  /* the same, in chunks over MPI; rival: net */
};

struct gf_tuning_row {
    enum gf_topology topology;
    int ranks;                     /* 2 to GF_MAX_RANKS; of a message 2 */
    int algorithm;                 /* enum gf_algorithm; of a message enum gf_message_way */
    size_t bytes;                  /* at least 1 */
    double us;                     /* above 0 */
    enum gf_tuned function;
};

/* Rows ascend by function, topology, ranks, algorithm and bytes, and no two have all of these in common. */
struct gf_tuning {
    const struct gf_tuning_row *rows;
    size_t count;
    int least_blocks;              /* with fewer blocks a rank, one-shot and ring go by the model of core/tuner.h */
    int64_t hash;                  /* of the rows, above 0; 0: the one built in */
};

/* The one that is built in. */
extern const struct gf_tuning gf_tuning_default;

struct gf_tuning_figure {
    double us;                     /* negative: no row tells */
    bool measured;                 /* the table has these ranks, or fewer and more */
};

/* What an algorithm of allreduce takes: between measured sizes and numbers of ranks, in proportion; for smaller messages as long
 * as for the smallest, for larger ones longer in proportion; for other numbers of ranks as long as for the nearest. */
struct gf_tuning_figure gf_tuning_figure(const struct gf_tuning *tuning, enum gf_topology topology, int ranks,
                                         enum gf_algorithm algorithm, size_t bytes);

/* Does this algorithm take no longer than any of the `rivals` (bits 1 << enum gf_algorithm) of which the table tells? False where
 * it does not tell of this one, or of none of them. *rival: the fastest of them, or GF_PLAN_NONE. */
bool gf_tuning_is_least(const struct gf_tuning *tuning, enum gf_topology topology, int ranks, enum gf_algorithm algorithm,
                        unsigned rivals, size_t bytes, enum gf_algorithm *rival);

/* What a message takes, as above, but of each topology by rows of its own; negative: no row tells. */
double gf_tuning_message_us(const struct gf_tuning *tuning, enum gf_topology topology, enum gf_message_way way, size_t bytes);

/* The least number of bytes from which on messages by `way` take no longer than by `rival`, whatever their size; SIZE_MAX: there
 * is none. Where the table does not tell of both: `unknown`. */
size_t gf_tuning_message_least(const struct gf_tuning *tuning, enum gf_topology topology, enum gf_message_way way,
                               enum gf_message_way rival, size_t unknown);

/* Does it tell of this algorithm of allreduce at all, for ranks of this topology? */
bool gf_tuning_tells(const struct gf_tuning *tuning, enum gf_topology topology, enum gf_algorithm algorithm);

/* Reads a file. GF_ERR_INVALID, with a sentence that names file and line, if it cannot be read, is no such file or has a wrong
 * line. The caller destroys the table. */
gf_status gf_tuning_read(const char *path, struct gf_tuning **tuning, struct gf_reason *why);
void gf_tuning_destroy(struct gf_tuning *tuning);      /* null is allowed */

/* Orders rows, for qsort. */
int gf_tuning_compare(const void *a, const void *b);

#endif
