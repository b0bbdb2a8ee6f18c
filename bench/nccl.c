/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The few functions of NCCL's and of the CUDA driver's interface that this needs are declared here, with the numbers that theirs
 * have for types and operations.
 */
#include "bench/nccl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/test.h"

struct nccl_id {
    char bytes[128];
};

enum { NCCL_INT8 = 0, NCCL_INT32 = 2, NCCL_INT64 = 4, NCCL_FLOAT = 7, NCCL_DOUBLE = 8 };
enum { NCCL_SUM = 0, NCCL_PROD = 1, NCCL_MAX = 2, NCCL_MIN = 3 };
enum { CU_ATTRIBUTE_CONTEXT = 1, CU_STREAM_NOT_BLOCKING = 1 };

/* All give 0 on success. */
struct functions {
    const char *(*ncclGetErrorString)(int result);
    int (*ncclGetVersion)(int *version);
    int (*ncclGetUniqueId)(struct nccl_id *id);
    int (*ncclCommInitRank)(void **comm, int ranks, struct nccl_id id, int rank);
    int (*ncclCommDestroy)(void *comm);
    int (*ncclAllReduce)(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream);
    int (*ncclReduce)(const void *send, void *recv, size_t count, int type, int op, int root, void *comm, void *stream);
    int (*ncclReduceScatter)(const void *send, void *recv, size_t recv_count, int type, int op, void *comm, void *stream);
    int (*ncclAllGather)(const void *send, void *recv, size_t send_count, int type, void *comm, void *stream);
    int (*ncclBroadcast)(const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream);
    int (*ncclSend)(const void *send, size_t count, int type, int peer, void *comm, void *stream);
    int (*ncclRecv)(void *recv, size_t count, int type, int peer, void *comm, void *stream);
    int (*ncclGroupStart)(void);
    int (*ncclGroupEnd)(void);
    int (*cuPointerGetAttribute)(void *value, int attribute, size_t address);
    int (*cuCtxSetCurrent)(void *context);
    int (*cuStreamCreate)(void **stream, unsigned flags);
    int (*cuStreamSynchronize)(void *stream);
};

#define FIND(function) { #function, offsetof(struct functions, function) }
struct entry {
    const char *name;
    size_t at;
};
static const struct entry nccl_entries[] = {
    FIND(ncclGetErrorString), FIND(ncclGetVersion), FIND(ncclGetUniqueId), FIND(ncclCommInitRank), FIND(ncclCommDestroy),
    FIND(ncclAllReduce), FIND(ncclReduce), FIND(ncclReduceScatter), FIND(ncclAllGather), FIND(ncclBroadcast), FIND(ncclSend),
    FIND(ncclRecv), FIND(ncclGroupStart), FIND(ncclGroupEnd), { NULL, 0 },
};
static const struct entry driver_entries[] = {
    FIND(cuPointerGetAttribute), FIND(cuCtxSetCurrent), FIND(cuStreamCreate), FIND(cuStreamSynchronize), { NULL, 0 },
};

struct nccl {
    const struct bench *bench;
    struct functions f;
    void *comm, *stream;
    char name[32];
};

static void load(const struct bench *bench, const char *library, const struct entry *entries, struct functions *f)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

    if (!handle) {
        bench_give_up(bench, "--library nccl", dlerror());
    }
    for (; entries->name; entries++) {
        void *function = dlsym(handle, entries->name);

        if (!function) {
            bench_give_up(bench, "--library nccl", dlerror());
        }
        memcpy((char *)f + entries->at, &function, sizeof function);
    }
}

static void must(const struct nccl *nccl, int result, const char *what)
{
    if (result != 0) {
        bench_give_up(nccl->bench, what, nccl->f.ncclGetErrorString(result));
    }
}

static void must_driver(const struct nccl *nccl, int result, const char *what)
{
    char why[40];

    if (result != 0) {
        snprintf(why, sizeof why, "error %d of the CUDA driver", result);
        bench_give_up(nccl->bench, what, why);
    }
}

const char *nccl_unfit(const struct bench_options *options)
{
    if (options->kind == BENCH_SCAN) {
        return "NCCL has no scan";
    }
    return options->send == GPUFIFO_MEMORY_DEVICE && options->recv == GPUFIFO_MEMORY_DEVICE ? NULL
        : "--library nccl measures plain device memory: leave --memory out";
}

