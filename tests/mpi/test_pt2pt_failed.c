/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocking calls whose message ends with an error leave nothing behind: what a process holds does not grow with a thousand of
 * them. For two ranks.
 *
 * Usage: test_pt2pt_failed [threads]
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "tests/mpi/pt2pt_buffers.h"
#include "tests/mpi/resources.h"

enum { TAG = 11, CALLS = 1000, FIRST_CALLS = 200 };

/* Of all but FEW bytes an RTS has fewer. */
enum { SENT = 1000, ROOM = 600, FEW = 40, LONG_SENT = 100000, SHORT_ROOM = 4096 };

/* Requests, of 1 KiB or so, would be ten times as much heap. */
static const struct resources allowed = {.descriptors = 8, .mappings = 100, .heap = 100000, .device_pieces = 8};

/* What one call goes with. */
struct failing {
    const struct ends *e;
    struct buffer from, to;
};

static void check_class(const struct failing *f, int code, int wanted)
{
    int class;

    MPI_Error_class(code, &class);
    harness_check(f->e->h, class == wanted, "%s: class %d instead of %d", f->e->name, class, wanted);
}

static void truncate_to(const struct failing *f, int room)
{
    MPI_Request request;

    MPI_Isend(f->from.data, SENT, MPI_BYTE, f->e->next, TAG, MPI_COMM_WORLD, &request);
    check_class(f, MPI_Recv(f->to.data, room, MPI_BYTE, f->e->previous, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                MPI_ERR_TRUNCATE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void receive(const struct failing *f)
{
    truncate_to(f, ROOM);
}

static void receive_few(const struct failing *f)
{
    truncate_to(f, FEW);
}

static void receive_probed(const struct failing *f)
{
    MPI_Request request;

    MPI_Isend(f->from.data, SENT, MPI_BYTE, f->e->next, TAG, MPI_COMM_WORLD, &request);
    MPI_Probe(f->e->previous, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_class(f, MPI_Recv(f->to.data, ROOM, MPI_BYTE, f->e->previous, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                MPI_ERR_TRUNCATE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void receive_matched(const struct failing *f)
{
    MPI_Request request;
    MPI_Message message;

    MPI_Isend(f->from.data, SENT, MPI_BYTE, f->e->next, TAG, MPI_COMM_WORLD, &request);
    MPI_Mprobe(f->e->previous, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    check_class(f, MPI_Mrecv(f->to.data, ROOM, MPI_BYTE, &message, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The first rank has less room than comes. */
static void replace(const struct failing *f)
{
    int count = f->e->h->rank == 0 ? ROOM : SENT;

    check_class(f, MPI_Sendrecv_replace(f->to.data, count, MPI_BYTE, f->e->next, TAG, f->e->previous, TAG, MPI_COMM_WORLD,
                                        MPI_STATUS_IGNORE), count < SENT ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
}

/* The receiver's allocation ends before the message does: it refuses what was offered. */
static void refused(const struct failing *f)
{
    MPI_Request request;
    bool offered = f->e->from == GPUFIFO_MEMORY_DEVICE;

    MPI_Irecv(f->to.data, LONG_SENT, MPI_BYTE, f->e->previous, TAG, MPI_COMM_WORLD, &request);
    check_class(f, MPI_Send(f->from.data, LONG_SENT, MPI_BYTE, f->e->next, TAG, MPI_COMM_WORLD),
                offered ? MPI_ERR_OTHER : MPI_SUCCESS);
    check_class(f, MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
}

static void count(const struct ends *e, size_t sent, size_t room, void (*call)(const struct failing *))
{
    struct failing f = {.e = e};
    struct resources before = {0}, after, growth;
    char what[100];

    message_create(e, &f.from, sent, 1);
    landing_create(e, &f.to, room);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < FIRST_CALLS + CALLS; i++) {
        if (i == FIRST_CALLS) {
            before = resources_now(e->h);
        }
        call(&f);
    }
    after = resources_now(e->h);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    growth = resources_growth(&before, &after);
    snprintf(what, sizeof what, "%s, memory of kind %d to kind %d", e->name, e->from, e->to);
    resources_check(e->h, &growth, &allowed, what);
    buffer_destroy(&f.to, e->name);
    buffer_destroy(&f.from, e->name);
}

static void count_receives(const struct ends *e)
{
    count(e, SENT, ROOM, receive);
}

static void count_receives_of_few(const struct ends *e)
{
    count(e, SENT, FEW, receive_few);
}

static void count_probed(const struct ends *e)
{
    count(e, SENT, ROOM, receive_probed);
}

/* Between host buffers the PML receives what it has matched itself, and ucx keeps something of each that fails. */
static void count_matched(const struct ends *e)
{
    if (e->from == GPUFIFO_MEMORY_DEVICE || e->to == GPUFIFO_MEMORY_DEVICE) {
        count(e, SENT, ROOM, receive_matched);
    }
}

static void count_replaced(const struct ends *e)
{
    count(e, SENT, SENT, replace);
}

static void count_refused(const struct ends *e)
{
    if (e->to == GPUFIFO_MEMORY_DEVICE) {
        count(e, LONG_SENT, SHORT_ROOM, refused);
    }
}

static const struct ends_test tests[] = {
    {"receive", count_receives},          {"receive of few bytes", count_receives_of_few},
    {"receive after probe", count_probed}, {"matched receive", count_matched},
    {"replace", count_replaced},          {"refused send", count_refused},
};

int main(int argc, char **argv)
{
    struct harness h;
    bool threads = argc > 1 && strcmp(argv[1], "threads") == 0;

    harness_start(&h, argc, argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    ends_run(&h, tests, sizeof tests / sizeof tests[0], ends_device_host, ENDS_DEVICE_HOST);
    return harness_finish(&h);
}
