/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Sendrecv_replace: what is sent is packed first, from wherever it lies, and goes while the receive is posted. And
 * MPI_Buffer_attach, which takes host memory only, since MPI_Bsend packs into it on the CPU.
 */
#include "mca_coll_gpufifo/pt2pt/replace.h"

#include <stdlib.h>

#include "ompi/errhandler/errhandler.h"
#include "opal/mca/patcher/base/base.h"
#include "opal/mca/patcher/patcher.h"

#include "mca_coll_gpufifo/pt2pt/bounce.h"
#include "mca_coll_gpufifo/pt2pt/functions.h"
#include "mca_coll_gpufifo/pt2pt/host_data.h"
#include "mca_coll_gpufifo/pt2pt/request.h"

static const char function_name[] = "MPI_Sendrecv_replace";

/* The arguments, but for the communicator. */
struct exchange {
    void *buffer;
    int count;
    MPI_Datatype type;
    int dest, sendtag, source, recvtag;
    MPI_Status *status;
};

/* A receive that the call will not wait for: unless its message is there already, the buffer is the program's again. */
static void give_up(ompi_request_t *receive)
{
    (void)ompi_request_cancel(receive);
    (void)ompi_request_free(&receive);
}

/* With the PML's functions, which count in size_t. They are ours: the buffer may be of any kind. */
static int sendrecv_packed(const struct exchange *x, const void *packed, size_t bytes, MPI_Comm comm)
{
    ompi_request_t *receive;
    int result = MCA_PML_CALL(irecv(x->buffer, (size_t)x->count, x->type, x->source, x->recvtag, comm, &receive));

    if (result == MPI_SUCCESS) {
        result = MCA_PML_CALL(send(packed, bytes, MPI_PACKED, x->dest, x->sendtag, MCA_PML_BASE_SEND_STANDARD, comm));
        if (result == MPI_SUCCESS) {
            result = gf_pt2pt_request_wait(receive, x->status);
        } else {
            give_up(receive);
        }
    }
    return result == MPI_SUCCESS ? result : OMPI_ERRHANDLER_INVOKE(comm, result, function_name);
}

static int replace_on_device(const struct exchange *x, const struct gf_pointer *where, MPI_Comm comm)
{
    struct gf_pt2pt_bounce bounce = {0};
    struct gf_reason why = {""};
    gf_status status = gf_pt2pt_bounce_open(&bounce, x->buffer, (size_t)x->count, x->type, where, &why);
    int result;

    if (status == GF_OK) {
        status = gf_pt2pt_bounce_pin(&bounce, bounce.bytes, &why);
    }
    if (status == GF_OK) {
        status = gf_pt2pt_bounce_load(&bounce, &why);
    }
    gf_pvars_count(&mca_coll_gpufifo_component.pvars, GF_PATH_PT2PT_STAGED, bounce.bytes);
    if (status == GF_OK) {
        result = sendrecv_packed(x, bounce.memory, bounce.bytes, comm);
    } else {
        result = gf_error_to_mpi(status, &why, comm, function_name);
        result = OMPI_ERRHANDLER_INVOKE(comm, result, function_name);
    }
    gf_pt2pt_bounce_close(&bounce);
    return result;
}

static int replace_on_host(const struct exchange *x, size_t bytes, MPI_Comm comm)
{
    char few[2048], *packed = bytes <= sizeof few ? few : malloc(bytes);
    int result;

    if (!packed) {
        return OMPI_ERRHANDLER_INVOKE(comm, MPI_ERR_NO_MEM, function_name);
    }
    gf_host_data_pack(&(struct gf_host_data){x->buffer, (size_t)x->count, x->type}, packed, bytes);
    result = sendrecv_packed(x, packed, bytes, comm);
    if (packed != few) {
        free(packed);
    }
    return result;
}

static bool tag_is_valid(int tag)
{
    return tag >= 0 && tag <= mca_pml.pml_max_tag;
}

