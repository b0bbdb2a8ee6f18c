/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a communicator gets its boards: what its leader, the leaders of its nodes and their members do with the messages of
 * mailbox.h. All under the component's lock.
 */
#ifndef GF_MCA_ARMING_H
#define GF_MCA_ARMING_H

#include "mca_coll_gpufifo/mail.h"

/* Why this communicator stages for ever, enum gf_agree_failure: what its board says or, where there is none, this rank knows.
 * 0: it need not, as far as this rank knows. */
uint32_t gf_arming_failure(const mca_coll_gpufifo_module_t *module);

/* A call of this rank wants the board: makes it, or asks for it. */
void gf_arming_begin(mca_coll_gpufifo_module_t *module);

/* A message came that is none of the ballot's. */
void gf_arming_handle(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message);

/* The communicator is being freed: answers what this rank was asked and has not answered, of the ballot too. What it has asked
 * for members of its node will be answered when it is gone. */
void gf_arming_leave(mca_coll_gpufifo_module_t *module);

#endif
