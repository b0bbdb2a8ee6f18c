/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An MCA variable that takes one of some words.
 */
#ifndef GF_MCA_CHOICE_H
#define GF_MCA_CHOICE_H

#include "opal/mca/base/mca_base_var_enum.h"

/* The enumeration of a variable for mca_base_component_var_register. A value that is none of its words (or their numbers) is
 * reported on the first rank of each node, by a sentence that names the variable and what it may be; then the first word holds.
 *
 * Open MPI would report such a value too, but through the launcher, and mpirun of Open MPI 4.1 loses such messages now and then.
 *
 * name: of the variable, without coll_gpufifo_; copied. values: ended by a NULL word; copied; the first is the default.
 * Returns NULL without memory. The caller releases it with OBJ_RELEASE once the variable is registered. */
mca_base_var_enum_t *gf_choice_create(const char *name, const mca_base_var_enum_value_t *values);

#endif
