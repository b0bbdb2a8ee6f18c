/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of a staged call: bounce buffers, copies in, copies out.
 */
#include "mca_coll_gpufifo/stage.h"

#include <stdlib.h>

#include "mca_coll_gpufifo/module.h"
#include "mca_coll_gpufifo/stage_copy.h"

enum { BOUNCE_ALIGN = 64 };   /* a bounce has the user's address modulo this: the alignment of elements survives */

/* What a buffer in device memory needs. */
struct bounce {
    struct gf_stage_pool *pool;        /* its device's; null: this buffer is not staged */
    void *memory;                      /* pinned */
    size_t bytes;
    struct gf_transfer load, store;    /* device to bounce, bounce to device */
    struct gf_stage_lane *lane;        /* while copies are under way; both bounces of one device share theirs */
};

/* Owner: the call. */
struct gf_staged {
    struct bounce send, recv;
    size_t bytes;                      /* that the operation reads */
    ompi_communicator_t *comm;
    const char *function;
};

static bool fail(struct gf_stage_call *call, gf_status status, const struct gf_reason *why)
{
    call->result = gf_error_to_mpi(status, why, call->staged->comm, call->staged->function);
    return false;
}

static struct gf_layout_span both(struct gf_layout_span a, struct gf_layout_span b)
{
    if (a.bytes == 0 || b.bytes == 0) {
        return a.bytes ? a : b;
    }
    return (struct gf_layout_span){
        .low = a.low < b.low ? a.low : b.low,
        .high = a.high > b.high ? a.high : b.high,
        .bytes = a.bytes + b.bytes,
    };
}

static bool contains(const struct gf_pointer *allocation, const char *start, size_t bytes)
{
    const char *base = allocation->base;

    return start >= base && start + bytes <= base + allocation->size;
}

static gf_status find_pool(const struct gf_stage_buffer *buffer, struct gf_pointer *info, struct gf_stage_pool **pool,
                           struct gf_reason *why)
{
    ptrdiff_t offset = 0;

    if (!gf_layout_any_byte(&buffer->in, &offset)) {
        gf_layout_any_byte(&buffer->out, &offset);
    }
    gf_status status = gf_memory_query(gf_layout_address(buffer->user, offset), info, why);
    return status == GF_OK ? gf_stage_pool_get(mca_coll_gpufifo_component.staging, info->ordinal, pool, why) : status;
}

/* Null, of which at least a byte would be used? Absolute datatypes make MPI_BOTTOM a right address, so the byte is asked. */
static bool is_null(const struct gf_stage_buffer *buffer)
{
    enum { FIRST_PAGE = 4096 };      /* nobody has memory there */
    ptrdiff_t offset;

    return (gf_layout_any_byte(&buffer->in, &offset) || gf_layout_any_byte(&buffer->out, &offset)) &&
           (uintptr_t)gf_layout_address(buffer->user, offset) < FIRST_PAGE;
}

/* Only what is contiguous can be judged by its ends: a layout with gaps may go from one allocation into another. */
static bool fits(const struct gf_pointer *info, const struct gf_stage_buffer *buffer, struct gf_layout_span span,
                 struct gf_reason *why)
{
    return span.bytes == 0 || (size_t)(span.high - span.low) != span.bytes ||
           gf_memory_holds(info, gf_layout_address(buffer->user, span.low), span.bytes, why);
}

/* apart: the call's other buffer. Its address must be another one, though data of both lie elsewhere: libnbc takes equal ones for
 * in place. On failure the bounce may be half made: discard it. */
