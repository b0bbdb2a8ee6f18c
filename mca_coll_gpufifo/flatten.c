/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flattening by Open MPI's own convertor, and what is kept of it.
 *
 * Locks: the flattener's is held while attributes are looked at and set, so that of two threads one flattens. It is not taken
 * in the attribute's callback, where Open MPI may hold a lock of its own.
 */
#include "mca_coll_gpufifo/flatten.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "mca_coll_gpufifo/device_memory.h"
#include "mca_coll_gpufifo/module.h"
#include "mca_coll_gpufifo/stage_pool.h"
#include "opal/datatype/opal_convertor.h"

/* The list on one device. */
struct table {
    struct gf_stage_pool *pool;
    struct gf_device_piece *piece;
    struct table *next;
};

struct gf_flat_type {
    struct gf_flat flat;
    _Atomic int references;
    struct gf_flattener *flattener;
    struct table *tables;              /* guarded by the flattener's lock */
    ompi_datatype_t *predefined;       /* of the flattener's list, with the next */
    struct gf_flat_type *next;
};

struct gf_flattener {
    pthread_mutex_t lock;
    int key;                           /* of the attribute; MPI_KEYVAL_INVALID: not yet made */
    struct gf_flat_type *predefined;
};

struct gf_flattener *gf_flattener_create(void)
{
    struct gf_flattener *flattener = calloc(1, sizeof *flattener);

    if (flattener) {
        pthread_mutex_init(&flattener->lock, NULL);
        flattener->key = MPI_KEYVAL_INVALID;
    }
    return flattener;
}

void gf_flattener_destroy(struct gf_flattener *flattener)
{
    if (!flattener) {
        return;
    }
    while (flattener->predefined) {
        struct gf_flat_type *flat = flattener->predefined;

        flattener->predefined = flat->next;
        gf_flat_type_release(flat);
    }
    pthread_mutex_destroy(&flattener->lock);
    free(flattener);
}

const struct gf_flat *gf_flat_of(const struct gf_flat_type *flat)
{
    return &flat->flat;
}

void gf_flat_type_release(struct gf_flat_type *flat)
{
    if (atomic_fetch_sub(&flat->references, 1) > 1) {
        return;
    }
    while (flat->tables) {
        struct table *table = flat->tables;

        flat->tables = table->next;
        gf_device_memory_free(gf_stage_pool_memory(table->pool), table->piece);
        free(table);
    }
    gf_flat_free(&flat->flat);
    free(flat);
}

/* The convertor is given no address: it computes offsets and touches nothing. */
static gf_status add_blocks(struct gf_flat_builder *builder, const ompi_datatype_t *type, struct gf_reason *why)
{
    enum { BATCH = 64 };
    opal_convertor_t convertor;
    struct iovec runs[BATCH];
    gf_status status = GF_OK;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, 1, NULL, 0, &convertor);
    for (int done = 0; status == GF_OK && !done;) {
        uint32_t count = BATCH;
        size_t bytes;

        done = opal_convertor_raw(&convertor, runs, &count, &bytes);
        for (uint32_t i = 0; status == GF_OK && i < count; i++) {
            status = gf_flat_add(builder, (int64_t)(intptr_t)runs[i].iov_base, runs[i].iov_len, why);
        }
    }
    OBJ_DESTRUCT(&convertor);
    return status;
}

static gf_status create(struct gf_flattener *flattener, const ompi_datatype_t *type, struct gf_flat_type **created,
                        struct gf_reason *why)
{
    struct gf_flat_type *flat = calloc(1, sizeof *flat);
    struct gf_flat_builder builder;
    gf_status status;

    if (!flat) {
        gf_reason_set(why, "no host memory for the description of a datatype");
        return GF_ERR_NO_MEMORY;
    }
    gf_flat_begin(&builder, type->super.ub - type->super.lb);
    status = add_blocks(&builder, type, why);
    if (status == GF_OK) {
        status = gf_flat_finish(&builder, &flat->flat, why);
    } else {
        gf_flat_abandon(&builder);
    }
    if (status != GF_OK) {
        free(flat);
        return status;
    }
    flat->flattener = flattener;
    flat->references = 1;
    *created = flat;
    return GF_OK;
}

/* The type goes. */
static int forget(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    (void)key;
    (void)extra;
    gf_flat_type_release(value);
    return MPI_SUCCESS;
}

