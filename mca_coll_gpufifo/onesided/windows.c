/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The component of one-sided communication that stands in front of the others, and what it asks of a new window's memory.
 */
#include "mca_coll_gpufifo/onesided/windows.h"

#include <limits.h>

#include "ompi/mca/osc/base/base.h"

#include "mca_coll_gpufifo/memory_kind.h"

static int query(ompi_win_t *win, void **base, size_t size, gf_mpi_disp_unit disp_unit, ompi_communicator_t *comm,
                 opal_info_t *info, int flavor);
static int select_window(ompi_win_t *win, void **base, size_t size, gf_mpi_disp_unit disp_unit, ompi_communicator_t *comm,
                         opal_info_t *info, int flavor, int *model);

static int leave(void);

static const ompi_osc_base_component_t front = {
    .osc_version = {
        GF_OMPI_OSC_VERSION,
        .mca_component_name = "gpufifo",
        MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
    },
    .osc_data = {MCA_BASE_METADATA_PARAM_NONE},
    .osc_query = query,
    .osc_select = select_window,
    .osc_finalize = leave,
};

static struct gf_windows *the_windows(void)
{
    return mca_coll_gpufifo_component.windows;
}

int gf_windows_refuse(const char *function, const char *what)
{
    if (!atomic_exchange(&the_windows()->told, true)) {
        gf_show_help("one-sided", function, ompi_comm_rank(&ompi_mpi_comm_world.comm), what);
    } else {
        gf_log(&mca_coll_gpufifo_component.log, GF_LOG_PATH, "%s: %s is in device memory", function, what);
    }
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

/* The framework gives its list back, us included. Open MPI 4.1 does so before MPI_COMM_WORLD's module is disabled. */
static int leave(void)
{
    if (the_windows()) {
        the_windows()->item = NULL;
    }
    return OMPI_SUCCESS;
}

/* Before all others. */
static int query(ompi_win_t *win, void **base, size_t size, gf_mpi_disp_unit disp_unit, ompi_communicator_t *comm,
                 opal_info_t *info, int flavor)
{
    (void)win, (void)base, (void)size, (void)disp_unit, (void)comm, (void)info, (void)flavor;
    return INT_MAX;
}

/* Whom the framework would have chosen without us. Null: *result says why. */
static const ompi_osc_base_component_t *best_other(ompi_win_t *win, void **base, size_t size, gf_mpi_disp_unit disp_unit,
                                                   ompi_communicator_t *comm, opal_info_t *info, int flavor, int *result)
{
    const ompi_osc_base_component_t *best = NULL;
    mca_base_component_list_item_t *item;
    int highest = -1;

    *result = OMPI_ERR_NOT_SUPPORTED;
    OPAL_LIST_FOREACH(item, &ompi_osc_base_framework.framework_components, mca_base_component_list_item_t) {
        const ompi_osc_base_component_t *other = (const ompi_osc_base_component_t *)item->cli_component;
        int priority = other == &front ? -1 : other->osc_query(win, base, size, disp_unit, comm, info, flavor);

        if (flavor == MPI_WIN_FLAVOR_SHARED && priority == OMPI_ERR_RMA_SHARED) {
            *result = priority;
            return NULL;
        }
        if (priority > highest) {
            highest = priority;
            best = other;
        }
    }
    return best;
}

/* Does a rank bring device memory? All ranks learn it, so that all fail or none. */
static int find_device_memory(const void *base, size_t size, ompi_communicator_t *comm, bool *found)
{
    int mine = size > 0 && gf_memory_is_device(base), any = 0, result;

    result = comm->c_coll->coll_allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm, comm->c_coll->coll_allreduce_module);
    *found = any;
    return result;
}

static int select_window(ompi_win_t *win, void **base, size_t size, gf_mpi_disp_unit disp_unit, ompi_communicator_t *comm,
                         opal_info_t *info, int flavor, int *model)
{
    const ompi_osc_base_component_t *other;
    bool device = false;
    int result = OMPI_SUCCESS;

    if (flavor == MPI_WIN_FLAVOR_CREATE) {
        result = find_device_memory(*base, size, comm, &device);
    }
    if (result != OMPI_SUCCESS) {
        return result;
    }
    if (device) {
        return gf_windows_refuse("MPI_Win_create", "the memory of this rank, or of another one of its communicator,");
    }
    other = best_other(win, base, size, disp_unit, comm, info, flavor, &result);
    if (!other) {
        return result;
    }
    result = other->osc_select(win, base, size, disp_unit, comm, info, flavor, model);
    if (result == OMPI_SUCCESS && !gf_accesses_guard(the_windows()->accesses, win)) {
        gf_log(&mca_coll_gpufifo_component.log, GF_LOG_PATH,
               "one-sided communication by %s: device memory at the origin is not noticed",
               other->osc_version.mca_component_name);
    }
    return result;
}

/* Open MPI's monitoring asks all others as we do: the two would ask each other for ever. */
static bool is_monitored(void)
{
    mca_base_component_list_item_t *item;

    OPAL_LIST_FOREACH(item, &ompi_osc_base_framework.framework_components, mca_base_component_list_item_t) {
        if (strcmp(item->cli_component->mca_component_name, "monitoring") == 0) {
            return true;
        }
    }
    return false;
}

static void destroy(struct gf_windows *windows)
{
    if (windows->item) {
        OBJ_RELEASE(windows->item);
    }
    if (windows->accesses) {
        gf_accesses_destroy(windows->accesses);
    }
    free(windows);
}

static struct gf_windows *create(void)
{
    struct gf_windows *windows = calloc(1, sizeof *windows);

    if (!windows) {
        return NULL;
    }
    windows->item = OBJ_NEW(mca_base_component_list_item_t);
    windows->accesses = gf_accesses_create();
    if (!windows->item || !windows->accesses) {
        destroy(windows);
        return NULL;
    }
    windows->item->cli_component = (const mca_base_component_t *)&front;
    return windows;
}

void gf_windows_open(void)
{
    struct gf_windows *windows = is_monitored() ? NULL : create();

    mca_coll_gpufifo_component.windows = windows;
    if (!windows) {
        gf_log(&mca_coll_gpufifo_component.log, GF_LOG_PATH,
               "one-sided communication: device memory is not noticed (Open MPI's monitoring is on, or no host memory)");
        return;
    }
    opal_list_append(&ompi_osc_base_framework.framework_components, &windows->item->super);
}

void gf_windows_close(void)
{
    struct gf_windows *windows = the_windows();

    if (windows) {
        if (windows->item) {
            opal_list_remove_item(&ompi_osc_base_framework.framework_components, &windows->item->super);
        }
        mca_coll_gpufifo_component.windows = NULL;
        destroy(windows);
    }
}