static gf_status make_bounce(struct bounce *bounce, struct gf_stage_buffer *buffer, const void *apart, struct gf_reason *why)
{
    struct gf_layout_span in = gf_layout_measure(&buffer->in), out = gf_layout_measure(&buffer->out), span = both(in, out);
    size_t bytes = (size_t)(span.high - span.low);
    char *start = gf_layout_address(buffer->user, span.low);
    struct gf_pointer info;

    gf_status status = find_pool(buffer, &info, &bounce->pool, why);
    if (status != GF_OK) {
        return status;
    }
    if (!fits(&info, buffer, in, why) || !fits(&info, buffer, out, why)) {
        return GF_ERR_INVALID;
    }
    bounce->bytes = bytes + 2 * BOUNCE_ALIGN;
    status = gf_bounce_alloc(bounce->pool, bounce->bytes, &bounce->memory, why);
    if (status != GF_OK) {
        return status;
    }
    buffer->host = gf_layout_address(bounce->memory, (ptrdiff_t)((uintptr_t)start % BOUNCE_ALIGN) - span.low);
    if (buffer->host == apart) {
        buffer->host = gf_layout_address(buffer->host, BOUNCE_ALIGN);
    }
    enum gf_transfer_gaps gaps = contains(&info, start, bytes) ? GF_GAPS_COPY : GF_GAPS_KEEP;
    status = gf_transfer_plan(&bounce->load, &buffer->in, gaps, bounce->pool, buffer->host, buffer->user, why);
    if (status != GF_OK) {
        return status;
    }
    return gf_transfer_plan(&bounce->store, &buffer->out, GF_GAPS_KEEP, bounce->pool, buffer->user, buffer->host, why);
}

static void discard_bounce(struct bounce *bounce)
{
    if (!bounce->pool) {
        return;
    }
    gf_transfer_release(&bounce->load, bounce->pool);
    gf_transfer_release(&bounce->store, bounce->pool);
    if (bounce->memory) {
        gf_bounce_free(bounce->pool, bounce->memory, bounce->bytes);
    }
}

/* The first such call on a communicator has a line where paths are asked for. */
static enum gf_log_level level_of(ompi_communicator_t *comm)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;
    enum gf_log_level level = GF_LOG_CALL;
    opal_list_item_t *link;

    opal_mutex_lock(&component->lock);
    OPAL_LIST_FOREACH(link, &component->modules, opal_list_item_t) {
        mca_coll_gpufifo_module_t *module = gf_module_of(link);

        if (module->comm == comm && !module->told_staged) {
            module->told_staged = true;
            level = GF_LOG_PATH;
        }
    }
    opal_mutex_unlock(&component->lock);
    return level;
}

static void tell(const struct gf_stage_call *call)
{
    const struct gf_log *log = &mca_coll_gpufifo_component.log;
    const struct gf_staged *staged = call->staged;

    if (!call->told && gf_log_shows(log, GF_LOG_PATH)) {
        gf_log(log, level_of(staged->comm), "%s: rank %d, %s, %zu bytes to the host and %zu back: staged through host memory: it "
               "has no path of its own for device buffers", gf_mpi_comm_name(staged->comm), ompi_comm_rank(staged->comm),
               staged->function, staged->bytes, gf_layout_measure(&call->recv.out).bytes);
    }
}

bool gf_stage_prepare(struct gf_stage_call *call, ompi_communicator_t *comm, const char *function)
{
    struct gf_reason why = {""};
    struct gf_staged *staged = calloc(1, sizeof *staged);
    gf_status status = GF_OK;

    if (!staged) {
        gf_reason_set(&why, "no host memory to stage a buffer");
        call->result = gf_error_to_mpi(GF_ERR_NO_MEMORY, &why, comm, function);
        return false;
    }
    staged->comm = comm;
    staged->function = function;
    if (mca_coll_gpufifo_component.config.strict) {
        gf_reason_set(&why,
                      "strict: this call would be staged through host memory: it has no path of its own for device buffers");
        status = GF_ERR_UNSUPPORTED;
    } else if (is_null(&call->send) || is_null(&call->recv)) {
        gf_reason_set(&why, "the %s buffer is null although it has elements: pass a buffer",
                      is_null(&call->send) ? "send" : "receive");
        status = GF_ERR_INVALID;
    }
    staged->bytes = gf_layout_measure(&call->send.in).bytes + gf_layout_measure(&call->recv.in).bytes;
    call->staged = staged;
    if (status == GF_OK && gf_stage_buffer_is_device(&call->send)) {
        status = make_bounce(&staged->send, &call->send, call->recv.host, &why);
    }
    if (status == GF_OK && gf_stage_buffer_is_device(&call->recv)) {
        status = make_bounce(&staged->recv, &call->recv, call->send.host, &why);
    }
    if (status != GF_OK) {
        fail(call, status, &why);
        gf_stage_discard(call);
        return false;
    }
    tell(call);
    return true;
}

/* Makes one of the bounce's copies, at once or queued. Its lane is the other's where that is one of the same device: one wait
 * does for both. */
