/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Irecv to host memory: the program holds the PML's own request, which stays open for as long as we fetch the message, and is
 * the PML's again afterwards. Rank 0 sends, rank 1 receives. With "slow" a fetch waits for MPI at the sender: it is seen open.
 */
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/pt2pt_buffers.h"

enum { TAG = 4, TAG_AFTER, TURNS = 300, LONG = 1 << 20, ROUNDS = 20, MANY = 300, ROOM = 1 << 16, KEPT = 1000 };

/* What both ranks see without MPI: the last round in which the sender may go on. Set once, before the tests. */
static atomic_int *go;
static bool slow;

/* Below, at and above the size of an RTS; each in a buffer of as many bytes, and in a longer one. */
static const size_t sizes[] = {1, 66, 67, 68, 300, 70000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* The receive is posted before the message comes, or when it is there already. */
static void post(void *data, int count, MPI_Datatype type, MPI_Comm comm, bool late, MPI_Request *request)
{
    if (late) {
        MPI_Barrier(comm);
        MPI_Probe(0, TAG_AFTER, comm, MPI_STATUS_IGNORE);
        MPI_Irecv(data, count, type, 0, TAG, comm, request);
    } else {
        MPI_Irecv(data, count, type, 0, TAG, comm, request);
        MPI_Barrier(comm);
    }
}

/* Rank 0 sends its message, and is told so. Messages of a pair arrive in order: the second one tells that the first is there. */
static bool sends(const struct ends *e, size_t bytes, unsigned seed, MPI_Comm comm)
{
    struct buffer from;
    MPI_Request request;

    if (e->h->rank != 0) {
        return false;
    }
    message_create(e, &from, bytes, seed);
    MPI_Barrier(comm);
    MPI_Isend(from.data, (int)bytes, MPI_BYTE, 1, TAG, comm, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 1, TAG_AFTER, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    buffer_destroy(&from, e->name);
    return true;
}

static void receive_after(MPI_Comm comm)
{
    MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_AFTER, comm, MPI_STATUS_IGNORE);
}

/* A buffer whose request was freed. Its data tell that the message has come, but not that we are done with it: it stays. */
struct kept {
    struct buffer buffer;
    size_t bytes;
    unsigned seed;
};
static struct kept kept[KEPT];
static int kept_count;

static void keep(const struct buffer *buffer, size_t bytes, unsigned seed)
{
    int flag;

    for (size_t i = 0; i < bytes;) {
        if ((unsigned char)buffer->data[i] == message_byte(0, seed, i)) {
            i++;
        } else {
            MPI_Iprobe(0, TAG + 100, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
    }
    kept[kept_count++] = (struct kept){*buffer, bytes, seed};
}

/* At the end of the program: nothing behind the data has changed. */
static void check_kept(struct harness *h)
{
    const struct ends ends = {.h = h, .name = "kept"};

    for (int i = 0; i < kept_count; i++) {
        landing_check(&ends, &kept[i].buffer, kept[i].bytes, 0, kept[i].seed);
    }
}

/* Freed while active it goes on, and nothing but the data tells of its end. */
static void freed(const struct ends *e)
{
    for (int i = 0; i < SIZES * 4; i++) {
        size_t bytes = sizes[i / 4], room = bytes + (i & 2 ? 100 : 0);
        struct buffer buffer;
        MPI_Request request;

        if (sends(e, bytes, i, MPI_COMM_WORLD)) {
            continue;
        }
        landing_create(e, &buffer, room);
        post(buffer.data, (int)room, MPI_BYTE, MPI_COMM_WORLD, i & 1, &request);
        MPI_Request_free(&request);
        harness_check(e->h, request == MPI_REQUEST_NULL, "%s: request left", e->name);
        keep(&buffer, bytes, i);
        receive_after(MPI_COMM_WORLD);
    }
}

/* A PML uses its requests again, so of many that were freed before their messages were sent most have been the same few. */
static void freed_again(const struct ends *e)
{
    MPI_Request seen[MANY], request;
    struct buffer buffer;
    int different = 0;

    for (int i = 0; i < MANY; i++) {
        size_t bytes = i % 2 ? 40 : 100;
        int known = 0;

        if (sends(e, bytes, i, MPI_COMM_WORLD)) {
            continue;
        }
        landing_create(e, &buffer, bytes);
        MPI_Irecv(buffer.data, (int)bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        while (known < different && seen[known] != request) {
            known++;
        }
        seen[known] = request;
        different += known == different;
        MPI_Request_free(&request);
        MPI_Barrier(MPI_COMM_WORLD);
        keep(&buffer, bytes, i);
        receive_after(MPI_COMM_WORLD);
    }
    harness_check(e->h, different <= MANY / 2, "%s: %d of %d requests are different ones", e->name, different, MANY);
}

/* Each of MPI's functions that end a request; its code. */
static int complete(int how, MPI_Request *request, MPI_Status *status)
{
    int index, done = 0, code = MPI_SUCCESS;

    switch (how) {
    case 0: return MPI_Wait(request, status);
    case 1: return MPI_Waitany(1, request, &index, status);
    case 2: code = MPI_Waitall(1, request, status); break;
    case 3: code = MPI_Waitsome(1, request, &done, &index, status); break;
    default:
        while (!done && code == MPI_SUCCESS) {
            code = MPI_Test(request, &done, status);
        }
        return code;
    }
    return code == MPI_ERR_IN_STATUS ? status->MPI_ERROR : code;
}

/* A message that is too long, be it too long for what the PML had room for or not. */
static void truncated(const struct ends *e)
{
    static const size_t messages[] = {20, 67, 100, 3000}, rooms[] = {5, 66, 90};

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 4 * 3 * 5 * 2; i++) {
        size_t bytes = messages[i % 4], room = rooms[i / 4 % 3], fits = bytes < room ? bytes : room;
        struct buffer buffer;
        MPI_Request request;
        MPI_Status status;
        int class;

        if (sends(e, bytes, i, MPI_COMM_WORLD)) {
            continue;
        }
        landing_create(e, &buffer, room);
        post(buffer.data, (int)room, MPI_BYTE, MPI_COMM_WORLD, i / 60, &request);
        MPI_Error_class(complete(i / 12 % 5, &request, &status), &class);
        harness_check(e->h, class == (bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS) && request == MPI_REQUEST_NULL,
                      "%s: %zu bytes into %zu, way %d: class %d", e->name, bytes, room, i / 12 % 5, class);
        receive_after(MPI_COMM_WORLD);
        if ((e->from == GPUFIFO_MEMORY_DEVICE && !slow) || bytes <= room) {
            status_check(e, &status, 0, TAG, bytes);
            landing_check(e, &buffer, fits, 0, i);
        } else {
            buffer_destroy(&buffer, e->name);     /* what of it is there is the PML's matter, but none of it behind the buffer */
        }
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Type and communicator are freed while the receive is active; pairs of four bytes with gaps of four. */
static void freed_arguments(const struct ends *e)
{
    static const int counts[] = {1, 10, 60, 5000};

    for (int i = 0; i < 4 * 2; i++) {
        int pieces = counts[i / 2];
        struct buffer buffer;
        MPI_Datatype type;
        MPI_Comm comm;
        MPI_Request request;
        size_t wrong = 0;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (sends(e, (size_t)pieces * 4, i, comm)) {
            MPI_Comm_free(&comm);
            continue;
        }
        landing_create(e, &buffer, (size_t)pieces * 8);
        MPI_Type_vector(pieces, 4, 8, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        post(buffer.data, 1, type, comm, i & 1, &request);
        MPI_Type_free(&type);
        receive_after(comm);
        MPI_Comm_free(&comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (size_t j = 0; j < buffer.bytes; j++) {
            wrong += (unsigned char)buffer.data[j] != (j % 8 < 4 ? message_byte(0, i, j / 8 * 4 + j % 8) : 0xEE);
        }
        harness_check(e->h, wrong == 0, "%s: %zu bytes of %zu are wrong", e->name, wrong, buffer.bytes);
        buffer_destroy(&buffer, e->name);
    }
}

/* Stays outside of MPI, with its message announced, until rank 1 has looked. */
static void send_slowly(const struct ends *e, int round)
{
    struct buffer buffer;
    MPI_Request request;

    message_create(e, &buffer, LONG, round);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(buffer.data, LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 1, TAG_AFTER, MPI_COMM_WORLD);
    while (atomic_load(go) < round) {
        sched_yield();
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    buffer_destroy(&buffer, e->name);
}

/* The request of a message that is here but not fetched: as if it had not come, but for MPI_Cancel, which comes too late. */
static void look_at_open(const struct ends *e, MPI_Request *request)
{
    MPI_Request several[2] = {MPI_REQUEST_NULL, *request};
    int done = 0, count = 0, index, indices[2];

    for (int turn = 0; turn < TURNS && !done; turn++) {
        MPI_Request_get_status(*request, &done, MPI_STATUS_IGNORE);
    }
    harness_check(e->h, !slow || !done, "%s: complete before its data are here", e->name);
    harness_check(e->h, MPI_Request_f2c(MPI_Request_c2f(*request)) == *request, "%s: another handle", e->name);
    MPI_Cancel(request);
    if (!slow) {
        return;
    }
    MPI_Testany(2, several, &index, &done, MPI_STATUS_IGNORE);
    harness_check(e->h, !done, "%s: MPI_Testany has found it", e->name);
    MPI_Testsome(2, several, &count, indices, MPI_STATUSES_IGNORE);
    harness_check(e->h, count == 0, "%s: MPI_Testsome has found it", e->name);
    MPI_Testall(2, several, &done, MPI_STATUSES_IGNORE);
    harness_check(e->h, !done, "%s: MPI_Testall has found it", e->name);
}

static void receive_slowly(const struct ends *e, int round, bool late, int how)
{
    struct buffer buffer;
    MPI_Request request;
    MPI_Status status;
    int cancelled = 1;

    landing_create(e, &buffer, LONG + 10);
    post(buffer.data, LONG + 10, MPI_BYTE, MPI_COMM_WORLD, late, &request);
    receive_after(MPI_COMM_WORLD);
    look_at_open(e, &request);
    if (how == 5) {
        MPI_Request_free(&request);
        atomic_store(go, round);
        keep(&buffer, LONG, round);
    } else {
        atomic_store(go, round);
        complete(how, &request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        harness_check(e->h, !cancelled && request == MPI_REQUEST_NULL, "%s: cancelled after its message had come", e->name);
        status_check(e, &status, 0, TAG, LONG);
        landing_check(e, &buffer, LONG, 0, round);
    }
}

static void open_requests(const struct ends *e)
{
    static int round;                  /* goes on from one kind of memory to the next */

    for (int i = 0; e->from == GPUFIFO_MEMORY_DEVICE && i < 12; i++) {
        round++;
        if (e->h->rank == 0) {
            send_slowly(e, round);
        } else {
            receive_slowly(e, round, i % 2, i / 2);
        }
    }
}

/* One that has no message is cancelled. What the one before it left in the same places does not come back. */
static void cancelled(const struct ends *e)
{
    for (int i = 0; i < SIZES; i++) {
        struct buffer buffer;
        MPI_Request request;
        MPI_Status status;
        int flag = 0;

        if (sends(e, sizes[i], i, MPI_COMM_WORLD)) {
            continue;
        }
        landing_create(e, &buffer, sizes[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        receive_after(MPI_COMM_WORLD);
        MPI_Irecv(buffer.data, (int)sizes[i], MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        landing_check(e, &buffer, sizes[i], 0, i);
        landing_create(e, &buffer, sizes[i]);
        MPI_Irecv(buffer.data, (int)sizes[i], MPI_BYTE, 0, TAG_AFTER, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        harness_check(e->h, flag, "%s: was not cancelled", e->name);
        landing_check(e, &buffer, 0, 0, 0);
    }
}

/* The PML's requests, which were ours meanwhile, serve all others: no mark of ours may be left on them. */
static void reuse(const struct ends *e)
{
    MPI_Comm pair;
    int other = 1 - e->h->rank, out = 0, in = 0;
    MPI_Request persistent, sent, received;
    MPI_Message message;

    MPI_Comm_dup(MPI_COMM_WORLD, &pair);
    MPI_Send_init(&out, 1, MPI_INT, other, TAG, pair, &persistent);
    for (int round = 0; round < ROUNDS; round++) {
        out = round;
        MPI_Irecv(&in, 1, MPI_INT, other, TAG, pair, &received);
        MPI_Start(&persistent);
        MPI_Wait(&received, MPI_STATUS_IGNORE);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
        harness_check(e->h, in == round, "%s: %d instead of %d", e->name, in, round);
        MPI_Ibsend(&out, 1, MPI_INT, other, TAG, pair, &sent);
        MPI_Mprobe(other, TAG, pair, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(&in, 1, MPI_INT, &message, &received);
        MPI_Wait(&received, MPI_STATUS_IGNORE);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        MPI_Irecv(&in, 1, MPI_INT, other, TAG, pair, &received);
        MPI_Issend(&out, 1, MPI_INT, other, TAG, pair, &sent);
        MPI_Request_free(&sent);
        MPI_Wait(&received, MPI_STATUS_IGNORE);
        MPI_Barrier(pair);
    }
    MPI_Request_free(&persistent);
    MPI_Comm_free(&pair);
}

static const struct ends_test tests[] = {
    {"freed", freed},                     {"reuse", reuse},         {"freed again", freed_again}, {"truncated", truncated},
    {"reuse", reuse},                     {"open", open_requests},  {"reuse", reuse},
    {"freed arguments", freed_arguments}, {"cancelled", cancelled}, {"reuse", reuse},
};

/* test_pt2pt_open [slow | freed]    freed: the first test alone, for a PML that takes long */
int main(int argc, char **argv)
{
    size_t count = argc > 1 && strcmp(argv[1], "freed") == 0 ? 1 : sizeof tests / sizeof tests[0];
    static const struct ends_kinds kinds[] = {
        {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_HOST}, {GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_HOST},
        {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_PINNED},
    };
    struct harness h;
    MPI_Win window;
    MPI_Aint bytes;
    int unit;
    void *room;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    harness_need(&h, h.ranks == 2 ? 0 : -1, "two ranks are needed");
    slow = argc > 1 && strcmp(argv[1], "slow") == 0;
    MPI_Win_allocate_shared(h.rank == 0 ? sizeof *go : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &room, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &go);
    room = host_alloc(&h, ROOM);
    MPI_Buffer_attach(room, ROOM);
    MPI_Barrier(MPI_COMM_WORLD);
    ends_run(&h, tests, count, kinds, sizeof kinds / sizeof kinds[0]);
    check_kept(&h);
    MPI_Buffer_detach(&room, &unit);
    free(room);
    MPI_Win_free(&window);
    return harness_finish(&h);
}
