/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What native collectives share: the communicator's device side, and what is said where a call cannot be native.
 */
#ifndef GF_MCA_NATIVE_H
#define GF_MCA_NATIVE_H

#include "mca_coll_gpufifo/module.h"

/* Collective, in a call that all ranks know to be native: module->device_comm, made if there is none. ordinal: of the device that
 * has this rank's buffers. GF_ERR_UNSUPPORTED on all ranks: there can be none, which has been logged; stage, now and for ever. */
gf_status gf_native_comm(mca_coll_gpufifo_module_t *module, int ordinal, struct gf_reason *why);

/* This rank stages a call, for a reason. MPI_SUCCESS: it may, and where calls are asked for a line tells of it; else the MPI
 * error that strictness makes of it. amount, unit: of what the call moves. */
int gf_native_refuse(const mca_coll_gpufifo_module_t *module, const char *function, size_t amount, const char *unit,
                     const char *reason);

#endif
