/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A communicator's device side, made by its first native call; and that call's way there.
 */
#include "mca_coll_gpufifo/native.h"

#include "mca_coll_gpufifo/agree.h"
#include "mca_coll_gpufifo/agree_map.h"
#include "mca_coll_gpufifo/bootstrap.h"
#include "mca_coll_gpufifo/flight.h"
#include "mca_coll_gpufifo/freed.h"
#include "proxy/host_sequenced.h"
#include "transport/transport.h"

/* Processes that may run kernels on one device of this node at once: exact where the communicator has all ranks of the node,
 * else as if they were spread evenly over the devices that this process sees. */
static int device_ranks(const mca_coll_gpufifo_module_t *module)
{
    gf_driver *driver = mca_coll_gpufifo_component.driver;
    int local = 0, devices = driver->ops->device_count(driver);

    for (int rank = 0; rank < ompi_comm_size(&ompi_mpi_comm_world.comm); rank++) {
        local += gf_mpi_rank_is_near(&ompi_mpi_comm_world.comm, rank);
    }
    if (local <= ompi_comm_size(module->comm) || devices < 1) {
        return 0;
    }
    return (local + devices - 1) / devices;
}

struct gf_comm_setup gf_native_comm_setup(mca_coll_gpufifo_module_t *module)
{
    gf_device *device = gf_component_device(module->device_ordinal, NULL);
    const struct gf_agree_map *map = gf_agree_map_of(module);
    const struct gf_config *config = &mca_coll_gpufifo_component.config;
    struct gf_net *net = device ? gf_component_net(device) : NULL;
    bool connects = gf_agree_spans_nodes(module) || config->transport == GF_TRANSPORT_NET;     /* else no wire is opened */

    return (struct gf_comm_setup){
        .config = config,
        .log = &module->log,
        .name = gf_mpi_comm_name(module->comm),
        .bootstrap = gf_bootstrap_of(module),
        .device = device,
        .transports = gf_transports,
        .agent = device ? gf_component_agent(device) : NULL,
        .imports = device ? gf_component_imports(device) : NULL,
        .net = net,
        .net_adapters = net && connects ? gf_net_adapters(net) : 0,
        .proxy = device ? gf_component_proxy(device) : NULL,
        .host_executor = &gf_host_sequenced,
        .device_ranks = device_ranks(module),
        .node = map ? map->node : 0,
    };
}

gf_status gf_native_comm_make(mca_coll_gpufifo_module_t *module, gf_comm **comm, struct gf_reason *why)
{
    const struct gf_comm_setup setup = gf_native_comm_setup(module);

    return gf_comm_create(&setup, comm, why);
}

void gf_native_choose_device(mca_coll_gpufifo_module_t *module, int ordinal)
{
    module->device_ordinal = ordinal;
    module->log = mca_coll_gpufifo_component.log;
    if (ompi_comm_rank(module->comm) != 0 && module->log.verbose < GF_LOG_CALL) {
        module->log.verbose = GF_LOG_WARN;
    }
}

