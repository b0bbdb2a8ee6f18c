/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives. Any may match an RTS, whatever its buffer, if a process of this node is there to send one; then it gets a request
 * of ours. Those to host memory can do without: a blocking one looks at what it got, and in a process with one thread the PML's
 * request of another one calls us back.
 */
#include "mca_coll_gpufifo/pt2pt/functions.h"
#include "mca_coll_gpufifo/pt2pt/host_receive.h"
#include "mca_coll_gpufifo/pt2pt/queue.h"
#include "mca_coll_gpufifo/pt2pt/stash.h"

#include "ompi/message/message.h"

/* The message passes us whatever it is? */
static inline bool passes(const void *buffer, int tag)
{
    return tag < MPI_ANY_TAG || (!mca_coll_gpufifo_component.pt2pt.near && gf_memory_is_known_host(buffer));
}

/* It was an RTS, and lies in `head`: the receive begins anew, as one that has it. */
static __opal_attribute_noinline__ int recv_offered(const struct gf_pt2pt_arguments *arguments, const unsigned char *head,
                                                    ompi_status_public_t *status)
{
    ompi_status_public_t came = *status;
    gf_pt2pt_request_t *request;
    int result = gf_pt2pt_request_create(arguments, &request);

    if (result != MPI_SUCCESS) {
        return result;
    }
    came.MPI_ERROR = MPI_SUCCESS;
    came._cancelled = false;
    gf_pt2pt_request_begin(request);
    gf_pt2pt_queue_deliver(gf_pt2pt_queue_get(), request, &came, head);
    return gf_pt2pt_request_wait(gf_pt2pt_request_outer(request), status);
}

/* Receives to `data`, in the PML's own loop, or `posted`: with a request of the PML's, for which MPI's full progress waits. The
 * latter ends the stash's critical section. */
static inline int recv_from_pml(bool posted, const struct gf_pt2pt_arguments *a, const struct gf_host_data *data,
                                ompi_status_public_t *status)
{
    ompi_request_t *request;
    int result;

    if (OPAL_LIKELY(!posted)) {
        return gf_pt2pt_saved()->pml_recv(data->buffer, data->count, data->type, a->peer, a->tag, a->comm, status);
    }
    result = gf_pt2pt_saved()->pml_irecv(data->buffer, data->count, data->type, a->peer, a->tag, a->comm, &request);
    gf_stash_leave(a->comm);
    return result == MPI_SUCCESS ? gf_pt2pt_request_wait(request, status) : result;
}

/* The buffer has room for an RTS; what it overwrites is kept. */
static int recv_long(bool posted, const struct gf_pt2pt_arguments *a, const struct gf_host_data *host,
                     ompi_status_public_t *status)
{
    unsigned char before[GF_HEAD_BYTES], head[GF_HEAD_BYTES];
    size_t kept = gf_host_data_head(host, before);
    struct gf_rts rts;
    int result;

    result = recv_from_pml(posted, a, host, status);
    if (OPAL_LIKELY(result != MPI_SUCCESS || status->_ucount != GF_RTS_BYTES)) {
        return result;
    }
    gf_host_data_head(host, head);
    if (!gf_rts_read(head, GF_RTS_BYTES, a->comm, status->MPI_SOURCE, &rts)) {
        return result;
    }
    gf_host_data_unpack(host, before, kept);
    return recv_offered(a, head, status);
}

/* It has not. */
static int recv_short(bool posted, const struct gf_pt2pt_arguments *a, const struct gf_host_data *host,
                      ompi_status_public_t *status)
{
    unsigned char head[GF_RTS_BYTES];
    struct gf_host_data beside = {head, sizeof head, MPI_PACKED};
    size_t bytes = gf_host_data_bytes(host);
    struct gf_rts rts;
    int result = recv_from_pml(posted, a, &beside, status);

    if (OPAL_UNLIKELY(result != MPI_SUCCESS)) {
        return result;
    }
    if (OPAL_UNLIKELY(status->_ucount > bytes)) {
        if (gf_rts_read(head, status->_ucount, a->comm, status->MPI_SOURCE, &rts)) {
            return recv_offered(a, head, status);
        }
        result = MPI_ERR_TRUNCATE;
    }
    gf_host_data_unpack(host, head, status->_ucount < bytes ? status->_ucount : bytes);
    return result;
}

