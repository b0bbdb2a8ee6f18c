/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Point-to-point: our functions in Open MPI's table of the selected PML (the layer that matches messages), in front of its own.
 *
 *   MPI_Isend ──▶ mca_pml.pml_isend = ours ──host buffer────▶ the saved function
 *                                          ──device buffer──▶ a copy in host memory, and with that the saved function
 *
 * All matching stays below. Collectives of other components and Open MPI's own messages come along here too, with host buffers:
 * they pay one test. A coll component has no other way to see MPI_Send.
 */
#ifndef GF_MCA_PT2PT_INTERPOSE_H
#define GF_MCA_PT2PT_INTERPOSE_H

#include "mca_coll_gpufifo/ompi_abi.h"

#include "ompi/mca/pml/pml.h"

struct gf_cards;                       /* card.h */
struct gf_landings;                    /* landing.h */
struct gf_pt2pt_queue;                 /* request.h */
struct gf_stash;                       /* stash.h */

/* Part of the component's struct. Written by open and close, which no other thread may accompany. */
struct gf_pt2pt {
    bool installed;
    _Atomic unsigned told;             /* which ways the log has told of (tell.c) */
    bool patcher_opened;               /* by us (replace.c) */
    bool near;                         /* another process may send us an RTS: every receive looks */
    mca_pml_base_module_t saved;       /* the table as it was; valid once installed, close included: a late call still passes */
    struct gf_cards *cards;            /* null: no peer sends RTSs to us, and we send none */
    struct gf_landings *landings;      /* landing.h; as queue */
    struct gf_pt2pt_queue *queue;      /* of our requests; null before open, or out of memory */
    struct gf_stash *stash;            /* of messages that a probe took out of the PML; null as for queue */
    _Atomic int stash_guard;           /* 0: a receive need not look there (stash.h) */
};

/* While the component opens and is sure to serve: tells this process's peers. */
void gf_pt2pt_announce(void);

/* Puts our functions into the table, or says on the log why not. With MPI_COMM_WORLD's module. */
void gf_pt2pt_open(void);

/* Gives back what announce made, after close or without an open. */
void gf_pt2pt_withdraw(void);

/* Takes them out again. All processes are past MPI_Finalize's fence, the PML still works. */
void gf_pt2pt_close(void);

#endif
