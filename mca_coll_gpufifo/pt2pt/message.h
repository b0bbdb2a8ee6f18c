/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Our own kind of MPI_Message: a message that was matched and, because it has the size of an RTS, looked at. Only the first bytes
 * tell an RTS, which announces a message of another size, from ordinary data; and the PML shows bytes to nobody but a receive. So
 * the look is a receive, and what it got is kept here for the one that the program makes later. (To a synchronous send
 * from host memory that happens to have this size it is the receive, so it completes too early.)
 */
#ifndef GF_MCA_PT2PT_MESSAGE_H
#define GF_MCA_PT2PT_MESSAGE_H

#include "mca_coll_gpufifo/ompi_abi.h"

#include "ompi/message/message.h"

#include "mca_coll_gpufifo/pt2pt/rts.h"

/* Open MPI's MPI_Mrecv looks for the communicator in the base class, and Fortran for its handle. One thread at a time: who probes
 * with the lock of the stash held, then who has taken it out. */
typedef struct gf_pt2pt_message {
    ompi_message_t super;              /* count: what a probe reports; right once ready */
    ompi_request_t *look;              /* the receive of the bytes; null: it is complete */
    ompi_status_public_t status;       /* of that receive, once ready: source, tag and number of bytes as they came */
    unsigned char bytes[GF_RTS_BYTES];
} gf_pt2pt_message_t;
OBJ_CLASS_DECLARATION(gf_pt2pt_message_t);

/* Is it ours, or one of the PML? */
static inline bool gf_pt2pt_message_is_ours(const struct ompi_message_t *message)
{
    return message->super.super.super.obj_class == OBJ_CLASS(gf_pt2pt_message_t);
}

/* Starts to look at a message of the PML that has the size of an RTS. Takes *message, which is ours afterwards; it keeps the
 * communicator. On an error, which is one of MPI, *message is as before. */
int gf_pt2pt_message_look(struct ompi_message_t **message);

/* Have the bytes come? Nearly always: a message so short travels whole. Never waits. */
bool gf_pt2pt_message_ready(gf_pt2pt_message_t *message);

/* Makes progress until they have. With no lock held. */
void gf_pt2pt_message_await(gf_pt2pt_message_t *message);

/* Once ready, or at the end of MPI: gives it back. */
void gf_pt2pt_message_release(gf_pt2pt_message_t *message);

#endif
