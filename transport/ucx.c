/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The UCX wire: context, worker, registered memory and progress.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "core/host_ordered.h"
#include "transport/ucx_private.h"

static const size_t put_bytes = (size_t)1 << 30;

void gf_ucx_lock(struct gf_ucx_wire *wire)
{
    __atomic_fetch_add(&wire->waiting, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&wire->lock);
    __atomic_fetch_sub(&wire->waiting, 1, __ATOMIC_RELAXED);
}

bool gf_ucx_try_lock(struct gf_ucx_wire *wire)
{
    /* A mutex is not fair: who asks again and again would keep all others out. */
    return __atomic_load_n(&wire->waiting, __ATOMIC_RELAXED) == 0 && pthread_mutex_trylock(&wire->lock) == 0;
}

void gf_ucx_unlock(struct gf_ucx_wire *wire)
{
    pthread_mutex_unlock(&wire->lock);
}

static int64_t now_ms(void)
{
    return (int64_t)(gf_now_ns() / 1000000);
}

bool gf_ucx_wait(struct gf_ucx_wire *wire, bool (*done)(void *argument), void *argument)
{
    int64_t start = now_ms();

    while (!done(argument)) {
        if (now_ms() - start > GF_UCX_WAIT_MS) {
            return false;
        }
        if (wire->ucx.ucp_worker_progress(wire->worker) == 0) {
            sched_yield();
        }
    }
    return true;
}

static gf_status fail(const struct gf_ucx_wire *wire, ucs_status_t status, struct gf_reason *why, const char *what)
{
    gf_reason_set(why, "UCX cannot %s: %s", what, wire->ucx.ucs_status_string(status));
    return gf_ucx_status(status);
}

static gf_status context_open(struct gf_ucx_wire *wire, struct gf_reason *why)
{
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features = UCP_FEATURE_AM,
    };
    ucp_config_t *config;
    ucs_status_t status = wire->ucx.ucp_config_read(NULL, NULL, &config);

    if (status != UCS_OK) {
        return fail(wire, status, why, "read its settings (UCX_…)");
    }
    status = wire->ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &wire->context);
    wire->ucx.ucp_config_release(config);
    if (status != UCS_OK) {
        wire->context = NULL;
        return fail(wire, status, why, "start: look at UCX_TLS and UCX_NET_DEVICES");
    }
    return GF_OK;
}

static gf_status worker_open(struct gf_ucx_wire *wire, struct gf_reason *why)
{
    ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = GF_UCX_MESSAGE,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = gf_ucx_receive,
        .arg = wire,
    };
    gf_ucx_silence_begin(wire);
    ucs_status_t status = wire->ucx.ucp_worker_create(wire->context, &params, &wire->worker);

    if (status != UCS_OK) {
        wire->worker = NULL;
        return fail(wire, status, why, "make a worker");
    }
    gf_ucx_silence_worker_made(wire);
    status = wire->ucx.ucp_worker_set_am_recv_handler(wire->worker, &handler);
    return status == UCS_OK ? GF_OK : fail(wire, status, why, "take active messages");
}

/* In full, so that processes of one machine meet, too; of the network alone where that is too long. */
static gf_status address_ask(struct gf_ucx_wire *wire, struct gf_reason *why)
{
    size_t room = GF_WIRE_ADDRESS_BYTES - sizeof(struct gf_ucx_address_head) - sizeof(uint64_t);
    size_t bytes = 0;

    for (int net_only = 0; net_only < 2; net_only++) {
        ucp_worker_attr_t attributes = {
            .field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS,
            .address_flags = net_only ? UCP_WORKER_ADDRESS_FLAG_NET_ONLY : 0,
        };
        ucs_status_t status = wire->ucx.ucp_worker_query(wire->worker, &attributes);

        if (status != UCS_OK) {
            return fail(wire, status, why, "tell the worker's address");
        }
        bytes = attributes.address_length;
        if (bytes <= room) {
            wire->address = attributes.address;
            wire->address_bytes = bytes;
            return GF_OK;
        }
        wire->ucx.ucp_worker_release_address(wire->worker, attributes.address);
    }
    gf_reason_set(why, "UCX's address of this process has %zu bytes, and there is room for %zu: let UCX use fewer interfaces, by "
                  "UCX_NET_DEVICES (for example eth0, or mlx5_0:1) or UCX_TLS", bytes, room);
    return GF_ERR_UNSUPPORTED;
}

static void name_make(struct gf_ucx_wire *wire)
{
    const char *tls = getenv("UCX_TLS"), *devices = getenv("UCX_NET_DEVICES");

    snprintf(wire->base.name, sizeof wire->base.name, "ucx %.16s, UCX_TLS=%.40s UCX_NET_DEVICES=%.40s",
             wire->ucx.ucp_get_version_string(), tls != NULL ? tls : "all", devices != NULL ? devices : "all");
}

static bool is_idle(void *argument)
{
    struct gf_ucx_wire *wire = argument;

    return wire->ucx.ucp_worker_progress(wire->worker) == 0;
}

