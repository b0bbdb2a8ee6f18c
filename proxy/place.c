/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asking hwloc.
 */
#include "proxy/place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <hwloc.h>

/* The cores to use, null if none are known; *how: why these. */
static hwloc_const_cpuset_t choose(hwloc_topology_t topology, int node, const char **how)
{
    hwloc_obj_t object = node >= 0 ? hwloc_get_numanode_obj_by_os_index(topology, (unsigned)node) : NULL;

    if (object && object->cpuset && !hwloc_bitmap_iszero(object->cpuset)) {
        *how = "of the device's NUMA node";
        return object->cpuset;
    }
    *how = node < 0 ? "all that the job may use, since the device's NUMA node is not known"
        : "all that the job may use, since the device's NUMA node has none of them";
    return hwloc_topology_get_topology_cpuset(topology);
}

static void bind_self(hwloc_topology_t topology, int node, char *text)
{
    const char *how;
    char cores[64];
    hwloc_const_cpuset_t set = choose(topology, node, &how);

    hwloc_bitmap_list_snprintf(cores, sizeof cores, set);
    if (hwloc_set_cpubind(topology, set, HWLOC_CPUBIND_THREAD) == 0) {
        snprintf(text, GF_PLACE_TEXT, "on cores %s: %s", cores, how);
    } else {
        snprintf(text, GF_PLACE_TEXT, "where it was made: the system refused cores %s, %s (%s)", cores, how, strerror(errno));
    }
}

void gf_place_self(int node, char *text)
{
    hwloc_topology_t topology;

    if (hwloc_topology_init(&topology) != 0) {
        snprintf(text, GF_PLACE_TEXT, "where it was made: hwloc cannot be used");
        return;
    }
    /* Caches and buses are of no interest here, and looking for them takes time. */
    hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(topology) == 0) {
        bind_self(topology, node, text);
    } else {
        snprintf(text, GF_PLACE_TEXT, "where it was made: hwloc does not know this machine");
    }
    hwloc_topology_destroy(topology);
}
