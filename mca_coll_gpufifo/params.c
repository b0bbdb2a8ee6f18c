/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MCA variables coll_gpufifo_*.
 */
#include <strings.h>

#include "opal/mca/base/mca_base_var.h"

#include "core/forced.h"
#include "core/message_sizes.h"
#include "kernels/work.h"
#include "mca_coll_gpufifo/choice.h"
#include "mca_coll_gpufifo/module.h"
#include "mca_coll_gpufifo/number.h"
#include "mca_coll_gpufifo/tuned_sizes.h"

/* A slot holds at least one line, and beyond 64 MiB there is nothing to gain. core/comm.c has the same limits. */
enum { SLOT_LOWEST = GF_LINE, SLOT_HIGHEST = 64 << 20 };

enum {
    DEFAULT_PRIORITY = 90,
    DEFAULT_ONE_SHOT_BYTES = 512 << 10,
    HIGHEST_BASE_PRIORITY = 40     /* of the components that any Open MPI comes with, all algorithms: inter; tuned has 30 */
};

static const mca_base_var_enum_value_t device_values[] = {
    {GF_DEVICE_AUTO, "auto"}, {GF_DEVICE_CUDA, "cuda"}, {GF_DEVICE_EMULATED, "emulated"}, {GF_DEVICE_NONE, "none"}, {0, NULL}};
static const mca_base_var_enum_value_t transport_values[] = {
    {GF_TRANSPORT_AUTO, "auto"}, {GF_TRANSPORT_P2P, "p2p"}, {GF_TRANSPORT_SHM, "shm"},
    {GF_TRANSPORT_P2P_COPY, "p2p_copy"}, {GF_TRANSPORT_SHM_COPY, "shm_copy"}, {GF_TRANSPORT_NET, "net"},
    {0, NULL}};
static const mca_base_var_enum_value_t algorithm_values[] = {
    {GF_ALGORITHM_AUTO, "auto"}, {GF_ALGORITHM_ONE_SHOT, "one_shot"}, {GF_ALGORITHM_RING, "ring"}, {GF_ALGORITHM_HOST, "host"},
    {GF_ALGORITHM_TWO_SHOT, "two_shot"}, {GF_ALGORITHM_ONE_SHOT_MAPPED, "one_shot_mapped"}, {0, NULL}};
static const mca_base_var_enum_value_t protocol_values[] = {
    {GF_PROTOCOL_AUTO, "auto"}, {GF_PROTOCOL_LL, "ll"}, {GF_PROTOCOL_LL128, "ll128"}, {GF_PROTOCOL_SIMPLE, "simple"},
    {0, NULL}};
static const mca_base_var_enum_value_t simple_buffer_values[] = {
    {GF_BUFFER_RECEIVER, "receiver"}, {GF_BUFFER_SENDER, "sender"}, {GF_BUFFER_DIRECT_WRITE, "direct_write"},
    {GF_BUFFER_DIRECT_READ, "direct_read"}, {0, NULL}};
static const mca_base_var_enum_value_t pull_values[] = {
    {GF_FORCE_PULL_AUTO, "auto"}, {GF_FORCE_PULL_KERNEL, "kernel"}, {GF_FORCE_PULL_COPY_ENGINE, "copy_engine"}, {0, NULL}};
static const mca_base_var_enum_value_t mapped_values[] = {
    {GF_MAPPED_AUTO, "auto"}, {GF_MAPPED_OFF, "off"}, {GF_MAPPED_KERNEL, "kernel"}, {GF_MAPPED_COPY, "copy"}, {0, NULL}};
static const mca_base_var_enum_value_t verbose_values[] = {
    {GF_LOG_WARN, "warnings"}, {GF_LOG_PATH, "paths"}, {GF_LOG_CALL, "calls"}, {GF_LOG_DEBUG, "debug"}, {0, NULL}};

/* What goes wrong here is told by gf_choice_create's enumeration, gf_number_is_misread or Open MPI; the default stays. */
void gf_params_register_variable(const char *name, const char *help, mca_base_var_type_t type,
                                 const mca_base_var_enum_value_t *values, mca_base_var_info_lvl_t level, void *storage)
{
    const mca_base_component_t *component = &mca_coll_gpufifo_component.super.collm_version;
    mca_base_var_enum_t *enumeration = values ? gf_choice_create(name, values) : NULL;
    size_t number_bytes = values ? 0 : gf_number_bytes(type);
    unsigned char given[sizeof(unsigned long long)];

    memcpy(given, storage, number_bytes);
    (void)mca_base_component_var_register(component, name, help, type, enumeration, 0, 0, level,
                                          MCA_BASE_VAR_SCOPE_READONLY, storage);
    if (enumeration) {
        OBJ_RELEASE(enumeration);
    }
    if (number_bytes > 0 && gf_number_is_misread(name)) {
        memcpy(storage, given, number_bytes);
    }
}

