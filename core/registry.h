/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of the program that all ranks of a communicator have mapped, so that kernels load from and store to peers' buffers
 * directly. Ranks of one node.
 *
 * Each rank has a page of shared host memory: places for allocations, and a record of what it brings to a call. A buffer is
 * known by the id of its allocation, which no later allocation has: freed and allocated again at the same address, it is
 * another one, and gets a place of its own. So in each call a rank
 *   1. finds the places of its buffers by their ids; what has none takes that of the one not used for the longest time, and is
 *      *fresh*; so is a place whose buffer has been freed;
 *   2. publishes its record, and waits for the records of all: now all have entered;
 *   3. if any rank has fresh places: unmaps what lay there, maps what lies there now, publishes whose buffers it could not map,
 *      and waits for what all have published.
 * Programs repeat their buffers, so step 3 is rare, and a call costs a store and a look at each peer.
 *
 * All ranks draw the same conclusions, since they look at the same records and verdicts. Two records a rank suffice, by turns:
 * who writes that of call k + 2 has seen all enter call k + 1, and so be done with the records of call k. A place is written
 * anew only in a call after one that all have left step 3 of. tests/model/registry.pml checks both.
 *
 * Freed memory goes back soon, although a mapping holds it: each call looks whether one more of the rank's places has been
 * freed, and a call with fresh places at all of them. Mappings that no place needs are closed as soon as core/imports.h can.
 */
#ifndef GF_CORE_REGISTRY_H
#define GF_CORE_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buffer.h"
#include "core/config.h"
#include "core/familiar.h"
#include "core/fault.h"
#include "core/imports.h"
#include "core/segment.h"
#include "core/watch.h"

enum {
    GF_REGISTRY_PLACES = 16,       /* allocations a rank */
    GF_REGISTRY_BUFFERS = 3,       /* of one call */
    GF_REGISTRY_REFUSED = GF_REGISTRY_PLACES,    /* the place of a buffer that cannot be mapped by others */
    GF_REGISTRY_YOUNG,             /* the place of one that is not worth it yet */
    GF_REGISTRY_IDLE_CALLS = 256   /* a buffer that did not come for so many calls makes room for another that may wait */
};

/* Of a rank's first buffer, what is meant for one peer. */
struct gf_registry_block {
    uint64_t offset, bytes;        /* from the address that the rank entered with */
};

/* What a rank brings to one call. Written by that rank before it publishes `entered`. */
struct gf_registry_record {
    uint64_t what[2];              /* of the call: must be equal on all ranks */
    uint64_t offset[GF_REGISTRY_BUFFERS];   /* in the allocation */
    uint8_t place[GF_REGISTRY_BUFFERS];
    uint8_t reserved;
    uint32_t fresh;                /* bit p: place p has a new buffer, or none any more */
    char apart[GF_LINE - 48];
    char why[2 * GF_LINE];         /* where a place is REFUSED */
    struct gf_registry_block blocks[GF_MAX_RANKS];       /* by peer; of calls that exchange blocks */
};
_Static_assert(sizeof(struct gf_registry_record) % GF_LINE == 0, "records do not share lines");

/* A rank's page; only that rank writes. */
struct gf_registry_page {
    uint64_t entered;              /* the last call whose record is written */
    char apart[GF_LINE - sizeof(uint64_t)];
    uint64_t judged;               /* the last call with fresh places whose verdict is written */
    uint64_t unmapped;             /* the verdict: bit r: a fresh buffer of rank r could not be mapped */
    char apart_too[GF_LINE - 2 * sizeof(uint64_t)];
    uint64_t left;                 /* the last call in which this rank is done with the memory of all */
    uint64_t process;              /* of this rank: its gf_driver.process. Written once, before others attach the page */
    char apart_also[GF_LINE - 2 * sizeof(uint64_t)];
    char why[2 * GF_LINE];
    struct gf_registry_record records[2];
    struct gf_buffer places[GF_REGISTRY_PLACES];
};

/* What one rank knows of a rank's places; one's own have no import. */
struct gf_registry_rank {
    struct gf_registry_page *page;
    struct gf_import *imports[GF_REGISTRY_PLACES];
    char *kernel_base[GF_REGISTRY_PLACES];       /* of the allocation */
    uint32_t refused;              /* bit p: the buffer at place p could not be mapped by all; the same on all ranks */
};

/* Where a rank is in a call: what it looks at the ranks for, one after the other. */
enum gf_registry_step { GF_REGISTRY_READING, GF_REGISTRY_MAPPING, GF_REGISTRY_JUDGING, GF_REGISTRY_LEAVING };

