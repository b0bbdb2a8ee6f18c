/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the host does for a call of each collective, counted: copies and kernels that a rank queues, and messages that it sends,
 * of the rank that does most, once connections are made and buffers known.
 *
 * Usage: test_call_costs [calls=N] [form=0|1|2] [native]
 *   calls    so many of each collective are counted
 *   form     0: blocking, 1: non-blocking, 2: persistent
 *   native   none may take more than two copies or kernels, nor send a message
 * Messages are counted as writes to sockets: --mca btl tcp,self.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/harness.h"
#include "tests/mpi/stage_collectives.h"

enum { RANKS_MOST = 64, COUNT = 256, BEFORE = 4, MOST_NATIVE = 2 };

/* A counter of MPI_T. */
struct counter {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
};

static struct counter counter_open(struct harness *h, const char *name)
{
    struct counter counter;
    int index, count;

    MPI_T_pvar_session_create(&counter.session);
    harness_need(h, MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_AGGREGATE, &index), name);
    MPI_T_pvar_handle_alloc(counter.session, index, NULL, &counter.handle, &count);
    return counter;
}

static unsigned long long counter_read(const struct counter *counter)
{
    unsigned long long value;

    MPI_T_pvar_read(counter->session, counter->handle, &value);
    return value;
}

/* What this process has written: over sockets a message is a write. */
static unsigned long long writes(struct harness *h)
{
    FILE *file = fopen("/proc/self/io", "r");
    unsigned long long count = 0;
    bool found = false;
    char line[80];

    while (file && !found && fgets(line, sizeof line, file)) {
        found = sscanf(line, "syscw: %llu", &count) == 1;
    }
    harness_need(h, found ? MPI_SUCCESS : MPI_ERR_OTHER, "/proc/self/io does not tell of writes");
    fclose(file);
    return count;
}

struct arrays {
    int counts[RANKS_MOST], displs[RANKS_MOST], bytes[RANKS_MOST];
    MPI_Aint places[RANKS_MOST];
    MPI_Datatype types[RANKS_MOST];
};

static struct stage_arguments make_arguments(const struct harness *h, struct arrays *arrays)
{
    for (int i = 0; i < h->ranks; i++) {
        arrays->counts[i] = COUNT;
        arrays->displs[i] = i * COUNT;
        arrays->bytes[i] = arrays->displs[i] * (int)sizeof(int);
        arrays->places[i] = arrays->bytes[i];
        arrays->types[i] = MPI_INT;
    }
    return (struct stage_arguments){
        .op = MPI_SUM, .scount = COUNT, .rcount = COUNT, .stype = MPI_INT, .rtype = MPI_INT, .scounts = arrays->counts,
        .sdispls = arrays->displs, .rcounts = arrays->counts, .rdispls = arrays->displs, .sbytes = arrays->places,
        .rbytes = arrays->places, .stypes = arrays->types, .rtypes = arrays->types,
    };
}

static MPI_Comm make_ring(const struct harness *h)
{
    int left = (h->rank + h->ranks - 1) % h->ranks, right = (h->rank + 1) % h->ranks, weight = 1;
    MPI_Comm ring;

    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &weight, 1, &right, &weight, MPI_INFO_NULL, 0, &ring);
    return ring;
}

/* So many calls; a persistent operation is made before the counters are read. */
struct operation {
    const struct stage_collective *collective;
    struct stage_arguments arguments;
    int form;
    MPI_Request request;
};

static void call(struct operation *operation, int calls)
{
    for (int i = 0; i < calls; i++) {
        if (operation->form == 0) {
            operation->collective->blocking(&operation->arguments);
            continue;
        }
        if (operation->form == 1) {
            operation->collective->nonblocking(&operation->arguments, &operation->request);
        } else {
            MPI_Start(&operation->request);
        }
        MPI_Wait(&operation->request, MPI_STATUS_IGNORE);
    }
}

static void count(struct harness *h, struct operation *operation, int calls, bool native, const struct counter *queued)
{
    unsigned long long mine[2], most[2];

    if (operation->form == 2) {
        operation->collective->persistent(&operation->arguments, &operation->request);
    }
    call(operation, BEFORE);
    MPI_Barrier(MPI_COMM_WORLD);
    mine[0] = counter_read(queued);
    mine[1] = writes(h);
    call(operation, calls);
    mine[0] = counter_read(queued) - mine[0];
    mine[1] = writes(h) - mine[1];
    MPI_Reduce(mine, most, 2, MPI_UNSIGNED_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (operation->form == 2) {
        MPI_Request_free(&operation->request);
    }
    if (h->rank == 0) {
        printf("| %s | %d | %.1f | %.1f |\n", operation->collective->name, h->ranks, (double)most[0] / calls,
               (double)most[1] / calls);
        harness_check(h, !native || (most[0] <= MOST_NATIVE * (unsigned long long)calls && most[1] == 0),
                      "%s: %llu copies and kernels and %llu messages for %d calls", operation->collective->name, most[0], most[1],
                      calls);
    }
}

int main(int argc, char **argv)
{
    struct harness h;
    struct arrays arrays;
    struct buffer send, recv;
    int calls = 10, form = 0, level;
    bool native = false;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    harness_need(&h, h.ranks <= RANKS_MOST ? MPI_SUCCESS : MPI_ERR_ARG, "at most 64 ranks");
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "calls=", 6) == 0) {
            calls = atoi(argv[i] + 6);
        } else if (strncmp(argv[i], "form=", 5) == 0) {
            form = atoi(argv[i] + 5);
        } else if (strcmp(argv[i], "native") == 0) {
            native = true;
        }
    }
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    struct counter queued = counter_open(&h, "coll_gpufifo_driver_calls");
    MPI_Comm ring = make_ring(&h);

    buffer_create(&h, &send, GPUFIFO_MEMORY_DEVICE, (size_t)h.ranks * COUNT * sizeof(int), 0);
    buffer_create(&h, &recv, GPUFIFO_MEMORY_DEVICE, (size_t)h.ranks * COUNT * sizeof(int), 0);
    for (size_t i = 0; i < stage_collective_count; i++) {
        struct operation operation = {.collective = &stage_collectives[i], .form = form};

        if (form == 2 && !operation.collective->persistent) {
            continue;
        }
        operation.arguments = make_arguments(&h, &arrays);
        operation.arguments.comm = operation.collective->neighbours ? ring : MPI_COMM_WORLD;
        operation.arguments.send = send.data;
        operation.arguments.recv = recv.data;
        count(&h, &operation, calls, native, &queued);
    }
    buffer_destroy(&send, "send");
    buffer_destroy(&recv, "receive");
    MPI_Comm_free(&ring);
    MPI_T_finalize();
    return harness_finish(&h);
}
