/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Landings: host memory that a receive into device memory is posted into. It must take a message of full capacity, for the
 * sender may send ordinary data; but most large messages come as an RTS, and touch one page of it. So landings are mappings of
 * which only touched pages exist, and are kept for the next receive: making one, a fault and an unmapping a message cost more
 * than the message. Small ones are pinned, since their copy to the device is faster then.
 *
 * Behind each there are addresses that nothing else has. Open MPI 4.1's pml ob1 fetches all of a long message, also where it
 * reports MPI_ERR_TRUNCATE, and would write to what lies behind: the receive may be of a few bytes, the message of any length.
 *
 * Threads: any.
 */
#ifndef GF_MCA_PT2PT_LANDING_H
#define GF_MCA_PT2PT_LANDING_H

#include <stddef.h>

#include "device/device.h"

struct gf_landings;

struct gf_landing {
    void *memory;
    size_t room;                       /* bytes: a power of two */
    size_t apron;                      /* bytes of addresses behind it; 0: the process may not have so many */
    gf_device *device;                 /* for which it is pinned; null: it is pageable */
    size_t filled;                     /* most bytes that ordinary data have touched, all if it is pinned, more than room if some
                                          were too many; written by who holds the landing */
    struct gf_landing *next;           /* the idle ones of this size */
};

/* One a process. Null: no host memory. */
struct gf_landings *gf_landings_create(void);
/* All landings must be back, and the devices still open. Accepts null. */
void gf_landings_destroy(struct gf_landings *landings);

/* device: to which the data go. Where it cannot pin another one, a small one is pageable, too. */
gf_status gf_landing_get(struct gf_landings *landings, gf_device *device, size_t bytes, struct gf_landing **landing,
                         struct gf_reason *why);
void gf_landing_put(struct gf_landings *landings, struct gf_landing *landing);

#endif
