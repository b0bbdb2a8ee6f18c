/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What flights of a communicator need, its device side with mapped buffers connected, where no blocking call has made it: by a
 * thread of its own, over shared memory (core/bulletin.h), so that the program waits for nothing. Begun by each rank when it
 * knows that all ranks have entered the first flight; all come to the same end.
 */
#ifndef GF_MCA_SETTING_UP_H
#define GF_MCA_SETTING_UP_H

#include "mca_coll_gpufifo/module.h"

#include "core/bulletin.h"

/* Owned by who makes it; prepared by the thread that makes the communicator's calls. */
struct gf_setting_up {
    mca_coll_gpufifo_module_t *module;
    struct gf_comm_setup setup;        /* for one that is made */
    char name[64];                     /* setup's */
    struct gf_bulletin bulletin;
    gf_comm *comm;                     /* its device side, made or given; the thread's while it runs */
    bool running;                      /* there is a thread to join */
    pthread_t thread;
    _Atomic bool ended;                /* by the thread, after what follows */
    gf_status status;
    struct gf_reason why;
};

/* comm: what there is already, or null. Waits for nobody. */
void gf_setting_up_prepare(struct gf_setting_up *s, mca_coll_gpufifo_module_t *module, gf_comm *comm);

/* Begins, or goes on. One thread at a time, any; the communicator has its board. GF_IN_PROGRESS: ask again, never after
 * another answer. GF_OK: s->comm is ready. Else there will be no flights, on any rank; s->comm may be there all the same. */
gf_status gf_setting_up_poll(struct gf_setting_up *s, struct gf_reason *why);

#endif
