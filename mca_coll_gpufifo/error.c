/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From our results to MPI's error classes, and the one message that tells the user.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "opal/util/output.h"
#include "opal/util/show_help.h"

#include "mca_coll_gpufifo/module.h"

static const struct {
    gf_status status;
    int mpi;
    const char *advice;
} errors[] = {
    {GF_ERR_INVALID, MPI_ERR_BUFFER, "Check the buffers of this call: they must be allocated and not yet freed."},
    {GF_ERR_UNSUPPORTED, MPI_ERR_UNSUPPORTED_OPERATION,
     "Unset coll_gpufifo_strict to let such calls be staged through host memory."},
    {GF_ERR_NO_MEMORY, MPI_ERR_NO_MEM,
     "Free memory of this kind, or lower coll_gpufifo_ll_slot_bytes, coll_gpufifo_simple_slot_bytes or coll_gpufifo_channels."},
    {GF_ERR_DEVICE, MPI_ERR_OTHER,
     "An earlier kernel of the program may have failed: check its errors, and the device's health."},
    {GF_ERR_SYSTEM, MPI_ERR_OTHER, "Run with --mca coll_gpufifo_verbose 1 to see which paths were tried."},
    {GF_ERR_PEER, MPI_ERR_OTHER,
     "Look for the first message of the rank that it names; this communicator cannot be used any more."},
    {GF_ERR_ABORTED, MPI_ERR_OTHER, "Look for the first error of the ranks of this communicator; it cannot be used any more."},
    {GF_ERR_TIMEOUT, MPI_ERR_OTHER,
     "See whether all ranks make this call, or raise coll_gpufifo_deadline_ms; this communicator cannot be used any more."},
};

/* A program that goes on after errors may fail in every call: only the first of a kind is shown. */
static bool is_first_of_its_kind(gf_status status)
{
    uint32_t bit = 1u << (-status & 31);

    return (atomic_fetch_or(&mca_coll_gpufifo_component.shown_errors, bit) & bit) == 0;
}

void gf_show_help(const char *topic, ...)
{
    va_list arguments;

    va_start(arguments, topic);
    char *message = opal_show_help_vstring("help-mca-coll-gpufifo.txt", topic, true, arguments);
    va_end(arguments);
    if (message) {
        opal_output(0, "%s", message);
        free(message);
    }
}

int gf_error_to_mpi(gf_status status, const struct gf_reason *why, ompi_communicator_t *comm, const char *function)
{
    const char *text = why && why->text[0] ? why->text : gf_status_string(status);
    const char *advice = "Please report this.";
    int mpi = MPI_ERR_INTERN;

    if (status >= 0) {
        return MPI_SUCCESS;
    }
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (errors[i].status == status) {
            advice = errors[i].advice;
            mpi = errors[i].mpi;
        }
    }
    if (status == GF_ERR_UNSUPPORTED && !mca_coll_gpufifo_component.config.strict) {
        advice = "Run with --mca coll_gpufifo_verbose 1 to see which paths were tried.";
    }
    if (is_first_of_its_kind(status)) {
        gf_show_help("call-failed", function, gf_mpi_comm_name(comm), ompi_comm_rank(comm), gf_status_string(status), text,
                     advice);
    } else {
        gf_log(&mca_coll_gpufifo_component.log, GF_LOG_PATH, "%s: %s failed: %s", gf_mpi_comm_name(comm), function, text);
    }
    return mpi;
}
