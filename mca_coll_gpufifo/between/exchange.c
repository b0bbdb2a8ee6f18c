/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One exchange of blocks by messages: this rank's own block, and who sends to whom when.
 */
#include "mca_coll_gpufifo/between/exchange.h"

#include "core/fault.h"
#include "mca_coll_gpufifo/between/spread.h"
#include "mca_coll_gpufifo/device_memory.h"
#include "mca_coll_gpufifo/mapped_buffer.h"
#include "mca_coll_gpufifo/stage_pool.h"

/* In one step each rank sends to one other and receives from one; so many steps are under way at a time. */
enum { STEPS_AT_ONCE = 4 };

/* A copy on this rank's device beside its messages. */
struct own_copy {
    struct gf_stage_lane *lane;        /* null: there is none */
};

size_t gf_between_block(const struct gf_exchange *x, ompi_communicator_t *comm)
{
    size_t most = 0;

    for (int rank = 0; rank < ompi_comm_size(comm); rank++) {
        if (rank != ompi_comm_rank(comm)) {
            most = x->give[rank].bytes > most ? x->give[rank].bytes : most;
            most = x->take[rank].bytes > most ? x->take[rank].bytes : most;
        }
    }
    return most;
}

static gf_status begin_copy(struct own_copy *copy, int ordinal, void *to, const void *from, size_t bytes, struct gf_reason *why)
{
    struct gf_stage_pool *pool;
    gf_status status = gf_stage_pool_get(mca_coll_gpufifo_component.staging, ordinal, &pool, why);

    if (gf_fault_hits(mca_coll_gpufifo_component.config.stages, GF_FAULT_BETWEEN_COPY, why)) {
        status = GF_ERR_DEVICE;
    }
    if (status == GF_OK) {
        status = gf_lane_acquire(pool, &copy->lane, why);
    }
    if (status != GF_OK) {
        copy->lane = NULL;
        return status;
    }
    status = gf_device_copy(copy->lane->device, copy->lane->stream, to, from, bytes);
    if (status != GF_OK) {
        gf_reason_set(why, "a copy on the device could not be queued: %s", gf_status_string(status));
    }
    return status;
}

static gf_status end_copy(struct own_copy *copy, struct gf_reason *why)
{
    gf_status status = GF_OK;

    if (copy->lane) {
        status = gf_device_stream_sync(copy->lane->device, copy->lane->stream);
        gf_lane_release(copy->lane);
        copy->lane = NULL;
    }
    if (status != GF_OK) {
        gf_reason_set(why, "a copy on the device ended with \"%s\"", gf_status_string(status));
    }
    return status;
}

/* What this rank has for itself; in place it is there. */
static gf_status begin_own(struct own_copy *copy, const struct gf_exchange *x, int rank, struct gf_reason *why)
{
    const struct gf_registry_block *give = &x->give[rank], *take = &x->take[rank];
    const char *from = x->send.address + give->offset;
    char *to = x->recv.address + take->offset;

    if (give->bytes != take->bytes) {
        gf_reason_set(why, "rank %d sends %zu bytes to itself, and expects %zu: pass counts and datatypes that agree", rank,
                      (size_t)give->bytes, (size_t)take->bytes);
        return GF_ERR_INVALID;
    }
    return give->bytes == 0 || x->in_place || from == to ? GF_OK
                                                         : begin_copy(copy, x->recv.where.ordinal, to, from, give->bytes, why);
}

const char *gf_between_exchange_prepare(struct gf_between_aside *aside, const struct gf_exchange *x)
{
    struct gf_reason ignored;

    if (!x->in_place || x->send.bytes == 0) {
        return NULL;
    }
    if (gf_fault_hits(mca_coll_gpufifo_component.config.stages, GF_FAULT_DEVICE_ALLOC, &ignored) ||
        gf_stage_pool_get(mca_coll_gpufifo_component.staging, x->send.where.ordinal, &aside->pool, &ignored) != GF_OK ||
        gf_device_memory_alloc(gf_stage_pool_memory(aside->pool), x->send.bytes, &aside->piece, &ignored) != GF_OK) {
        aside->piece = NULL;
        return "it is in place, and there is no device memory to put aside what is sent";
    }
    return NULL;
}

void gf_between_exchange_release(struct gf_between_aside *aside)
{
    if (aside->piece) {
        gf_device_memory_free(gf_stage_pool_memory(aside->pool), aside->piece);
        aside->piece = NULL;
    }
}

static gf_status put_aside(const struct gf_between_aside *aside, struct gf_exchange *x, struct gf_reason *why)
{
    struct own_copy copy = {NULL};
    struct gf_reason ignored;
    gf_status status = begin_copy(&copy, x->send.where.ordinal, aside->piece->address, x->send.address, x->send.bytes, why);

    if (status == GF_OK) {
        status = end_copy(&copy, why);
    } else {
        end_copy(&copy, &ignored);
    }
    x->send.address = aside->piece->address;
    return gf_mapped_buffer_locate(&x->send) ? status : GF_ERR_DEVICE;
}

/* Pairs of ranks at a distance that grows: in each step each rank has one to send to and one to receive from. */
static void exchange_pairwise(struct gf_between *b)
{
    struct gf_messages *messages = &b->messages;
    const struct gf_exchange *x = b->x;
    int posted[GF_MAX_RANKS];          /* by step: how many messages there are after it */

    for (int step = 1; step < b->ranks; step++) {
        int to = (b->rank + step) % b->ranks, from = (b->rank + b->ranks - step) % b->ranks;

        if (step > STEPS_AT_ONCE) {
            gf_messages_wait(messages, posted[step - STEPS_AT_ONCE]);
        }
        gf_messages_receive(messages, &x->recv, x->take[from].offset, x->take[from].bytes, from);
        gf_messages_send(messages, &x->send, x->give[to].offset, x->give[to].bytes, to);
        posted[step] = messages->posted;
    }
}

static int exchange(struct gf_between *b, enum gf_exchange_kind kind, int root)
{
    if (kind == GF_EXCHANGE_BCAST) {
        gf_between_broadcast(b, root);
    } else if (kind == GF_EXCHANGE_ALLGATHER) {
        gf_between_allgather(b);
    } else {
        exchange_pairwise(b);
    }
    return gf_messages_finish(&b->messages);
}

/* What fails of this rank's own block is nothing to the others, who get their data. */
int gf_between_exchange(mca_coll_gpufifo_module_t *module, enum gf_exchange_kind kind, int root, const char *function,
                        struct gf_exchange *x, const struct gf_between_aside *aside, int result)
{
    struct gf_between between = {.x = x, .map = gf_agree_map_of(module), .rank = ompi_comm_rank(module->comm),
                                 .ranks = ompi_comm_size(module->comm),
                                 .messages = {.comm = module->comm, .function = function, .result = result}};
    struct own_copy own = {NULL};
    struct gf_reason why = {""}, ignored;
    gf_status status = aside->piece ? put_aside(aside, x, &why) : GF_OK;

    if (status != GF_OK) {
        gf_messages_fail(&between.messages, gf_error_to_mpi(status, &why, module->comm, function));
    }
    status = begin_own(&own, x, between.rank, &why);
    result = exchange(&between, kind, root);
    if (status == GF_OK) {
        status = end_copy(&own, &why);
    } else {
        end_copy(&own, &ignored);
    }
    return result != MPI_SUCCESS || status == GF_OK ? result : gf_error_to_mpi(status, &why, module->comm, function);
}
