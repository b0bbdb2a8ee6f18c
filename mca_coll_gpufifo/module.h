/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The component and its modules, one a communicator. The component's struct is the only mutable global of this library.
 */
#ifndef GF_MCA_MODULE_H
#define GF_MCA_MODULE_H

#include "mca_coll_gpufifo/ompi_abi.h"

#include "core/comm.h"
#include "device/device.h"

struct gf_agree;                       /* agree.h */
struct gf_staging;                     /* stage_pool.h */

/* Written while the component opens, read-only afterwards, but for what says otherwise. */
typedef struct mca_coll_gpufifo_component_t {
    mca_coll_base_component_t super;
    int priority;
    char *device_name;                 /* auto, cuda, emulated, none */
    struct gf_config config;
    struct gf_log log;
    gf_driver *driver;                 /* null: no device here, the component declines every communicator */
    struct gf_staging *staging;        /* bounce memory, streams and requests of staged calls; has its own locks. Made by
                                          gf_staging_create when the driver is found, destroyed before the devices close */
} mca_coll_gpufifo_component_t;

extern mca_coll_gpufifo_component_t mca_coll_gpufifo_component;

/* Opened on first use, one an ordinal, closed with the component; thread-safe. Null with *why on failure. */
gf_device *gf_component_device(int ordinal, struct gf_reason *why);

/* One a communicator. Made by comm_query, filled by enable. A communicator's collectives come from one thread at a time. */
typedef struct mca_coll_gpufifo_module_t {
    mca_coll_base_module_t super;
    mca_coll_base_comm_coll_t saved;   /* who did each collective before us; modules retained while we are enabled */
    ompi_communicator_t *comm;         /* not retained: it owns us */
    uint64_t calls;                    /* native-capable collective calls so far, the same on all ranks (agree.h) */
    struct gf_agree *agree;            /* null until the communicator is armed */
    gf_comm *device_comm;              /* null until the first native call */
    bool never_native;                 /* decided by all ranks: stage for ever; the reason was logged */
} mca_coll_gpufifo_module_t;
OBJ_CLASS_DECLARATION(mca_coll_gpufifo_module_t);

/* Reports a failure of ours to the user (show_help or one log line) and gives the MPI error class for it. */
int gf_error_to_mpi(gf_status status, const struct gf_reason *why, ompi_communicator_t *comm, const char *function);

#endif
