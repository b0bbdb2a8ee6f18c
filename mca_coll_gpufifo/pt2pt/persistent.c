/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starting persistent requests. MPI_Start calls the request's own function, collectives call the PML's with requests of any kind.
 * Each start posts a new inner request.
 */
#include "ompi/errhandler/errhandler.h"

#include "mca_coll_gpufifo/pt2pt/functions.h"
#include "mca_coll_gpufifo/pt2pt/request.h"

/* MPI_Start does not call the error handler, so a failed start does. */
static int start(gf_pt2pt_request_t *request)
{
    ompi_request_t *outer = gf_pt2pt_request_outer(request);
    int result;

    gf_hold_await_callback(&request->hold);
    outer->req_status = ompi_status_empty;
    result = gf_pt2pt_request_post(request);
    return result == MPI_SUCCESS ? result : OMPI_ERRHANDLER_INVOKE(request->super.req_comm, result, "MPI_Start");
}

int gf_pt2pt_request_start(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; i++) {
        int result = start((gf_pt2pt_request_t *)requests[i]);

        if (result != MPI_SUCCESS) {
            return result;
        }
    }
    return MPI_SUCCESS;
}

static bool is_ours(const ompi_request_t *request)
{
    return request->req_start == gf_pt2pt_request_start;
}

/* Runs of our requests, and runs of others. */
int gf_pt2pt_start(size_t count, ompi_request_t **requests)
{
    for (size_t first = 0, end; first < count; first = end) {
        bool ours = is_ours(requests[first]);
        int result;

        for (end = first + 1; end < count && is_ours(requests[end]) == ours; end++) {
        }
        result = (ours ? gf_pt2pt_request_start : gf_pt2pt_saved()->pml_start)(end - first, &requests[first]);
        if (result != MPI_SUCCESS) {
            return result;
        }
    }
    return MPI_SUCCESS;
}
