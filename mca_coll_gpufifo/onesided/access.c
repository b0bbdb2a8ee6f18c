/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What stands in front of a window's functions that read or write a buffer of the origin.
 */
#include "mca_coll_gpufifo/onesided/windows.h"


#include "mca_coll_gpufifo/memory_kind.h"
#include "mca_coll_gpufifo/pt2pt/functions.h"

enum { KINDS = 16 };                   /* components of one-sided communication in one process; there are five */

/* A component gives all of its windows the same functions, so they are kept once a component. A function that we leave alone
 * tells whose a window is. Kinds are added under the lock and never change: who sees the count sees them. */
struct gf_accesses {
    pthread_mutex_t lock;
    _Atomic int count;
    ompi_osc_base_module_t kinds[KINDS];
};

struct gf_accesses *gf_accesses_create(void)
{
    struct gf_accesses *accesses = calloc(1, sizeof *accesses);

    if (accesses) {
        pthread_mutex_init(&accesses->lock, NULL);
    }
    return accesses;
}

void gf_accesses_destroy(struct gf_accesses *accesses)
{
    pthread_mutex_destroy(&accesses->lock);
    free(accesses);
}

static const ompi_osc_base_module_t *find(struct gf_accesses *accesses, const ompi_osc_base_module_t *module)
{
    int count = atomic_load_explicit(&accesses->count, memory_order_acquire);

    for (int i = 0; i < count; i++) {
        if (accesses->kinds[i].osc_free == module->osc_free) {
            return &accesses->kinds[i];
        }
    }
    return NULL;
}

/* The functions of the component that made the window. */
static const ompi_osc_base_module_t *below(const ompi_win_t *win)
{
    return find(mca_coll_gpufifo_component.windows->accesses, win->w_osc_module);
}

static int refuse(const char *function)
{
    return gf_windows_refuse(function, "a buffer of this call");
}

static int put(const void *origin, gf_mpi_count count, ompi_datatype_t *type, int target, ptrdiff_t disp,
               gf_mpi_count target_count, ompi_datatype_t *target_type, ompi_win_t *win)
{
    if (gf_pt2pt_is_device(origin, count, type)) {
        return refuse("MPI_Put");
    }
    return below(win)->osc_put(origin, count, type, target, disp, target_count, target_type, win);
}

static int get(void *origin, gf_mpi_count count, ompi_datatype_t *type, int target, ptrdiff_t disp, gf_mpi_count target_count,
               ompi_datatype_t *target_type, ompi_win_t *win)
{
    if (gf_pt2pt_is_device(origin, count, type)) {
        return refuse("MPI_Get");
    }
    return below(win)->osc_get(origin, count, type, target, disp, target_count, target_type, win);
}

static int accumulate(const void *origin, gf_mpi_count count, ompi_datatype_t *type, int target, ptrdiff_t disp,
                      gf_mpi_count target_count, ompi_datatype_t *target_type, ompi_op_t *op, ompi_win_t *win)
{
    if (gf_pt2pt_is_device(origin, count, type)) {
        return refuse("MPI_Accumulate");
    }
    return below(win)->osc_accumulate(origin, count, type, target, disp, target_count, target_type, op, win);
}

static int compare_and_swap(const void *origin, const void *compare, void *result, ompi_datatype_t *type, int target,
                            ptrdiff_t disp, ompi_win_t *win)
{
    if (gf_memory_is_device(origin) || gf_memory_is_device(compare) || gf_memory_is_device(result)) {
        return refuse("MPI_Compare_and_swap");
    }
    return below(win)->osc_compare_and_swap(origin, compare, result, type, target, disp, win);
}

static int fetch_and_op(const void *origin, void *result, ompi_datatype_t *type, int target, ptrdiff_t disp, ompi_op_t *op,
                        ompi_win_t *win)
{
    if (gf_memory_is_device(origin) || gf_memory_is_device(result)) {
        return refuse("MPI_Fetch_and_op");
    }
    return below(win)->osc_fetch_and_op(origin, result, type, target, disp, op, win);
}