/* With device work under way, the PML's own wait would look after it too rarely; with threads, another one may take a message out
 * of the PML in between, and with one, a probe may have done so. */
static inline bool must_post(void)
{
    return gf_stash_concerns() || gf_pt2pt_queue_busy(gf_pt2pt_queue_get());
}

static int recv_by_request(const struct gf_pt2pt_arguments *arguments, ompi_status_public_t *status)
{
    ompi_request_t *request;
    int result = gf_pt2pt_request_new(arguments, &request);

    return result == MPI_SUCCESS ? gf_pt2pt_request_wait(request, status) : result;
}

static int imrecv(const struct gf_pt2pt_arguments *arguments, struct ompi_message_t **message, ompi_request_t **request)
{
    gf_pt2pt_request_t *ours;
    int result = gf_pt2pt_request_create(arguments, &ours);

    if (result != MPI_SUCCESS) {
        return result;
    }
    result = gf_pt2pt_request_post_matched(ours, message);
    if (result != MPI_SUCCESS) {
        gf_pt2pt_request_destroy(ours);
        return result;
    }
    *request = gf_pt2pt_request_outer(ours);
    return MPI_SUCCESS;
}

/* To host memory; any may be an RTS. */
static int recv_host(const struct gf_pt2pt_arguments *arguments, ompi_status_public_t *status)
{
    struct gf_host_data host = {(void *)arguments->buffer, arguments->count, arguments->type};
    bool posted = must_post();
    struct ompi_message_t *message = gf_stash_enter(arguments->comm, arguments->peer, arguments->tag);
    ompi_status_public_t ignored;
    ompi_request_t *request;

    if (OPAL_UNLIKELY(message != NULL)) {
        int result = imrecv(arguments, &message, &request);

        return result == MPI_SUCCESS ? gf_pt2pt_request_wait(request, status) : result;
    }
    if (status == MPI_STATUS_IGNORE) {
        status = &ignored;
    }
    /* cppcheck-suppress uninitvar; both fill the status */
    return (gf_host_data_bytes(&host) < GF_RTS_BYTES ? recv_short : recv_long)(posted, arguments, &host, status);
}

int gf_pt2pt_recv(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, ompi_communicator_t *comm,
                  ompi_status_public_t *status)
{
    if (passes(buffer, tag)) {
        return gf_pt2pt_saved()->pml_recv(buffer, count, type, peer, tag, comm, status);
    }

    struct gf_pointer where;
    struct gf_pt2pt_arguments arguments = {.buffer = buffer, .count = count, .type = type, .peer = peer, .tag = tag, .comm = comm,
                                           .where = gf_pt2pt_locate(buffer, count, type, &where) ? &where : NULL,
                                           .function = "MPI_Recv"};

    if (arguments.where) {
        return recv_by_request(&arguments, status);
    }
    if (!mca_coll_gpufifo_component.pt2pt.near) {
        return gf_pt2pt_saved()->pml_recv(buffer, count, type, peer, tag, comm, status);
    }
    return recv_host(&arguments, status);
}

/* May a receive to host memory have the PML's own request? With threads, be they Open MPI's own, its callback could come before
 * we have set it. */
static inline bool may_call_back(void)
{
    return !gf_stash_concerns() && !opal_using_threads();
}

