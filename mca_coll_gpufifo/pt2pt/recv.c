/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives. A buffer in device memory gets its message by way of host memory that can take as much, whoever sends it: how much
 * comes is known only then, and only that is written.
 */
#include "mca_coll_gpufifo/pt2pt/functions.h"
#include "mca_coll_gpufifo/pt2pt/request.h"

#include "ompi/message/message.h"

/* Who receives: recv with source and tag, mrecv with a message that is matched already. */
struct source {
    int peer, tag;
    ompi_communicator_t *comm;
    struct ompi_message_t **message;   /* null: recv */
    const char *function;
};

static int receive_to_host(struct gf_pt2pt_bounce *bounce, const struct source *source, ompi_status_public_t *status)
{
    if (source->message) {
        return gf_pt2pt_saved()->pml_mrecv(bounce->memory, bounce->bytes, MPI_PACKED, source->message, status);
    }
    return gf_pt2pt_saved()->pml_recv(bounce->memory, bounce->bytes, MPI_PACKED, source->peer, source->tag, source->comm, status);
}

/* What of the status the PML sets, and what it leaves as the program had it, stays its choice. */
static int recv_staged(void *buffer, size_t count, ompi_datatype_t *type, const struct source *source,
                       ompi_status_public_t *users)
{
    ompi_status_public_t status = users != MPI_STATUS_IGNORE ? *users : ompi_status_empty;
    struct gf_pt2pt_bounce bounce;
    struct gf_reason why = {""};
    gf_status copy = gf_pt2pt_bounce_open(&bounce, buffer, count, type, &why);
    int result = MPI_SUCCESS;

    if (copy == GF_OK) {
        result = receive_to_host(&bounce, source, &status);
        if (result == MPI_SUCCESS && !status._cancelled && status._ucount > 0) {
            copy = gf_pt2pt_bounce_store(&bounce, status._ucount, &why);
        }
        if (copy == GF_OK) {
            copy = gf_pt2pt_bounce_finish(&bounce, &why);
        }
        if (users != MPI_STATUS_IGNORE) {
            *users = status;
        }
    }
    if (copy != GF_OK) {
        result = gf_error_to_mpi(copy, &why, source->comm, source->function);
    }
    gf_pt2pt_bounce_close(&bounce);
    return result;
}

static __opal_attribute_noinline__ int recv_anything(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag,
                                                     ompi_communicator_t *comm, ompi_status_public_t *status)
{
    if (!gf_pt2pt_is_device(buffer, count, type)) {
        return gf_pt2pt_saved()->pml_recv(buffer, count, type, peer, tag, comm, status);
    }
    return recv_staged(buffer, count, type,
                       &(struct source){.peer = peer, .tag = tag, .comm = comm, .function = "MPI_Recv"}, status);
}

int gf_pt2pt_recv(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, ompi_communicator_t *comm,
                  ompi_status_public_t *status)
{
    if (OPAL_LIKELY(gf_pt2pt_is_plain(buffer, tag))) {
        return gf_pt2pt_saved()->pml_recv(buffer, count, type, peer, tag, comm, status);
    }
    return recv_anything(buffer, count, type, peer, tag, comm, status);
}

int gf_pt2pt_mrecv(void *buffer, size_t count, ompi_datatype_t *type, struct ompi_message_t **message,
                   ompi_status_public_t *status)
{
    if (!gf_pt2pt_is_device(buffer, count, type)) {
        return gf_pt2pt_saved()->pml_mrecv(buffer, count, type, message, status);
    }
    return recv_staged(buffer, count, type,
                       &(struct source){.comm = (*message)->comm, .message = message, .function = "MPI_Mrecv"}, status);
}

static __opal_attribute_noinline__ int irecv_anything(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag,
                                                      ompi_communicator_t *comm, ompi_request_t **request)
{
    if (!gf_pt2pt_is_device(buffer, count, type)) {
        return gf_pt2pt_saved()->pml_irecv(buffer, count, type, peer, tag, comm, request);
    }
    return gf_pt2pt_request_new(&(struct gf_pt2pt_arguments){
        .buffer = buffer, .count = count, .type = type, .peer = peer, .tag = tag, .comm = comm,
        .function = "MPI_Irecv"}, request);
}

int gf_pt2pt_irecv(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, ompi_communicator_t *comm,
                   ompi_request_t **request)
{
    if (OPAL_LIKELY(gf_pt2pt_is_plain(buffer, tag))) {
        return gf_pt2pt_saved()->pml_irecv(buffer, count, type, peer, tag, comm, request);
    }
    return irecv_anything(buffer, count, type, peer, tag, comm, request);
}

int gf_pt2pt_irecv_init(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, ompi_communicator_t *comm,
                        ompi_request_t **request)
{
    if (!gf_pt2pt_is_device(buffer, count, type)) {
        return gf_pt2pt_saved()->pml_irecv_init(buffer, count, type, peer, tag, comm, request);
    }
    return gf_pt2pt_request_new(&(struct gf_pt2pt_arguments){
        .buffer = buffer, .count = count, .type = type, .peer = peer, .tag = tag, .comm = comm, .persistent = true,
        .function = "MPI_Recv_init"}, request);
}

int gf_pt2pt_imrecv(void *buffer, size_t count, ompi_datatype_t *type, struct ompi_message_t **message, ompi_request_t **request)
{
    gf_pt2pt_request_t *ours;
    ompi_request_t *inner;
    int result;

    if (!gf_pt2pt_is_device(buffer, count, type)) {
        return gf_pt2pt_saved()->pml_imrecv(buffer, count, type, message, request);
    }
    result = gf_pt2pt_request_create(&(struct gf_pt2pt_arguments){
        .buffer = buffer, .count = count, .type = type, .peer = (*message)->peer, .tag = MPI_ANY_TAG, .comm = (*message)->comm,
        .function = "MPI_Imrecv"}, &ours);
    if (result != MPI_SUCCESS) {
        return result;
    }
    result = gf_pt2pt_saved()->pml_imrecv(ours->bounce.memory, ours->bounce.bytes, MPI_PACKED, message, &inner);
    if (result != MPI_SUCCESS) {
        gf_pt2pt_request_destroy(ours);
        return result;
    }
    gf_pt2pt_request_activate(ours, inner);
    *request = gf_pt2pt_request_outer(ours);
    return MPI_SUCCESS;
}