static void register_choices(mca_coll_gpufifo_component_t *component)
{
    gf_params_register_variable("device",
        "Which device's memory the collectives take: auto (CUDA where a driver and a GPU are, otherwise the component stays out "
        "of the way), cuda, emulated (a device in host memory, for tests and for developing without a GPU) or none",
        MCA_BASE_VAR_TYPE_INT, device_values, OPAL_INFO_LVL_3, &component->device_choice);
    gf_params_register_variable("priority",
        "Priority of the component, 41 to 100; a negative value disables it. It must be above the component that shall serve "
        "host buffers (tuned: 30)",
        MCA_BASE_VAR_TYPE_INT, NULL, OPAL_INFO_LVL_4, &component->priority);
    gf_params_register_variable("verbose",
        "What is reported: warnings, paths (one line a communicator: which path its messages take and why), calls (one line a "
        "call) or debug",
        MCA_BASE_VAR_TYPE_INT, verbose_values, OPAL_INFO_LVL_3, &component->log.verbose);
    gf_params_register_variable("strict",
        "Turn every fall-back to a slower path into an error, so that no slow path goes unnoticed",
        MCA_BASE_VAR_TYPE_BOOL, NULL, OPAL_INFO_LVL_4, &component->config.strict);
    gf_params_register_variable("deterministic",
        "Reduce in the order of the ranks, in all blocking reductions: the same bits whatever path a call takes and however a "
        "message is split, at the cost of the ring. All ranks must have the same value",
        MCA_BASE_VAR_TYPE_BOOL, NULL, OPAL_INFO_LVL_5, &component->config.deterministic);
    gf_params_register_variable("transport",
        "How two ranks of a node share memory: auto (the better of the next two that works), p2p (device memory, mapped by "
        "IPC), shm (host memory that kernels reach), p2p_copy (copies from device to device, started by a thread; not between "
        "ranks of one GPU), shm_copy (copies through host memory, started by a thread at both ends) or net (what "
        "coll_gpufifo_net names, for tests); the last three move the ring's slots only, and are never chosen by themselves",
        MCA_BASE_VAR_TYPE_INT, transport_values, OPAL_INFO_LVL_5, &component->transport);
    gf_params_register_variable("algorithm",
        "The algorithm of MPI_Allreduce: auto (by size and by what the ranks' kernels may do), one_shot (every rank stores to "
        "every other), ring (reduce-scatter and allgather round a ring), host (the host puts copies and kernels in order, none "
        "waits), two_shot (ranks load from and store to each other's buffers, which all have mapped; by auto for large calls "
        "whose buffers come again) or one_shot_mapped (each rank reduces all of the others' buffers for itself)",
        MCA_BASE_VAR_TYPE_INT, algorithm_values, OPAL_INFO_LVL_5, &component->algorithm);
    gf_params_register_variable("protocol",
        "The protocol of a connection: auto, ll (data and flag stored together, lowest latency), ll128 (the same in lines of 128 "
        "bytes, only where these arrive whole; never chosen by auto) or simple (FIFO slots, highest bandwidth)",
        MCA_BASE_VAR_TYPE_INT, protocol_values, OPAL_INFO_LVL_5, &component->protocol);
    gf_params_register_variable("simple_buffer",
        "Whose memory holds the slots of a Simple FIFO: receiver (the sender stores into them) or sender (the receiver loads "
        "from them); direct_write and direct_read: likewise, but data that lie in the program's buffers at both ends go from "
        "one to the other without a slot, where all ranks can map them",
        MCA_BASE_VAR_TYPE_INT, simple_buffer_values, OPAL_INFO_LVL_6, &component->simple_buffer);
    gf_params_register_variable("pull",
        "How a receiver fetches a message from the sender's memory: auto, kernel or copy_engine",
        MCA_BASE_VAR_TYPE_INT, pull_values, OPAL_INFO_LVL_6, &component->pull);
    gf_params_register_variable("mapped",
        "Whether collectives that move blocks (alltoall, allgather, bcast, gather, scatter, those among neighbours) or reduce "
        "(reduce, reduce_scatter, scan, exscan), blocking, non-blocking or persistent, and iallreduce and allreduce_init load "
        "from the peers' device buffers, which all ranks of a node map: off (they are staged through host memory), kernel (each "
        "rank launches one), copy (copies that the host starts; reductions are staged) or auto (kernel, where kernels of all "
        "ranks run at once, from buffers that come again). All ranks must have the same value",
        MCA_BASE_VAR_TYPE_INT, mapped_values, OPAL_INFO_LVL_5, &component->mapped);
}

