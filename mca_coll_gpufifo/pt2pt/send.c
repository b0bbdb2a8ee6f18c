/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends. One from host memory passes; for one from device memory there is a request of ours, which blocking calls wait for.
 */
#include "mca_coll_gpufifo/pt2pt/functions.h"
#include "mca_coll_gpufifo/pt2pt/queue.h"

/* MPI's name for a call, for messages. */
enum form { BLOCKING, NON_BLOCKING, PERSISTENT };

static const char *name_of(mca_pml_base_send_mode_t mode, enum form form)
{
    static const char *const names[][3] = {
        [MCA_PML_BASE_SEND_SYNCHRONOUS] = {"MPI_Ssend", "MPI_Issend", "MPI_Ssend_init"},
        [MCA_PML_BASE_SEND_BUFFERED] = {"MPI_Bsend", "MPI_Ibsend", "MPI_Bsend_init"},
        [MCA_PML_BASE_SEND_READY] = {"MPI_Rsend", "MPI_Irsend", "MPI_Rsend_init"},
        [MCA_PML_BASE_SEND_STANDARD] = {"MPI_Send", "MPI_Isend", "MPI_Send_init"},
    };

    return (size_t)mode < sizeof(names) / sizeof(names[0]) && names[mode][form] ? names[mode][form] : "a send";
}

/* Of a message to itself a process knows that its receive has ended, and MPI_Testsome must say so at once. Without threads it
 * does. */
static inline bool is_to_self(int peer, const ompi_communicator_t *comm)
{
    return opal_using_threads() && peer == comm->c_my_rank;
}

/* After a send from host memory. */
static int settle(int result, int peer, const ompi_communicator_t *comm)
{
    if (is_to_self(peer, comm)) {
        gf_pt2pt_queue_progress();
    }
    return result;
}

static __opal_attribute_noinline__ int send_anything(const void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag,
                                                     mca_pml_base_send_mode_t mode, ompi_communicator_t *comm)
{
    struct gf_pointer where;
    ompi_request_t *request;
    int result;

    if (!gf_pt2pt_locate(buffer, count, type, &where)) {
        return settle(gf_pt2pt_saved()->pml_send(buffer, count, type, peer, tag, mode, comm), peer, comm);
    }
    result = gf_pt2pt_request_new(&(struct gf_pt2pt_arguments){
        .buffer = buffer, .count = count, .type = type, .peer = peer, .tag = tag, .comm = comm, .mode = mode,
        .send = true, .where = &where, .function = name_of(mode, BLOCKING)}, &request);
    return result == MPI_SUCCESS ? gf_pt2pt_request_wait(request, MPI_STATUS_IGNORE) : result;
}

int gf_pt2pt_send(const void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, mca_pml_base_send_mode_t mode,
                  ompi_communicator_t *comm)
{
    if (OPAL_LIKELY(gf_pt2pt_is_plain(buffer, tag) && !is_to_self(peer, comm))) {
        return gf_pt2pt_saved()->pml_send(buffer, count, type, peer, tag, mode, comm);
    }
    return send_anything(buffer, count, type, peer, tag, mode, comm);
}

static __opal_attribute_noinline__ int isend_anything(const void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag,
                                                      mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                                                      ompi_request_t **request)
{
    struct gf_pointer where;

    if (!gf_pt2pt_locate(buffer, count, type, &where)) {
        return settle(gf_pt2pt_saved()->pml_isend(buffer, count, type, peer, tag, mode, comm, request), peer, comm);
    }
    return gf_pt2pt_request_new(&(struct gf_pt2pt_arguments){
        .buffer = buffer, .count = count, .type = type, .peer = peer, .tag = tag, .comm = comm, .mode = mode,
        .send = true, .where = &where, .function = name_of(mode, NON_BLOCKING)}, request);
}

int gf_pt2pt_isend(const void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, mca_pml_base_send_mode_t mode,
                   ompi_communicator_t *comm, ompi_request_t **request)
{
    if (OPAL_LIKELY(gf_pt2pt_is_plain(buffer, tag) && !is_to_self(peer, comm))) {
        return gf_pt2pt_saved()->pml_isend(buffer, count, type, peer, tag, mode, comm, request);
    }
    return isend_anything(buffer, count, type, peer, tag, mode, comm, request);
}

int gf_pt2pt_isend_init(const void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag,
                        mca_pml_base_send_mode_t mode, ompi_communicator_t *comm, ompi_request_t **request)
{
    struct gf_pointer where;

    if (!gf_pt2pt_locate(buffer, count, type, &where)) {
        return gf_pt2pt_saved()->pml_isend_init(buffer, count, type, peer, tag, mode, comm, request);
    }
    return gf_pt2pt_request_new(&(struct gf_pt2pt_arguments){
        .buffer = buffer, .count = count, .type = type, .peer = peer, .tag = tag, .comm = comm, .mode = mode,
        .send = true, .persistent = true, .where = &where, .function = name_of(mode, PERSISTENT)}, request);
}
