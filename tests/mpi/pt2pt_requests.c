/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many requests at once, cancelled ones, and freed ones.
 */
#include <stdlib.h>

#include "tests/mpi/pt2pt_requests.h"

enum { TAG = 7, CROWD = 64 };

static const size_t sizes[] = {1, 83, 4096, 100001};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Receives are posted in the reverse order of the sends, and completed by each of MPI's functions. */
void pt2pt_crowd(const struct ends *e)
{
    struct buffer from[CROWD], to[CROWD];
    MPI_Request requests[2 * CROWD];
    int left = CROWD, index, count, all = 0, indices[CROWD];

    for (int i = CROWD - 1; i >= 0; i--) {
        landing_create(e, &to[i], 1 + 97 * (size_t)i);
        MPI_Irecv(to[i].data, (int)to[i].bytes, MPI_BYTE, e->previous, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < CROWD; i++) {
        message_create(e, &from[i], 1 + 97 * (size_t)i, i);
        MPI_Isend(from[i].data, (int)from[i].bytes, MPI_BYTE, e->next, i, MPI_COMM_WORLD, &requests[CROWD + i]);
    }
    for (int turn = 0; left > 0; turn = (turn + 1) % 4) {
        count = 0;
        switch (turn) {
        case 0: MPI_Waitany(CROWD, requests, &index, MPI_STATUS_IGNORE); count = 1; break;
        case 1: MPI_Testany(CROWD, requests, &index, &count, MPI_STATUS_IGNORE); count = count && index != MPI_UNDEFINED; break;
        case 2: MPI_Waitsome(CROWD, requests, &count, indices, MPI_STATUSES_IGNORE); break;
        default: MPI_Testsome(CROWD, requests, &count, indices, MPI_STATUSES_IGNORE); break;
        }
        left -= count == MPI_UNDEFINED ? 0 : count;
    }
    while (!all) {
        MPI_Testall(CROWD, requests + CROWD, &all, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < CROWD; i++) {
        landing_check(e, &to[i], to[i].bytes, e->previous, i);
        buffer_destroy(&from[i], e->name);
    }
}

/* One that nobody matches is cancelled and leaves the buffer alone; one that has its message is not. */
void pt2pt_cancels(const struct ends *e)
{
    struct buffer from, to, other;
    MPI_Request lost, found;
    MPI_Status status;
    int cancelled = 0;

    landing_create(e, &other, 4096);
    MPI_Irecv(other.data, 4096, MPI_BYTE, e->previous, TAG + 1, MPI_COMM_WORLD, &lost);
    MPI_Cancel(&lost);
    MPI_Wait(&lost, &status);
    MPI_Test_cancelled(&status, &cancelled);
    harness_check(e->h, cancelled, "%s: a receive without a message was not cancelled", e->name);
    landing_check(e, &other, 0, 0, 0);

    message_create(e, &from, 4096, 1);
    landing_create(e, &to, 4096);
    MPI_Irecv(to.data, 4096, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &found);
    MPI_Send(from.data, 4096, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD);
    for (int done = 0; !done;) {
        MPI_Request_get_status(found, &done, MPI_STATUS_IGNORE);
    }
    MPI_Cancel(&found);
    MPI_Wait(&found, &status);
    MPI_Test_cancelled(&status, &cancelled);
    harness_check(e->h, !cancelled, "%s: a receive that had its message was cancelled", e->name);
    status_check(e, &status, e->previous, TAG, 4096);
    landing_check(e, &to, 4096, e->previous, 1);
    buffer_destroy(&from, e->name);
}

/* All of it: bytes arrive in any order. */
static bool has_arrived(const struct buffer *buffer, int rank, unsigned seed)
{
    unsigned char *data = host_alloc(buffer->h, buffer->bytes);
    size_t i = 0;

    buffer_read(buffer, data);
    while (i < buffer->bytes && data[i] == message_byte(rank, seed, i)) {
        i++;
    }
    free(data);
    return i == buffer->bytes;
}

/* Freed while active, they go on. Nothing but the data tells that such a receive has ended. */
void pt2pt_freed_requests(const struct ends *e)
{
    for (int i = 0; i < SIZES; i++) {
        struct buffer from, to;
        MPI_Request requests[2];
        int flag;

        message_create(e, &from, sizes[i], i);
        landing_create(e, &to, sizes[i]);
        if (i % 2) {
            MPI_Irecv(to.data, (int)sizes[i], MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &requests[0]);
        } else {
            MPI_Recv_init(to.data, (int)sizes[i], MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &requests[0]);
            MPI_Start(&requests[0]);
        }
        MPI_Request_free(&requests[0]);
        MPI_Isend(from.data, (int)sizes[i], MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Request_free(&requests[1]);
        while (!has_arrived(&to, e->previous, i)) {
            MPI_Iprobe(e->previous, TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        landing_check(e, &to, sizes[i], e->previous, i);
        buffer_destroy(&from, e->name);
    }
}
