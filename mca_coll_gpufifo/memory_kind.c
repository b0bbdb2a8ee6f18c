/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a buffer lives, for this component's driver.
 */
#include "mca_coll_gpufifo/memory_kind.h"

bool gf_memory_locate(const void *address, struct gf_pointer *info)
{
    return gf_host_memory_locate(&mca_coll_gpufifo_component.host_memory, mca_coll_gpufifo_component.driver, address, info);
}

gf_status gf_memory_query(const void *address, struct gf_pointer *info, struct gf_reason *why)
{
    return gf_host_memory_query(&mca_coll_gpufifo_component.host_memory, mca_coll_gpufifo_component.driver, address, info, why);
}
