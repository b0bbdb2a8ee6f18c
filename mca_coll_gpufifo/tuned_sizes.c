/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which variable has which size.
 */
#include "mca_coll_gpufifo/tuned_sizes.h"

#include "opal/mca/base/mca_base_var.h"

#include "core/message_sizes.h"

void gf_tuned_sizes_default(mca_coll_gpufifo_component_t *component)
{
    struct gf_message_sizes sizes = gf_message_sizes_of(NULL);

    component->agent_message_bytes = sizes.agent;
    component->pack_bytes = sizes.pack;
    component->pipe.least_bytes = sizes.pipe;
    component->net_params.message_bytes = sizes.net;
}

static void tune(const char *name, size_t *bytes, size_t tuned)
{
    mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_MAX;
    int index = mca_base_var_find("ompi", "coll", "gpufifo", name);

    if (index >= 0 && mca_base_var_get_value(index, NULL, &source, NULL) == OPAL_SUCCESS &&
        source == MCA_BASE_VAR_SOURCE_DEFAULT) {
        *bytes = tuned;
    }
}

/* Each rank reads it; what differs between them is found when they meet. */
static void read_table(mca_coll_gpufifo_component_t *component)
{
    struct gf_reason why;

    if (component->tuning && component->tuning[0]
        && gf_tuning_read(component->tuning, &component->tuning_table, &why) != GF_OK && gf_speaks_for_node()) {
        gf_show_help("bad-tuning", why.text);
    }
    component->config.tuning = component->tuning_table;
}

void gf_tuned_sizes_apply(mca_coll_gpufifo_component_t *component)
{
    struct gf_message_sizes sizes;

    read_table(component);
    sizes = gf_message_sizes_of(component->tuning_table);
    tune("agent_message_bytes", &component->agent_message_bytes, sizes.agent);
    tune("pack_bytes", &component->pack_bytes, sizes.pack);
    tune("pipe_bytes", &component->pipe.least_bytes, sizes.pipe);
    tune("net_message_bytes", &component->net_params.message_bytes, sizes.net);
}
