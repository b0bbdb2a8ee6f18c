/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a receive does with the message that has come: ordinary data, or an RTS, whose data it fetches.
 */
#include "mca_coll_gpufifo/pt2pt/queue.h"

#include "mca_coll_gpufifo/memory_kind.h"
#include "mca_coll_gpufifo/pt2pt/tell.h"

static ompi_status_public_t *status_of(gf_pt2pt_request_t *request)
{
    return &gf_pt2pt_request_outer(request)->req_status;
}

static bool fail(gf_pt2pt_request_t *request, gf_status status, const struct gf_reason *why)
{
    status_of(request)->MPI_ERROR = gf_pt2pt_request_report(request, status, why);
    return true;
}

/* Of a message of so many bytes, those that the buffer takes. */
static size_t fitting(gf_pt2pt_request_t *request, size_t bytes)
{
    if (bytes <= request->bytes) {
        return bytes;
    }
    status_of(request)->MPI_ERROR = MPI_ERR_TRUNCATE;
    return request->bytes;
}

/* `bytes` are in the bounce. */
static bool store(gf_pt2pt_request_t *request, size_t bytes)
{
    struct gf_reason why = {""};
    gf_status status = bytes > 0 ? gf_pt2pt_bounce_store(&request->bounce, bytes, &why) : GF_OK;

    if (status != GF_OK) {
        return fail(request, status, &why);
    }
    request->phase = GF_PT2PT_STORE;
    return gf_pt2pt_request_store_on(request);
}

bool gf_pt2pt_request_store_on(gf_pt2pt_request_t *request)
{
    struct gf_reason why;
    gf_status status;

    why.text[0] = '\0';               /* nobody wants all of it cleared at each look */
    status = gf_pt2pt_bounce_poll(&request->bounce, &why);
    return status < 0 ? fail(request, status, &why) : status == GF_OK;
}

static bool take_to_device(gf_pt2pt_request_t *request, const void *data)
{
    size_t bytes = fitting(request, status_of(request)->_ucount);
    struct gf_reason why = {""};
    gf_status status;

    gf_pvars_count(&mca_coll_gpufifo_component.pvars, GF_PATH_PT2PT_STAGED, bytes);
    gf_pt2pt_tell_unpacked(request, bytes);
    if (data) {
        status = gf_pt2pt_bounce_pin(&request->bounce, GF_RTS_BYTES, &why);
        if (status != GF_OK) {
            return fail(request, status, &why);
        }
        memcpy(request->bounce.memory, data, bytes);
    }
    return store(request, bytes);
}

/* Ordinary data. */
static bool take(gf_pt2pt_request_t *request, const void *data)
{
    bool failed = status_of(request)->MPI_ERROR != MPI_SUCCESS || status_of(request)->_cancelled;

    if (request->device) {
        if (failed) {
            gf_pt2pt_bounce_overrun(&request->bounce);
            return true;
        }
        return take_to_device(request, data);
    }
    if (!failed && (data || request->bytes < GF_RTS_BYTES)) {
        struct gf_host_data host = gf_pt2pt_request_host_data(request);
        gf_host_data_unpack(&host, data ? data : request->head, fitting(request, status_of(request)->_ucount));
    }
    return true;
}

/* Where the program's own buffer can take the fetched data, null: by way of pinned memory only. */
static void *direct_target(gf_pt2pt_request_t *request)
{
    struct gf_host_data host = gf_pt2pt_request_host_data(request);
    struct gf_pointer info;
    char *run;

    if (request->device) {
        return gf_pt2pt_bounce_run(&request->bounce);
    }
    run = gf_host_data_run(&host);
    if (run && request->fetch.kind == GF_RTS_OFFER && request->pulled <= GF_BOUNCE_KEEP_BYTES &&
        (gf_memory_query(run, &info, NULL) != GF_OK || info.kind != GF_MEMORY_PINNED)) {
        return NULL;
    }
    return run;
}

