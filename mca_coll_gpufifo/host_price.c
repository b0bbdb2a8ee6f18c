/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What host-only calls pay for the component, measured inside one process: the component's functions are taken out of Open MPI's
 * tables and put back every few hundred calls, so that both sides run on the same cores, with the same memory, in the same
 * milliseconds. (Runs of whole processes in turn, as bench/host_overhead.sh makes them, differ by 10 % among themselves.)
 *
 * The callback in MPI's progress cannot be taken out; its twin, which does the same, stands for it on the side "with".
 *
 * Usage: mpirun -n 2 host_price [PAIRS [CALLS [NAME]]]      PAIRS of samples of CALLS calls, for each kind of call whose name
 * contains NAME; rank 0 prints
 */
#include "mca_coll_gpufifo/coll/coll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/pml/pml.h"
#include "opal/runtime/opal_progress.h"

enum { MOST_PAIRS = 100000, WARM_UP = 20, LARGEST = 1024 };

/* One kind of call, by both ranks. */
struct kind {
    const char *name;
    void (*call)(int rank);
};

static char out[LARGEST], in[LARGEST];
static unsigned twin_calls;

static void call_allreduce(int rank)
{
    (void)rank;
    MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_alltoall(int rank)
{
    (void)rank;
    MPI_Alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void call_allgather(int rank)
{
    (void)rank;
    MPI_Allgather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void call_bcast(int rank)
{
    (void)rank;
    MPI_Bcast(out, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Bcast(out, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
}

static void call_gather(int rank)
{
    (void)rank;
    MPI_Gather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Scatter(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void ping_pong(int rank, int bytes)
{
    if (rank == 0) {
        MPI_Send(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(in, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

static void exchange(int rank, int bytes)
{
    MPI_Request requests[2];

    if (rank < 2) {
        MPI_Irecv(in, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void ping_pong_8(int rank) { ping_pong(rank, 8); }
static void ping_pong_1024(int rank) { ping_pong(rank, LARGEST); }
static void exchange_8(int rank) { exchange(rank, 8); }
static void exchange_1024(int rank) { exchange(rank, LARGEST); }

static const struct kind kinds[] = {
    {"MPI_Allreduce, 8 B", call_allreduce},
    {"MPI_Alltoall, 8 B", call_alltoall},
    {"MPI_Allgather, 8 B", call_allgather},
    {"MPI_Bcast from either rank, 8 B", call_bcast},
    {"MPI_Gather and MPI_Scatter, 8 B", call_gather},
    {"MPI_Send and MPI_Recv there and back, 8 B", ping_pong_8},
    {"MPI_Send and MPI_Recv there and back, 1 KiB", ping_pong_1024},
    {"MPI_Irecv, MPI_Isend, MPI_Waitall, 8 B", exchange_8},
    {"MPI_Irecv, MPI_Isend, MPI_Waitall, 1 KiB", exchange_1024},
};

/* As mailbox.c has it. */
static int twin_callback(void)
{
    unsigned calls = __atomic_load_n(&twin_calls, __ATOMIC_RELAXED) + 1;

    __atomic_store_n(&twin_calls, calls, __ATOMIC_RELAXED);
    return calls == 0;
}

static mca_coll_gpufifo_component_t *find_component(void)
{
    mca_base_component_list_item_t *item;

    OPAL_LIST_FOREACH(item, &ompi_coll_base_framework.framework_components, mca_base_component_list_item_t) {
        if (strcmp(item->cli_component->mca_component_name, "gpufifo") == 0) {
            return (mca_coll_gpufifo_component_t *)item->cli_component;
        }
    }
    return NULL;
}

/* What the tables hold with the component and without it. */
struct tables {
    mca_coll_base_comm_coll_t *coll, with_coll, without_coll;
    mca_pml_base_module_t with, without;
    int twin;                        /* its callback is registered */
};

static const mca_coll_gpufifo_module_t *find_module(mca_coll_gpufifo_component_t *component)
{
    opal_list_item_t *link;

    OPAL_LIST_FOREACH(link, &component->modules, opal_list_item_t) {
        if (gf_module_of(link)->comm == MPI_COMM_WORLD) {
            return gf_module_of(link);
        }
    }
    return NULL;
}

/* Puts back who had the collectives before us. */
static void take_out(const mca_coll_gpufifo_module_t *module, mca_coll_base_comm_coll_t *coll)
{
#define TAKE_OUT(slot) \
    if (coll->coll_##slot##_module == &module->super) { \
        coll->coll_##slot = module->saved.coll_##slot; \
        coll->coll_##slot##_module = module->saved.coll_##slot##_module; \
    }
    GF_COLL_SLOTS(TAKE_OUT)
#undef TAKE_OUT
}

static int read_tables(struct tables *tables)
{
    mca_coll_gpufifo_component_t *component = find_component();
    const mca_coll_gpufifo_module_t *module = component ? find_module(component) : NULL;

    tables->coll = MPI_COMM_WORLD->c_coll;
    if (module == NULL || !component->pt2pt.installed) {
        fprintf(stderr, "host_price: the component is not in use: run it with gpufifo-env and --mca coll_gpufifo_device\n");
        return 1;
    }
    tables->with_coll = tables->without_coll = *tables->coll;
    take_out(module, &tables->without_coll);
    tables->with = mca_pml;
    tables->without = component->pt2pt.saved;
    return 0;
}

static void use(struct tables *tables, int with)
{
    *tables->coll = with ? tables->with_coll : tables->without_coll;
    mca_pml = with ? tables->with : tables->without;
    if (with && !tables->twin) {
        opal_progress_register_lp(twin_callback);
    } else if (!with && tables->twin) {
        opal_progress_unregister(twin_callback);
    }
    tables->twin = with;
}

static double sample(const struct kind *kind, int rank, int calls)
{
    double start;

    for (int call = 0; call < WARM_UP; call++) {
        kind->call(rank);
    }
    start = MPI_Wtime();
    for (int call = 0; call < calls; call++) {
        kind->call(rank);
    }
    return (MPI_Wtime() - start) * 1e9 / calls;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), compare);
    return values[count / 2];
}

static void measure(struct tables *tables, const struct kind *kind, int rank, int pairs, int calls)
{
    static double with[MOST_PAIRS], without[MOST_PAIRS], difference[MOST_PAIRS];
    double a, b;

    for (int pair = -pairs / 20; pair < pairs; pair++) {
        double times[2];
        for (int turn = 0; turn < 2; turn++) {
            int side = (turn + pair) & 1;
            use(tables, side);
            times[side] = sample(kind, rank, calls);
        }
        if (pair >= 0) {
            without[pair] = times[0];
            with[pair] = times[1];
            difference[pair] = times[1] - times[0];
        }
    }
    a = median(with, pairs);
    b = median(without, pairs);
    if (rank == 0) {
        printf("%-46s with %7.1f ns, without %7.1f ns, ratio of medians %.4f, median difference %+.1f ns (%+.2f %%)\n",
               kind->name, a, b, a / b, median(difference, pairs), 100 * median(difference, pairs) / b);
    }
}

int main(int argc, char **argv)
{
    int pairs = argc > 1 ? atoi(argv[1]) : 2000, calls = argc > 2 ? atoi(argv[2]) : 500, rank;
    const char *wanted = argc > 3 ? argv[3] : "";
    struct tables tables = {0};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (pairs < 1 || pairs > MOST_PAIRS || calls < 1 || read_tables(&tables) != 0) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strstr(kinds[i].name, wanted)) {
            measure(&tables, &kinds[i], rank, pairs, calls);
        }
    }
    use(&tables, 0);                 /* takes the twin away */
    *tables.coll = tables.with_coll;
    mca_pml = tables.with;
    MPI_Finalize();
    return 0;
}