/* Two peers, by valid arguments? MPI_PROC_NULL is none. */
static bool has_peers(const struct exchange *x, MPI_Comm comm)
{
    return !ompi_comm_invalid(comm) && !ompi_comm_peer_invalid(comm, x->dest) && tag_is_valid(x->sendtag) &&
           (x->source == MPI_ANY_SOURCE || !ompi_comm_peer_invalid(comm, x->source)) &&
           (x->recvtag == MPI_ANY_TAG || tag_is_valid(x->recvtag));
}

static bool has_data(const struct exchange *x)
{
    return x->count > 0 && x->type != NULL && x->type != MPI_DATATYPE_NULL && opal_datatype_is_committed(&x->type->super) &&
           x->type->super.size > 0;
}

static int sendrecv_replace(void *buffer, int count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
                            MPI_Comm comm, MPI_Status *status)
{
    OPAL_PATCHER_BEGIN;
    struct exchange x = {buffer, count, type, dest, sendtag, source, recvtag, status};
    struct gf_pointer where;
    int result;

    /* With nothing to pack it is MPI_Sendrecv, which reports what is wrong, too. */
    if (!has_peers(&x, comm) || !has_data(&x)) {
        result = PMPI_Sendrecv(buffer, count, type, dest, sendtag, buffer, count, type, source, recvtag, comm, status);
    } else if (gf_pt2pt_locate(buffer, (size_t)count, type, &where)) {
        result = replace_on_device(&x, &where, comm);
    } else {
        result = replace_on_host(&x, type->super.size * (size_t)count, comm);
    }
    OPAL_PATCHER_END;
    return result;
}

static int buffer_attach(void *buffer, int size)
{
    OPAL_PATCHER_BEGIN;
    static const char name[] = "MPI_Buffer_attach";
    struct gf_reason why = {""};
    struct gf_pointer where;
    int result;

    if (!buffer || size < 0) {
        result = OMPI_ERRHANDLER_INVOKE(MPI_COMM_WORLD, MPI_ERR_ARG, name);
    } else if (size > 0 && gf_memory_locate(buffer, &where)) {
        gf_reason_set(&why, "the buffer that is attached is device memory, and messages wait there that the host writes: attach "
                      "host memory, which serves messages from device memory, too");
        result = gf_error_to_mpi(GF_ERR_INVALID, &why, MPI_COMM_WORLD, name);
        result = OMPI_ERRHANDLER_INVOKE(MPI_COMM_WORLD, result, name);
    } else {
        result = gf_mpi_buffer_attach(buffer, size);
    }
    OPAL_PATCHER_END;
    return result;
}

static bool patch(uintptr_t theirs, uintptr_t ours)
{
    return opal_patcher->patch_address(theirs, ours) == OPAL_SUCCESS;
}

/* Open MPI opens its patcher to watch memory, which we asked for when the component was opened. Where it does not watch memory
 * (--mca memory ^patcher), we open it. */
static bool have_patcher(struct gf_pt2pt *pt2pt)
{
    if (opal_patcher->patch_address) {
        return true;
    }
    if (mca_base_framework_open(&opal_patcher_base_framework, 0) != OPAL_SUCCESS) {
        return false;
    }
    pt2pt->patcher_opened = true;
    return opal_patcher_base_select() == OPAL_SUCCESS && opal_patcher->patch_address;
}

void gf_pt2pt_replace_open(void)
{
    struct gf_pt2pt *pt2pt = &mca_coll_gpufifo_component.pt2pt;

    if (!have_patcher(pt2pt) || !patch((uintptr_t)PMPI_Sendrecv_replace, (uintptr_t)sendrecv_replace)) {
        gf_log(&mca_coll_gpufifo_component.log, GF_LOG_PATH,
               "%s takes no device buffers: this Open MPI cannot replace functions; use MPI_Sendrecv with a second buffer",
               function_name);
        return;
    }
    if (GF_MPI_ATTACHES) {
        (void)patch((uintptr_t)PMPI_Buffer_attach, (uintptr_t)buffer_attach);
    }
}

void gf_pt2pt_replace_close(void)
{
    struct gf_pt2pt *pt2pt = &mca_coll_gpufifo_component.pt2pt;

    if (pt2pt->patcher_opened) {
        pt2pt->patcher_opened = false;
        mca_base_framework_close(&opal_patcher_base_framework);
    }
}
