/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of chunks, for its own files: chunks.c (messages come and go), chunks_exchange.c (their CTSs), chunks_out.c and
 * chunks_in.c (their chunks). All of it but what chunks.c guards by its lock belongs to the thread that is in
 * gf_chunks_exchange.
 */
#ifndef GF_MCA_PT2PT_CHUNKS_LANE_H
#define GF_MCA_PT2PT_CHUNKS_LANE_H

#include "core/copy_ring.h"
#include "core/pipe_memory.h"
#include "mca_coll_gpufifo/pt2pt/chunks.h"
#include "mca_coll_gpufifo/pt2pt/pml_request.h"
#include "mca_coll_gpufifo/stage_pool.h"

/* The copies of one device, either way. */
struct gf_copier {
    struct gf_copier *next;
    struct gf_stage_pool *pool;
    struct gf_copy_ring out, in;
};

/* One message at its sender. */
struct gf_chunks_out {
    struct gf_chunks_out *next;
    uint64_t id;
    int peer;
    struct gf_copier *copier;
    const char *address;
    uint64_t bytes, chunk_bytes;       /* bytes: those wanted, once the CTS is there */
    uint64_t chunks, issued, sent;
    gf_status status;                  /* so far; the result once ended */
    _Atomic bool withdrawn;            /* by the caller, who does not know it any more */
    _Atomic bool ended;
};

/* A receive for a CTS. Each message has one posted, but the CTSs come in the receiver's order. */
struct gf_ear {
    struct gf_ear *next;
    struct gf_chunks_cts cts;
    ompi_request_t *request;
    bool came;
    gf_status status;                  /* once it came; GF_OK: there is a CTS */
};

enum gf_chunk_state { GF_CHUNK_COPYING, GF_CHUNK_COPIED, GF_CHUNK_ON_WIRE };

/* A chunk on its way, and its memory. */
struct gf_chunk {
    struct gf_chunk *next;             /* in its lane, in the order of the wire */
    enum gf_chunk_state state;
    gf_status status;                  /* of its copy */
    union {
        struct gf_chunks_out *out;
        struct gf_chunks_in *in;
    } message;
    struct gf_copier *copier;          /* null: it has no memory of its own */
    char *memory;
    bool pageable;                     /* there was no pinned memory: copies keep the caller */
    char *to;                          /* in: where it goes in the end */
    size_t bytes;                      /* of memory, and of the chunk */
    ompi_request_t *request;
};

/* All that goes one way between this process and one peer. Exists while it has messages. */
struct gf_lane {
    struct gf_lane *next;
    int peer;
    struct gf_chunks_out *announced;   /* no CTS yet */
    struct gf_ear *ears, **last_ear;   /* in the order in which they were posted */
    struct gf_chunks_out *out, **last_out;     /* messages whose CTS is there, in the order of the CTSs */
    struct gf_chunks_in *in, **last_in;        /* the same, the other way */
    struct gf_chunk *oldest, **newest;
    unsigned count;                    /* of chunks */
};

struct gf_chunks {
    pthread_mutex_t lock;              /* guards the new ones, ids, and the making of copiers */
    struct gf_chunks_out *new_out;
    struct gf_chunks_in *new_in, **last_new_in;    /* in the order in which they were taken */
    uint64_t id;                       /* of the last message, below GF_CHUNKS_OWN_IDS */
    _Atomic(struct gf_copier *) copiers;           /* those made never leave the list before the end */
    _Atomic int messages;              /* there are; refused ones, too */
    _Atomic int withdrawn;             /* to be found among those announced */
    atomic_flag busy;                  /* a thread is in the exchange; what follows is its */
    struct gf_lane *out, *in;
    struct gf_chunks_in *refused;      /* their CTSs are on their way; they are ours */
};

/* The lane's newest chunk, of so many bytes, of its own memory if there is a copier. Null: memory is out; try again later. */
struct gf_chunk *gf_chunk_create(struct gf_lane *lane, struct gf_copier *copier, size_t bytes);
void gf_chunk_destroy_oldest(struct gf_lane *lane);

/* One turn of a lane, of at most so many chunks. (chunks_out.c, chunks_in.c) */
void gf_lane_send(struct gf_lane *lane, unsigned depth);
void gf_lane_receive(struct gf_lane *lane, unsigned depth);

#endif
