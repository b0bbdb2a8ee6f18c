/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocking reductions of host memory in the order of the ranks, in place of those of the component that was there before us:
 * where coll_gpufifo_deterministic asks for it. The kernels reduce in that order, too, so a call has the same bits whether it is
 * staged or not. Slow: all ranks get the data of all.
 */
#ifndef GF_MCA_ORDERED_H
#define GF_MCA_ORDERED_H

#include "mca_coll_gpufifo/ompi_abi.h"

struct mca_coll_gpufifo_module_t;

typedef void (*gf_any_function)(void);

/* Owned by the module: what was in its table of saved functions. Zero: nothing was replaced. */
enum { GF_ORDERED_COUNT = 6 };
struct gf_ordered {
    struct gf_ordered_slot {
        gf_any_function function;
        mca_coll_base_module_t *owner;
    } saved[GF_ORDERED_COUNT];
    bool enabled;
};

/* In an intracommunicator's module->saved: ours in, the saved ones back. Whoever enables has retained the owners of what is
 * saved, and releases them after disabling. */
void gf_ordered_enable(struct mca_coll_gpufifo_module_t *module);
void gf_ordered_disable(struct mca_coll_gpufifo_module_t *module);

#endif
