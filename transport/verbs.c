/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wire over verbs: what it owns.
 */
#include "transport/verbs_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_TIMEOUT = 18,          /* 1.1 s */
    DEFAULT_RETRIES = 6            /* soft-RoCE takes 7 for endless ones */
};

static gf_status check_config(const struct gf_wire_config *config, struct gf_reason *why)
{
    const struct { const char *name; int value, least, most; } numbers[] = {
        { "port", config->port, 0, 255 },
        { "GID index", config->gid_index, -1, 255 },
        { "service level", config->service_level, 0, 15 },
        { "traffic class", config->traffic_class, 0, 255 },
        { "timeout", config->timeout, 0, 31 },
        { "number of retries", config->retries, 0, 7 },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].value < numbers[i].least || numbers[i].value > numbers[i].most) {
            gf_reason_set(why, "verbs: the %s is %d, but must be from %d to %d", numbers[i].name, numbers[i].value,
                          numbers[i].least, numbers[i].most);
            return GF_ERR_INVALID;
        }
    }
    return GF_OK;
}

static void wire_close(struct gf_wire *base)
{
    struct verbs_wire *wire = verbs_wire_of(base);

    gf_verbs_lanes_end(wire);
    gf_verbs_queue_retire(&wire->loopback);
    gf_verbs_queue_destroy(&wire->loopback);
    if (wire->sink_memory) {
        ibv_dereg_mr(wire->sink_memory);
    }
    if (wire->ends) {
        ibv_destroy_cq(wire->ends);
    }
    if (wire->domain) {
        ibv_dealloc_pd(wire->domain);
    }
    gf_verbs_adapter_close(&wire->adapter);
    pthread_mutex_destroy(&wire->lock);
    free(wire);
}

static gf_status connect_loopback(struct verbs_wire *wire, struct gf_reason *why)
{
    struct gf_verbs_end self;
    gf_status status = gf_verbs_queue_create(wire, &wire->loopback, why);

    if (status == GF_OK) {
        gf_verbs_queue_describe(&wire->loopback, &self);
        status = gf_verbs_queue_connect(&wire->loopback, &self, why);
    }
    return status;
}

/* What comes after the adapter. */
static gf_status furnish(struct verbs_wire *wire, struct gf_reason *why)
{
    struct ibv_context *context = wire->adapter.context;
    int flags = fcntl(context->async_fd, F_GETFL);

    if (flags < 0 || fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        gf_reason_set(why, "%s: its events cannot be polled: %s", wire->base.name, strerror(errno));
        return GF_ERR_SYSTEM;
    }
    wire->domain = ibv_alloc_pd(context);
    wire->ends = wire->domain ? ibv_create_cq(context, GF_VERBS_SENDS + GF_VERBS_RECEIVES, NULL, NULL, 0) : NULL;
    wire->sink_memory = wire->ends ? ibv_reg_mr(wire->domain, wire->sink, sizeof wire->sink, GF_VERBS_ACCESS) : NULL;
    if (!wire->sink_memory) {
        gf_reason_set(why, "%s: no completion queue or registered memory can be made: %s%s", wire->base.name, strerror(errno),
                      errno == ENOMEM ? " (raise the limit of locked memory, ulimit -l)" : "");
        return GF_ERR_NO_MEMORY;
    }
    return connect_loopback(wire, why);
}

/* Where the system does not copy registered pages for a child at once, its parent would lose them as soon as it writes there:
 * then libibverbs keeps them from children. On newer systems this does nothing. */
static void prepare_for_fork(const struct gf_wire_config *config)
{
    int error = ibv_fork_init();

    if (error != 0) {
        gf_log(config->log, GF_LOG_PATH, "verbs: processes that fork may lose data, since verbs were in use before: %s",
               strerror(error));
    }
}

