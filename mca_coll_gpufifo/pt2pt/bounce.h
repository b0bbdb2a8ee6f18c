/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The packed copy of one message: memory with the message's data as MPI_Pack would put it, and the copies between it and a buffer
 * in device memory. Host memory, to the PML so many MPI_PACKED, which match any type signature; or, of data with gaps,
 * device memory, so that they are offered and fetched as data without gaps are.
 */
#ifndef GF_MCA_PT2PT_BOUNCE_H
#define GF_MCA_PT2PT_BOUNCE_H

#include "mca_coll_gpufifo/pt2pt/landing.h"
#include "mca_coll_gpufifo/stage_copy.h"

/* Owner: a call or a request; one thread at a time. The datatype must live until close. */
struct gf_pt2pt_bounce {
    void *user;                        /* the program's buffer */
    struct gf_layout layout;
    size_t bytes;                      /* of the layout's data; never 0 */
    struct gf_pointer where;           /* the allocation that has the buffer */
    struct gf_stage_pool *pool;        /* of its device; null: closed */
    void *memory;                      /* null: none */
    size_t room;                       /* bytes of memory */
    struct gf_landing *landing;        /* whose memory it is, pinned or pageable */
    struct gf_device_piece *piece;     /* whose memory it is, on the device; neither: it is pinned */
    struct gf_pointer near;            /* the allocation of the piece */
    struct gf_transfer transfer;       /* the copy under way */
    struct gf_stage_lane *lane;        /* its stream; null: none is under way */
};

/* Of a closed one. where: what is known of the buffer's allocation; a freed one is refused. On failure it stays closed. */
gf_status gf_pt2pt_bounce_open(struct gf_pt2pt_bounce *bounce, const void *user, size_t count, ompi_datatype_t *type,
                               const struct gf_pointer *where, struct gf_reason *why);

/* Asks again where the buffer lies: between the starts of a persistent request the program may have freed and made it. */
gf_status gf_pt2pt_bounce_renew(struct gf_pt2pt_bounce *bounce, struct gf_reason *why);

/* The start of the data if they have no gaps, else null. */
char *gf_pt2pt_bounce_run(const struct gf_pt2pt_bounce *bounce);

/* Makes pinned memory of so many bytes, if there is not as much yet. */
gf_status gf_pt2pt_bounce_pin(struct gf_pt2pt_bounce *bounce, size_t bytes, struct gf_reason *why);

/* Makes device memory for so many bytes of data with gaps, if there is not as much yet. GF_ERR_UNSUPPORTED: they have none, or
 * are too few for it (coll_gpufifo_pack_bytes). */
gf_status gf_pt2pt_bounce_near(struct gf_pt2pt_bounce *bounce, size_t bytes, struct gf_reason *why);

/* What may be fetched from the device: the data where the program has them, or the device memory with their copy; *where says of
 * which allocation. Null: neither. */
const char *gf_pt2pt_bounce_source(const struct gf_pt2pt_bounce *bounce, const struct gf_pointer **where);

/* Makes memory for a message that nobody knows yet, of up to so many bytes. */
gf_status gf_pt2pt_bounce_land(struct gf_pt2pt_bounce *bounce, size_t bytes, struct gf_reason *why);

/* More may have landed than there was room for. */
void gf_pt2pt_bounce_overrun(struct gf_pt2pt_bounce *bounce);

/* All data from the user's buffer to memory; waits for the copy. */
gf_status gf_pt2pt_bounce_load(struct gf_pt2pt_bounce *bounce, struct gf_reason *why);

/* The first `bytes` to the user's buffer, of which nothing else is touched. Queues the copy; finish must follow. */
gf_status gf_pt2pt_bounce_store(struct gf_pt2pt_bounce *bounce, size_t bytes, struct gf_reason *why);

/* GF_OK: the copy is done, GF_IN_PROGRESS, or the error it ended with. */
gf_status gf_pt2pt_bounce_poll(struct gf_pt2pt_bounce *bounce, struct gf_reason *why);

/* Waits for the copy, if there is one. Afterwards it may be loaded or stored again. */
gf_status gf_pt2pt_bounce_finish(struct gf_pt2pt_bounce *bounce, struct gf_reason *why);

/* Waits for the copy and gives everything back. May be repeated; a zeroed one is closed. */
void gf_pt2pt_bounce_close(struct gf_pt2pt_bounce *bounce);

#endif
