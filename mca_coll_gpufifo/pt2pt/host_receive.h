/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A non-blocking receive to host memory, in a process with one thread: what host programs do most. The program gets the PML's own
 * request; ours is only a record behind it, which the PML's completion callback finds:
 *
 *   pml_irecv ──▶ OPEN ──ordinary data──▶ the callback lets the PML complete the request
 *                  └───size of an RTS───▶ it does not, and a request of ours has the message: an RTS, whose data it fetches, or
 *                                         ordinary data after all. At its end it completes the PML's.
 *
 * While it is open the PML's request has three marks of ours: callback, its argument, and the function that frees it, for a PML
 * calls no callback of a request that was freed. At the end none is left: the PML will use the request again as it finds it.
 */
#ifndef GF_MCA_PT2PT_HOST_RECEIVE_H
#define GF_MCA_PT2PT_HOST_RECEIVE_H

#include "opal/class/opal_free_list.h"

#include "mca_coll_gpufifo/pt2pt/host_data.h"

/* Records to reuse. False: no host memory. */
bool gf_host_receives_construct(opal_free_list_t *idle);

/* MPI_Irecv, with nothing in the stash. */
int gf_host_receive(const struct gf_host_data *host, int peer, int tag, ompi_communicator_t *comm, ompi_request_t **request);

#endif
