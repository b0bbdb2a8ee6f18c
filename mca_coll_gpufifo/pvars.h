/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the component did, as MPI_T performance variables: calls and bytes of this process by the path they took.
 */
#ifndef GF_MCA_PVARS_H
#define GF_MCA_PVARS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "mca_coll_gpufifo/ompi_abi.h"

/* Paths of a collective with a device buffer, and of the device end of a message. Host-only calls pass through uncounted:
 * counting them would cost them time. */
enum gf_path { GF_PATH_ONE_SHOT, GF_PATH_AGENT, GF_PATH_PLAYED, GF_PATH_RING, GF_PATH_TWO_SHOT, GF_PATH_ONE_SHOT_MAPPED,
               GF_PATH_EXCHANGE, GF_PATH_EXCHANGE_COPY, GF_PATH_REDUCE_MAPPED,
               GF_PATH_HOST_SEQUENCED, GF_PATH_LOCAL, GF_PATH_MESSAGES,
               GF_PATH_STAGED, GF_PATH_PT2PT_STAGED, GF_PATH_PT2PT_PULLED, GF_PATH_PT2PT_AGENT,
               GF_PATH_PT2PT_PIPED, GF_PATH_PT2PT_NET, GF_PATH_COUNT };

struct gf_pvars {
    _Atomic uint64_t calls[GF_PATH_COUNT];
    _Atomic uint64_t bytes[GF_PATH_COUNT];       /* of a collective's send side; of a message, at each end in device memory */
    _Atomic uint64_t staging_driver_calls;       /* copies and kernels queued for staged calls */
};

/* coll_gpufifo_calls_<path>, coll_gpufifo_bytes_<path>, coll_gpufifo_staging_driver_calls and coll_gpufifo_driver_calls, of class
 * aggregate. */
int gf_pvars_register(const mca_base_component_t *component, struct gf_pvars *pvars);

static inline void gf_pvars_count(struct gf_pvars *pvars, enum gf_path path, size_t bytes)
{
    atomic_fetch_add_explicit(&pvars->calls[path], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&pvars->bytes[path], bytes, memory_order_relaxed);
}

static inline void gf_pvars_count_driver_call(struct gf_pvars *pvars)
{
    atomic_fetch_add_explicit(&pvars->staging_driver_calls, 1, memory_order_relaxed);
}

#endif
