/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sizes from or up to which messages go one way rather than another (core/message_sizes.h): what the table says, unless the
 * MCA variable is set.
 */
#ifndef GF_MCA_TUNED_SIZES_H
#define GF_MCA_TUNED_SIZES_H

#include "mca_coll_gpufifo/module.h"

/* The defaults of the variables, before they are registered: of the table built in. */
void gf_tuned_sizes_default(mca_coll_gpufifo_component_t *component);

/* Reads the file coll_gpufifo_tuning, if there is one; what is wrong with it is told. Sizes that the user has not set follow
 * it. */
void gf_tuned_sizes_apply(mca_coll_gpufifo_component_t *component);

#endif
