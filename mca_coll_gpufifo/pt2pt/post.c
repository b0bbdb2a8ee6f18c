/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Posting one of our requests to the PML, be it the only time or one start of many.
 */
#include "mca_coll_gpufifo/pt2pt/functions.h"
#include "mca_coll_gpufifo/pt2pt/request.h"

static int post_inner(gf_pt2pt_request_t *request, ompi_request_t **inner)
{
    const mca_pml_base_request_t *base = &request->super;
    struct gf_pt2pt_bounce *bounce = &request->bounce;

    if (gf_pt2pt_request_sends(request)) {
        return gf_pt2pt_saved()->pml_isend(bounce->memory, bounce->bytes, MPI_PACKED, base->req_peer, base->req_tag,
                                           request->mode, base->req_comm, inner);
    }
    return gf_pt2pt_saved()->pml_irecv(bounce->memory, bounce->bytes, MPI_PACKED, base->req_peer, base->req_tag, base->req_comm,
                                       inner);
}

int gf_pt2pt_request_post(gf_pt2pt_request_t *request)
{
    struct gf_reason why = {""};
    ompi_request_t *inner = NULL;
    gf_status status = gf_pt2pt_request_sends(request) ? gf_pt2pt_bounce_load(&request->bounce, &why) : GF_OK;
    int result;

    if (status != GF_OK) {
        return gf_error_to_mpi(status, &why, request->super.req_comm, request->function);
    }
    result = post_inner(request, &inner);
    if (result == MPI_SUCCESS) {
        gf_pt2pt_request_activate(request, inner);
    }
    return result;
}

int gf_pt2pt_request_new(const struct gf_pt2pt_arguments *arguments, ompi_request_t **request)
{
    gf_pt2pt_request_t *ours;
    int result = gf_pt2pt_request_create(arguments, &ours);

    if (result != MPI_SUCCESS) {
        return result;
    }
    if (!arguments->persistent) {
        result = gf_pt2pt_request_post(ours);
        if (result != MPI_SUCCESS) {
            gf_pt2pt_request_destroy(ours);
            return result;
        }
    }
    *request = gf_pt2pt_request_outer(ours);
    return MPI_SUCCESS;
}
