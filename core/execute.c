/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launching and waiting.
 */
#include "core/execute.h"

#include "core/host_ordered.h"

enum { ABORT_LINE = 0, ERROR_LINE = GF_LINE, DONE_LINE = 2 * GF_LINE, WORDS_BYTES = 3 * GF_LINE };

/* Asking the driver costs about a microsecond: rarely enough to be free, often enough that a crashed kernel is noticed in
 * milliseconds. */
enum { TURNS_PER_QUERY = 4096 };

static uint32_t *error_word(const struct gf_execution *e)
{
    return (uint32_t *)(void *)(e->words + ERROR_LINE);
}

static uint64_t *done_word(const struct gf_execution *e)
{
    return (uint64_t *)(void *)(e->words + DONE_LINE);
}

uint32_t *gf_execution_abort_word(const struct gf_execution *e)
{
    return (uint32_t *)(void *)(e->words + ABORT_LINE);
}

gf_status gf_execution_create(struct gf_execution *e, gf_device *device, gf_stream *stream, struct gf_watch *watch,
                              struct gf_fault *fault, uint64_t deadline_ms, struct gf_reason *why)
{
    void *words = NULL;

    *e = (struct gf_execution){ .device = device, .stream = stream, .watch = watch, .fault = fault,
                                 .deadline_ns = deadline_ms * 1000000u };
    gf_status status = gf_device_pinned_alloc(device, WORDS_BYTES, &words, why);

    if (status != GF_OK) {
        return status;
    }
    e->words = words;
    e->kernel_words = gf_device_kernel_address(device, words);
    if (!e->kernel_words) {
        gf_reason_set(why, "kernels cannot reach pinned host memory on this device");
        return GF_ERR_UNSUPPORTED;
    }
    status = gf_device_alloc(device, GF_LINE, &e->blocks_done, why);
    if (status != GF_OK) {
        e->blocks_done = NULL;
        return status;
    }
    e->kernel_blocks_done = gf_device_kernel_address(device, e->blocks_done);
    status = gf_device_fill(device, stream, e->blocks_done, 0, GF_LINE);
    if (status == GF_OK) {
        status = gf_device_stream_sync(device, stream);
    }
    if (status != GF_OK) {
        gf_reason_set(why, "device memory could not be zeroed: %s", gf_status_string(status));
    }
    return status;
}

void gf_execution_destroy(struct gf_execution *e)
{
    if (e->blocks_done) {
        gf_device_free(e->device, e->blocks_done);
    }
    if (e->words) {
        gf_device_pinned_free(e->device, e->words);
    }
    e->blocks_done = NULL;
    e->words = NULL;
}

void gf_execution_describe(const struct gf_execution *e, struct gf_task *task)
{
    *task = (struct gf_task){
        .rank = (uint32_t)e->watch->peers->rank, .ranks = (uint32_t)e->watch->peers->ranks,
        .abort = (uint32_t *)(void *)(e->kernel_words + ABORT_LINE),
        .deadline_ns = e->deadline_ns,
        .blocks_done = e->kernel_blocks_done,
        .done = (uint64_t *)(void *)(e->kernel_words + DONE_LINE),
        .error = (uint32_t *)(void *)(e->kernel_words + ERROR_LINE),
        .ticket = e->ticket,
    };
}

/* The stream's own view: an error means that the kernel is gone and will never store its completion word. */
static gf_status ask_stream(struct gf_execution *e, struct gf_reason *why)
{
    gf_status status = gf_device_stream_query(e->device, e->stream);

    if (status == GF_IN_PROGRESS || (status == GF_OK && gf_host_observe(done_word(e)) == e->ticket)) {
        return GF_OK;
    }
    if (status == GF_OK) {
        gf_reason_set(why, "the device ended a kernel that had not finished");
        return GF_ERR_DEVICE;
    }
    gf_reason_set(why, "the device reported a failure while a kernel ran (%s): look for an invalid access in the program's own "
                  "kernels too", gf_status_string(status));
    return GF_ERR_DEVICE;
}

/* A look is a load from the cache, a turn of the owner's progress takes a few hundred nanoseconds in which an end goes
 * unnoticed. */
enum { LOOKS_PER_TURN = 256 };

static bool has_ended(const struct gf_execution *e)
{
    for (int look = 0; look < LOOKS_PER_TURN; look++) {
        if (gf_host_observe(done_word(e)) == e->ticket) {
            return true;
        }
    }
    return false;
}

/* What the kernel that has ended says of itself. */
static gf_status judge_end(struct gf_execution *e, struct gf_reason *why)
{
    gf_status status;

    switch (gf_host_observe_flag(error_word(e))) {
    case GF_KERNEL_OK:
        return GF_OK;
    case GF_KERNEL_TIMEOUT:
        gf_reason_set(why, "a kernel of rank %d waited longer than deadline_ms = %llu for a peer", e->watch->peers->rank,
                      (unsigned long long)(e->deadline_ns / 1000000u));
        return GF_ERR_TIMEOUT;
    case GF_KERNEL_MISMATCH:
        gf_reason_set(why, "a peer of rank %d sent another number of bytes than expected: pass the same count and datatype on "
                      "all ranks", e->watch->peers->rank);
        return GF_ERR_PEER;
    case GF_KERNEL_ABORTED:
    default:
        status = gf_abort_check(e->watch->abort, why);
        if (status == GF_OK) {
            gf_reason_set(why, "a kernel of rank %d gave up", e->watch->peers->rank);
            status = GF_ERR_ABORTED;
        }
        return status;
    }
}