static gf_status wire_open(const struct gf_wire_config *config, struct gf_wire **opened, struct gf_reason *why)
{
    gf_status status = check_config(config, why);
    struct verbs_wire *wire = status == GF_OK ? calloc(1, sizeof *wire) : NULL;

    if (!wire) {
        if (status == GF_OK) {
            gf_reason_set(why, "out of host memory");
        }
        return status == GF_OK ? GF_ERR_NO_MEMORY : status;
    }
    prepare_for_fork(config);
    pthread_mutex_init(&wire->lock, NULL);
    wire->base.ops = &gf_wire_verbs;
    wire->config = *config;
    wire->config.timeout = config->timeout ? config->timeout : DEFAULT_TIMEOUT;
    wire->config.retries = config->retries ? config->retries : DEFAULT_RETRIES;
    status = gf_verbs_adapter_open(config, &wire->adapter, why);
    if (status == GF_OK) {
        char adapter[100];

        gf_verbs_adapter_describe(&wire->adapter, adapter, sizeof adapter);
        snprintf(wire->base.name, sizeof wire->base.name, "verbs %s", adapter);
        wire->base.caps = (struct gf_wire_caps){
            .device_memory = true, .dmabuf = true, .flush = true, .put_bytes = wire->adapter.attributes.max_msg_sz,
        };
        status = furnish(wire, why);
    }
    if (status != GF_OK) {
        wire_close(&wire->base);
        return status;
    }
    *opened = &wire->base;
    return GF_OK;
}

/* What may help where memory could not be registered. */
static const char *registration_advice(const struct gf_wire_range *range, int error)
{
    if (error == ENOMEM) {
        return " (raise the limit of locked memory, ulimit -l)";
    }
    return range->device && range->dmabuf < 0
        ? " (it takes the peer-memory module of the device's driver, such as nvidia-peermem)" : "";
}

static gf_status wire_register(struct gf_wire *base, const struct gf_wire_range *range, struct gf_wire_memory *memory,
                               struct gf_reason *why)
{
    struct verbs_wire *wire = verbs_wire_of(base);
    struct ibv_mr *region = NULL;

    if (range->dmabuf >= 0) {
        region = ibv_reg_dmabuf_mr(wire->domain, range->dmabuf_offset, range->bytes, (uintptr_t)range->address, range->dmabuf,
                                   GF_VERBS_ACCESS);
    } else {
        region = ibv_reg_mr(wire->domain, range->address, range->bytes, GF_VERBS_ACCESS);
    }
    if (!region) {
        const char *what = range->dmabuf >= 0 ? "a dma-buf" : range->device ? "device memory" : "host memory";
        int error = errno;

        gf_reason_set(why, "%s: %zu bytes of %s cannot be registered: %s%s", base->name, range->bytes, what, strerror(error),
                      registration_advice(range, error));
        return GF_ERR_UNSUPPORTED;
    }
    *memory = (struct gf_wire_memory){ .address = range->address, .bytes = range->bytes, .key = region->rkey, .handle = region };
    return GF_OK;
}

static void wire_forget(struct gf_wire *base, struct gf_wire_memory *memory)
{
    (void)base;
    if (memory->handle) {
        ibv_dereg_mr(memory->handle);
    }
    *memory = (struct gf_wire_memory){ 0 };
}

/* Keys need no unpacking here. */
static gf_status lane_announce(struct gf_wire_lane *lane, const struct gf_wire_memory *memory)
{
    (void)memory;
    return gf_verbs_lane_status(verbs_lane_of(lane), NULL);
}

static gf_status lane_state(struct gf_wire_lane *lane, struct gf_reason *why)
{
    return gf_verbs_lane_status(verbs_lane_of(lane), why);
}

static const struct gf_wire_counts *wire_counts(const struct gf_wire *wire)
{
    return &verbs_wire_of(wire)->counts;
}

const struct gf_wire_ops gf_wire_verbs = {
    .name = "verbs",
    .open = wire_open, .close = wire_close,
    .register_memory = wire_register, .forget = wire_forget,
    .create = gf_verbs_lane_create, .connect = gf_verbs_lane_connect, .destroy = gf_verbs_lane_destroy, .announce = lane_announce,
    .put = gf_verbs_put, .put_notify = gf_verbs_put_notify, .put_lines = gf_verbs_put_lines,
    .expect = gf_verbs_expect, .take = gf_verbs_take, .flush = gf_verbs_flush,
    .state = lane_state, .progress = gf_verbs_progress, .counts = wire_counts,
};