static gf_status queue(struct bounce *bounce, const struct bounce *other, const struct gf_transfer *transfer,
                       struct gf_reason *why)
{
    if (!bounce->pool || transfer->bytes == 0 || gf_transfer_at_once(transfer, bounce->pool)) {
        return GF_OK;
    }
    if (!bounce->lane && other->lane && other->pool == bounce->pool) {
        bounce->lane = other->lane;
    }
    if (!bounce->lane) {
        gf_status status = gf_lane_acquire(bounce->pool, &bounce->lane, why);

        if (status != GF_OK) {
            return status;
        }
    }
    return gf_transfer_queue(transfer, bounce->lane, why);
}

/* Asks or waits, by `check`, for the end of the copies in both lanes; the first error counts. */
static gf_status check_lanes(const struct gf_staged *staged, gf_status (*check)(gf_device *, gf_stream *))
{
    const struct gf_stage_lane *send = staged->send.lane;
    const struct gf_stage_lane *recv = staged->recv.lane;
    gf_status first = send ? check(send->device, send->stream) : GF_OK;
    gf_status second = recv && recv != send ? check(recv->device, recv->stream) : GF_OK;

    return first == GF_OK || (first > 0 && second < 0) ? second : first;
}

static bool report_copies(struct gf_stage_call *call, gf_status status)
{
    struct gf_reason why;

    gf_reason_set(&why, "a copy between a buffer in device memory and the host ended with \"%s\"; "
                        "was the buffer freed before the operation was complete?", gf_status_string(status));
    return fail(call, status, &why);
}

bool gf_stage_start_load(struct gf_stage_call *call)
{
    struct gf_staged *staged = call->staged;
    struct gf_reason why = {""};
    gf_status status = queue(&staged->send, &staged->recv, &staged->send.load, &why);

    gf_pvars_count(&mca_coll_gpufifo_component.pvars, GF_PATH_STAGED, staged->bytes);
    if (status == GF_OK) {
        status = queue(&staged->recv, &staged->send, &staged->recv.load, &why);
    }
    return status == GF_OK || fail(call, status, &why);
}

bool gf_stage_load(struct gf_stage_call *call)
{
    if (!gf_stage_start_load(call)) {
        return false;
    }
    gf_status status = check_lanes(call->staged, gf_device_stream_sync);

    return status == GF_OK || report_copies(call, status);
}

bool gf_stage_store(struct gf_stage_call *call)
{
    struct gf_staged *staged = call->staged;
    struct gf_reason why = {""};
    gf_status status = queue(&staged->recv, &staged->send, &staged->recv.store, &why);

    return status == GF_OK || fail(call, status, &why);
}

bool gf_stage_poll(struct gf_stage_call *call)
{
    gf_status status = check_lanes(call->staged, gf_device_stream_query);

    if (status < 0) {
        report_copies(call, status);
    }
    return status <= 0;
}

void gf_stage_settle(struct gf_stage_call *call)
{
    struct gf_staged *staged = call->staged;
    gf_status status = check_lanes(staged, gf_device_stream_sync);

    if (status < 0 && call->result == MPI_SUCCESS) {
        report_copies(call, status);
    }
    if (staged->recv.lane && staged->recv.lane != staged->send.lane) {
        gf_lane_release(staged->recv.lane);
    }
    if (staged->send.lane) {
        gf_lane_release(staged->send.lane);
    }
    staged->send.lane = staged->recv.lane = NULL;
}

void gf_stage_discard(struct gf_stage_call *call)
{
    if (call->staged) {
        gf_stage_settle(call);
        discard_bounce(&call->staged->send);
        discard_bounce(&call->staged->recv);
        free(call->staged);
        call->staged = NULL;
    }
}

bool gf_stage_begin_staged(struct gf_stage_call *call, ompi_communicator_t *comm, const char *function)
{
    if (!gf_stage_prepare(call, comm, function)) {
        return false;
    }
    if (!gf_stage_load(call)) {
        gf_stage_discard(call);
        return false;
    }
    return true;
}

int gf_stage_end_staged(struct gf_stage_call *call)
{
    if (call->result == MPI_SUCCESS) {
        gf_stage_store(call);
    }
    gf_stage_discard(call);
    return call->result;
}