/* NCCL takes the device that is current, and the stream is one of it. */
static void device_choose(struct nccl *nccl)
{
    void *context = NULL;

    must_driver(nccl, nccl->f.cuPointerGetAttribute(&context, CU_ATTRIBUTE_CONTEXT, (size_t)nccl->bench->send),
                "the send buffer's context");
    must_driver(nccl, nccl->f.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    must_driver(nccl, nccl->f.cuStreamCreate(&nccl->stream, CU_STREAM_NOT_BLOCKING), "cuStreamCreate");
}

/* 2.8.4 is 2804, 2.9.6 is 20906. */
static void name_read(struct nccl *nccl)
{
    int version = 0;

    must(nccl, nccl->f.ncclGetVersion(&version), "ncclGetVersion");
    int unit = version < 10000 ? 1000 : 10000;
    snprintf(nccl->name, sizeof nccl->name, "nccl %d.%d.%d", version / unit, version % unit / 100, version % 100);
}

struct nccl *nccl_open(const struct bench *bench)
{
    struct nccl *nccl = bench_host_alloc(bench, sizeof *nccl);
    struct nccl_id id = { "" };

    *nccl = (struct nccl){ .bench = bench };
    load(bench, "libnccl.so.2", nccl_entries, &nccl->f);
    load(bench, "libcuda.so.1", driver_entries, &nccl->f);
    name_read(nccl);
    device_choose(nccl);
    if (bench->rank == 0) {
        must(nccl, nccl->f.ncclGetUniqueId(&id), "ncclGetUniqueId");
    }
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    must(nccl, nccl->f.ncclCommInitRank(&nccl->comm, bench->ranks, id, bench->rank), "ncclCommInitRank");
    return nccl;
}

void nccl_close(struct nccl *nccl)
{
    must(nccl, nccl->f.ncclCommDestroy(nccl->comm), "ncclCommDestroy");
    free(nccl);
}

const char *nccl_name(const struct nccl *nccl)
{
    return nccl->name;
}

static void finish(const struct nccl *nccl, int result, const char *what)
{
    must(nccl, result, what);
    must_driver(nccl, nccl->f.cuStreamSynchronize(nccl->stream), what);
}

static int type_of(enum element element)
{
    static const int types[] = { [ELEMENT_FLOAT] = NCCL_FLOAT, [ELEMENT_DOUBLE] = NCCL_DOUBLE, [ELEMENT_INT8] = NCCL_INT8,
                                 [ELEMENT_INT32] = NCCL_INT32, [ELEMENT_INT64] = NCCL_INT64 };
    return types[element];
}

static int op_of(MPI_Op op)
{
    return op == MPI_SUM ? NCCL_SUM : op == MPI_PROD ? NCCL_PROD : op == MPI_MAX ? NCCL_MAX : NCCL_MIN;
}

void nccl_reduction(struct nccl *nccl, const void *send, void *recv, size_t count)
{
    const struct bench_options *o = nccl->bench->options;
    int type = type_of(o->type->element), op = op_of(o->op->op);

    if (o->kind == BENCH_REDUCE) {
        finish(nccl, nccl->f.ncclReduce(send, recv, count, type, op, BENCH_ROOT, nccl->comm, nccl->stream), "ncclReduce");
    } else if (o->kind == BENCH_REDUCE_SCATTER) {
        finish(nccl, nccl->f.ncclReduceScatter(send, recv, count / (size_t)nccl->bench->ranks, type, op, nccl->comm,
                                               nccl->stream), "ncclReduceScatter");
    } else {
        finish(nccl, nccl->f.ncclAllReduce(send, recv, count, type, op, nccl->comm, nccl->stream), "ncclAllReduce");
    }
}

static void queue_send(const struct nccl *nccl, const char *send, size_t bytes, int peer)
{
    must(nccl, nccl->f.ncclSend(send, bytes, NCCL_INT8, peer, nccl->comm, nccl->stream), "ncclSend");
}

static void queue_recv(const struct nccl *nccl, char *recv, size_t bytes, int peer)
{
    must(nccl, nccl->f.ncclRecv(recv, bytes, NCCL_INT8, peer, nccl->comm, nccl->stream), "ncclRecv");
}

/* Blocks of alltoall, gather or scatter. */
static void exchange_blocks(struct nccl *nccl, const char *send, char *recv, size_t bytes)
{
    enum bench_kind kind = nccl->bench->options->kind;
    bool is_root = nccl->bench->rank == BENCH_ROOT;

    must(nccl, nccl->f.ncclGroupStart(), "ncclGroupStart");
    for (int peer = 0; peer < nccl->bench->ranks; peer++) {
        size_t at = (size_t)peer * bytes;

        if (kind == BENCH_ALLTOALL || (kind == BENCH_GATHER ? peer == BENCH_ROOT : is_root)) {
            queue_send(nccl, send + (kind == BENCH_GATHER ? 0 : at), bytes, peer);
        }
        if (kind == BENCH_ALLTOALL || (kind == BENCH_SCATTER ? peer == BENCH_ROOT : is_root)) {
            queue_recv(nccl, recv + (kind == BENCH_SCATTER ? 0 : at), bytes, peer);
        }
    }
    finish(nccl, nccl->f.ncclGroupEnd(), "ncclGroupEnd");
}

void nccl_exchange(struct nccl *nccl, const void *send, void *recv, size_t bytes)
{
    enum bench_kind kind = nccl->bench->options->kind;

    if (kind == BENCH_ALLGATHER) {
        finish(nccl, nccl->f.ncclAllGather(send, recv, bytes, NCCL_INT8, nccl->comm, nccl->stream), "ncclAllGather");
    } else if (kind == BENCH_BCAST) {
        const void *from = nccl->bench->rank == BENCH_ROOT ? send : recv;

        finish(nccl, nccl->f.ncclBroadcast(from, (void *)from, bytes, NCCL_INT8, BENCH_ROOT, nccl->comm, nccl->stream),
               "ncclBroadcast");
    } else {
        exchange_blocks(nccl, send, recv, bytes);
    }
}

void nccl_messages(struct nccl *nccl, int partner, const void *send, void *recv, size_t bytes, size_t count)
{
    must(nccl, nccl->f.ncclGroupStart(), "ncclGroupStart");
    for (size_t m = 0; m < count; m++) {
        if (send) {
            queue_send(nccl, (const char *)send + m * bytes, bytes, partner);
        }
        if (recv) {
            queue_recv(nccl, (char *)recv + m * bytes, bytes, partner);
        }
    }
    finish(nccl, nccl->f.ncclGroupEnd(), "ncclGroupEnd");
}
