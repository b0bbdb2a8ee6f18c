/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NVIDIA's NCCL in the place of MPI, to compare with: --library nccl. It is looked for at run time (libnccl.so.2, from 2.7 on,
 * when messages came), so nothing needs it to be built.
 *
 * A call is queued to a stream, and the stream is waited for: as an MPI call, it returns when the result is there. What NCCL has
 * no function for, or had none before 2.28, is a group of its sends and receives: alltoall, gather, scatter, windows of messages.
 */
#ifndef BENCH_NCCL_H
#define BENCH_NCCL_H

#include <stddef.h>

#include "bench/measure.h"

struct nccl;

/* Why NCCL cannot do what is asked for; null if it can. */
const char *nccl_unfit(const struct bench_options *options);

/* Collective. For the device in which the bench's send buffer is. Ends the job with one sentence if there is no NCCL, or it
 * fails, as do all below. bench: must outlive it. */
struct nccl *nccl_open(const struct bench *bench);
void nccl_close(struct nccl *nccl);

/* "nccl 2.28.9"; lives as long as nccl. */
const char *nccl_name(const struct nccl *nccl);

/* What options->kind says. Of reductions: count: elements that this rank contributes. Of exchanges: bytes of a block. */
void nccl_reduction(struct nccl *nccl, const void *send, void *recv, size_t count);
void nccl_exchange(struct nccl *nccl, const void *send, void *recv, size_t bytes);

/* count messages to and from this rank, which lie behind one another; a null buffer: none in that direction. */
void nccl_messages(struct nccl *nccl, int partner, const void *send, void *recv, size_t bytes, size_t count);

#endif
