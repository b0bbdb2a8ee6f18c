/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A bootstrap over shared memory: the ranks of one node exchange blobs without the owner's MPI, so that a thread may wait for
 * them while the program is elsewhere.
 *
 * Each rank has a line with room for some bytes, which only it writes. Longer blobs go in rounds:
 *
 *     write my bytes ▶ written = n ▶ each peer: written ≥ n? copy ▶ read = n ▶ next round, when each peer has read ≥ n
 */
#ifndef GF_CORE_BULLETIN_H
#define GF_CORE_BULLETIN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bootstrap.h"

enum { GF_BULLETIN_BYTES = 4096 - 2 * 128 };

/* In shared memory, zeroed by who makes it; written by its rank alone. */
struct gf_bulletin_line {
    _Alignas(128) _Atomic uint64_t written;      /* rounds whose bytes are there */
    _Atomic uint32_t refused;                    /* this rank takes no part: nobody waits for it */
    int32_t pid;                                 /* its process, known before its first round is there or it is waited for */
    uint64_t start_time;
    _Alignas(128) _Atomic uint64_t read;         /* rounds that it has read of all */
    unsigned char bytes[GF_BULLETIN_BYTES];
};

/* One rank's side, one thread at a time; where it is stays, and the lines outlive it. */
struct gf_bulletin {
    struct gf_bulletin_line *lines;              /* [ranks] */
    int rank, ranks;
    uint64_t round;                              /* the last one that this rank has begun */
};

/* Who this is, for those who wait for it: before any of them knows that it will come. */
void gf_bulletin_introduce(struct gf_bulletin_line *mine);

/* Ends the exchanges of all ranks, with GF_ERR_UNSUPPORTED. Any thread. */
void gf_bulletin_refuse(struct gf_bulletin_line *mine);

/* Its functions wait by yielding and napping. GF_ERR_PEER: a process has ended; GF_ERR_UNSUPPORTED: a rank has refused. */
struct gf_bootstrap gf_bulletin_bootstrap(struct gf_bulletin *bulletin);

#endif
