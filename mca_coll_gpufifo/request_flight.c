/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests of flights: native operations, which turn into staged ones where a rank cannot.
 *
 * Whether they do is known only when all ranks have entered, and the ranks with host buffers have called the saved component by
 * then, and perhaps more of its operations. So ours takes its place in that order when the program makes the call, and uses it
 * when it is staged after all (placed.h).
 */
#include "mca_coll_gpufifo/request_private.h"

#include "mca_coll_gpufifo/flight.h"
#include "mca_coll_gpufifo/kept.h"
#include "mca_coll_gpufifo/native.h"
#include "mca_coll_gpufifo/placed.h"
#include "mca_coll_gpufifo/turns.h"

/* The saved function, in the place that was taken. */
static void call_saved(gf_stage_request_t *request)
{
    struct gf_saved_call *saved = &request->saved;

    saved->placed = gf_placed_comm(saved->module->comm, request->place);
    request->call.result = saved->placed ? saved->start(saved, &request->call, &request->inner) : MPI_ERR_NO_MEM;
    request->phase = GF_REQUEST_INNER;
}

/* True: it cannot. A rank without data in device memory has nothing to load. */
static bool divert(gf_stage_request_t *request, const struct gf_reason *why)
{
    struct gf_stage_call *call = &request->call;
    bool device = gf_stage_needed(call);

    if (device) {
        call->result = gf_native_refuse(request->saved.module, request->function, gf_native_bytes(call), "bytes", why->text);
        call->told = true;
    }
    if (call->result != MPI_SUCCESS) {
        return true;
    }
    request->phase = GF_REQUEST_LOADING;
    if (device) {
        return !gf_stage_prepare(call, request->saved.module->comm, request->function) || !gf_stage_start_load(call);
    }
    return false;
}

static bool land(gf_stage_request_t *request)
{
    mca_coll_gpufifo_module_t *module = request->saved.module;
    struct gf_reason why = {""};
    gf_status status = gf_flight_poll(request->flight, &why);

    switch (status) {
    case GF_IN_PROGRESS:
        return false;
    case GF_OK:
        gf_pvars_count(&mca_coll_gpufifo_component.pvars, request->flight->path, request->flight->bytes);
        return true;
    case GF_ERR_UNSUPPORTED:
        return divert(request, &why);
    default:
        request->call.result = gf_error_to_mpi(status, &why, module->comm, request->function);
        return true;
    }
}

bool gf_request_fly(gf_stage_request_t *request)
{
    struct gf_stage_call *call = &request->call;

    if (request->phase == GF_REQUEST_FLYING && land(request)) {
        return true;
    }
    if (request->phase == GF_REQUEST_LOADING) {
        if (call->staged && !gf_stage_poll(call)) {
            return false;
        }
        if (call->staged) {
            gf_stage_settle(call);
        }
        if (call->result == MPI_SUCCESS) {
            call_saved(request);
        }
        return call->result != MPI_SUCCESS;
    }
    return false;
}

/* What it keeps of its own: all of the call. False: no memory. */
static bool take_over(gf_stage_request_t *request, const struct gf_stage_call *call, const struct gf_saved_call *saved)
{
    request->call = *call;
    request->saved = *saved;
    return gf_kept_copy(&request->saved, &request->call, request->kept);
}

/* Its place in the order of the saved component's operations, and what it keeps alive. */
static void board(gf_stage_request_t *request, const struct gf_saved_call *saved, const char *function, struct gf_flight *flight)
{
    request->flight = flight;
    request->function = function;
    request->place = gf_mpi_take_place(saved->module->comm);
    OBJ_RETAIN(saved->module->comm);     /* the program may free it before this has ended */
}

bool gf_request_depart(struct gf_stage_call *call, const struct gf_saved_call *saved, const char *function,
                       struct gf_flight *flight, ompi_request_t **request)
{
    if (!gf_request_reserve(call, saved->module->comm, function, false)) {
        gf_flight_free(flight);
        return false;
    }
    gf_stage_request_t *ours = call->request;

    if (!take_over(ours, call, saved)) {
        struct gf_reason why;

        gf_flight_free(flight);
        gf_request_give_back(ours);
        call->request = NULL;
        gf_reason_set(&why, "no host memory for a request");
        call->result = gf_error_to_mpi(GF_ERR_NO_MEMORY, &why, saved->module->comm, function);
        return false;
    }
    board(ours, saved, function, flight);
    gf_flight_depart(saved->module, flight);
    *request = gf_request_outer(ours);
    gf_request_outer(ours)->req_state = OMPI_REQUEST_ACTIVE;
    gf_request_enqueue(ours, GF_REQUEST_FLYING);
    return true;
}

gf_status gf_request_book(struct gf_stage_call *call, const struct gf_saved_call *saved, const char *function,
                          struct gf_flight *flight, ompi_request_t **request, struct gf_reason *why)
{
    bool reserved = flight && gf_request_reserve(call, saved->module->comm, function, true);
    bool ready = reserved && take_over(call->request, call, saved);
    struct gf_turns_slot slot;
    gf_status status = gf_turns_book(saved->module, ready, &slot, why);

    if (status != GF_OK) {
        gf_flight_free(flight);
        if (reserved) {
            gf_request_give_back(call->request);
        }
        return status;
    }
    flight->slot = slot;
    board(call->request, saved, function, flight);
    *request = gf_request_outer(call->request);
    return GF_OK;
}

void gf_request_restart(gf_stage_request_t *request)
{
    gf_turns_start(request->saved.module, request->flight);
    gf_request_enqueue(request, GF_REQUEST_FLYING);
}

void gf_request_unbook(gf_stage_request_t *request)
{
    ompi_communicator_t *comm = request->saved.module->comm;

    gf_turns_release(&request->flight->slot);
    gf_flight_free(request->flight);
    request->flight = NULL;
    gf_mpi_release_comm(comm);
}
