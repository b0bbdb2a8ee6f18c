/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided communication takes no device memory: each call says so by an MPI error, and goes on working with host memory.
 *   test_onesided            under MPI_ERRORS_RETURN and a handler
 *   test_onesided window     ends in MPI_Win_create, under MPI_ERRORS_ARE_FATAL
 *   test_onesided put        ends in MPI_Put
 */
#include <mpi.h>
#include <string.h>

#include "tests/mpi/harness.h"

enum { COUNT = 512 };

struct window {
    struct harness *h;
    MPI_Win win;
    int *memory;                       /* of this rank */
    int next, previous;
    const char *name;
};

static void check_class(struct harness *h, const char *name, const char *call, int code, int wanted)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(code, &class);
    harness_check(h, class == wanted, "%s: %s: error class %d, not %d", name, call, class, wanted);
}

static void check_refused(const struct window *w, const char *call, int code)
{
    check_class(w->h, w->name, call, code, MPI_ERR_UNSUPPORTED_OPERATION);
}

/* The window still moves host data, by every call. */
static void check_works(const struct window *w)
{
    int mine[4], back[4] = {0}, one = 1, zero = 0, result[3] = {-1, -1, -1};

    for (int i = 0; i < 4; i++) {
        mine[i] = 100 * w->h->rank + i;
    }
    MPI_Win_fence(0, w->win);
    MPI_Put(mine, 4, MPI_INT, w->next, 0, 4, MPI_INT, w->win);
    MPI_Win_fence(0, w->win);
    MPI_Get(back, 4, MPI_INT, w->next, 0, 4, MPI_INT, w->win);
    MPI_Win_fence(0, w->win);
    harness_check(w->h, memcmp(mine, back, sizeof mine) == 0 && w->memory[3] == 100 * w->previous + 3, "%s: put and get",
                  w->name);
    MPI_Accumulate(&one, 1, MPI_INT, w->next, 0, 1, MPI_INT, MPI_SUM, w->win);
    MPI_Win_fence(0, w->win);
    MPI_Fetch_and_op(&one, &result[0], MPI_INT, w->next, 0, MPI_SUM, w->win);
    MPI_Win_fence(0, w->win);
    MPI_Get_accumulate(&one, 1, MPI_INT, &result[1], 1, MPI_INT, w->next, 0, 1, MPI_INT, MPI_SUM, w->win);
    MPI_Win_fence(0, w->win);
    MPI_Compare_and_swap(&zero, &one, &result[2], MPI_INT, w->next, 0, w->win);
    MPI_Win_fence(0, w->win);
    harness_check(w->h, result[0] == mine[0] + 1 && result[1] == mine[0] + 2 && result[2] == mine[0] + 3,
                  "%s: %d, %d and %d fetched", w->name, result[0], result[1], result[2]);
}

static void check_device_origin(const struct window *w)
{
    struct buffer device;
    MPI_Request request;
    int host = 5;
    int *data;

    buffer_create(w->h, &device, GPUFIFO_MEMORY_DEVICE, COUNT * sizeof(int), 0);
    data = (int *)device.data;
    MPI_Win_lock_all(0, w->win);
    check_refused(w, "put", MPI_Put(data, 4, MPI_INT, w->next, 0, 4, MPI_INT, w->win));
    check_refused(w, "get", MPI_Get(data, 4, MPI_INT, w->next, 0, 4, MPI_INT, w->win));
    check_refused(w, "accumulate", MPI_Accumulate(data, 4, MPI_INT, w->next, 0, 4, MPI_INT, MPI_SUM, w->win));
    check_refused(w, "rput", MPI_Rput(data, 4, MPI_INT, w->next, 0, 4, MPI_INT, w->win, &request));
    check_refused(w, "rget", MPI_Rget(data, 4, MPI_INT, w->next, 0, 4, MPI_INT, w->win, &request));
    check_refused(w, "raccumulate", MPI_Raccumulate(data, 4, MPI_INT, w->next, 0, 4, MPI_INT, MPI_SUM, w->win, &request));
    check_refused(w, "get_accumulate origin",
                  MPI_Get_accumulate(data, 1, MPI_INT, &host, 1, MPI_INT, w->next, 0, 1, MPI_INT, MPI_SUM, w->win));
    check_refused(w, "get_accumulate result",
                  MPI_Get_accumulate(&host, 1, MPI_INT, data, 1, MPI_INT, w->next, 0, 1, MPI_INT, MPI_SUM, w->win));
    check_refused(w, "rget_accumulate", MPI_Rget_accumulate(&host, 1, MPI_INT, data, 1, MPI_INT, w->next, 0, 1, MPI_INT, MPI_SUM,
                                                            w->win, &request));
    check_refused(w, "fetch_and_op origin", MPI_Fetch_and_op(data, &host, MPI_INT, w->next, 0, MPI_SUM, w->win));
    check_refused(w, "fetch_and_op result", MPI_Fetch_and_op(&host, data, MPI_INT, w->next, 0, MPI_SUM, w->win));
    check_refused(w, "compare_and_swap", MPI_Compare_and_swap(&host, data, &host, MPI_INT, w->next, 0, w->win));
    check_class(w->h, w->name, "put of nothing", MPI_Put(data, 0, MPI_INT, w->next, 0, 0, MPI_INT, w->win), MPI_SUCCESS);
    MPI_Win_unlock_all(w->win);
    buffer_destroy(&device, w->name);
}

