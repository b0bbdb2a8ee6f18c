/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A communicator's device side, made by its first native call.
 */
#include "mca_coll_gpufifo/native.h"

#include "mca_coll_gpufifo/agree.h"
#include "mca_coll_gpufifo/bootstrap.h"
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

gf_status gf_native_comm(mca_coll_gpufifo_module_t *module, int ordinal, struct gf_reason *why)
{
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
    module->log = mca_coll_gpufifo_component.log;
    if (bootstrap.rank != 0 && module->log.verbose < GF_LOG_CALL) {
        module->log.verbose = GF_LOG_WARN;
    }
    module->device_ordinal = ordinal;
    struct gf_comm_setup setup = {
        .config = &mca_coll_gpufifo_component.config,
        .log = &module->log,
        .name = gf_mpi_comm_name(module->comm),
        .bootstrap = bootstrap,
        .device = device,
        .transports = gf_transports,
        .agent = device ? gf_component_agent(device) : NULL,
        .imports = device ? gf_component_imports(device) : NULL,
        .net = device ? gf_component_net(device) : NULL,
        .proxy = device ? gf_component_proxy(device) : NULL,
        .host_executor = &gf_host_sequenced,
        .device_ranks = device_ranks(module),
    };
    status = gf_comm_create(&setup, &module->device_comm, why);
    if (status != GF_OK) {
        gf_agree_give_up(module, why->text);
        return GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}

int gf_native_refuse(const mca_coll_gpufifo_module_t *module, const char *function, size_t amount, const char *unit,
                     const char *reason)
{
    struct gf_reason why;

    if (mca_coll_gpufifo_component.config.strict) {
        gf_reason_set(&why, "strict: this call would be staged through host memory: %s", reason);
        return gf_error_to_mpi(GF_ERR_UNSUPPORTED, &why, module->comm, function);
    }
    gf_log(&mca_coll_gpufifo_component.log, GF_LOG_CALL, "%s: rank %d, %s, %zu %s: staged through host memory: %s",
           gf_mpi_comm_name(module->comm), ompi_comm_rank(module->comm), function, amount, unit, reason);
    return MPI_SUCCESS;
}
