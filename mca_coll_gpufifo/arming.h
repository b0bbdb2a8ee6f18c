/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a communicator gets its boards: what its leader, the leaders of its nodes and their members do with the messages of
 * mailbox.h. All under the component's lock.
 */
#ifndef GF_MCA_ARMING_H
#define GF_MCA_ARMING_H

#include "mca_coll_gpufifo/mail.h"

/* A call of this rank wants the board: makes it, or asks for it. */
void gf_arming_begin(mca_coll_gpufifo_module_t *module);

/* A message came that is none of the ballot's. */
void gf_arming_handle(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message);

/* The communicator is being freed: answers what this rank was asked and has not answered, of the ballot too. What it has asked
 * for members of its node will be answered when it is gone. */
void gf_arming_leave(mca_coll_gpufifo_module_t *module);

#endif
