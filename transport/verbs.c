/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wire over verbs: its adapters, and memory that all of them know.
 */
#include "transport/verbs_private.h"

#include <errno.h>
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
        { "MTU", config->mtu, 0, 4096 },
        { "number of queue pairs of a lane", config->queue_pairs, 0, GF_WIRE_PAIRS },
        { "number of adapters", config->most_adapters, 0, GF_WIRE_ADAPTERS },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].value < numbers[i].least || numbers[i].value > numbers[i].most) {
            gf_reason_set(why, "the %s is %d, but must be from %d to %d", numbers[i].name, numbers[i].value,
                          numbers[i].least, numbers[i].most);
            return GF_ERR_INVALID;
        }
    }
    if (config->mtu != 0 && (config->mtu < 256 || (config->mtu & (config->mtu - 1)) != 0)) {
        gf_reason_set(why, "the MTU is %d, but must be 256, 512, 1024, 2048 or 4096, or 0 for the port's own",
                      config->mtu);
        return GF_ERR_INVALID;
    }
    return GF_OK;
}

static void wire_close(struct gf_wire *base)
{
    struct verbs_wire *wire = verbs_wire_of(base);

    for (int i = 0; i < wire->rail_count; i++) {
        gf_verbs_rail_close(&wire->rails[i]);
    }
    free(wire->rails);
    free(wire);
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

/* "verbs mlx5_0 port 1 gid 3 (RoCE v2)", or "verbs mlx5_0, mlx5_1" */
static void name_wire(struct verbs_wire *wire)
{
    char *name = wire->base.name;
    size_t length = 0, bytes = sizeof wire->base.name;

    if (wire->rail_count == 1) {
        snprintf(name, bytes, "%s", wire->rails[0].name);
        return;
    }
    for (int i = 0; i < wire->rail_count && length < bytes; i++) {
        length += (size_t)snprintf(name + length, bytes - length, "%s %s", i > 0 ? "," : "verbs",
                                   ibv_get_device_name(wire->rails[i].adapter.context->device));
    }
    for (int i = 0; i < wire->rail_count; i++) {
        gf_log(wire->config.log, GF_LOG_PATH, "net: adapter %d is %s", i, wire->rails[i].name);
    }
}

/* The adapters become the rails', which are closed with the wire. */
static gf_status open_rails(struct verbs_wire *wire, struct gf_reason *why)
{
    struct gf_verbs_adapter adapters[GF_WIRE_ADAPTERS];
    int count;
    gf_status status = gf_verbs_adapters_open(&wire->config, adapters, &count, why);

    wire->rails = status == GF_OK ? calloc((size_t)count, sizeof *wire->rails) : NULL;
    for (int i = 0; i < count; i++) {
        if (!wire->rails) {
            gf_verbs_adapter_close(&adapters[i]);
            continue;
        }
        struct gf_verbs_rail *rail = &wire->rails[wire->rail_count++];
        char name[sizeof rail->name - sizeof "verbs"];

        gf_verbs_adapter_describe(&adapters[i], name, sizeof name);
        snprintf(rail->name, sizeof rail->name, "verbs %s", name);
        rail->wire = wire;
        rail->index = i;
        rail->adapter = adapters[i];
        pthread_mutex_init(&rail->lock, NULL);
    }
    if (status == GF_OK && !wire->rails) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    for (int i = 0; i < wire->rail_count && status == GF_OK; i++) {
        status = gf_verbs_rail_open(&wire->rails[i], why);
    }
    return status;
}

/* What all of its rails can do. */
static struct gf_wire_caps caps_of(const struct verbs_wire *wire)
{
    struct gf_wire_caps caps = { .device_memory = true, .dmabuf = true, .flush = true, .put_bytes = SIZE_MAX,
                                .adapters = wire->rail_count };

    for (int i = 0; i < wire->rail_count; i++) {
        size_t most = wire->rails[i].adapter.attributes.max_msg_sz;

        caps.put_bytes = most < caps.put_bytes ? most : caps.put_bytes;
    }
    return caps;
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
    wire->base.ops = &gf_wire_verbs;
    wire->config = *config;
    wire->config.timeout = config->timeout ? config->timeout : DEFAULT_TIMEOUT;
    wire->config.retries = config->retries ? config->retries : DEFAULT_RETRIES;
    wire->config.queue_pairs = config->queue_pairs ? config->queue_pairs : 1;
    status = open_rails(wire, why);
    if (status != GF_OK) {
        wire_close(&wire->base);
        return status;
    }
    wire->base.caps = caps_of(wire);
    name_wire(wire);
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

static struct ibv_mr *register_at(const struct gf_verbs_rail *rail, const struct gf_wire_range *range)
{
    if (range->dmabuf >= 0) {
        return ibv_reg_dmabuf_mr(rail->domain, range->dmabuf_offset, range->bytes, (uintptr_t)range->address, range->dmabuf,
                                 GF_VERBS_ACCESS);
    }
    return ibv_reg_mr(rail->domain, range->address, range->bytes, GF_VERBS_ACCESS);
}

static void wire_forget(struct gf_wire *base, struct gf_wire_memory *memory)
{
    struct ibv_mr **regions = memory->handle;

    for (int i = 0; regions && i < verbs_wire_of(base)->rail_count; i++) {
        if (regions[i]) {
            ibv_dereg_mr(regions[i]);
        }
    }
    free(regions);
    *memory = (struct gf_wire_memory){ 0 };
}

/* With every adapter: a lane of any may put from there, or have it put into. */
static gf_status wire_register(struct gf_wire *base, const struct gf_wire_range *range, struct gf_wire_memory *memory,
                               struct gf_reason *why)
{
    struct verbs_wire *wire = verbs_wire_of(base);
    struct ibv_mr **regions = calloc((size_t)wire->rail_count, sizeof(struct ibv_mr *));

    if (!regions) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    *memory = (struct gf_wire_memory){ .address = range->address, .bytes = range->bytes, .handle = regions };
    for (int i = 0; i < wire->rail_count; i++) {
        regions[i] = register_at(&wire->rails[i], range);
        if (!regions[i]) {
            const char *what = range->dmabuf >= 0 ? "a dma-buf" : range->device ? "device memory" : "host memory";
            int error = errno;

            gf_reason_set(why, "%s: %zu bytes of %s cannot be registered: %s%s", wire->rails[i].name, range->bytes, what,
                          strerror(error), registration_advice(range, error));
            wire_forget(base, memory);
            return GF_ERR_UNSUPPORTED;
        }
        memory->key[i] = regions[i]->rkey;
    }
    return GF_OK;
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
