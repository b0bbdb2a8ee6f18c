/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Saving, replacing and restoring the functions of the PML.
 */
#include "mca_coll_gpufifo/pt2pt/interpose.h"

#include "ompi/mca/pml/base/base.h"

#include "mca_coll_gpufifo/module.h"
#include "mca_coll_gpufifo/card.h"
#include "mca_coll_gpufifo/pt2pt/functions.h"
#include "mca_coll_gpufifo/pt2pt/landing.h"
#include "mca_coll_gpufifo/pt2pt/replace.h"
#include "mca_coll_gpufifo/pt2pt/queue.h"
#include "mca_coll_gpufifo/pt2pt/stash.h"

typedef void (*any_function)(void);

/* Where one of our functions belongs. */
struct slot {
    size_t offset;
    any_function ours;
};

static const struct slot slots[] = {
#define SLOT(name) {offsetof(mca_pml_base_module_t, pml_##name), (any_function)gf_pt2pt_##name},
    GF_PT2PT_SLOTS(SLOT)
#undef SLOT
};
enum { SLOT_COUNT = sizeof(slots) / sizeof(slots[0]) };

static any_function *function_at(mca_pml_base_module_t *table, int slot)
{
    return (any_function *)((char *)table + slots[slot].offset);
}

/* MPI functions of such a build call their PML by name and never look at the table. */
static bool calls_by_name(void)
{
#if MCA_ompi_pml_DIRECT_CALL
    return true;
#else
    return false;
#endif
}

void gf_pt2pt_announce(void)
{
    struct gf_pt2pt *pt2pt = &mca_coll_gpufifo_component.pt2pt;

    if (calls_by_name()) {
        return;
    }
    pt2pt->landings = gf_landings_create();
    pt2pt->queue = gf_pt2pt_queue_create();
    pt2pt->stash = gf_stash_create();
    if (pt2pt->landings && pt2pt->queue && pt2pt->stash) {
        pt2pt->cards = gf_cards_publish(&mca_coll_gpufifo_component.super.collm_version,
                                        &mca_coll_gpufifo_component.config);
    }
}

/* A PML that lacks a function is one that nobody calls it of. */
static void install(void)
{
    for (int i = 0; i < SLOT_COUNT; i++) {
        if (*function_at(&mca_pml, i)) {
            *function_at(&mca_pml, i) = slots[i].ours;
        }
    }
}

/* Open MPI's monitoring stands in front of the PML since that was selected, so it is below us. */
static void tell_of_monitoring(void)
{
    if (strcmp(mca_pml_base_selected_component.pmlm_version.mca_component_name, "monitoring") == 0) {
        gf_log(&mca_coll_gpufifo_component.log, GF_LOG_PATH, "Open MPI's monitoring sees every message, but of one that its "
               "receiver fetches it counts the %d bytes that announce it", GF_RTS_BYTES);
    }
}

void gf_pt2pt_open(void)
{
    struct gf_pt2pt *pt2pt = &mca_coll_gpufifo_component.pt2pt;
    const struct gf_log *log = &mca_coll_gpufifo_component.log;

    if (calls_by_name()) {
        gf_log(log, GF_LOG_PATH, "point-to-point messages take no device buffers: this Open MPI was built for one PML only, and "
               "calls it directly; build it without --enable-mca-direct for pml");
        return;
    }
    if (!pt2pt->landings || !pt2pt->queue || !pt2pt->stash) {
        gf_log(log, GF_LOG_WARN, "point-to-point messages take no device buffers: no host memory for their requests");
        return;
    }
    pt2pt->saved = mca_pml;
    pt2pt->near = pt2pt->cards && ompi_process_info.num_procs > 1;
    gf_stash_open(pt2pt->stash, pt2pt->near);
    tell_of_monitoring();
    install();
    pt2pt->installed = true;
    gf_pt2pt_replace_open();
}

static bool table_is_ours(void)
{
    for (int i = 0; i < SLOT_COUNT; i++) {
        if (*function_at(&mca_pml, i) && *function_at(&mca_pml, i) != slots[i].ours) {
            return false;
        }
    }
    return true;
}

/* Who put functions in front of ours goes on calling ours, and they pass on. */
static void restore(struct gf_pt2pt *pt2pt)
{
    if (!table_is_ours()) {
        gf_log(&mca_coll_gpufifo_component.log, GF_LOG_PATH, "the PML's functions stay replaced: somebody replaced ours");
        return;
    }
    for (int i = 0; i < SLOT_COUNT; i++) {
        *function_at(&mca_pml, i) = *function_at(&pt2pt->saved, i);
    }
}

void gf_pt2pt_close(void)
{
    struct gf_pt2pt *pt2pt = &mca_coll_gpufifo_component.pt2pt;

    if (!pt2pt->installed) {
        return;
    }
    gf_pt2pt_queue_settle(pt2pt->queue);
    gf_pt2pt_replace_close();
    restore(pt2pt);
    pt2pt->installed = false;
    pt2pt->near = false;
    gf_stash_close(pt2pt->stash);
    gf_pt2pt_queue_close(pt2pt->queue);
}

void gf_pt2pt_withdraw(void)
{
    struct gf_pt2pt *pt2pt = &mca_coll_gpufifo_component.pt2pt;

    gf_pt2pt_queue_destroy(pt2pt->queue);
    pt2pt->queue = NULL;
    gf_stash_destroy(pt2pt->stash);
    pt2pt->stash = NULL;
    gf_landings_destroy(pt2pt->landings);
    pt2pt->landings = NULL;
    gf_cards_destroy(pt2pt->cards);
    pt2pt->cards = NULL;
}