/* A kernel that stores behind the end of an allocation would take the device down, or somebody else's data with it. */
static bool may_take(const gf_pt2pt_request_t *request, const void *target, struct gf_reason *why)
{
    return !request->device || request->pulled == 0 || gf_memory_holds(&request->bounce.where, target, request->pulled, why);
}

/* Memory that the data go on from: of the device where they go on by a kernel. */
static gf_status make_bounce(gf_pt2pt_request_t *request, struct gf_reason *why)
{
    gf_status status = request->device ? gf_pt2pt_bounce_near(&request->bounce, request->pulled, why) : GF_ERR_UNSUPPORTED;

    if (status == GF_ERR_UNSUPPORTED || status == GF_ERR_NO_MEMORY) {
        status = gf_pt2pt_bounce_pin(&request->bounce, request->pulled, why);
    }
    return status;
}

/* Prepares the memory that the data go to. */
static gf_status find_target(gf_pt2pt_request_t *request, const struct gf_rts *rts, void **target, struct gf_reason *why)
{
    int ordinal = request->device ? request->bounce.where.ordinal : gf_rendezvous_any_device();
    gf_status status = gf_fetch_open(&request->fetch, gf_pt2pt_queue_get()->rendezvous, rts, ordinal, why);

    if (status != GF_OK) {
        return status;
    }
    *target = request->pulled > 0 ? direct_target(request) : request->head;
    if (*target) {
        return may_take(request, *target, why) ? GF_OK : GF_ERR_INVALID;
    }
    if (!request->device) {
        status = gf_stage_pool_get(mca_coll_gpufifo_component.staging, ordinal, &request->bounce.pool, why);
    }
    if (status == GF_OK) {
        status = make_bounce(request, why);
    }
    *target = request->bounce.memory;
    return status;
}

/* Is this the memory that the data go on from? */
static bool is_by_way_of_bounce(const gf_pt2pt_request_t *request)
{
    return request->pulled > 0 && request->fetch.to == request->bounce.memory;
}

static gf_status prepare(gf_pt2pt_request_t *request, const struct gf_rts *rts, void **target, struct gf_reason *why)
{
    gf_status status = find_target(request, rts, target, why);

    if (status != GF_OK) {
        gf_fetch_refuse(&request->fetch, rts);
    }
    return status;
}

static gf_status start(gf_pt2pt_request_t *request, const struct gf_rts *rts, void *target, struct gf_reason *why)
{
    const struct gf_pt2pt_bounce *bounce = &request->bounce;
    bool in_place = request->device && target != bounce->memory;
    const struct gf_pointer *where = in_place ? &bounce->where : bounce->piece ? &bounce->near : NULL;

    return gf_fetch_start(&request->fetch, rts, target, where, request->pulled, why);
}

/* This process cannot map what is offered, take it from the network, or find memory for a stream to do it. The sender sees that,
 * and sends chunks instead. */
static gf_status start_again(gf_pt2pt_request_t *request, const struct gf_rts *rts, struct gf_reason *why)
{
    const ompi_proc_t *sender = ompi_comm_peer_lookup(request->super.req_comm, status_of(request)->MPI_SOURCE);
    struct gf_rts again = gf_rts_in_chunks(rts, gf_mpi_world_rank(sender));
    gf_status status;
    void *target;

    gf_log(&mca_coll_gpufifo_component.log, GF_LOG_PATH, "%s: rank %d, %s, %zu bytes from rank %d come in chunks: %s",
           gf_mpi_comm_name(request->super.req_comm), ompi_comm_rank(request->super.req_comm), request->function, request->pulled,
           status_of(request)->MPI_SOURCE, why->text);
    status = prepare(request, &again, &target, why);
    return status == GF_OK ? start(request, &again, target, why) : status;
}

