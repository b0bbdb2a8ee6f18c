/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MCA variables that say which ranks are on one node, and how calls of those of several go; but for the network's own
 * (net.h).
 */
#include "mca_coll_gpufifo/module.h"

enum {
    DEFAULT_NET_BYTES = 1 << 20,       /* until it is measured */
    DEFAULT_BETWEEN_BYTES = 1 << 20    /* docs/performance.md: below, staging is faster over TCP */
};

static const mca_base_var_enum_value_t net_values[] = {
    {GF_NET_OFF, "off"}, {GF_NET_VERBS, "verbs"}, {GF_NET_UCX, "ucx"}, {GF_NET_ANY, "auto"}, {0, NULL}};
static const mca_base_var_enum_value_t between_values[] = {
    {GF_BETWEEN_AUTO, "auto"}, {GF_BETWEEN_OFF, "off"}, {GF_BETWEEN_MESSAGES, "messages"}, {0, NULL}};

void gf_params_register_nodes(mca_coll_gpufifo_component_t *component)
{
    component->net = GF_NET_OFF;
    component->between_nodes = GF_BETWEEN_AUTO;
    component->node = NULL;
    component->config.net_bytes = DEFAULT_NET_BYTES;
    component->config.between_bytes = DEFAULT_BETWEEN_BYTES;
    gf_params_register_variable("net",
        "How large calls of MPI_Allreduce and large messages between nodes go: off (through host memory and MPI), verbs, ucx, or "
        "auto (verbs where it can be had, else ucx). All ranks must have the same value",
        MCA_BASE_VAR_TYPE_INT, net_values, OPAL_INFO_LVL_4, &component->net);
    gf_params_register_variable("net_bytes",
        "Least message in bytes that goes so where ranks are on several nodes; shorter ones go as "
        "coll_gpufifo_between_nodes says. All ranks must have the same value",
        MCA_BASE_VAR_TYPE_SIZE_T, NULL, OPAL_INFO_LVL_5, &component->config.net_bytes);
    gf_params_register_variable("between_nodes",
        "How blocking collectives, MPI_Allreduce where coll_gpufifo_net does not serve it, go where ranks are on several nodes: "
        "off (through host memory), messages (by messages between device buffers, which go as those of the program do), or "
        "auto (by these from coll_gpufifo_between_bytes on). All ranks must have the same value",
        MCA_BASE_VAR_TYPE_INT, between_values, OPAL_INFO_LVL_5, &component->between_nodes);
    gf_params_register_variable("between_bytes",
        "With coll_gpufifo_between_nodes auto: calls go by messages where each rank that has data has a block of so many bytes "
        "to send or to receive, or of MPI_Allreduce, reduce and reduce-scatter such a share",
        MCA_BASE_VAR_TYPE_SIZE_T, NULL, OPAL_INFO_LVL_5, &component->config.between_bytes);
    gf_params_register_variable("node",
        "A name for the node of this process, in place of the machine: ranks with different names share no memory, as if they "
        "were on two machines. For containers, and for tests on one machine. Each rank may have its own",
        MCA_BASE_VAR_TYPE_STRING, NULL, OPAL_INFO_LVL_6, &component->node);
}

void gf_params_apply_nodes(mca_coll_gpufifo_component_t *component)
{
    enum gf_force_net net = (enum gf_force_net)component->net;
    const char *name = component->node ? component->node : "";

    component->config.net = gf_net_params_can(net) ? net : GF_NET_OFF;
    component->config.between_nodes = (enum gf_between_nodes)component->between_nodes;
    if (strlen(name) < sizeof component->config.node) {
        strcpy(component->config.node, name);
    } else if (gf_speaks_for_node()) {
        gf_show_help("bad-node", name, sizeof component->config.node - 1);
    }
}

void gf_params_check_nodes(mca_coll_gpufifo_component_t *component)
{
    gf_params_check_amount("coll_gpufifo_net_bytes", &component->config.net_bytes, DEFAULT_NET_BYTES);
    gf_params_check_amount("coll_gpufifo_between_bytes", &component->config.between_bytes, DEFAULT_BETWEEN_BYTES);
    if (!gf_net_params_can((enum gf_force_net)component->net) && gf_speaks_for_node()) {
        gf_show_help("no-net");
    }
}