static void register_sizes(mca_coll_gpufifo_component_t *component)
{
    gf_params_register_variable("one_shot_bytes",
        "Largest message in bytes that takes the one-shot algorithm when the algorithm is auto",
        MCA_BASE_VAR_TYPE_SIZE_T, NULL, OPAL_INFO_LVL_5, &component->config.one_shot_bytes);
    gf_params_register_variable("ll_slot_bytes",
        "Data bytes of one LL slot, of which each pair of ranks has two in each direction; longer one-shot messages go in pieces",
        MCA_BASE_VAR_TYPE_SIZE_T, NULL, OPAL_INFO_LVL_6, &component->config.ll_slot_bytes);
    gf_params_register_variable("simple_slot_bytes",
        "Bytes of one slot of a Simple FIFO, a multiple of 128; each channel has eight",
        MCA_BASE_VAR_TYPE_SIZE_T, NULL, OPAL_INFO_LVL_6, &component->config.simple_slot_bytes);
    gf_params_register_variable("channels",
        "Most thread blocks that one call may use, 0 for the device's share",
        MCA_BASE_VAR_TYPE_INT, NULL, OPAL_INFO_LVL_5, &component->config.channels);
    gf_params_register_variable("deadline_ms",
        "Milliseconds that a kernel waits for a peer without progress before it gives up with an error, 0 for no limit",
        MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, OPAL_INFO_LVL_5, &component->config.deadline_ms);
    gf_params_register_variable("tuning",
        "A file with a table of what MPI_Allreduce and messages took on this machine, by which auto chooses, as gpufifo-bench "
        "--tune writes it; empty for the one built in. All ranks must have the same rows",
        MCA_BASE_VAR_TYPE_STRING, NULL, OPAL_INFO_LVL_5, &component->tuning);
    gf_params_register_variable("pack_bytes",
        "Messages whose datatype has gaps are packed and unpacked in device memory from so many bytes on, shorter ones in host "
        "memory; 0 for all in host memory",
        MCA_BASE_VAR_TYPE_SIZE_T, NULL, OPAL_INFO_LVL_5, &component->pack_bytes);
    gf_params_register_variable("pipe_bytes",
        "Messages whose memory cannot be mapped go through host memory in pieces from so many bytes on, shorter ones as a whole",
        MCA_BASE_VAR_TYPE_SIZE_T, NULL, OPAL_INFO_LVL_6, &component->pipe.least_bytes);
    gf_params_register_variable("pipe_chunk_bytes", "Largest such piece in bytes, a multiple of 65536",
        MCA_BASE_VAR_TYPE_SIZE_T, NULL, OPAL_INFO_LVL_6, &component->pipe.chunk_bytes);
    gf_params_register_variable("pipe_depth", "Most pieces of one message that are in host memory at a time, 1 to 16",
        MCA_BASE_VAR_TYPE_UNSIGNED_INT, NULL, OPAL_INFO_LVL_6, &component->pipe.depth);
    gf_params_register_variable("pipe_slots", "Room for pieces of all messages that a process sends from one device",
        MCA_BASE_VAR_TYPE_UNSIGNED_INT, NULL, OPAL_INFO_LVL_6, &component->pipe.slots);
    gf_params_register_variable("agent",
        "Whether a block stays on the device between small operations, so that they need no launch: off, auto (as long as "
        "experience tells), or the microseconds that it stays, 1 to 60000. Ranks whose kernels cannot run at once go without",
        MCA_BASE_VAR_TYPE_STRING, NULL, OPAL_INFO_LVL_5, &component->agent);
    gf_params_register_variable("vmm",
        "Memory of the virtual memory functions (cuMemCreate) that can be shared by a file descriptor is mapped by other ranks "
        "as plain memory is, for messages and by algorithm two_shot, instead of being copied through host memory",
        MCA_BASE_VAR_TYPE_BOOL, NULL, OPAL_INFO_LVL_5, &component->config.by_fd);
    gf_params_register_variable("agent_message_bytes",
        "Largest message in bytes that the agent fetches, when it is there, without a launch; 0 for none, and never one above "
        "65536. Only where coll_gpufifo_agent is not off",
        MCA_BASE_VAR_TYPE_SIZE_T, NULL, OPAL_INFO_LVL_5, &component->agent_message_bytes);
    gf_params_register_variable("agent_blocks",
        "Blocks of the agent, 1 to 16: with more than one, messages of 8 KiB and more are shared among them; 0: 8 "
        "where a rank's share of the device is large, else 1",
        MCA_BASE_VAR_TYPE_INT, NULL, OPAL_INFO_LVL_6, &component->config.agent_blocks);
    gf_params_register_variable("agent_start_us",
        "Microseconds that the agent may wait for its place on the device; where kernels of the program keep it out for longer, "
        "the host does its work with copies until it has come",
        MCA_BASE_VAR_TYPE_UNSIGNED_INT, NULL, OPAL_INFO_LVL_6, &component->config.agent_start_us);
    gf_params_register_variable("fault",
        "Fault injection for tests: a comma list of name:n, by which the n-th such step of this process fails, and kill:name:n",
        MCA_BASE_VAR_TYPE_STRING, NULL, OPAL_INFO_LVL_9, &component->fault);
}

