/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages by which a communicator is armed (agree.h). They reach a process wherever it is in MPI: its progress callback probes
 * for them now and then, on MPI_COMM_WORLD under a reserved negative tag; who waits for an answer probes all the time. No
 * receive is posted: each message on MPI_COMM_WORLD would have to be compared with it, which costs host-only programs more
 * than all the rest of this component.
 *
 *   REQUEST      member → leader of its node → leader     a device call on this communicator wants the board
 *   ANNOUNCE     leader → leaders of nodes, members       here it is; who is on another node makes one of its own
 *   NEVER        leader → all; of a node → its members     there will be no board, or it is not for all: stage for ever;
 *                in answer                                what the one that was asked would say, or that it is gone (gone.h)
 *                member → leader of its node → leader     I, or one of my node, cannot attach it, or have freed it
 *   BALLOT       between leaders of nodes                 a word of the ballot (ballot.h)
 *
 * A communicator is named by its number, its leader and its size, and has the sender. A message for one that this process has
 * freed is answered for it; one for one that it has not made yet waits; the next message of its kind from its sender for that
 * name replaces it, and a new communicator of that name gets it. That may then be a message about a freed one of that name, which
 * does no harm: a late REQUEST arms early, a late ANNOUNCE cannot be attached or arms early (agree.h), and of a late word agree.h
 * tells. A late NEVER names another board than the leader's, or counts only for who has asked, and before a rank asks it takes
 * what has come; one that is later still makes it stage, and say so to the others, where it need not.
 *
 * The tag. Negative tags match MPI_ANY_TAG in no PML. Those below -9 belong to coll (blocking -10..-26, non-blocking
 * downwards from -27), io and topo; -2..-9 are free in Open MPI 4.1 to 6.0, and they survive the 24 bits that pml/ucx has for a
 * tag.
 *
 * Threads: any; the callback skips if another thread is in it. Lock order: component's lock, then the mailbox's.
 */
#ifndef GF_MCA_MAILBOX_H
#define GF_MCA_MAILBOX_H

#include "mca_coll_gpufifo/mail.h"

enum { GF_MAILBOX_TAG = -7 };

/* With MPI_COMM_WORLD's module: registers the callback and takes it back. Without a mailbox (no memory) gf_mailbox_arm gives
 * up. */
void gf_mailbox_open(void);
void gf_mailbox_close(void);

/* Asks for this communicator to be armed, or arms it if this rank leads it. Asks once; the answer comes with progress. */
void gf_mailbox_arm(mca_coll_gpufifo_module_t *module);

/* A new module: are there messages waiting for it? */
void gf_mailbox_deliver_waiting(mca_coll_gpufifo_module_t *module);

/* A message about this communicator, from this process, and the way to a rank of it. Under any lock: it goes with the next
 * exchange. */
struct gf_mail_message gf_mailbox_message(const mca_coll_gpufifo_module_t *module, enum gf_mail_kind kind);
void gf_mailbox_post(const mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message, int rank);
/* The same, to the process that the question is from. */
void gf_mailbox_answer(const struct gf_mail_message *question, const struct gf_mail_message *answer);

/* Sends and receives what there is; for a thread that waits for an answer. */
void gf_mailbox_progress(void);

#endif