/* What goes the other way may depend on it. */
static void learn_sharing(gf_pt2pt_request_t *request)
{
    const ompi_proc_t *sender = ompi_comm_peer_lookup(request->super.req_comm, status_of(request)->MPI_SOURCE);
    const struct gf_fetch *fetch = &request->fetch;

    if (fetch->kind == GF_RTS_OFFER) {
        gf_rendezvous_learn(gf_pt2pt_queue_get()->rendezvous, gf_mpi_world_rank(sender),
                            gf_pull_sharing(fetch->engine, &fetch->pull));
    }
}

static bool may_start_again(const struct gf_rts *rts)
{
    return rts->kind != GF_RTS_CHUNKS && !mca_coll_gpufifo_component.config.strict;
}

static bool start_pull(gf_pt2pt_request_t *request, const struct gf_rts *rts)
{
    struct gf_reason why;
    gf_status status;
    void *target;

    why.text[0] = '\0';
    status_of(request)->_ucount = rts->bytes;
    request->pulled = fitting(request, rts->bytes);
    status = prepare(request, rts, &target, &why);
    if (status != GF_OK) {
        return fail(request, status, &why);
    }
    status = start(request, rts, target, &why);
    if (status == GF_ERR_UNSUPPORTED && may_start_again(rts)) {
        status = start_again(request, rts, &why);
    }
    if (status != GF_OK) {
        return fail(request, status, &why);
    }
    gf_pvars_count(&mca_coll_gpufifo_component.pvars, gf_fetch_path(&request->fetch), request->pulled);
    gf_pt2pt_tell_fetched(request, &why);
    learn_sharing(request);
    request->phase = GF_PT2PT_PULL;
    return gf_pt2pt_request_pull_on(request);
}

bool gf_pt2pt_request_pull_on(gf_pt2pt_request_t *request)
{
    struct gf_host_data host = gf_pt2pt_request_host_data(request);
    struct gf_reason why;
    gf_status status;

    why.text[0] = '\0';
    gf_fault_pass(mca_coll_gpufifo_component.config.stages, GF_FAULT_FETCH);
    status = gf_fetch_poll(&request->fetch, &why);
    if (status == GF_IN_PROGRESS) {
        return false;
    }
    if (status != GF_OK) {
        return fail(request, status, &why);
    }
    if (!is_by_way_of_bounce(request)) {
        return true;
    }
    if (request->device) {
        return store(request, request->pulled);
    }
    gf_host_data_unpack(&host, request->bounce.memory, request->pulled);
    return true;
}

/* Where the first bytes of a message are that may be an RTS. A host buffer whose data have gaps has them scattered: *collected
 * gets them. */
static const void *find_head(gf_pt2pt_request_t *request, unsigned char *collected)
{
    struct gf_host_data host = gf_pt2pt_request_host_data(request);

    if (request->device) {
        return request->bounce.memory;
    }
    if (request->bytes < GF_RTS_BYTES) {
        return request->head;
    }
    gf_host_data_head(&host, collected);
    return collected;
}

bool gf_pt2pt_request_arrive(gf_pt2pt_request_t *request, const ompi_status_public_t *status, const void *data)
{
    struct gf_host_data host = gf_pt2pt_request_host_data(request);
    unsigned char collected[GF_HEAD_BYTES];
    const void *head = data;
    struct gf_rts rts;

    *status_of(request) = *status;
    if (OPAL_LIKELY(status->_ucount != GF_RTS_BYTES || status->MPI_ERROR != MPI_SUCCESS || status->_cancelled)) {
        return take(request, data);
    }
    if (!head) {
        head = find_head(request, collected);
    }
    if (!gf_rts_read(head, GF_RTS_BYTES, request->super.req_comm, status->MPI_SOURCE, &rts)) {
        return take(request, data);
    }
    /* The RTS may be longer than the message, and nothing behind that may change. */
    if (!data && !request->device && request->bytes >= GF_RTS_BYTES) {
        gf_host_data_unpack(&host, request->head, request->kept);
    }
    return start_pull(request, &rts);
}
