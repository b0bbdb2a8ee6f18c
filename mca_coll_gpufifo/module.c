/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A communicator's module: it remembers who did each collective, puts our functions there, and takes them away again.
 * Nothing of the device is touched here: that waits for the first device buffer.
 */
#include "mca_coll_gpufifo/module.h"

#include "mca_coll_gpufifo/agree.h"
#include "mca_coll_gpufifo/arming.h"
#include "mca_coll_gpufifo/card.h"
#include "mca_coll_gpufifo/coll/coll.h"
#include "mca_coll_gpufifo/flight.h"
#include "mca_coll_gpufifo/mailbox.h"
#include "mca_coll_gpufifo/onesided/windows.h"
#include "mca_coll_gpufifo/pt2pt/interpose.h"

typedef void (*any_function)(void);

/* Where a collective is in the module, and in the communicator's table. */
struct slot {
    size_t module_function, table_function, table_owner;
    any_function ours;
};

static const struct slot slots[] = {
#define SLOT(name) {offsetof(mca_coll_base_module_t, coll_##name), offsetof(mca_coll_base_comm_coll_t, coll_##name), \
                    offsetof(mca_coll_base_comm_coll_t, coll_##name##_module), (any_function)gf_coll_##name},
    GF_COLL_SLOTS(SLOT)
#undef SLOT
};
enum { SLOT_COUNT = sizeof(slots) / sizeof(slots[0]) };

static any_function *function_at(void *structure, size_t offset) { return (any_function *)((char *)structure + offset); }

static mca_coll_base_module_t **owner_at(mca_coll_base_comm_coll_t *table, size_t offset)
{
    return (mca_coll_base_module_t **)((char *)table + offset);
}

/* A collective that nobody does on this communicator (exscan on an intercommunicator) stays empty: we could not stage it. */
static void save_and_install(mca_coll_gpufifo_module_t *module, ompi_communicator_t *comm)
{
    module->saved = *comm->c_coll;
    for (int i = 0; i < SLOT_COUNT; i++) {
        mca_coll_base_module_t *owner = *owner_at(&module->saved, slots[i].table_owner);
        if (owner) {
            OBJ_RETAIN(owner);
        }
        if (*function_at(&module->saved, slots[i].table_function) == NULL) {
            continue;
        }
        *function_at(&module->super, slots[i].module_function) = slots[i].ours;
#ifdef GF_OMPI_INSTALLS_ITSELF
        *function_at(comm->c_coll, slots[i].table_function) = slots[i].ours;
        *owner_at(comm->c_coll, slots[i].table_owner) = &module->super;
#endif
    }
}

static void restore_and_release(mca_coll_gpufifo_module_t *module)
{
    gf_ordered_disable(module);
    for (int i = 0; i < SLOT_COUNT; i++) {
        mca_coll_base_module_t **owner = owner_at(&module->saved, slots[i].table_owner);
#ifdef GF_OMPI_INSTALLS_ITSELF
        mca_coll_base_comm_coll_t *table = module->comm->c_coll;
        if (table && *owner_at(table, slots[i].table_owner) == &module->super) {
            *function_at(table, slots[i].table_function) = *function_at(&module->saved, slots[i].table_function);
            *owner_at(table, slots[i].table_owner) = *owner;
        }
#endif
        if (*owner) {
            OBJ_RELEASE(*owner);
        }
    }
}

static void remember(mca_coll_gpufifo_module_t *module)
{
    opal_mutex_lock(&mca_coll_gpufifo_component.lock);
    opal_list_append(&mca_coll_gpufifo_component.modules, &module->link);
    opal_mutex_unlock(&mca_coll_gpufifo_component.lock);
}

static void forget(mca_coll_gpufifo_module_t *module)
{
    opal_mutex_lock(&mca_coll_gpufifo_component.lock);
    opal_list_remove_item(&mca_coll_gpufifo_component.modules, &module->link);
    gf_arming_leave(module);
    opal_mutex_unlock(&mca_coll_gpufifo_component.lock);
}

/* The lowest rank of comm that has a card, or with_card false: that has none; comm's size: there is none such. */
static int lowest_rank(ompi_communicator_t *comm, bool with_card)
{
    struct gf_cards *cards = mca_coll_gpufifo_component.pt2pt.cards;
    int rank = 0;

    while (rank < ompi_comm_size(comm) && (cards && gf_card_of(cards, comm, rank)) != with_card) {
        rank++;
    }
    return rank;
}

/* Calls of host memory alone must go the same way everywhere, too, and no rank looks at the others in them: all go by what the
 * first of MPI_COMM_WORLD has that takes part. */
static void take_order_of_first(void)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;
    ompi_communicator_t *world = &ompi_mpi_comm_world.comm;
    int first = lowest_rank(world, true);
    const struct gf_card *card = first < ompi_comm_size(world) ? gf_card_of(component->pt2pt.cards, world, first) : NULL;

    if (card && card->deterministic != component->config.deterministic) {
        gf_log(&component->log, GF_LOG_WARN, "rank %d of MPI_COMM_WORLD has the setting coll_gpufifo_deterministic = %d, but "
               "rank %d has %d, which counts: give all ranks the same", ompi_comm_rank(world), component->config.deterministic,
               first, card->deterministic);
        component->config.deterministic = card->deterministic;
    }
}