static __opal_attribute_noinline__ int irecv_anything(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag,
                                                      ompi_communicator_t *comm, ompi_request_t **request)
{
    struct gf_pointer where;
    bool device = gf_pt2pt_locate(buffer, count, type, &where);

    if (!device && !mca_coll_gpufifo_component.pt2pt.near) {
        return gf_pt2pt_saved()->pml_irecv(buffer, count, type, peer, tag, comm, request);
    }
    if (!device && may_call_back()) {
        return gf_host_receive(&(struct gf_host_data){buffer, count, type}, peer, tag, comm, request);
    }
    return gf_pt2pt_request_new(&(struct gf_pt2pt_arguments){
        .buffer = buffer, .count = count, .type = type, .peer = peer, .tag = tag, .comm = comm, .where = device ? &where : NULL,
        .function = "MPI_Irecv"}, request);
}

int gf_pt2pt_irecv(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, ompi_communicator_t *comm,
                   ompi_request_t **request)
{
    if (passes(buffer, tag)) {
        return gf_pt2pt_saved()->pml_irecv(buffer, count, type, peer, tag, comm, request);
    }
    if (OPAL_LIKELY(gf_memory_is_known_host(buffer) && may_call_back())) {
        return gf_host_receive(&(struct gf_host_data){buffer, count, type}, peer, tag, comm, request);
    }
    return irecv_anything(buffer, count, type, peer, tag, comm, request);
}

int gf_pt2pt_irecv_init(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, ompi_communicator_t *comm,
                        ompi_request_t **request)
{
    struct gf_pointer where;
    bool device = tag >= MPI_ANY_TAG && gf_pt2pt_locate(buffer, count, type, &where);

    if (tag < MPI_ANY_TAG || (!device && !mca_coll_gpufifo_component.pt2pt.near)) {
        return gf_pt2pt_saved()->pml_irecv_init(buffer, count, type, peer, tag, comm, request);
    }
    return gf_pt2pt_request_new(&(struct gf_pt2pt_arguments){
        .buffer = buffer, .count = count, .type = type, .peer = peer, .tag = tag, .comm = comm, .persistent = true,
        .where = device ? &where : NULL, .function = "MPI_Recv_init"}, request);
}

/* A message of the PML's that a probe has matched is no RTS, or it would be one of ours. */
static bool passes_matched(const struct ompi_message_t *message, const struct gf_pointer *where)
{
    return !gf_pt2pt_message_is_ours(message) && !where;
}

static struct gf_pt2pt_arguments matched(void *buffer, size_t count, ompi_datatype_t *type, const struct ompi_message_t *message,
                                         const struct gf_pointer *where)
{
    return (struct gf_pt2pt_arguments){
        .buffer = buffer, .count = count, .type = type, .peer = message->peer, .tag = MPI_ANY_TAG, .comm = message->comm,
        .where = where, .function = "MPI_Imrecv"};
}

int gf_pt2pt_mrecv(void *buffer, size_t count, ompi_datatype_t *type, struct ompi_message_t **message,
                   ompi_status_public_t *status)
{
    struct gf_pointer info, *where = gf_pt2pt_locate(buffer, count, type, &info) ? &info : NULL;
    struct gf_pt2pt_arguments arguments = matched(buffer, count, type, *message, where);
    ompi_request_t *request;
    int result;

    if (passes_matched(*message, where)) {
        return gf_pt2pt_saved()->pml_mrecv(buffer, count, type, message, status);
    }
    result = imrecv(&arguments, message, &request);
    return result == MPI_SUCCESS ? gf_pt2pt_request_wait(request, status) : result;
}

int gf_pt2pt_imrecv(void *buffer, size_t count, ompi_datatype_t *type, struct ompi_message_t **message, ompi_request_t **request)
{
    struct gf_pointer info, *where = gf_pt2pt_locate(buffer, count, type, &info) ? &info : NULL;
    struct gf_pt2pt_arguments arguments = matched(buffer, count, type, *message, where);

    if (passes_matched(*message, where)) {
        return gf_pt2pt_saved()->pml_imrecv(buffer, count, type, message, request);
    }
    return imrecv(&arguments, message, request);
}
