/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that a probe had to take out of the PML, until a receive asks for them.
 *
 * A probe must report the size of a message. Of one that has the size of an RTS only a look tells it, and what is looked at is
 * out of the PML for good. So that MPI's order holds, everything from the same sender on the same communicator that came before
 * it must come out, too; then the rule is simple:
 *
 *   what the stash has of a sender comes before what the PML has of it, in the stash's order:
 *   receives and probes search the stash first, the PML next.
 *
 * Both steps are one critical section where threads are: between them no probe may take a message out, or a receive that was
 * posted in the PML would wait for it for ever. Nothing in the section waits. The lock may be taken again by the thread that
 * has it: the PML's probes make progress, and callbacks of that may post receives.
 *
 * A program that frees a communicator with messages that nobody received loses them. Those in the stash keep their communicator,
 * so that no other one can take its place, until MPI_Finalize.
 */
#ifndef GF_MCA_PT2PT_STASH_H
#define GF_MCA_PT2PT_STASH_H

#include "mca_coll_gpufifo/module.h"
#include "mca_coll_gpufifo/pt2pt/message.h"

/* One message that was matched and is not received. */
typedef struct gf_stash_entry {
    opal_list_item_t super;
    ompi_communicator_t *comm;         /* retained */
    int source, tag;
    size_t bytes;                      /* as the PML says */
    struct ompi_message_t *message;    /* ours if it may be an RTS, else the PML's */
} gf_stash_entry_t;
OBJ_CLASS_DECLARATION(gf_stash_entry_t);

/* One a process; null: no host memory. */
struct gf_stash *gf_stash_create(void);
void gf_stash_destroy(struct gf_stash *stash);

/* With the interposition; needed: may an RTS come at all? Else probes pass to the PML, and so do they once it is closed. Of the
 * messages that nobody received only what is ours is given back; the rest goes with the PML. */
void gf_stash_open(struct gf_stash *stash, bool needed);
void gf_stash_close(struct gf_stash *stash);
bool gf_stash_is_open(void);

/* The rest of enter and leave, where there are threads or something is in the stash. */
struct ompi_message_t *gf_stash_enter_slowly(ompi_communicator_t *comm, int source, int tag);
void gf_stash_leave_slowly(ompi_communicator_t *comm);

static inline bool gf_stash_concerns(void)
{
    return atomic_load_explicit(&mca_coll_gpufifo_component.pt2pt.stash_guard, memory_order_relaxed) != 0;
}

/* For a receive with a tag of the program, which may be MPI_ANY_TAG: the message of the stash that it matches, which the caller
 * must receive as MPI_Mrecv would. Null: the caller posts the receive to the PML, does nothing else, and calls leave. */
static inline struct ompi_message_t *gf_stash_enter(ompi_communicator_t *comm, int source, int tag)
{
    return OPAL_LIKELY(!gf_stash_concerns()) ? NULL : gf_stash_enter_slowly(comm, source, tag);
}

/* After an enter that gave null. */
static inline void gf_stash_leave(ompi_communicator_t *comm)
{
    if (OPAL_UNLIKELY(gf_stash_concerns())) {
        gf_stash_leave_slowly(comm);
    }
}

/* The rest is for probes. Begins and ends the critical section; nothing but threads is asked. */
void gf_stash_lock(ompi_communicator_t *comm);
void gf_stash_unlock(ompi_communicator_t *comm);

/* With the lock held: the first message that matches, or null. */
gf_stash_entry_t *gf_stash_find(ompi_communicator_t *comm, int source, int tag);

/* May a message of this size from there be an RTS? Only processes that have a card send them. */
bool gf_stash_may_be_rts(ompi_communicator_t *comm, int source, size_t bytes);

/* With the lock held, no match in the stash, and one in the PML from this very source with this very tag: takes that source's
 * messages out of the PML, in order, until that one has come. Null: it did not; *result says why, or success if it is gone. */
gf_stash_entry_t *gf_stash_fetch(ompi_communicator_t *comm, int source, int tag, int *result);

/* With the lock held: takes a message out of the stash; the entry is gone. */
struct ompi_message_t *gf_stash_take(gf_stash_entry_t *entry);

#endif