/* Only where all ranks do: who has no card reduces as it does without us, and in another job by other settings. All that have one
 * find the same. */
static void enable_order(mca_coll_gpufifo_module_t *module)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;
    ompi_communicator_t *comm = module->comm;
    int without = OMPI_COMM_IS_INTER(comm) ? ompi_comm_size(comm) : lowest_rank(comm, false);

    if (without == ompi_comm_size(comm)) {
        gf_ordered_enable(module);
    } else if (!component->told_no_order && lowest_rank(comm, true) == ompi_comm_rank(comm)) {
        component->told_no_order = true;
        gf_log(&component->log, GF_LOG_WARN, "%s: rank %d runs without gpufifo, or in another job: reductions do not keep the "
               "order for which coll_gpufifo_deterministic asks, here and wherever else that is so", comm->c_name, without);
    }
}

static int module_enable(mca_coll_base_module_t *base, ompi_communicator_t *comm)
{
    mca_coll_gpufifo_module_t *module = (mca_coll_gpufifo_module_t *)base;

    if (comm == &ompi_mpi_comm_world.comm) {
        gf_mailbox_open();
        gf_pt2pt_open();
        gf_windows_open();
        take_order_of_first();
    }
    module->comm = comm;
    module->watched = gf_mpi_threads();
    save_and_install(module, comm);
    if (mca_coll_gpufifo_component.config.deterministic) {
        enable_order(module);
    }
    remember(module);
    gf_mailbox_deliver_waiting(module);
    return OMPI_SUCCESS;
}

/* Up to Open MPI 5.0 the framework calls it once for each collective that we have, so only the first call does anything. */
static int module_disable(mca_coll_base_module_t *base, ompi_communicator_t *comm)
{
    mca_coll_gpufifo_module_t *module = (mca_coll_gpufifo_module_t *)base;

    if (module->comm == NULL) {
        return OMPI_SUCCESS;
    }
    gf_mpi_take_over(comm);
    forget(module);
    gf_flights_close(module);
    if (module->device_comm) {
        gf_comm_destroy(module->device_comm);
        module->device_comm = NULL;
    }
    gf_agree_close(module);
    if (comm == &ompi_mpi_comm_world.comm) {
        gf_windows_close();
        gf_pt2pt_close();
        gf_mailbox_close();
    }
    restore_and_release(module);
    module->comm = NULL;
    return OMPI_SUCCESS;
}

static void module_construct(mca_coll_gpufifo_module_t *module)
{
    memset((char *)module + sizeof(module->super), 0, sizeof(*module) - sizeof(module->super));
    OBJ_CONSTRUCT(&module->link, opal_list_item_t);
    gf_agree_later_init(&module->later);
    module->super.coll_module_enable = module_enable;
    module->super.coll_module_disable = module_disable;
}

/* The framework does not disable a module all of whose collectives another one has taken over. */
static void module_destruct(mca_coll_gpufifo_module_t *module)
{
    if (module->comm) {
        module_disable(&module->super, module->comm);
    }
    gf_agree_later_destroy(&module->later);
    OBJ_DESTRUCT(&module->link);
}

OBJ_CLASS_INSTANCE(mca_coll_gpufifo_module_t, mca_coll_base_module_t, module_construct, module_destruct);

mca_coll_base_module_t *gf_module_query(ompi_communicator_t *comm, int *priority)
{
    mca_coll_gpufifo_module_t *module;
    (void)comm;

    *priority = mca_coll_gpufifo_component.priority;
    if (mca_coll_gpufifo_component.driver == NULL || *priority < 0) {
        *priority = -1;
        return NULL;
    }
    module = OBJ_NEW(mca_coll_gpufifo_module_t);
    return module ? &module->super : NULL;
}
