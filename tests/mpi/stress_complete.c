/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Completing many requests by each of MPI's functions for that.
 */
#include "tests/mpi/stress.h"

enum { MOST = 2 * MESSAGES };

/* What a function that completes one request says of it. */
static void note_one(int index, const MPI_Status *status, int code, MPI_Status *statuses, int *codes)
{
    statuses[index] = *status;
    codes[index] = code;
}

static void complete_each(bool test, int count, MPI_Request *requests, MPI_Status *statuses, int *codes)
{
    for (int i = 0; i < count; i++) {
        int done = !test;

        if (!test) {
            codes[i] = MPI_Wait(&requests[i], &statuses[i]);
        }
        while (!done) {
            codes[i] = MPI_Test(&requests[i], &done, &statuses[i]);
            done |= codes[i] != MPI_SUCCESS;
        }
    }
}

static void complete_any(bool test, int count, MPI_Request *requests, MPI_Status *statuses, int *codes)
{
    for (int left = count; left > 0;) {
        int index = MPI_UNDEFINED, done = 1, code;
        MPI_Status status;

        if (test) {
            code = MPI_Testany(count, requests, &index, &done, &status);
        } else {
            code = MPI_Waitany(count, requests, &index, &status);
        }
        if (done && index == MPI_UNDEFINED) {
            return;
        }
        if (index != MPI_UNDEFINED) {
            note_one(index, &status, code, statuses, codes);
            left--;
        }
    }
}

static void complete_some(bool test, int count, MPI_Request *requests, MPI_Status *statuses, int *codes)
{
    for (int left = count; left > 0;) {
        int ended = 0, indices[MOST], code;
        MPI_Status some[MOST];

        code = (test ? MPI_Testsome : MPI_Waitsome)(count, requests, &ended, indices, some);
        if (ended == MPI_UNDEFINED) {
            return;
        }
        for (int i = 0; i < ended; i++) {
            note_one(indices[i], &some[i], code == MPI_ERR_IN_STATUS ? some[i].MPI_ERROR : code, statuses, codes);
        }
        left -= ended;
    }
}

static void complete_all(bool test, int count, MPI_Request *requests, MPI_Status *statuses, int *codes)
{
    int code = MPI_SUCCESS, done = 0;

    if (!test) {
        code = MPI_Waitall(count, requests, statuses);
    }
    while (test && !done && code == MPI_SUCCESS) {
        code = MPI_Testall(count, requests, &done, statuses);
    }
    for (int i = 0; i < count; i++) {
        codes[i] = code == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : code;
    }
}

void stress_complete(enum stress_way way, int count, MPI_Request *requests, MPI_Status *statuses, int *codes)
{
    bool test = way == TEST || way == TESTALL || way == TESTANY || way == TESTSOME;

    for (int i = 0; i < count; i++) {
        statuses[i] = (MPI_Status){.MPI_ERROR = MPI_SUCCESS};
        codes[i] = MPI_ERR_PENDING;
    }
    if (way == WAIT || way == TEST) {
        complete_each(test, count, requests, statuses, codes);
    } else if (way == WAITALL || way == TESTALL) {
        complete_all(test, count, requests, statuses, codes);
    } else if (way == WAITANY || way == TESTANY) {
        complete_any(test, count, requests, statuses, codes);
    } else {
        complete_some(test, count, requests, statuses, codes);
    }
}