static gf_status poll_kernel(struct gf_execution *e, struct gf_reason *why)
{
    if (has_ended(e)) {
        return judge_end(e, why);
    }
    gf_status status = ++e->turns % TURNS_PER_QUERY == 0 ? ask_stream(e, why) : GF_OK;

    return status == GF_OK ? GF_IN_PROGRESS : status;
}

static gf_status poll_copies(struct gf_execution *e, struct gf_reason *why)
{
    gf_status status = gf_device_stream_query(e->device, e->stream);

    if (status < GF_OK) {
        gf_reason_set(why, "a copy on the device failed: %s", gf_status_string(status));
    }
    return status;
}

gf_status gf_execution_poll(struct gf_execution *e, struct gf_reason *why)
{
    gf_status status = e->last == GF_EXECUTION_KERNEL ? poll_kernel(e, why)
        : e->last == GF_EXECUTION_COPY                ? poll_copies(e, why)
                                                      : GF_OK;

    if (status != GF_IN_PROGRESS) {
        e->last = GF_EXECUTION_NONE;
    }
    return status;
}

/* After a cause to leave, the kernel was told and is only waited for, so that nothing uses the buffers when the call returns. */
static gf_status wait_for_end(struct gf_execution *e, struct gf_reason *why)
{
    gf_status cause = GF_OK, status;

    while ((status = gf_execution_poll(e, why)) == GF_IN_PROGRESS) {
        if (cause == GF_OK) {
            cause = gf_watch_poll(e->watch, why);
        } else if (e->watch->bootstrap->progress) {
            e->watch->bootstrap->progress(e->watch->bootstrap->ctx);
        }
    }
    return status;
}

gf_status gf_execution_start(struct gf_execution *e, enum gf_kernel kernel, int blocks, int threads, struct gf_task *work,
                             size_t bytes, struct gf_reason *why)
{
    e->ticket++;
    gf_execution_describe(e, work);
    gf_host_publish_flag(error_word(e), GF_KERNEL_OK);
    if (gf_fault_hits(e->fault, GF_FAULT_LAUNCH, why)) {
        return GF_ERR_DEVICE;
    }
    gf_status status = gf_device_launch(e->device, e->stream, kernel, blocks, threads, work, bytes, why);

    if (status != GF_OK) {
        /* Peers may have launched: too late for another path. */
        return status == GF_ERR_UNSUPPORTED ? GF_ERR_DEVICE : status;
    }
    e->last = GF_EXECUTION_KERNEL;
    return GF_OK;
}

gf_status gf_execution_run(struct gf_execution *e, enum gf_kernel kernel, int blocks, int threads, struct gf_task *work,
                           size_t bytes, struct gf_reason *why)
{
    gf_status status = gf_execution_start(e, kernel, blocks, threads, work, bytes, why);

    return status == GF_OK ? wait_for_end(e, why) : status;
}

gf_status gf_execution_run_by_agent(struct gf_execution *e, gf_agent *agent, int table, struct gf_command *command,
                                    struct gf_reason *why)
{
    const struct gf_host_wait wait = { .poll = gf_watch_poll, .ctx = e->watch };
    struct gf_reason because;

    gf_reason_clear(&because);
    gf_host_publish_flag(error_word(e), GF_KERNEL_OK);
    gf_status status = gf_agent_run(agent, table, command, &wait, &because);

    if (status != GF_OK) {
        gf_reason_set(why, "%s", because.text);
        return status;
    }
    return judge_end(e, why);
}

gf_status gf_execution_start_copy(struct gf_execution *e, void *to, const void *from, size_t bytes, struct gf_reason *why)
{
    gf_status status = gf_device_copy(e->device, e->stream, to, from, bytes);

    if (status != GF_OK) {
        gf_reason_set(why, "a copy of %zu bytes on the device failed: %s", bytes, gf_status_string(status));
        return status;
    }
    e->last = GF_EXECUTION_COPY;
    return GF_OK;
}

gf_status gf_execution_copy(struct gf_execution *e, void *to, const void *from, size_t bytes, struct gf_reason *why)
{
    gf_status status = gf_execution_start_copy(e, to, from, bytes, why);

    if (status == GF_OK && (status = gf_device_stream_sync(e->device, e->stream)) != GF_OK) {
        gf_reason_set(why, "a copy of %zu bytes on the device failed: %s", bytes, gf_status_string(status));
    }
    e->last = GF_EXECUTION_NONE;
    return status;
}
