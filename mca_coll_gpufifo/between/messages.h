/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of one collective between its ranks: blocks of device memory, on the communicator itself, under a reserved tag. They
 * go as the program's own messages do (pt2pt/): fetched within a node, by the network or in chunks between nodes.
 *
 * Two ranks of a call must send each other's blocks in the order in which the other one receives them. All ranks have entered the
 * call with device buffers (agree.h), and each receives what it is sent in that call, so none is left for the next.
 *
 * A rank at which something fails takes part all the same, so that nobody waits for it: it receives what others send it, and
 * what it should send goes without bytes, which makes the receiver fail in turn. So who needs its data learns of it, and no
 * message is under way any more when the call returns. Only without host memory for the messages themselves a rank gives up,
 * and others may wait for ever. One thread.
 */
#ifndef GF_MCA_BETWEEN_MESSAGES_H
#define GF_MCA_BETWEEN_MESSAGES_H

#include "core/mapped_call.h"
#include "mca_coll_gpufifo/module.h"

enum { GF_BETWEEN_TAG = -4 };          /* unused by Open MPI: see mailbox.h */

struct gf_between_message;             /* one of them */

/* Those of one call. Owner: the call, which fills comm and function, the rest zeroed. */
struct gf_messages {
    ompi_communicator_t *comm;
    const char *function;              /* MPI's name of the call, for messages */
    int result;                        /* MPI_SUCCESS, or the first error of this rank, which was reported */
    int posted;                        /* so far */
    int ended;                         /* of those, counted from the first: seen to have ended */
    int room;
    struct gf_between_message *all;
};

/* This rank has failed, unless it is MPI_SUCCESS; it was reported. */
static inline void gf_messages_fail(struct gf_messages *messages, int result)
{
    messages->result = messages->result == MPI_SUCCESS ? result : messages->result;
}

/* Begin one; its number is `posted` before. No bytes: nothing happens. The memory is the message's until it has ended. */
void gf_messages_send(struct gf_messages *messages, const struct gf_mapped_buffer *buffer, size_t offset, size_t bytes, int to);
void gf_messages_receive(struct gf_messages *messages, const struct gf_mapped_buffer *buffer, size_t offset, size_t bytes,
                         int from);

/* Waits until the first `count` have ended, or all if there are not so many, making MPI's progress. */
void gf_messages_wait(struct gf_messages *messages, int count);

/* Waits for all, and lets go of them. The result. */
int gf_messages_finish(struct gf_messages *messages);

#endif
