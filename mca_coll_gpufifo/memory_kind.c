/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a buffer lives: first what is host memory for certain, then the driver.
 */
#include "mca_coll_gpufifo/memory_kind.h"

/* Nobody has memory in the first page: null, MPI_BOTTOM and MPI_IN_PLACE are there. */
#define FIRST_PAGE 4096u

/* The driver's answer, completed: an address that it does not know and that nobody can read was device memory once, for a
 * driver keeps its address range when memory is freed. */
static gf_status ask_driver(const void *address, struct gf_pointer *info)
{
    struct gf_host_memory *memory = &mca_coll_gpufifo_component.host_memory;
    uint64_t generation = gf_host_memory_generation(memory);
    gf_status status = gf_driver_pointer(mca_coll_gpufifo_component.driver, address, info);

    if (status != GF_OK || info->kind != GF_MEMORY_HOST) {
        return status;
    }
    if (gf_host_memory_readable(address)) {
        gf_host_memory_learn(memory, address, generation);
    } else {
        info->kind = GF_MEMORY_INVALID;
    }
    return GF_OK;
}

static bool is_certainly_host(const void *address)
{
    struct gf_host_memory *memory = &mca_coll_gpufifo_component.host_memory;

    if ((uintptr_t)address < FIRST_PAGE || gf_host_memory_remembers(memory, address)) {
        return true;
    }
    uint64_t generation = gf_host_memory_generation(memory);
    if (!gf_host_memory_contains(memory, address)) {
        return false;
    }
    gf_host_memory_learn(memory, address, generation);
    return true;
}

/* If the driver cannot answer, host code must not be let loose on the address: the call will fail with the driver's reason. */
bool gf_memory_locate(const void *address, struct gf_pointer *info)
{
    *info = (struct gf_pointer){.kind = GF_MEMORY_HOST, .ordinal = -1};
    if (is_certainly_host(address)) {
        return false;
    }
    return ask_driver(address, info) != GF_OK || info->kind == GF_MEMORY_DEVICE || info->kind == GF_MEMORY_INVALID;
}

gf_status gf_memory_query(const void *address, struct gf_pointer *info, struct gf_reason *why)
{
    gf_status status;

    if ((uintptr_t)address < FIRST_PAGE) {
        *info = (struct gf_pointer){.kind = GF_MEMORY_HOST, .ordinal = -1};
        return GF_OK;
    }
    status = ask_driver(address, info);
    if (status != GF_OK) {
        gf_reason_set(why, "the %s driver cannot say what memory is at %p (%s)",
                      mca_coll_gpufifo_component.driver->ops->name, address, gf_status_string(status));
        return status;
    }
    if (info->kind == GF_MEMORY_INVALID) {
        gf_reason_set(why, "the buffer at %p is no memory of this process; it may be device memory that was freed: "
                      "pass a buffer that is allocated", address);
        return GF_ERR_INVALID;
    }
    return GF_OK;
}
