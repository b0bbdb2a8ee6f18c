/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the ranks of a communicator exchange blobs before they have connections: by the collectives that were there before ours.
 */
#ifndef GF_MCA_BOOTSTRAP_H
#define GF_MCA_BOOTSTRAP_H

#include "core/bootstrap.h"
#include "mca_coll_gpufifo/module.h"

/* Valid while the module is enabled. An intracommunicator's. */
struct gf_bootstrap gf_bootstrap_of(mca_coll_gpufifo_module_t *module);

#endif
