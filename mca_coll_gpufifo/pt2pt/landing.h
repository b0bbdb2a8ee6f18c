/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Landings: host memory that a receive into device memory is posted into. It must take a message of full capacity, for the
 * sender may send ordinary data; but most large messages come as an RTS, and touch one page of it. So landings are mappings of
 * which only touched pages exist, and are kept for the next receive: making one, a fault and an unmapping a message cost more
 * than the message.
 *
 * Behind each there are addresses that nothing else has. Open MPI 4.1's pml ob1 fetches all of a long message, also where it
 * reports MPI_ERR_TRUNCATE, and would write to what lies behind.
 *
 * Threads: any.
 */
#ifndef GF_MCA_PT2PT_LANDING_H
#define GF_MCA_PT2PT_LANDING_H

#include <stddef.h>

#include "base/status.h"

struct gf_landings;

struct gf_landing {
    void *memory;                      /* pageable */
    size_t room;                       /* bytes: a power of two */
    size_t filled;                     /* most bytes that ordinary data have touched, more than room if some were too many;
                                          written by who holds the landing */
    struct gf_landing *next;           /* the idle ones of this size */
};

/* One a process. Null: no host memory. */
struct gf_landings *gf_landings_create(void);
/* All landings must be back. Accepts null. */
void gf_landings_destroy(struct gf_landings *landings);

gf_status gf_landing_get(struct gf_landings *landings, size_t bytes, struct gf_landing **landing, struct gf_reason *why);
void gf_landing_put(struct gf_landings *landings, struct gf_landing *landing);

#endif
