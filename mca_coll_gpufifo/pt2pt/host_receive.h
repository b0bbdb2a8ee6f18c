/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives with one thread: their inner requests call back. And the short way of those to host memory.
 */
#ifndef GF_MCA_PT2PT_HOST_RECEIVE_H
#define GF_MCA_PT2PT_HOST_RECEIVE_H

#include "mca_coll_gpufifo/pt2pt/request.h"

/* MPI_Irecv of a buffer that is in host memory for certain, without threads, with nothing in the stash. */
int gf_host_receive(const struct gf_host_data *host, int peer, int tag, ompi_communicator_t *comm, ompi_request_t **request);

/* For any receive that was posted and has begun: sees to it that its message is noticed. One thread. */
void gf_host_receive_watch(gf_pt2pt_request_t *request);

/* The message of a receive is there: ordinary data in host memory end it here, the rest is the progress callback's. One
 * thread. */
void gf_host_receive_landed(gf_pt2pt_request_t *request);

#endif
