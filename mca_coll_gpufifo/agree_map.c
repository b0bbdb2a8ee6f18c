/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sorting the ranks of a communicator by node.
 */
#include "mca_coll_gpufifo/agree_map.h"

#include "kernels/work.h"
#include "mca_coll_gpufifo/nodes.h"

static bool all_are_ours(ompi_communicator_t *comm)
{
    for (int rank = 0; rank < ompi_comm_size(comm); rank++) {
        if (!gf_node_is_ours(comm, rank)) {
            return false;
        }
    }
    return true;
}

/* The node of each rank, zeroed before. Returns how many nodes there are; 0: not known. */
static int number_nodes(ompi_communicator_t *comm, int *node)
{
    if (!gf_nodes_may_be_native() || all_are_ours(comm)) {
        return 1;
    }
    return ompi_comm_size(comm) <= GF_MAX_RANKS ? gf_nodes_number(comm, node) : 0;
}

static void sort_by_node(struct gf_agree_map *map, int size, int me)
{
    const int *node = map->node_of;
    int known = 0;

    map->node = node[me];
    for (int rank = 0; rank < size; rank++) {
        if (node[rank] == known) {
            map->leaders[known++] = rank;
        }
        if (node[rank] == map->node) {
            map->place = rank == me ? map->members : map->place;
            map->ranks[map->members++] = rank;
        }
    }
}

static struct gf_agree_map *map_new(ompi_communicator_t *comm)
{
    size_t size = (size_t)ompi_comm_size(comm);
    struct gf_agree_map *map = calloc(1, sizeof *map + 3 * size * sizeof map->ranks[0]);

    if (map) {
        map->leaders = map->ranks + size;
        map->node_of = map->leaders + size;
        map->nodes = number_nodes(comm, map->node_of);
        if (map->nodes > 0) {
            sort_by_node(map, (int)size, ompi_comm_rank(comm));
        }
    }
    return map;
}

/* Two threads may make it at once; the first one stays. */
const struct gf_agree_map *gf_agree_map_of(mca_coll_gpufifo_module_t *module)
{
    struct gf_agree_map *known = __atomic_load_n(&module->map, __ATOMIC_ACQUIRE), *map;

    if (known) {
        return known;
    }
    map = map_new(module->comm);
    if (map && !__atomic_compare_exchange_n(&module->map, &known, map, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        gf_agree_map_free(map);
        return known;
    }
    return map;
}

void gf_agree_map_free(struct gf_agree_map *map)
{
    free(map);
}
