/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A module's part in the ballot between nodes (ballot.h), whose words travel as mail; agree.h has the meaning and the proof. Only
 * the leader of a node of an armed communicator of several nodes has one.
 */
#ifndef GF_MCA_AGREE_NODES_H
#define GF_MCA_AGREE_NODES_H

#include "mca_coll_gpufifo/agree_board.h"
#include "mca_coll_gpufifo/mail.h"

struct gf_ballot;

/* While the board is made. Null: no memory. Freed by free(). */
struct gf_ballot *gf_agree_nodes_ballot(mca_coll_gpufifo_module_t *module);

/* For the thread that makes the calls; they take the component's lock. As gf_ballot_enter and gf_ballot_verdict. */
void gf_agree_nodes_enter(mca_coll_gpufifo_module_t *module, uint64_t call);
enum gf_agree_verdict gf_agree_nodes_verdict(mca_coll_gpufifo_module_t *module);

/* Under the component's lock. A word came, at the leader perhaps before it was armed: that arms it. hear and answer return
 * whether something was asked that must be answered later, by gf_agree_nodes_answer. */
bool gf_agree_nodes_hear(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message);
bool gf_agree_nodes_answer(mca_coll_gpufifo_module_t *module);

/* Under the component's lock, at the leader: some rank cannot see its node's board, so all calls are staged. */
void gf_agree_nodes_end(mca_coll_gpufifo_module_t *module);

#endif
