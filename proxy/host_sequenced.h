/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host-sequenced executor: for ranks whose kernels must not wait for one another (design rule 9), the hosts play the next
 * GPU. Data goes to shared host memory by copies, is reduced by the CPUs and goes back by copies; nothing on the device waits.
 */
#ifndef GF_PROXY_HOST_SEQUENCED_H
#define GF_PROXY_HOST_SEQUENCED_H

#include "core/host_executor.h"

extern const struct gf_host_executor gf_host_sequenced;

#endif
