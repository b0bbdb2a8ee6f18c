/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libnccl.so.2 for a machine without: what gpufifo-bench calls of NCCL, done by MPI, for one communicator of all ranks. Where it
 * differs from NCCL: a call has ended when it returns, outside groups, so a stream is nothing.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, OK = 0, INVALID = 4 };

struct id {
    char bytes[128];
};

/* The communicator, and the group that is open. */
static struct {
    MPI_Comm comm;
    MPI_Request request[MOST];
    int open, count;
} here;

static const char word[] = "stand-in";

static MPI_Datatype type_of(int type)
{
    switch (type) {
    case 0: return MPI_INT8_T;
    case 2: return MPI_INT32_T;
    case 4: return MPI_INT64_T;
    case 7: return MPI_FLOAT;
    default: return MPI_DOUBLE;
    }
}

static MPI_Op op_of(int op)
{
    const MPI_Op ops[] = { MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN };

    return ops[op];
}

const char *ncclGetErrorString(int result)
{
    return result == INVALID ? "invalid argument (says the stand-in)" : "no error";
}

int ncclGetVersion(int *version)
{
    *version = 22809;
    return OK;
}

int ncclGetUniqueId(struct id *id)
{
    memcpy(id->bytes, word, sizeof word);
    return OK;
}

/* Fails where the environment says so, or the id is not rank 0's. */
int ncclCommInitRank(void **comm, int ranks, struct id id, int rank)
{
    int size, own;

    MPI_Comm_dup(MPI_COMM_WORLD, &here.comm);
    MPI_Comm_size(here.comm, &size);
    MPI_Comm_rank(here.comm, &own);
    *comm = &here;
    return getenv("STAND_IN_FAILS") || strcmp(id.bytes, word) != 0 || size != ranks || own != rank ? INVALID : OK;
}

int ncclCommDestroy(void *comm)
{
    return comm == &here ? MPI_Comm_free(&here.comm) : INVALID;
}

int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream)
{
    return comm == &here && stream ? MPI_Allreduce(send, recv, (int)count, type_of(type), op_of(op), here.comm) : INVALID;
}

int ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root, void *comm, void *stream)
{
    return comm == &here && stream ? MPI_Reduce(send, recv, (int)count, type_of(type), op_of(op), root, here.comm) : INVALID;
}

int ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream)
{
    return comm == &here && stream ? MPI_Reduce_scatter_block(send, recv, (int)count, type_of(type), op_of(op), here.comm)
                                   : INVALID;
}

int ncclAllGather(const void *send, void *recv, size_t count, int type, void *comm, void *stream)
{
    return comm == &here && stream ? MPI_Allgather(send, (int)count, type_of(type), recv, (int)count, type_of(type), here.comm)
                                   : INVALID;
}

/* In place only, which is how it is called. */
int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream)
{
    return comm == &here && stream && send == recv ? MPI_Bcast(recv, (int)count, type_of(type), root, here.comm) : INVALID;
}

int ncclSend(const void *send, size_t count, int type, int peer, void *comm, void *stream)
{
    if (comm != &here || !stream || !here.open || here.count == MOST || type != 0) {
        return INVALID;
    }
    return MPI_Isend(send, (int)count, type_of(type), peer, 0, here.comm, &here.request[here.count++]);
}

int ncclRecv(void *recv, size_t count, int type, int peer, void *comm, void *stream)
{
    if (comm != &here || !stream || !here.open || here.count == MOST || type != 0) {
        return INVALID;
    }
    return MPI_Irecv(recv, (int)count, type_of(type), peer, 0, here.comm, &here.request[here.count++]);
}

int ncclGroupStart(void)
{
    here.open++;
    return OK;
}

int ncclGroupEnd(void)
{
    int count = here.count;

    here.open--;
    here.count = 0;
    return MPI_Waitall(count, here.request, MPI_STATUSES_IGNORE);
}