static void check_window(struct window *w)
{
    MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
    check_works(w);
    check_device_origin(w);
    check_works(w);
    MPI_Win_free(&w->win);
}

static struct window ring(struct harness *h, const char *name)
{
    return (struct window){.h = h, .next = (h->rank + 1) % h->ranks, .name = name,
                           .previous = (h->rank + h->ranks - 1) % h->ranks};
}

/* Not every component of Open MPI makes every kind of window, nor for one rank. True: this one makes those of memory that
 * exists. */
static bool host_windows(struct harness *h)
{
    struct window created = ring(h, "created"), allocated = ring(h, "allocated"), shared = ring(h, "shared");
    int memory[COUNT] = {0};
    bool creates;

    created.memory = memory;
    creates = MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &created.win) == MPI_SUCCESS;
    if (creates) {
        check_window(&created);
    }
    if (MPI_Win_allocate(COUNT * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated.memory, &allocated.win) ==
        MPI_SUCCESS) {
        check_window(&allocated);
    }
    if (MPI_Win_allocate_shared(COUNT * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &shared.memory, &shared.win) ==
        MPI_SUCCESS) {
        check_window(&shared);
    }
    return creates;
}

/* Of the memory that a rank attaches to a dynamic window. */
static void dynamic_window(struct harness *h)
{
    struct buffer device;
    int memory[COUNT];
    MPI_Win win;

    buffer_create(h, &device, GPUFIFO_MEMORY_DEVICE, sizeof memory, 0);
    if (MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS) {
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        check_class(h, "dynamic", "attach", MPI_Win_attach(win, device.data, sizeof memory), MPI_ERR_UNSUPPORTED_OPERATION);
        check_class(h, "dynamic", "attach host", MPI_Win_attach(win, memory, sizeof memory), MPI_SUCCESS);
        MPI_Win_detach(win, memory);
        MPI_Win_free(&win);
    }
    buffer_destroy(&device, "dynamic");
}

static int handled;                    /* error handlers have no argument of ours */

static void note_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

/* If one rank brings device memory, all get the error, by the handler of the communicator. */
static void device_windows(struct harness *h, bool creates)
{
    MPI_Errhandler handler;
    struct buffer device;
    int memory[COUNT];
    MPI_Comm comm;
    MPI_Win win;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(note_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    buffer_create(h, &device, GPUFIFO_MEMORY_DEVICE, sizeof memory, 0);
    for (int all = 0; all < 2; all++) {
        void *mine = all || h->rank == h->ranks - 1 ? (void *)device.data : memory;
        int code = MPI_Win_create(mine, sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &win);

        check_class(h, all ? "all" : "one", "create", code, MPI_ERR_WIN);
        harness_check(h, handled == all + 1 && win == MPI_WIN_NULL, "%d calls of the handler", handled);
    }
    if (creates) {
        check_class(h, "empty", "create", MPI_Win_create(device.data, 0, 1, MPI_INFO_NULL, comm, &win), MPI_SUCCESS);
        MPI_Win_free(&win);
    }
    MPI_Comm_free(&comm);
    MPI_Errhandler_free(&handler);
    buffer_destroy(&device, "device windows");
}

/* Does not return. */
static void end_fatally(struct harness *h, bool window)
{
    struct buffer device;
    int memory = 0;
    MPI_Win win;

    buffer_create(h, &device, GPUFIFO_MEMORY_DEVICE, sizeof memory, 0);
    MPI_Win_create(window ? (void *)device.data : &memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(device.data, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
}

int main(int argc, char **argv)
{
    struct harness h;
    bool creates;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    if (argc > 1) {
        end_fatally(&h, strcmp(argv[1], "window") == 0);
        return 0;      /* not reached: the runner wants another status */
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    creates = host_windows(&h);
    dynamic_window(&h);
    device_windows(&h, creates);
    return harness_finish(&h);
}
