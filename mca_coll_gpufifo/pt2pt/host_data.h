/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data of a buffer in host memory, as MPI_Pack would put them, and the first of them, which an RTS may overwrite.
 */
#ifndef GF_MCA_PT2PT_HOST_DATA_H
#define GF_MCA_PT2PT_HOST_DATA_H

#include "mca_coll_gpufifo/pt2pt/rts.h"

/* Where the program has a message. The type must live as long. */
struct gf_host_data {
    void *buffer;
    size_t count;
    ompi_datatype_t *type;
};

static inline size_t gf_host_data_bytes(const struct gf_host_data *data) { return data->count * data->type->super.size; }

/* The address of the data if they have no gaps, else null. */
static inline char *gf_host_data_run(const struct gf_host_data *data)
{
    return opal_datatype_is_contiguous_memory_layout(&data->type->super, (int32_t)(data->count > 1 ? 2 : 1))
               ? (char *)data->buffer + data->type->super.true_lb : NULL;
}

/* Of data with gaps, to or from packed memory: at most `bytes`. Packing takes whole elements only; returns the bytes that it
 * took. */
size_t gf_host_data_pack_by_type(const struct gf_host_data *data, void *packed, size_t bytes);
void gf_host_data_unpack_by_type(const struct gf_host_data *data, const void *packed, size_t bytes);

/* The first `bytes`, at most all; of data with gaps whole elements only. How many. */
static inline size_t gf_host_data_pack(const struct gf_host_data *data, void *packed, size_t bytes)
{
    const char *run = gf_host_data_run(data);

    if (OPAL_UNLIKELY(!run)) {
        return gf_host_data_pack_by_type(data, packed, bytes);
    }
    memcpy(packed, run, bytes);
    return bytes;
}

/* The first `bytes`, at most all. */
static inline void gf_host_data_unpack(const struct gf_host_data *data, const void *packed, size_t bytes)
{
    char *run = gf_host_data_run(data);

    if (OPAL_LIKELY(run)) {
        memcpy(run, packed, bytes);
    } else {
        gf_host_data_unpack_by_type(data, packed, bytes);
    }
}

/* Room for the first GF_RTS_BYTES of data, and for the rest of the element that they end in. */
enum { GF_HEAD_BYTES = 128 };

/* Data of at least GF_RTS_BYTES: the first of them, as many at least. How many, to be written back by gf_host_data_unpack. */
static inline size_t gf_host_data_head(const struct gf_host_data *data, unsigned char head[GF_HEAD_BYTES])
{
    const char *run = gf_host_data_run(data);

    if (OPAL_LIKELY(run)) {
        memcpy(head, run, GF_RTS_BYTES);
        return GF_RTS_BYTES;
    }
    return gf_host_data_pack_by_type(data, head, GF_HEAD_BYTES);
}

#endif
