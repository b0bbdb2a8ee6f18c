/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A kernel launch: an operation of a stream that is run by a crew of threads, or, of the program's, a call.
 */
#include "device/emulated_launch.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST_WORK = 4096 };          /* bytes of arguments: CUDA's limit for a kernel */

/* One host thread of a launch. */
struct member {
    const struct launch *launch;
    struct gf_team team;
};

struct launch {
    struct gf_operation operation;
    gf_emulated_kernel kernel;
    void *work;                        /* these three lie behind the struct */
    struct member *members;
    struct gf_job *jobs;
    size_t threads;
};

static void run_member(void *argument)
{
    const struct member *member = argument;

    member->launch->kernel(&member->team, member->launch->work);
    /* The end of a kernel makes all that it stored visible. */
    gf_block_complete(member->team.shared, member->team.thread);
}

/* With the option "filled" a launch begins when all its blocks have a place beside those of the process that run. */
static void take_places(struct gf_emulated_queues *queues, int blocks)
{
    pthread_mutex_lock(&queues->lock);
    while (queues->options.filled && queues->blocks + blocks > queues->options.blocks) {
        pthread_cond_wait(&queues->done, &queues->lock);
    }
    queues->blocks += blocks;
    pthread_mutex_unlock(&queues->lock);
}

static void leave_places(struct gf_emulated_queues *queues, int blocks)
{
    pthread_mutex_lock(&queues->lock);
    queues->blocks -= blocks;
    pthread_cond_broadcast(&queues->done);
    pthread_mutex_unlock(&queues->lock);
}

static void run_launch(struct gf_operation *self, gf_stream *stream)
{
    struct launch *launch = (struct launch *)self;
    int blocks = (int)launch->members[0].team.blocks;

    take_places(stream->queues, blocks);
    gf_solo_enter(&stream->queues->solo);
    __atomic_fetch_add(&stream->queues->kernels, 1, __ATOMIC_ACQ_REL);
    gf_pool_run_together(stream->queues->pool, launch->jobs, launch->threads);
    __atomic_fetch_sub(&stream->queues->kernels, 1, __ATOMIC_ACQ_REL);
    gf_solo_leave(&stream->queues->solo);
    leave_places(stream->queues, blocks);
}

/* Makes sure that `threads` threads and the first `blocks` blocks are there. */
static gf_status prepare_stream(gf_stream *stream, int blocks, size_t threads, struct gf_reason *why)
{
    const struct gf_emulated_options *options = &stream->queues->options;

    if (threads - 1 > stream->helpers) {
        gf_status status = gf_pool_reserve(stream->queues->pool, threads - 1 - stream->helpers, why);
        if (status != GF_OK) {
            return status;
        }
        stream->helpers = threads - 1;
    }
    for (int i = 0; i < blocks; i++) {
        if (!stream->blocks[i]) {
            stream->blocks[i] = gf_block_create((uint32_t)options->team, options->weak, options->seed + (uint64_t)i);
        }
        if (!stream->blocks[i]) {
            gf_reason_set(why, "out of host memory");
            return GF_ERR_NO_MEMORY;
        }
        if (options->torn) {
            gf_block_tear_lines(stream->blocks[i]);
        }
    }
    return GF_OK;
}

static size_t round_up(size_t bytes)
{
    return (bytes + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
}

static struct launch *create_launch(size_t threads, size_t bytes)
{
    size_t members = round_up(sizeof(struct launch));
    size_t jobs = members + round_up(threads * sizeof(struct member));
    size_t work = jobs + round_up(threads * sizeof(struct gf_job));
    char *memory = malloc(work + bytes);

    if (!memory) {
        return NULL;
    }
    struct launch *launch = (struct launch *)memory;
    *launch = (struct launch){
        .operation.run = run_launch,
        .work = memory + work,
        .members = (struct member *)(memory + members),
        .jobs = (struct gf_job *)(memory + jobs),
        .threads = threads,
    };
    return launch;
}

gf_status gf_emulated_launch(gf_stream *stream, gf_emulated_kernel kernel, int blocks, const void *work, size_t bytes,
                             struct gf_reason *why)
{
    const struct gf_emulated_options *options = &stream->queues->options;
    uint32_t team = (uint32_t)options->team;

    if (!work || bytes == 0 || bytes > LARGEST_WORK) {
        gf_reason_set(why, "a kernel takes a work item of 1 to %d bytes, not %zu at %p", LARGEST_WORK, bytes, work);
        return GF_ERR_INVALID;
    }
    if (blocks < 1 || blocks > options->blocks) {
        gf_reason_set(why, "%d blocks cannot run at once: the emulated device has %d; launch fewer, or set "
                      "GPUFIFO_EMULATED=blocks=N", blocks, options->blocks);
        return GF_ERR_INVALID;
    }
    size_t threads = (size_t)blocks * team;
    gf_status status = prepare_stream(stream, blocks, threads, why);
    if (status != GF_OK) {
        return status;
    }
    struct launch *launch = create_launch(threads, bytes);
    if (!launch) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    launch->kernel = kernel;
    memcpy(launch->work, work, bytes);
    for (uint32_t i = 0; i < threads; i++) {
        launch->members[i].launch = launch;
        launch->members[i].team = (struct gf_team){
            .block = i / team, .blocks = (uint32_t)blocks,
            .thread = i % team, .threads = team,
            .shared = stream->blocks[i / team], .weak = options->weak,
        };
        launch->jobs[i] = (struct gf_job){.run = run_member, .argument = &launch->members[i]};
    }
    gf_emulated_stream_push(stream, &launch->operation);
    return GF_OK;
}

/* A function of the program. */
struct call {
    struct gf_operation operation;
    void (*function)(void *argument);
    void *argument;
};

static void run_call(struct gf_operation *self, gf_stream *stream)
{
    const struct call *call = (const struct call *)self;
    int blocks = stream->queues->options.blocks;

    take_places(stream->queues, blocks);
    __atomic_fetch_add(&stream->queues->kernels, 1, __ATOMIC_ACQ_REL);
    call->function(call->argument);
    __atomic_fetch_sub(&stream->queues->kernels, 1, __ATOMIC_ACQ_REL);
    leave_places(stream->queues, blocks);
}

gf_status gf_emulated_call(gf_stream *stream, void (*function)(void *argument), void *argument)
{
    struct call *call = malloc(sizeof *call);
    if (!call) {
        return GF_ERR_NO_MEMORY;
    }
    *call = (struct call){.operation.run = run_call, .function = function, .argument = argument};
    gf_emulated_stream_push(stream, &call->operation);
    /* cppcheck-suppress memleak; the stream has it */
    return GF_OK;
}