static void set_defaults(mca_coll_gpufifo_component_t *component)
{
    component->priority = DEFAULT_PRIORITY;
    component->device_choice = GF_DEVICE_AUTO;
    component->transport = GF_TRANSPORT_AUTO;
    component->algorithm = GF_ALGORITHM_AUTO;
    component->protocol = GF_PROTOCOL_AUTO;
    component->simple_buffer = GF_BUFFER_RECEIVER;
    component->pull = GF_FORCE_PULL_AUTO;
    component->mapped = GF_MAPPED_AUTO;
    component->fault = NULL;
    component->agent = "auto";
    component->tuning = NULL;
    component->log.verbose = GF_LOG_WARN;
    component->config = (struct gf_config){
        .one_shot_bytes = DEFAULT_ONE_SHOT_BYTES, .ll_slot_bytes = 64 * 1024, .simple_slot_bytes = 128 * 1024,
        .agent_blocks = 0, .agent_start_us = 300,
    };
    gf_pipe_config_default(&component->pipe);
}

int gf_params_register(mca_coll_gpufifo_component_t *component)
{
    set_defaults(component);
    gf_net_params_default(&component->net_params);
    gf_tuned_sizes_default(component);
    register_choices(component);
    register_sizes(component);
    gf_params_register_nodes(component);
    gf_net_params_register(&component->net_params);
    return OMPI_SUCCESS;
}

void gf_params_apply_card(mca_coll_gpufifo_component_t *component)
{
    gf_params_apply_nodes(component);
    gf_tuned_sizes_apply(component);
}

/* A slot size that cannot be used is replaced by the nearest that can, and said so. */
static void check_slot(const char *name, size_t *bytes)
{
    size_t asked = *bytes;

    if (asked >= SLOT_LOWEST && asked <= SLOT_HIGHEST && asked % GF_LINE == 0) {
        return;
    }
    *bytes = asked > SLOT_HIGHEST ? SLOT_HIGHEST : (asked + GF_LINE - 1) / GF_LINE * GF_LINE;
    if (*bytes < SLOT_LOWEST) {
        *bytes = SLOT_LOWEST;
    }
    if (gf_speaks_for_node()) {
        gf_show_help("bad-slot-size", name, (ssize_t)asked, (size_t)GF_LINE, (size_t)SLOT_HIGHEST, *bytes);
    }
}

/* Open MPI reads a negative number as an enormous one. */
void gf_params_check_amount(const char *name, size_t *amount, size_t instead)
{
    if (*amount <= PTRDIFF_MAX) {
        return;
    }
    if (gf_speaks_for_node()) {
        gf_show_help("bad-amount", name, (ssize_t)*amount, instead);
    }
    *amount = instead;
}

