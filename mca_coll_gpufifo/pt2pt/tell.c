/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines about messages.
 */
#include "mca_coll_gpufifo/pt2pt/tell.h"

/* Each has a bit of pt2pt.told. */
enum way { SENT_STAGED, SENT_OFFERED, RECEIVED_STAGED = SENT_OFFERED + GF_RTS_KINDS, RECEIVED_FETCHED };

/* The level of a line about this way. With the first one it is said; false: nobody wants to hear it. */
static bool level_of(unsigned way, enum gf_log_level *level)
{
    const struct gf_log *log = &mca_coll_gpufifo_component.log;
    unsigned bit = 1u << way;

    if (!gf_log_shows(log, GF_LOG_PATH)) {
        return false;
    }
    *level = atomic_fetch_or(&mca_coll_gpufifo_component.pt2pt.told, bit) & bit ? GF_LOG_CALL : GF_LOG_PATH;
    return gf_log_shows(log, *level);
}

static void tell(const gf_pt2pt_request_t *request, unsigned way, size_t bytes, const char *what, const struct gf_reason *why)
{
    const mca_pml_base_request_t *base = &request->super;
    bool sends = gf_pt2pt_request_sends(request);
    enum gf_log_level level;

    if (level_of(way, &level)) {
        gf_log(&mca_coll_gpufifo_component.log, level, "%s: rank %d, %s, %zu bytes %s rank %d: %s%s%s",
               gf_mpi_comm_name(base->req_comm), ompi_comm_rank(base->req_comm), request->function, bytes, sends ? "to" : "from",
               sends ? base->req_peer : base->req_ompi.req_status.MPI_SOURCE, what, why->text[0] ? ": " : "", why->text);
    }
}

void gf_pt2pt_tell_offered(const gf_pt2pt_request_t *request, const struct gf_reason *why)
{
    static const char *const ways[] = {
        [GF_RTS_OFFER] = "offered, the receiver fetches them from this buffer",
        [GF_RTS_PIPE] = "offered, the receiver fetches them from shared host memory",
        [GF_RTS_CHUNKS] = "sent in chunks, while they are copied",
        [GF_RTS_WIRE] = "announced, and sent by the network once the receiver gives room",
    };
    unsigned kind = ((const struct gf_rts *)request->head)->kind;

    tell(request, SENT_OFFERED + kind, request->bytes, ways[kind], why);
}

void gf_pt2pt_tell_staged(const gf_pt2pt_request_t *request, const struct gf_reason *why)
{
    tell(request, SENT_STAGED, request->bytes, "staged through host memory", why);
}

void gf_pt2pt_tell_fetched(const gf_pt2pt_request_t *request, const struct gf_reason *how)
{
    static const char *const ways[] = {
        [GF_RTS_OFFER] = "fetched from the sender's buffer",
        [GF_RTS_PIPE] = "fetched from shared host memory, into which the sender copies them",
        [GF_RTS_CHUNKS] = "received in chunks, while they are copied",
        [GF_RTS_WIRE] = "received by the network",
    };
    const struct gf_fetch *fetch = &request->fetch;
    struct gf_reason why = {""};

    if (fetch->kind == GF_RTS_OFFER && gf_log_shows(&mca_coll_gpufifo_component.log, GF_LOG_PATH)) {
        gf_pull_explain_pull(fetch->engine, &fetch->pull, &why);
    }
    tell(request, RECEIVED_FETCHED + (unsigned)fetch->kind, request->pulled, ways[fetch->kind],
         fetch->kind == GF_RTS_WIRE ? how : &why);
}

void gf_pt2pt_tell_unpacked(const gf_pt2pt_request_t *request, size_t bytes)
{
    static const struct gf_reason why = {"the sender's line, if its buffer is on a device, says why"};

    tell(request, RECEIVED_STAGED, bytes, "they came by way of host memory", &why);
}
