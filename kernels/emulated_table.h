/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels as the emulated device calls them: one function a kernel, run by every thread of every block at once.
 */
#ifndef GF_KERNELS_EMULATED_TABLE_H
#define GF_KERNELS_EMULATED_TABLE_H

#include "kernels/work.h"

struct gf_team;                /* kernels/team.h: who this thread is within its block and launch */

/* work: the launch's own copy of its work item, which lives until all threads have returned. */
typedef void (*gf_emulated_kernel)(const struct gf_team *team, const void *work);

extern const gf_emulated_kernel gf_emulated_kernels[GF_KERNEL_COUNT];

#endif
