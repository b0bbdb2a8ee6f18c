/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that we exchange ourselves over the PML that was there before.
 */
#ifndef GF_MCA_PT2PT_PML_REQUEST_H
#define GF_MCA_PT2PT_PML_REQUEST_H

#include "mca_coll_gpufifo/pt2pt/functions.h"

/* Is the PML's request complete? Then frees it; *bytes: those received. A request that was never made is complete. */
static inline bool gf_pml_complete(ompi_request_t **request, size_t *bytes, gf_status *status)
{
    *bytes = 0;
    if (*request == MPI_REQUEST_NULL) {
        return true;
    }
    if (!REQUEST_COMPLETE(*request)) {
        return false;
    }
    opal_atomic_rmb();
    *bytes = (*request)->req_status._ucount;
    if ((*request)->req_status.MPI_ERROR != MPI_SUCCESS && *status == GF_OK) {
        *status = GF_ERR_PEER;
    }
    ompi_request_free(request);
    *request = MPI_REQUEST_NULL;
    return true;
}

#endif
