/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages (mailbox.h) to a communicator that this process has freed while others are still in a call of it. That can be: who
 * gives its data in a broadcast, or is not concerned by an exchange, may be through before others enter. What it had in that
 * call was host memory, or no data, for a native call ends nowhere before all have entered; so whoever asks is told what a rank
 * with host buffers would tell, and nobody waits for ever. What came before it was freed is answered then (gf_arming_leave).
 * tests/model/agree_nodes.pml has such ranks for the ballot, tests/unit/test_arming.c for the boards.
 *
 * Gone, or not yet made? The ranks of a communicator that is made meet once more when all of them have put it into Open MPI's
 * table of communicators, and nobody sends messages about it before. So only where the table has one under that number which is
 * being made or freed is it too early to tell. Where there is none it is gone, and so it is where there is one in use: another of
 * the same number, or that of which the next one is made, which has the place while the number is agreed upon. That may last: who
 * makes it waits for who asks. Of communicators that Open MPI 5.0 and later make without another one it is not known.
 */
#ifndef GF_MCA_GONE_H
#define GF_MCA_GONE_H

#include "mca_coll_gpufifo/mail.h"

/* Of a message to none of this process's communicators. Under the component's lock. False also while it cannot be told: ask
 * again. */
bool gf_gone_is(const struct gf_mail_message *message);

/* What is to be answered to message->from; false: nothing. */
bool gf_gone_answer(const struct gf_mail_message *message, struct gf_mail_message *answer);

#endif