static int get_accumulate(const void *origin, gf_mpi_count count, ompi_datatype_t *type, void *result, gf_mpi_count result_count,
                          ompi_datatype_t *result_type, int target, ptrdiff_t disp, gf_mpi_count target_count,
                          ompi_datatype_t *target_type, ompi_op_t *op, ompi_win_t *win)
{
    if (gf_pt2pt_is_device(origin, count, type) || gf_pt2pt_is_device(result, result_count, result_type)) {
        return refuse("MPI_Get_accumulate");
    }
    return below(win)->osc_get_accumulate(origin, count, type, result, result_count, result_type, target, disp, target_count,
                                          target_type, op, win);
}

static int rput(const void *origin, gf_mpi_count count, ompi_datatype_t *type, int target, ptrdiff_t disp,
                gf_mpi_count target_count, ompi_datatype_t *target_type, ompi_win_t *win, ompi_request_t **request)
{
    if (gf_pt2pt_is_device(origin, count, type)) {
        return refuse("MPI_Rput");
    }
    return below(win)->osc_rput(origin, count, type, target, disp, target_count, target_type, win, request);
}

static int rget(void *origin, gf_mpi_count count, ompi_datatype_t *type, int target, ptrdiff_t disp, gf_mpi_count target_count,
                ompi_datatype_t *target_type, ompi_win_t *win, ompi_request_t **request)
{
    if (gf_pt2pt_is_device(origin, count, type)) {
        return refuse("MPI_Rget");
    }
    return below(win)->osc_rget(origin, count, type, target, disp, target_count, target_type, win, request);
}

static int raccumulate(const void *origin, gf_mpi_count count, ompi_datatype_t *type, int target, ptrdiff_t disp,
                       gf_mpi_count target_count, ompi_datatype_t *target_type, ompi_op_t *op, ompi_win_t *win,
                       ompi_request_t **request)
{
    if (gf_pt2pt_is_device(origin, count, type)) {
        return refuse("MPI_Raccumulate");
    }
    return below(win)->osc_raccumulate(origin, count, type, target, disp, target_count, target_type, op, win, request);
}

static int rget_accumulate(const void *origin, gf_mpi_count count, ompi_datatype_t *type, void *result, gf_mpi_count result_count,
                           ompi_datatype_t *result_type, int target, ptrdiff_t disp, gf_mpi_count target_count,
                           ompi_datatype_t *target_type, ompi_op_t *op, ompi_win_t *win, ompi_request_t **request)
{
    if (gf_pt2pt_is_device(origin, count, type) || gf_pt2pt_is_device(result, result_count, result_type)) {
        return refuse("MPI_Rget_accumulate");
    }
    return below(win)->osc_rget_accumulate(origin, count, type, result, result_count, result_type, target, disp, target_count,
                                           target_type, op, win, request);
}

/* Memory that joins a dynamic window. */
static int win_attach(ompi_win_t *win, void *base, size_t size)
{
    if (size > 0 && gf_memory_is_device(base)) {
        return refuse("MPI_Win_attach");
    }
    return below(win)->osc_win_attach(win, base, size);
}

/* Those that stand there instead of a component's. */
static void replace(ompi_osc_base_module_t *module)
{
    module->osc_put = put;
    module->osc_get = get;
    module->osc_accumulate = accumulate;
    module->osc_compare_and_swap = compare_and_swap;
    module->osc_fetch_and_op = fetch_and_op;
    module->osc_get_accumulate = get_accumulate;
    module->osc_rput = rput;
    module->osc_rget = rget;
    module->osc_raccumulate = raccumulate;
    module->osc_rget_accumulate = rget_accumulate;
    module->osc_win_attach = win_attach;
}

/* With the lock held: keeps the module's functions if they are new. Null: no room. */
static const ompi_osc_base_module_t *keep(struct gf_accesses *accesses, const ompi_osc_base_module_t *module)
{
    const ompi_osc_base_module_t *kind = find(accesses, module);
    int count = accesses->count;

    if (kind || count == KINDS) {
        return kind;
    }
    accesses->kinds[count] = *module;
    atomic_store_explicit(&accesses->count, count + 1, memory_order_release);
    return &accesses->kinds[count];
}

bool gf_accesses_guard(struct gf_accesses *accesses, ompi_win_t *win)
{
    ompi_osc_base_module_t *module = win->w_osc_module;
    const ompi_osc_base_module_t *kind;
    bool known;

    pthread_mutex_lock(&accesses->lock);
    kind = keep(accesses, module);
    known = kind && memcmp(kind, module, sizeof *kind) == 0;
    pthread_mutex_unlock(&accesses->lock);
    if (known) {
        replace(module);
    }
    return known;
}
