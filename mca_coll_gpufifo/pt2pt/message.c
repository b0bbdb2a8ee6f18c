/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Looking at a message that was matched but not received.
 */
#include "mca_coll_gpufifo/pt2pt/message.h"

#include "opal/runtime/opal_progress.h"

#include "mca_coll_gpufifo/pt2pt/functions.h"

static void message_construct(gf_pt2pt_message_t *message)
{
    message->look = NULL;
    message->status = ompi_status_empty;
}

/* As Open MPI does when it takes a message back: the handle that Fortran may have is void. */
static void message_destruct(gf_pt2pt_message_t *message)
{
    if (message->super.m_f_to_c_index != MPI_UNDEFINED) {
        opal_pointer_array_set_item(&ompi_message_f_to_c_table, message->super.m_f_to_c_index, NULL);
    }
    if (message->super.comm) {
        gf_mpi_release_comm(message->super.comm);
    }
}

OBJ_CLASS_INSTANCE(gf_pt2pt_message_t, ompi_message_t, message_construct, message_destruct);

int gf_pt2pt_message_look(struct ompi_message_t **message)
{
    gf_pt2pt_message_t *ours = OBJ_NEW(gf_pt2pt_message_t);
    int result;

    if (!ours) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    ours->super.comm = (*message)->comm;
    ours->super.peer = (*message)->peer;
    ours->super.count = (*message)->count;
    OBJ_RETAIN(ours->super.comm);
    result = gf_pt2pt_saved()->pml_imrecv(ours->bytes, sizeof ours->bytes, MPI_PACKED, message, &ours->look);
    if (result != OMPI_SUCCESS) {
        OBJ_RELEASE(ours);
        return result;
    }
    *message = &ours->super;
    return OMPI_SUCCESS;
}

bool gf_pt2pt_message_ready(gf_pt2pt_message_t *message)
{
    struct gf_rts rts;

    if (!message->look) {
        return true;
    }
    if (!REQUEST_COMPLETE(message->look)) {
        return false;
    }
    opal_atomic_rmb();
    message->status = message->look->req_status;
    ompi_request_free(&message->look);
    message->look = NULL;
    if (gf_rts_read(message->bytes, message->status._ucount, message->super.comm, message->status.MPI_SOURCE, &rts)) {
        message->super.count = rts.bytes;
    }
    return true;
}

void gf_pt2pt_message_await(gf_pt2pt_message_t *message)
{
    while (!gf_pt2pt_message_ready(message)) {
        opal_progress();
    }
}

void gf_pt2pt_message_release(gf_pt2pt_message_t *message)
{
    OBJ_RELEASE(message);
}
