/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_T performance variables.
 */
#include "mca_coll_gpufifo/pvars.h"

#include "opal/mca/base/mca_base_pvar.h"

#include "mca_coll_gpufifo/module.h"

static const struct {
    const char *name, *text;
} paths[GF_PATH_COUNT] = {
    [GF_PATH_ONE_SHOT] = {"one_shot", "run by kernels that store LL lines straight to every peer"},
    [GF_PATH_AGENT] = {"agent", "given to the agent, which does the same without a launch"},
    [GF_PATH_PLAYED] = {"played", "run by copies of the host, which a device full of the program's kernels lets through"},
    [GF_PATH_RING] = {"ring", "run by kernels around a ring of FIFOs"},
    [GF_PATH_TWO_SHOT] = {"two_shot", "run by kernels that load from and store to the buffers of all ranks"},
    [GF_PATH_ONE_SHOT_MAPPED] = {"one_shot_mapped", "run by kernels that load from the buffers of all ranks and wait for nobody"},
    [GF_PATH_EXCHANGE] = {"exchange", "run by a kernel that fetches from the buffers of all ranks"},
    [GF_PATH_EXCHANGE_COPY] = {"exchange_copy", "run by copies that fetch from the buffers of all ranks"},
    [GF_PATH_REDUCE_MAPPED] = {"reduce_mapped",
        "run by a kernel of each rank that reduces from the buffers of all, other than allreduce"},
    [GF_PATH_HOST_SEQUENCED] = {"host_sequenced",
                                "run by copies and kernels that the host puts in order, where kernels must not wait"},
    [GF_PATH_MESSAGES] = {"messages", "made of messages between device buffers, where ranks are on several nodes"},
    [GF_PATH_LOCAL] = {"local", "run as one copy on the device"},
    [GF_PATH_STAGED] = {"staged", "staged through host memory to the component that was selected before gpufifo"},
    [GF_PATH_PT2PT_STAGED] = {"pt2pt_staged", "packed to or unpacked from host memory, in which the PML moved them"},
    [GF_PATH_PT2PT_PULLED] = {"pt2pt_pulled", "fetched by the receiver from the sender's buffer"},
    [GF_PATH_PT2PT_AGENT] = {"pt2pt_agent", "fetched by this process's agent, without a launch, from the sender's buffer"},
    [GF_PATH_PT2PT_PIPED] = {"pt2pt_piped", "copied through host memory in pieces, both copies at once"},
    [GF_PATH_PT2PT_NET] = {"pt2pt_net", "put into the receiver's memory by the network"},
};

/* The default reader loads one value from ctx; an atomic counter has the size and alignment of its plain type. */
_Static_assert(sizeof(_Atomic uint64_t) == sizeof(unsigned long long), "a counter is read as MPI_UNSIGNED_LONG_LONG");

static int register_counter(const mca_base_component_t *component, const char *name, const char *text, _Atomic uint64_t *counter)
{
    return mca_base_component_pvar_register(component, name, text, OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_AGGREGATE,
                                            MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
                                            MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS,
                                            NULL, NULL, NULL, (void *)counter);
}

static int register_one(const mca_base_component_t *component, const char *what, int path, _Atomic uint64_t *counter)
{
    char name[64], text[256];

    snprintf(name, sizeof(name), "%s_%s", what, paths[path].name);
    snprintf(text, sizeof(text), "%s of this process's %s that were %s", what[0] == 'c' ? "Number" : "Bytes",
             path >= GF_PATH_PT2PT_STAGED ? "point-to-point messages from and to device buffers" : "collectives on device "
                                                                                                   "buffers", paths[path].text);
    return register_counter(component, name, text, counter);
}

static int read_driver_calls(const mca_base_pvar_t *pvar, void *value, void *object)
{
    (void)pvar;
    (void)object;
    *(unsigned long long *)value = gf_component_driver_calls();
    return OPAL_SUCCESS;
}

static int register_driver_calls(const mca_base_component_t *component)
{
    return mca_base_component_pvar_register(component, "driver_calls",
                                            "Number of copies and kernels that this process queued on its devices",
                                            OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_AGGREGATE,
                                            MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
                                            MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read_driver_calls, NULL,
                                            NULL, NULL);
}

int gf_pvars_register(const mca_base_component_t *component, struct gf_pvars *pvars)
{
    for (int path = 0; path < GF_PATH_COUNT; path++) {
        int calls = register_one(component, "calls", path, &pvars->calls[path]);
        int bytes = register_one(component, "bytes", path, &pvars->bytes[path]);
        if (calls < 0 || bytes < 0) {
            return calls < 0 ? calls : bytes;
        }
    }
    int queued = register_counter(component, "staging_driver_calls",
                                  "Number of copies and kernels that this process queued to stage collectives and messages",
                                  &pvars->staging_driver_calls);
    queued = queued < 0 ? queued : register_driver_calls(component);
    return queued < 0 ? queued : OMPI_SUCCESS;
}