gf_status gf_native_comm(mca_coll_gpufifo_module_t *module, int ordinal, struct gf_reason *why)
{
    gf_freed_look();
    if (module->device_comm) {
        return GF_OK;
    }
    struct gf_bootstrap bootstrap = gf_bootstrap_of(module);
    struct gf_reason local = { "" };
    gf_device *device = gf_component_device(ordinal, &local);

    if (!device) {
        gf_reason_set(why, "cannot open its device: %s", local.text);
    }
    /* A rank without a device takes part in this, too: all learn which has none. */
    gf_status status = gf_bootstrap_agree(&bootstrap, device ? GF_OK : GF_ERR_UNSUPPORTED, why);

    if (status != GF_OK) {
        gf_agree_give_up(module, why->text);
        return GF_ERR_UNSUPPORTED;
    }
    gf_native_choose_device(module, ordinal);
    status = gf_native_comm_make(module, &module->device_comm, why);
    if (status != GF_OK) {
        gf_agree_give_up(module, why->text);
        return GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}

/* Of what becomes of a call between nodes: rank 0 tells the first time where paths are asked for. */
static enum gf_log_level level_between_nodes(mca_coll_gpufifo_module_t *module, bool by_messages)
{
    bool told = module->told_between_nodes[by_messages];

    module->told_between_nodes[by_messages] = true;
    return !told && ompi_comm_rank(module->comm) == 0 ? GF_LOG_PATH : GF_LOG_CALL;
}

int gf_native_refuse(mca_coll_gpufifo_module_t *module, const char *function, size_t amount, const char *unit, const char *reason)
{
    struct gf_reason why;

    if (mca_coll_gpufifo_component.config.strict) {
        gf_reason_set(&why, "strict: this call would be staged through host memory: %s", reason);
        return gf_error_to_mpi(GF_ERR_UNSUPPORTED, &why, module->comm, function);
    }
    gf_log(&mca_coll_gpufifo_component.log, gf_agree_spans_nodes(module) ? level_between_nodes(module, false) : GF_LOG_CALL,
           "%s: rank %d, %s, %zu %s: staged through host memory: %s",
           gf_mpi_comm_name(module->comm), ompi_comm_rank(module->comm), function, amount, unit, reason);
    return MPI_SUCCESS;
}

/* True: it may not be staged. */
static bool refuse(const struct gf_native_call *call, const char *reason)
{
    call->stage->result = gf_native_refuse(call->module, call->function, gf_native_bytes(call->stage), "bytes", reason);
    call->stage->told = true;
    return call->stage->result != MPI_SUCCESS;
}

static bool fail(const struct gf_native_call *call, gf_status status, const struct gf_reason *why)
{
    call->stage->result = gf_error_to_mpi(status, why, call->module->comm, call->function);
    return true;
}

void gf_native_tell_messages(mca_coll_gpufifo_module_t *module, const char *function, size_t bytes)
{
    gf_log(&mca_coll_gpufifo_component.log, level_between_nodes(module, true),
           "%s: rank %d, %s, blocks of up to %zu bytes: by messages between device buffers, since its ranks are on several nodes",
           gf_mpi_comm_name(module->comm), ompi_comm_rank(module->comm), function, bytes);
}

/* All ranks can. */
static bool run_between_nodes(struct gf_native_call *call)
{
    gf_native_tell_messages(call->module, call->function, call->block);
    call->stage->result = call->run_between_nodes(call);
    return true;
}

/* All ranks can. */
static bool run_natively(struct gf_native_call *call)
{
    struct gf_reason why = {""};
    gf_status status = gf_native_comm(call->module, call->ordinal, &why);

    if (status == GF_OK) {
        status = call->run(call, &why);
    }
    if (status == GF_ERR_UNSUPPORTED) {
        return refuse(call, why.text);
    }
    return status == GF_OK || fail(call, status, &why);
}

/* Asks what the others have. */
static bool agree_and_run(struct gf_native_call *call)
{
    mca_coll_gpufifo_module_t *module = call->module;
    gf_status status = GF_OK;
    struct gf_reason why = {""};

    switch (gf_agree_enter_device(module, &status, &why)) {
    case GF_AGREE_NATIVE:
        return call->between_nodes ? run_between_nodes(call) : run_natively(call);
    case GF_AGREE_UNKNOWN:
        return fail(call, status, &why);
    default:
        return call->device && refuse(call, module->never_native ? "this communicator cannot use the device"
                                                                 : "another rank cannot do it natively");
    }
}

static bool has_data(const struct gf_stage_call *stage)
{
    ptrdiff_t ignored;

    return stage->passes || gf_layout_any_byte(&stage->send.in, &ignored) || gf_layout_any_byte(&stage->recv.in, &ignored) ||
           gf_layout_any_byte(&stage->recv.out, &ignored);
}

/* Of one that may be staged later: whether the saved component can be called then, in the order that it goes by. */
static const char *reason_against_later(const struct gf_native_call *call)
{
    if (ompi_comm_size(call->module->comm) == 1) {
        return "it has one rank";
    }
    if (!call->device && call->stage->send.user == MPI_IN_PLACE) {
        return "it has no data, for which the saved component takes no place";
    }
    return gf_mpi_takes_places(call->saved->owner) ? NULL
                                                   : "the saved component orders its operations in a way that is not known here";
}

/* Of one whose ranks are on several nodes, for which there are messages alone. A rank without data leaves it to the others. */
static const char *reason_against_messages(struct gf_native_call *call)
{
    const struct gf_config *config = &mca_coll_gpufifo_component.config;

    if (!call->run_between_nodes || call->saved || config->between_nodes == GF_BETWEEN_OFF) {
        return "its ranks are on several nodes";
    }
    if (!mca_coll_gpufifo_component.pt2pt.installed) {
        return "its ranks are on several nodes, and messages take no device buffers";
    }
    if (config->strict) {
        return "its ranks are on several nodes, where messages may go through host memory";
    }
    if (config->between_nodes == GF_BETWEEN_AUTO && call->block > 0 && call->block < config->between_bytes) {
        return "its ranks are on several nodes, and its blocks are shorter than coll_gpufifo_between_bytes";
    }
    return call->prepare_between_nodes(call);
}

/* Why this rank's part cannot be native, or null. */
static const char *reason_against(struct gf_native_call *call)
{
    const mca_coll_gpufifo_module_t *module = call->module;

    call->between_nodes = gf_agree_spans_nodes(call->module);
    const char *reason = call->describe(call);

    if (!reason && call->between_nodes) {
        return reason_against_messages(call);
    }
    if (!reason && call->ordinal < 0) {
        call->ordinal = gf_module_has_device(module) ? module->device_ordinal : gf_component_only_device();
        reason = call->ordinal < 0 ? "this rank has no data to tell its device by" : NULL;
    }
    if (!reason && gf_module_has_other_device(module, call->ordinal)) {
        return "this rank's buffers are on another device than before";
    }
    return !reason && call->saved ? reason_against_later(call) : reason;
}

/* Is this call one that all ranks count, and has this rank device buffers, or no data? A call with host buffers has been entered
 * then. */
static bool is_for_us(struct gf_native_call *call)
{
    ompi_communicator_t *comm = call->module->comm;
    bool never = OMPI_COMM_IS_INTER(comm) || ompi_comm_size(comm) > GF_MAX_RANKS;

    call->device = !never && gf_stage_needed(call->stage);
    if (!call->device && (never || !__atomic_load_n(&call->module->agree, __ATOMIC_ACQUIRE) || has_data(call->stage))) {
        gf_agree_enter_host(call->module);
        return false;
    }
    return true;
}

/* It counts as a call with host buffers. True: it may not be staged. */
static bool enter_as_host(const struct gf_native_call *call, const char *reason)
{
    gf_agree_enter_host(call->module);
    return call->device && refuse(call, reason);
}

bool gf_native_call_run(struct gf_native_call *call)
{
    if (!is_for_us(call)) {
        return false;
    }
    const char *reason = reason_against(call);

    return reason ? enter_as_host(call, reason) : agree_and_run(call);
}

bool gf_native_call_depart(struct gf_native_call *call)
{
    struct gf_flight *flight = NULL;

    if (!is_for_us(call)) {
        return false;
    }
    const char *reason = reason_against(call);

    if (!reason) {
        reason = gf_flight_obstacle(call->module, call->ordinal);
    }
    if (!reason && (flight = call->board(call)) == NULL) {
        reason = "host memory is exhausted";
    }
    if (reason) {
        return enter_as_host(call, reason);
    }
    flight->bytes = gf_native_bytes(call->stage);
    return gf_request_depart(call->stage, call->saved, call->function, flight, call->request) ||
           call->stage->result != MPI_SUCCESS;
}

static gf_status book(struct gf_native_call *call, struct gf_reason *why)
{
    struct gf_flight *flight = call->board(call);

    if (flight) {
        flight->bytes = gf_native_bytes(call->stage);
    }
    return gf_request_book(call->stage, call->saved, call->function, flight, call->request, why);
}

bool gf_native_call_prepare(struct gf_native_call *call)
{
    call->run = book;
    return gf_native_call_run(call);
}