static bool make_key(struct gf_flattener *flattener)
{
    return flattener->key != MPI_KEYVAL_INVALID ||
           PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &flattener->key, NULL) == MPI_SUCCESS;
}

static struct gf_flat_type *find(struct gf_flattener *flattener, ompi_datatype_t *type)
{
    struct gf_flat_type *flat;
    int found = 0;

    if (!ompi_datatype_is_predefined(type)) {
        PMPI_Type_get_attr(type, flattener->key, &flat, &found);
        return found ? flat : NULL;
    }
    flat = flattener->predefined;
    while (flat && flat->predefined != type) {
        flat = flat->next;
    }
    return flat;
}

/* True: it has the type's reference now. */
static bool keep(struct gf_flattener *flattener, ompi_datatype_t *type, struct gf_flat_type *flat)
{
    if (!ompi_datatype_is_predefined(type)) {
        return PMPI_Type_set_attr(type, flattener->key, flat) == MPI_SUCCESS;
    }
    flat->predefined = type;
    flat->next = flattener->predefined;
    flattener->predefined = flat;
    return true;
}

gf_status gf_flatten(struct gf_flattener *flattener, ompi_datatype_t *type, struct gf_flat_type **flat, struct gf_reason *why)
{
    gf_status status = GF_OK;

    pthread_mutex_lock(&flattener->lock);
    if (!make_key(flattener)) {
        gf_reason_set(why, "MPI gives no key for an attribute of datatypes");
        status = GF_ERR_NO_MEMORY;
    } else {
        *flat = find(flattener, type);
        if (*flat) {
            atomic_fetch_add(&(*flat)->references, 1);
        } else {
            status = create(flattener, type, flat, why);
            if (status == GF_OK && keep(flattener, type, *flat)) {
                atomic_fetch_add(&(*flat)->references, 1);
            }
        }
    }
    pthread_mutex_unlock(&flattener->lock);
    return status;
}

static gf_status upload(const struct gf_flat *flat, struct gf_stage_pool *pool, void *to, struct gf_reason *why)
{
    struct gf_stage_lane *lane;
    gf_status status = gf_lane_acquire(pool, &lane, why);

    if (status != GF_OK) {
        return status;
    }
    gf_pvars_count_driver_call(&mca_coll_gpufifo_component.pvars);
    status = gf_device_copy(lane->device, lane->stream, to, flat->list.offsets, flat->list.bytes);
    if (status == GF_OK) {
        status = gf_device_stream_sync(lane->device, lane->stream);
    }
    gf_lane_release(lane);
    if (status != GF_OK) {
        gf_reason_set(why, "the list of a datatype's blocks cannot be copied to device %d: %s", lane->device->ordinal,
                      gf_status_string(status));
    }
    return status;
}

static gf_status make_table(struct gf_flat_type *flat, struct gf_stage_pool *pool, struct table **made, struct gf_reason *why)
{
    struct gf_device_memory *memory = gf_stage_pool_memory(pool);
    struct table *table = calloc(1, sizeof *table);
    gf_status status;

    if (!table) {
        gf_reason_set(why, "no host memory for the description of a datatype");
        return GF_ERR_NO_MEMORY;
    }
    table->pool = pool;
    status = gf_device_memory_alloc(memory, flat->flat.list.bytes, &table->piece, why);
    if (status == GF_OK) {
        status = upload(&flat->flat, pool, table->piece->address, why);
        if (status != GF_OK) {
            gf_device_memory_free(memory, table->piece);
        }
    }
    if (status != GF_OK) {
        free(table);
        return status;
    }
    table->next = flat->tables;
    flat->tables = table;
    *made = table;
    return GF_OK;
}

gf_status gf_flat_type_list(struct gf_flat_type *flat, struct gf_stage_pool *pool, const void **list, struct gf_reason *why)
{
    gf_status status = GF_OK;
    struct table *table;

    *list = NULL;
    if (!flat->flat.list.offsets) {
        return GF_OK;
    }
    pthread_mutex_lock(&flat->flattener->lock);
    table = flat->tables;
    while (table && table->pool != pool) {
        table = table->next;
    }
    if (!table) {
        status = make_table(flat, pool, &table, why);
    }
    pthread_mutex_unlock(&flat->flattener->lock);
    if (status == GF_OK) {
        *list = gf_device_kernel_address(gf_stage_pool_device(pool), table->piece->address);
    }
    return status;
}
