/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ring kernels get (kernels/ring.h). As kernels/work.h: equal for gcc and nvcc, no behaviour.
 */
#ifndef GF_KERNELS_RING_WORK_H
#define GF_KERNELS_RING_WORK_H

#include "kernels/work.h"

/* Ring allreduce over Simple FIFOs: reduce-scatter, then allgather. One block a channel; block c owns send[c] to the next rank of
 * the ring, recv[c] from the one before, and the c-th part of each share of the data. */
enum gf_ring_lends {             /* in the allgather, whose data are in the receive buffers at both ends */
    GF_RING_SEND_LENT = 1,       /* hosts answer each step sent */
    GF_RING_RECV_LENT = 2        /* what comes may come with GF_SIZE_LENT */
};
struct gf_ring_work {
    struct gf_task task;
    struct gf_reduction data;
    struct gf_conn *send;        /* [channels] device memory */
    struct gf_conn *recv;        /* [channels] device memory */
    uint32_t channels;           /* = blocks of the launch */
    uint32_t place;              /* of this rank in the ring: one more at the next one, 0 to ranks - 1 */
    uint32_t lends;              /* of enum gf_ring_lends */
    uint32_t reserved;
};
GF_STATIC_ASSERT(sizeof(struct gf_ring_work) == 120, "host and device agree on gf_ring_work");

/* The same, but kernels go straight to the buffers of a neighbour, of whose allocations all have been mapped that this launch may
 * need: either all ranks write the allgather into the next rank's receive buffer; or all read from the previous rank, what that
 * one brings from its send buffer, the allgather from its receive buffer. Where in which allocation these are each block of the
 * neighbour tells in struct gf_conn's address, in words of this form: the allocation's place, then the offset. */
enum { GF_RING_PLACES = 16, GF_ADDRESS_OFFSET_BITS = 56 };
struct gf_ring_direct_work {
    struct gf_ring_work ring;    /* lends nothing */
    uint32_t reads;              /* 0: writes */
    uint32_t reserved;
    uint64_t mine[GF_ADDRESS_WORDS - 1];     /* where the send and the receive buffer of this rank are, for its neighbour */
    char *places[GF_RING_PLACES];            /* the neighbour's allocations, null where it has none; kernel addresses here */
};
GF_STATIC_ASSERT(sizeof(struct gf_ring_direct_work) == 144 + 8 * GF_RING_PLACES, "host and device agree on gf_ring_direct_work");

#endif
