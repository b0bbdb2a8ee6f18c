/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What this process needs to offer messages and to fetch offered ones: a board and an engine a device (core/offer_board.h,
 * core/pull.h), made on first use, the pipes for what cannot be mapped (pipes.h), and for peers with whom it shares no memory
 * links (links.h) and chunks (chunks.h).
 *
 * Threads: one at a time; the requests' queue calls it under its lock.
 */
#ifndef GF_MCA_PT2PT_RENDEZVOUS_H
#define GF_MCA_PT2PT_RENDEZVOUS_H

#include "core/offer_board.h"
#include "core/pull.h"
#include "mca_coll_gpufifo/pt2pt/chunks.h"
#include "mca_coll_gpufifo/pt2pt/links.h"
#include "mca_coll_gpufifo/pt2pt/pipes.h"

struct gf_rendezvous;

/* One a process. Null: no host memory. */
struct gf_rendezvous *gf_rendezvous_create(void);
/* Waits for pulls under way. No offer's end is of interest any more. */
void gf_rendezvous_destroy(struct gf_rendezvous *rendezvous);

/* Makes the board and the engine of that device, as far as they can be made. */
void gf_rendezvous_prepare(struct gf_rendezvous *rendezvous, int ordinal);

/* Moves all on that does not move by itself. Cheap when there is nothing. */
void gf_rendezvous_progress(struct gf_rendezvous *rendezvous);

/* Is there anything left to do that no request waits for: kernels that have not left? Any thread. */
bool gf_rendezvous_trails(const struct gf_rendezvous *rendezvous);

/* One end of a message that the receiver fetches. Zeroed: none. */
struct gf_offering {
    gf_offer_board *board;             /* one of four */
    gf_pipe_source *source;
    struct gf_chunks *chunks;
    uint32_t index;                    /* on the board, or of the source */
    unsigned char *sharing;            /* of a board: where to note what the receiver says; null: of no interest */
    struct gf_chunks_out *message;     /* of chunks */
    struct gf_link_offer link;         /* of the network: has a lane */
};

/* As gf_offer_poll and gf_offer_withdraw. */
gf_status gf_offering_poll(const struct gf_offering *offering, struct gf_reason *why);
gf_status gf_offering_withdraw(const struct gf_offering *offering);

/* Offers memory of a device of this process, which `where` describes, to a rank of MPI_COMM_WORLD; the rest as gf_offer_make. */
gf_status gf_rendezvous_offer(struct gf_rendezvous *rendezvous, const struct gf_pointer *where, const void *address, size_t bytes,
                              bool may_move, int peer, struct gf_offering *offering, struct gf_offer_name *name,
                              struct gf_reason *why);

/* A message of that rank of MPI_COMM_WORLD is being fetched: is its memory on the device that fetches it? So the next ones to
 * that rank are sent. */
void gf_rendezvous_learn(struct gf_rendezvous *rendezvous, int peer, enum gf_sharing sharing);

/* The same for a pipe, where the first way is not open: *why says why, and on failure also why this one is not. */
gf_status gf_rendezvous_offer_piped(struct gf_rendezvous *rendezvous, const struct gf_pointer *where, const void *address,
                                    size_t bytes, struct gf_offering *offering, struct gf_offer_name *name,
                                    struct gf_reason *why);

/* The same in chunks, where no way before is open, to a rank of MPI_COMM_WORLD. must: whatever its size. */
gf_status gf_rendezvous_offer_chunks(struct gf_rendezvous *rendezvous, const struct gf_pointer *where, const void *address,
                                     size_t bytes, bool must, int peer, struct gf_offering *offering, struct gf_chunks_name *name,
                                     struct gf_reason *why);

/* The same for a message that was offered and that its receiver cannot map. id: as gf_chunks_offer. */
gf_status gf_rendezvous_offer_again(struct gf_rendezvous *rendezvous, const struct gf_pointer *where, const void *address,
                                    size_t bytes, int peer, uint64_t id, struct gf_offering *offering, struct gf_reason *why);

/* The engine of that device. */
gf_status gf_rendezvous_engine(struct gf_rendezvous *rendezvous, int ordinal, gf_pull_engine **engine, struct gf_reason *why);

struct gf_pipes *gf_rendezvous_pipes(struct gf_rendezvous *rendezvous);

/* Any thread, until destroy. */
struct gf_chunks *gf_rendezvous_chunks(struct gf_rendezvous *rendezvous);
struct gf_links *gf_rendezvous_links(struct gf_rendezvous *rendezvous);

/* A device that this process uses, for destinations in host memory. */
int gf_rendezvous_any_device(void);

#endif