/* Also of one that was opened in part. */
static void wire_close(struct gf_wire *base)
{
    struct gf_ucx_wire *wire = gf_ucx_wire_of(base);
    struct gf_ucx_peer *peer;
    struct gf_ucx_op *op;

    if (wire->worker != NULL) {
        gf_ucx_lock(wire);
        /* What lanes sent has ended for UCX: what its transports still hold leaves without help of the peers. */
        gf_ucx_wait(wire, is_idle, wire);
        gf_ucx_peers_close(wire);
        gf_ucx_unlock(wire);
        if (wire->address != NULL) {
            wire->ucx.ucp_worker_release_address(wire->worker, wire->address);
        }
        wire->ucx.ucp_worker_destroy(wire->worker);
    }
    if (wire->context != NULL) {
        wire->ucx.ucp_cleanup(wire->context);
    }
    gf_ucx_ops_collect(wire);
    while ((op = wire->spare) != NULL) {
        wire->spare = op->next;
        free(op);
    }
    while ((peer = wire->peers) != NULL) {
        wire->peers = peer->next;
        free(peer);
    }
    for (uint64_t i = 0; i < wire->lane_room; i++) {
        gf_ucx_lane_free(wire->lanes[i]);
    }
    free(wire->lanes);
    pthread_mutex_destroy(&wire->lock);
    free(wire);
}

static gf_status wire_open(const struct gf_wire_config *config, struct gf_wire **opened, struct gf_reason *why)
{
    struct gf_ucx_wire *wire = calloc(1, sizeof *wire);
    gf_status status;

    if (wire == NULL) {
        gf_reason_set(why, "no memory for the UCX wire");
        return GF_ERR_NO_MEMORY;
    }
    wire->base.ops = &gf_wire_ucx;
    wire->base.caps = (struct gf_wire_caps){.put_bytes = put_bytes, .adapters = 1};
    wire->log = config->log;
    wire->silence_ms = config->silence * 1000;
    pthread_mutex_init(&wire->lock, NULL);
    status = gf_ucx_load(&wire->ucx, why);
    if (status == GF_OK && getrandom(&wire->id, sizeof wire->id, 0) != (ssize_t)sizeof wire->id) {
        gf_reason_set(why, "the system gives no random number");
        status = GF_ERR_SYSTEM;
    }
    if (status == GF_OK) {
        name_make(wire);
        status = context_open(wire, why);
    }
    if (status == GF_OK) {
        status = worker_open(wire, why);
    }
    if (status == GF_OK) {
        status = address_ask(wire, why);
    }
    if (status != GF_OK) {
        wire_close(&wire->base);
        return status;
    }
    *opened = &wire->base;
    return GF_OK;
}

static gf_status register_memory(struct gf_wire *base, const struct gf_wire_range *range, struct gf_wire_memory *memory,
                                 struct gf_reason *why)
{
    struct gf_ucx_wire *wire = gf_ucx_wire_of(base);
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address = range->address,
        .length = range->bytes,
    };
    ucp_mem_h handle;
    ucs_status_t status;

    if (range->device) {
        gf_reason_set(why, "the UCX wire registers host memory only");
        return GF_ERR_UNSUPPORTED;
    }
    if (range->bytes == 0) {
        gf_reason_set(why, "there is nothing to register: 0 bytes");
        return GF_ERR_INVALID;
    }
    gf_ucx_lock(wire);
    status = wire->ucx.ucp_mem_map(wire->context, &params, &handle);
    if (status == UCS_OK) {
        *memory = (struct gf_wire_memory){range->address, range->bytes, {++wire->keys}, handle};
    }
    gf_ucx_unlock(wire);
    if (status != UCS_OK) {
        fail(wire, status, why, "register this memory");
        return status == UCS_ERR_NO_MEMORY ? GF_ERR_NO_MEMORY : GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}

/* No peer puts there any more. */
static void forget(struct gf_wire *base, struct gf_wire_memory *memory)
{
    struct gf_ucx_wire *wire = gf_ucx_wire_of(base);

    gf_ucx_lock(wire);
    for (uint64_t i = 0; i < wire->lane_room; i++) {
        if (wire->lanes[i] != NULL) {
            gf_key_table_remove(&wire->lanes[i]->announced, memory->key[0]);
        }
    }
    wire->ucx.ucp_mem_unmap(wire->context, memory->handle);
    gf_ucx_unlock(wire);
    *memory = (struct gf_wire_memory){0};
}

/* caps.flush is false: nobody has a reason to ask. */
static gf_status flush(struct gf_wire_lane *lane, const struct gf_wire_memory *memory, const void *at,
                       const struct gf_wire_ticket *ticket)
{
    (void)lane, (void)memory, (void)at, (void)ticket;
    return GF_ERR_UNSUPPORTED;
}

static bool progress(struct gf_wire *base)
{
    struct gf_ucx_wire *wire = gf_ucx_wire_of(base);
    bool some;

    if (!gf_ucx_try_lock(wire)) {
        return false;
    }
    gf_ucx_confirm_all(wire);
    gf_ucx_silence_look(wire);
    some = wire->ucx.ucp_worker_progress(wire->worker) != 0;
    some |= gf_ucx_ops_collect(wire);
    some |= wire->untold != NULL;
    gf_ucx_unlock(wire);
    return some;
}

static const struct gf_wire_counts *counts(const struct gf_wire *base)
{
    return &gf_ucx_wire_of(base)->counts;
}

const struct gf_wire_ops gf_wire_ucx = {
    .name = "ucx",
    .open = wire_open,
    .close = wire_close,
    .register_memory = register_memory,
    .forget = forget,
    .create = gf_ucx_create,
    .connect = gf_ucx_connect,
    .destroy = gf_ucx_destroy,
    .announce = gf_ucx_announce,
    .put = gf_ucx_put,
    .put_notify = gf_ucx_put_notify,
    .put_lines = gf_ucx_put_lines,
    .expect = gf_ucx_expect,
    .take = gf_ucx_take,
    .flush = flush,
    .state = gf_ucx_state,
    .progress = progress,
    .counts = counts,
};
