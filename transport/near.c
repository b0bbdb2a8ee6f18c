/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Distances in hwloc's tree.
 */
#include "transport/near.h"

#include <stdlib.h>

#include <hwloc.h>

struct gf_near {
    hwloc_topology_t topology;
    hwloc_obj_t device;
};

struct gf_near *gf_near_open(const char *device)
{
    struct gf_near *near = calloc(1, sizeof *near);

    if (!near || hwloc_topology_init(&near->topology) != 0) {
        free(near);
        return NULL;
    }
    hwloc_topology_set_cache_types_filter(near->topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_io_types_filter(near->topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(near->topology) == 0) {
        near->device = hwloc_get_pcidev_by_busidstring(near->topology, device);
    }
    if (!near->device) {
        gf_near_close(near);
        return NULL;
    }
    return near;
}

int gf_near_steps(const struct gf_near *near, const char *address)
{
    hwloc_obj_t other = near && address ? hwloc_get_pcidev_by_busidstring(near->topology, address) : NULL;
    int up = 0;

    for (hwloc_obj_t from = other; from; from = from->parent, up++) {
        int down = 0;

        for (hwloc_obj_t to = near->device; to; to = to->parent, down++) {
            if (to == from) {
                return up + down;
            }
        }
    }
    return GF_NEAR_UNKNOWN;
}

void gf_near_close(struct gf_near *near)
{
    if (near) {
        hwloc_topology_destroy(near->topology);
        free(near);
    }
}