/* One rank's view. Owned by whoever made it; one thread at a time. */
struct gf_registry {
    gf_device *device;
    struct gf_watch *watch;
    struct gf_fault *fault;
    uint64_t deadline_ns;              /* of one step, 0: none */
    int rank, ranks;
    struct gf_segment *segments;       /* [ranks] */
    struct gf_registry_rank *of;       /* [ranks] */
    struct gf_imports *imports;        /* of the device */
    bool by_fd;                        /* memory that only a file descriptor shares is mapped, too */
    uint64_t call;                     /* the last one entered; the same on all ranks */
    uint64_t used[GF_REGISTRY_PLACES]; /* the last call that used the own place; 0: it is empty */
    uint64_t calls[GF_REGISTRY_PLACES];    /* that used it */
    struct gf_familiar familiar;
    uint32_t look;                     /* the own place that is looked at next */
    struct gf_registry_record *records[GF_MAX_RANKS];    /* of the call */
    enum gf_registry_step step;
    int next;                          /* the rank that this step comes to next */
    uint32_t turns;                    /* of this step, in vain */
    uint64_t began_ns;                 /* when this step was first seen to take long; 0: not yet */
    bool fresh;                        /* a rank has fresh places in this call */
    uint64_t unmapped;                 /* the verdicts so far */
    struct gf_reason refused_why;
};

/* Collective; the same result on all ranks. imports: of the device that calls; outlive the registry. config: deadline_ms is the
 * longest that one wait for a peer may take; by_fd. GF_ERR_UNSUPPORTED: these ranks cannot share host memory. After an error
 * nothing is left behind. */
gf_status gf_registry_create(struct gf_registry *g, struct gf_imports *imports, struct gf_watch *watch, struct gf_fault *fault,
                             const struct gf_config *config, struct gf_reason *why);

/* One buffer of a call. */
struct gf_registry_buffer {
    const void *address;               /* user address in device memory of this device */
    size_t bytes;
    const struct gf_pointer *where;    /* what gf_driver_pointer says of it; null: not asked yet */
    bool patient;                      /* it is mapped when it is worth that (core/familiar.h), else at once */
};

/* Collective: enters the next call and returns when all have. what: two numbers that must be equal on all ranks.
 * GF_OK: all ranks have mapped all these buffers; gf_registry_address tells where. GF_ERR_UNSUPPORTED: not all can, and
 * GF_NO_RESOURCE: a buffer that is patient is not mapped yet; all ranks are told alike. GF_ERR_PEER: the numbers differ, or a
 * process has ended; GF_ERR_TIMEOUT; GF_ERR_ABORTED and the like as gf_watch_poll. */
gf_status gf_registry_enter(struct gf_registry *g, const struct gf_registry_buffer buffers[GF_REGISTRY_BUFFERS],
                            const uint64_t what[2], struct gf_reason *why);

/* The same without waiting: starts, then is polled until the answer is not GF_IN_PROGRESS, which then is that of
 * gf_registry_enter. Whoever polls looks whether the communicator lives (gf_watch_poll); only that ends a wait for a rank that is
 * gone. */
void gf_registry_start_enter(struct gf_registry *g, const struct gf_registry_buffer buffers[GF_REGISTRY_BUFFERS],
                             const uint64_t what[2]);
gf_status gf_registry_poll_enter(struct gf_registry *g, struct gf_reason *why);

/* Kernel address here of buffer i of that rank in the call that was entered with GF_OK. */
static inline char *gf_registry_address(const struct gf_registry *g, int rank, int i)
{
    const struct gf_registry_record *record = g->records[rank];

    return g->of[rank].kernel_base[record->place[i]] + record->offset[i];
}

/* The same as a user address, for copies by the host. */
static inline char *gf_registry_user_address(const struct gf_registry *g, int rank, int i)
{
    const struct gf_registry_record *record = g->records[rank];
    const struct gf_import *import = g->of[rank].imports[record->place[i]];
    char *base = rank == g->rank ? (char *)(uintptr_t)g->of[rank].page->places[record->place[i]].base : import->address;

    return base + record->offset[i];
}

/* [ranks]: what this rank has for each peer in the call that it enters next, to be written before it does. */
static inline struct gf_registry_block *gf_registry_next_blocks(struct gf_registry *g)
{
    return g->of[g->rank].page->records[(g->call + 1) % 2].blocks;
}

/* What that rank has for this one, in the call that was entered with GF_OK. */
static inline struct gf_registry_block gf_registry_block(const struct gf_registry *g, int rank)
{
    return g->records[rank]->blocks[g->rank];
}

/* Collective, in a call that was entered with GF_OK: returns when all ranks have come here. What a rank did to the memory of
 * others has then happened, as far as its device has told its host before. Errors as gf_registry_enter. */
gf_status gf_registry_leave(struct gf_registry *g, struct gf_reason *why);

/* The same without waiting, as above. */
void gf_registry_start_leave(struct gf_registry *g);
gf_status gf_registry_poll_leave(struct gf_registry *g, struct gf_reason *why);

/* Not collective: unmaps everything and lets go of the pages. No kernel of this rank may run. Idempotent; zeros are allowed. */
void gf_registry_destroy(struct gf_registry *g);

#endif
