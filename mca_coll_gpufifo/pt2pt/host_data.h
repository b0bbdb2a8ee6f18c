/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data of a buffer in host memory: the first bytes of it, as MPI_Pack would put them.
 */
#ifndef GF_MCA_PT2PT_HOST_DATA_H
#define GF_MCA_PT2PT_HOST_DATA_H

#include "mca_coll_gpufifo/ompi_abi.h"

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

/* The first `bytes`, at most all, to or from packed memory. */
void gf_host_data_pack_by_type(const struct gf_host_data *data, void *packed, size_t bytes);
void gf_host_data_unpack_by_type(const struct gf_host_data *data, const void *packed, size_t bytes);

static inline void gf_host_data_pack(const struct gf_host_data *data, void *packed, size_t bytes)
{
    const char *run = gf_host_data_run(data);

    if (OPAL_LIKELY(run)) {
        memcpy(packed, run, bytes);
    } else {
        gf_host_data_pack_by_type(data, packed, bytes);
    }
}

static inline void gf_host_data_unpack(const struct gf_host_data *data, const void *packed, size_t bytes)
{
    char *run = gf_host_data_run(data);

    if (OPAL_LIKELY(run)) {
        memcpy(run, packed, bytes);
    } else {
        gf_host_data_unpack_by_type(data, packed, bytes);
    }
}

#endif
