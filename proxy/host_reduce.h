/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels' own reduction, run by a CPU thread on host memory: the same bits as on the device.
 */
#ifndef GF_PROXY_HOST_REDUCE_H
#define GF_PROXY_HOST_REDUCE_H

#include <stddef.h>

#include "base/types.h"

/* out[i] = inputs[0][i] op inputs[1][i] op … in this order, for `bytes` bytes of whole elements. input_count is 1 ..
 * GF_MAX_RANKS, type and op are an allowed pair; out may equal an input. */
void gf_host_reduce(const void *const *inputs, int input_count, void *out, size_t bytes, enum gf_type type, enum gf_op op);

#endif
