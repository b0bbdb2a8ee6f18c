/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which sends the receiver may fetch by itself, and their offers.
 */
#ifndef GF_MCA_PT2PT_OFFER_H
#define GF_MCA_PT2PT_OFFER_H

#include "mca_coll_gpufifo/pt2pt/request.h"

/* For a send, not yet posted: offers its data and writes the RTS into the request's head. GF_ERR_UNSUPPORTED: stage it; *why says
 * why. GF_NO_RESOURCE: stage it, since so many are under way. Any other error is the program's. */
gf_status gf_pt2pt_offer(gf_pt2pt_request_t *request, struct gf_reason *why);

/* The receiver says that it cannot map the memory that was offered: sends it in chunks, for which the receiver waits. With the
 * queue's lock held. (Strict: GF_ERR_UNSUPPORTED.) */
gf_status gf_pt2pt_offer_again(gf_pt2pt_request_t *request, struct gf_reason *why);

/* The RTS could not be sent. */
void gf_pt2pt_offer_withdraw(gf_pt2pt_request_t *request);

#endif