static void check_amounts(mca_coll_gpufifo_component_t *component)
{
    const struct gf_message_sizes sizes = gf_message_sizes_of(component->tuning_table);
    size_t deadline_ms = component->config.deadline_ms;

    gf_params_check_amount("coll_gpufifo_one_shot_bytes", &component->config.one_shot_bytes, DEFAULT_ONE_SHOT_BYTES);
    gf_params_check_amount("coll_gpufifo_pack_bytes", &component->pack_bytes, sizes.pack);
    gf_params_check_amount("coll_gpufifo_agent_message_bytes", &component->agent_message_bytes, sizes.agent);
    gf_params_check_amount("coll_gpufifo_deadline_ms", &deadline_ms, 0);
    component->config.deadline_ms = deadline_ms;
}

/* Settings that cannot be are replaced by the defaults, and said so. */
static void check_pipe(struct gf_pipe_config *pipe)
{
    struct gf_reason why;

    if (gf_pipe_config_check(pipe, &why) != GF_OK) {
        gf_pipe_config_default(pipe);
        if (gf_speaks_for_node()) {
            gf_show_help("bad-pipe", why.text);
        }
    }
}

/* Open MPI's own components would get the calls first, and crash on device buffers. */
static void check_priority(int *priority)
{
    if (*priority < 0 || (*priority > HIGHEST_BASE_PRIORITY && *priority <= 100)) {
        return;
    }
    if (gf_speaks_for_node()) {
        gf_show_help("bad-priority", *priority, HIGHEST_BASE_PRIORITY, DEFAULT_PRIORITY);
    }
    *priority = DEFAULT_PRIORITY;
}

static void apply_agent(const char *text, struct gf_config *config)
{
    char *end;
    unsigned long us = strtoul(text, &end, 10);

    config->agent = GF_AGENT_AUTO;
    if (strcasecmp(text, "off") == 0) {
        config->agent = GF_AGENT_OFF;
    } else if (end != text && *end == '\0' && us >= 1 && us <= GF_AGENT_US_MOST) {
        config->agent = GF_AGENT_FIXED;
        config->agent_us = (uint32_t)us;
    } else if (strcasecmp(text, "auto") != 0 && gf_speaks_for_node()) {
        gf_show_help("bad-agent", text, GF_AGENT_US_MOST);
    }
    if (config->agent_blocks < 0 || config->agent_blocks > GF_AGENT_BLOCKS) {
        if (gf_speaks_for_node()) {
            gf_show_help("bad-agent-blocks", config->agent_blocks, GF_AGENT_BLOCKS);
        }
        config->agent_blocks = 0;
    }
}

/* A fault that nobody can inject would let a test pass for the wrong reason. */
static void apply_fault(mca_coll_gpufifo_component_t *component)
{
    struct gf_config *config = &component->config;
    struct gf_reason why;

    config->fault = component->fault && component->fault[0] ? component->fault : NULL;
    config->stages = &component->stages;
    if (gf_fault_parse(config->fault, ompi_process_info.my_name.vpid, config->stages, &why) != GF_OK) {
        if (gf_speaks_for_node()) {
            gf_show_help("bad-fault", why.text);
        }
        config->fault = NULL;
        config->stages = NULL;
    }
}

void gf_params_apply(mca_coll_gpufifo_component_t *component)
{
    struct gf_config *config = &component->config;

    check_priority(&component->priority);

    config->transport = (enum gf_force_transport)component->transport;
    config->algorithm = (enum gf_force_algorithm)component->algorithm;
    config->protocol = (enum gf_force_protocol)component->protocol;
    config->simple_buffer = (enum gf_simple_buffer)component->simple_buffer;
    config->mapped = (enum gf_mapped_use)component->mapped;
    apply_fault(component);
    apply_agent(component->agent ? component->agent : "auto", config);
    if (gf_forced_contradict(config)) {
        if (gf_speaks_for_node()) {
            gf_show_help("contradiction");
        }
        config->protocol = GF_PROTOCOL_AUTO;
    }
    if (gf_forced_loses_order(config) && gf_speaks_for_node()) {
        gf_show_help("no-order");
    }
    check_amounts(component);
    check_slot("coll_gpufifo_ll_slot_bytes", &config->ll_slot_bytes);
    check_slot("coll_gpufifo_simple_slot_bytes", &config->simple_slot_bytes);
    check_pipe(&component->pipe);
    gf_net_params_check(&component->net_params);
    gf_params_check_nodes(component);
    if (config->channels < 0 || config->channels > GF_MAX_CHANNELS) {
        if (gf_speaks_for_node()) {
            gf_show_help("bad-channels", config->channels, GF_MAX_CHANNELS);
        }
        config->channels = 0;
    }
}
