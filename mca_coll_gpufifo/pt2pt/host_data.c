/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data with gaps, by Open MPI's own convertor.
 */
#include "mca_coll_gpufifo/pt2pt/host_data.h"

#include "opal/datatype/opal_convertor.h"

size_t gf_host_data_pack_by_type(const struct gf_host_data *data, void *packed, size_t bytes)
{
    struct iovec target = {packed, bytes};
    opal_convertor_t convertor;
    uint32_t count = 1;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &data->type->super, data->count, data->buffer, 0,
                                             &convertor);
    opal_convertor_pack(&convertor, &target, &count, &bytes);
    OBJ_DESTRUCT(&convertor);
    return bytes;
}

void gf_host_data_unpack_by_type(const struct gf_host_data *data, const void *packed, size_t bytes)
{
    struct iovec source = {(void *)packed, bytes};
    opal_convertor_t convertor;
    uint32_t count = 1;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &data->type->super, data->count, data->buffer, 0,
                                             &convertor);
    opal_convertor_unpack(&convertor, &source, &count, &bytes);
    OBJ_DESTRUCT(&convertor);
}
