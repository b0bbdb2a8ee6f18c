/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pipes of this process (core/pipe.h): a source and a sink a device, made on first use, and the thread that carries their
 * messages on while the program is outside of MPI.
 *
 * Threads: one at a time; the requests' queue calls it under its lock. The pump's thread does not need that lock.
 */
#ifndef GF_MCA_PT2PT_PIPES_H
#define GF_MCA_PT2PT_PIPES_H

#include "core/pipe.h"

struct gf_pipes;

/* One a process. Null: no host memory. */
struct gf_pipes *gf_pipes_create(void);
/* Waits for copies under way. No message's end is of interest any more. Accepts null. */
void gf_pipes_destroy(struct gf_pipes *pipes);

/* Moves all messages on. Costs a nanosecond when there are none. */
void gf_pipes_progress(struct gf_pipes *pipes);

/* Offers memory that a device of this process reaches. GF_ERR_UNSUPPORTED: it is to go another way, *why says why; the rest as
 * gf_pipe_offer. *source has the offer. */
gf_status gf_pipes_offer(struct gf_pipes *pipes, int ordinal, const void *address, size_t bytes, gf_pipe_source **source,
                         struct gf_offer_name *name, struct gf_reason *why);

/* The sink of that device. Its takes are to be followed by gf_pipes_expect. */
gf_status gf_pipes_sink(struct gf_pipes *pipes, int ordinal, gf_pipe_sink **sink, struct gf_reason *why);

/* Makes source and sink of that device now: where they will be needed, before a kernel of the program fills the device, for which
 * driver calls may wait. What fails here fails again, and is said, when it is needed. */
void gf_pipes_prepare(struct gf_pipes *pipes, int ordinal);

/* There is a message more. */
void gf_pipes_expect(struct gf_pipes *pipes);

#endif
