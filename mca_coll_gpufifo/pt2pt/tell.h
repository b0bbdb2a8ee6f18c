/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the log says of messages: the way that each took, and why. The first of each way, at either end, has a line at level
 * `paths`, every one has at level `calls`.
 */
#ifndef GF_MCA_PT2PT_TELL_H
#define GF_MCA_PT2PT_TELL_H

#include "mca_coll_gpufifo/pt2pt/request.h"

/* A send was offered as its RTS says; *why: why not in a better way, if there is one. */
void gf_pt2pt_tell_offered(const gf_pt2pt_request_t *request, const struct gf_reason *why);

/* A send is staged, for this reason. */
void gf_pt2pt_tell_staged(const gf_pt2pt_request_t *request, const struct gf_reason *why);

/* A receive has begun to fetch. Its request's status has the sender. *how: how its data come by the network. */
void gf_pt2pt_tell_fetched(const gf_pt2pt_request_t *request, const struct gf_reason *how);

/* A receive into device memory got ordinary data of so many bytes. */
void gf_pt2pt_tell_unpacked(const gf_pt2pt_request_t *request, size_t bytes);

#endif
