/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An MCA variable that takes a whole number.
 */
#ifndef GF_MCA_NUMBER_H
#define GF_MCA_NUMBER_H

#include <stdbool.h>

#include "opal/mca/base/mca_base_var.h"

/* The bytes of a variable of this type if it is a whole number, else 0. */
size_t gf_number_bytes(mca_base_var_type_t type);

/* Is the text that the environment, or mpirun --mca, has for this variable no whole number, with k, m or g behind it or without?
 * Open MPI takes what it can read of such a text, and 0 of a word, without a sentence; of files of parameters it keeps no text.
 * name: without coll_gpufifo_. Reports it, on the first rank of each node. */
bool gf_number_is_misread(const char *name);

#endif
