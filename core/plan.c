/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The decision for one allreduce: what is trivial, what a rule or a setting demands, and otherwise what the cost model expects
 * to be faster.
 */
#include "core/plan.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/forced.h"
#include "core/tuner.h"
#include "core/tuning.h"
#include "kernels/work.h"

const char *gf_algorithm_name(enum gf_algorithm algorithm)
{
    static const char *const names[] = { "none", "local", "one-shot", "ring", "host", "two-shot", "stage", "one-shot over LL128",
                                         "one-shot over mapped buffers",
                                         "exchange by kernel", "exchange by copies", "reduction over mapped buffers" };

    return (unsigned)algorithm < sizeof names / sizeof names[0] ? names[algorithm] : "unknown";
}

static void decide(struct gf_plan *plan, enum gf_algorithm algorithm, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void decide(struct gf_plan *plan, enum gf_algorithm algorithm, const char *format, ...)
{
    va_list arguments;

    plan->algorithm = algorithm;
    va_start(arguments, format);
    vsnprintf(plan->reason, sizeof plan->reason, format, arguments);
    va_end(arguments);
}

/* Why the ring is not available. */
static const char *no_ring(const struct gf_config *config)
{
    return config->deterministic ? "the order of the ranks is asked for, which the ring does not keep"
                                 : "the ring could not be connected";
}

static bool available(const struct gf_plan_input *input, enum gf_algorithm algorithm)
{
    return !(input->unavailable & 1u << algorithm);
}

/* The slow path where the fast ones cannot be had: strict forbids it, unless it was asked for. */
static void decide_host(const struct gf_config *config, const struct gf_plan_input *input, struct gf_plan *plan, const char *why)
{
    if (config->strict) {
        decide(plan, GF_PLAN_STAGE, "%s", why);
    } else if (available(input, GF_PLAN_HOST)) {
        decide(plan, GF_PLAN_HOST, "host-sequenced: %s", why);
    } else {
        decide(plan, GF_PLAN_STAGE, "%s, and host memory could not be shared", why);
    }
}

static void decide_kernel(const struct gf_config *config, const struct gf_plan_input *input, size_t bytes, struct gf_plan *plan);

static const char no_mps[] = "kernels of ranks that share a device cannot run at once here; NVIDIA's MPS would let them";

/* An algorithm over mapped buffers was asked for, and these buffers or ranks do not allow it: as if nothing had been asked for,
 * but said. */
static void decide_without_mapped(const struct gf_config *config, const struct gf_plan_input *input, const char *name,
                                  size_t bytes, struct gf_plan *plan)
{
    struct gf_plan next = { .algorithm = GF_PLAN_NONE };

    if (!input->kernels_may_wait) {
        decide_host(config, input, plan, no_mps);
        return;
    }
    if (config->strict) {
        decide(plan, GF_PLAN_STAGE, "%s was asked for, but not all ranks can map the buffers, or they are in place", name);
        return;
    }
    decide_kernel(config, input, bytes, &next);
    decide(plan, next.algorithm, "%s was asked for, but these buffers do not allow it; %.80s", name, next.reason);
}

/* One-shot waits for nobody, but has room for so many ranks. */
static bool mapped_may_be(const struct gf_plan_input *input, enum gf_algorithm forced)
{
    return available(input, forced) && (forced == GF_PLAN_TWO_SHOT ? input->kernels_may_wait : input->ranks <= GF_LOCAL_INPUTS);
}

static void decide_forced(const struct gf_config *config, const struct gf_plan_input *input, enum gf_algorithm forced,
                          size_t bytes, struct gf_plan *plan)
{
    const char *name = gf_algorithm_name(forced);
    bool ll_instead = forced == GF_PLAN_LL128 && !available(input, forced) && available(input, GF_PLAN_ONE_SHOT)
        && !config->strict;

    if (gf_forced_is_mapped(config) && !mapped_may_be(input, forced)) {
        decide_without_mapped(config, input, name, bytes, plan);
    } else if (forced == GF_PLAN_ONE_SHOT_MAPPED) {
        decide(plan, forced, "%s was asked for by a setting", name);
    } else if ((forced == GF_PLAN_ONE_SHOT || forced == GF_PLAN_LL128) && gf_forced_host_copies(config)) {
        decide(plan, GF_PLAN_STAGE, "%s was asked for, but the transport that was asked for moves FIFO slots only", name);
    } else if (!available(input, forced) && !ll_instead) {
        decide(plan, GF_PLAN_STAGE, "%s was asked for, but could not be connected", name);
    } else if (forced != GF_PLAN_HOST && !input->kernels_may_wait) {
        decide_host(config, input, plan, no_mps);
    } else if (ll_instead) {
        decide(plan, GF_PLAN_ONE_SHOT, "one-shot over LL: LL128 was asked for, but cannot be used here");
    } else {
        decide(plan, forced, "%s was asked for by a setting", name);
    }
}

/* An algorithm that needs the program's buffers to be mapped, which nobody asked for: where the transport was chosen, a mapping
 * may be what the user does not want. */
static bool may_map(const struct gf_config *config, const struct gf_plan_input *input, enum gf_algorithm algorithm)
{
    return config->algorithm == GF_ALGORITHM_AUTO && available(input, algorithm)
        && (config->transport == GF_TRANSPORT_AUTO || config->transport == GF_TRANSPORT_P2P);
}

static const struct gf_tuning *tuning_of(const struct gf_config *config)
{
    return config->tuning ? config->tuning : &gf_tuning_default;
}

static enum gf_topology topology_of(const struct gf_plan_input *input)
{
    return !input->kernels_may_wait ? GF_TOPOLOGY_TURNS : input->shared ? GF_TOPOLOGY_SHARED : GF_TOPOLOGY_DEVICES;
}

/* What one-shot takes by the agent, where it may come to it: what is not of one piece does not. */
static double expect_agent(const struct gf_config *config, const struct gf_plan_input *input, size_t bytes)
{
    int blocks = gf_tuner_one_shot_blocks(bytes, config->ll_slot_bytes, input->blocks);
    int players = blocks < config->agent_blocks ? blocks : config->agent_blocks;
    bool may = input->agents && bytes <= config->ll_slot_bytes && available(input, GF_PLAN_ONE_SHOT);

    return may ? gf_tuner_agent_us(bytes, input->ranks, players > 0 ? players : 1) : INFINITY;
}

/* An algorithm over mapped buffers, if by the table it is the fastest, and takes no longer than the agent. */
static bool decide_mapped(const struct gf_config *config, const struct gf_plan_input *input, enum gf_algorithm algorithm,
                          unsigned rivals, size_t bytes, struct gf_plan *plan)
{
    const struct gf_tuning *tuning = tuning_of(config);
    enum gf_topology topology = topology_of(input);
    enum gf_algorithm rival;

    double us = gf_tuning_figure(tuning, topology, input->ranks, algorithm, bytes).us;

    if (!may_map(config, input, algorithm) || us > expect_agent(config, input, bytes)
        || !gf_tuning_is_least(tuning, topology, input->ranks, algorithm, rivals, bytes, &rival)) {
        return false;
    }
    decide(plan, algorithm, "%s: %zu bytes on %d ranks take by the table %.1f us, %s %.1f us", gf_algorithm_name(algorithm),
           bytes, input->ranks, us, gf_algorithm_name(rival), gf_tuning_figure(tuning, topology, input->ranks, rival, bytes).us);
    return true;
}

/* Between the kernels, by size and cost. */
static void decide_kernel(const struct gf_config *config, const struct gf_plan_input *input, size_t bytes, struct gf_plan *plan)
{
    const struct gf_tuner_launch launch = { topology_of(input), input->ranks, input->blocks, config->ll_slot_bytes };
    struct gf_tuner_expected expected = gf_tuner_expect(tuning_of(config), &launch, config->channels > 0, bytes);
    bool copies = gf_forced_host_copies(config), ring = available(input, GF_PLAN_RING);
    bool one_shot = available(input, GF_PLAN_ONE_SHOT) && !copies;
    const char *how = expected.measured ? "take by the table" : "are expected to take";

    if (decide_mapped(config, input, GF_PLAN_TWO_SHOT, 1u << GF_PLAN_ONE_SHOT | 1u << GF_PLAN_RING, bytes, plan)) {
        return;
    }
    if (copies && ring) {
        decide(plan, GF_PLAN_RING, "ring: the transport that was asked for moves FIFO slots only");
    } else if (one_shot && !ring) {
        decide(plan, GF_PLAN_ONE_SHOT, "one-shot: %s", no_ring(config));
    } else if (ring && !one_shot) {
        decide(plan, GF_PLAN_RING, "ring: the one-shot slots could not be connected");
    } else if (!ring) {
        decide_host(config, input, plan, config->deterministic ? no_ring(config) : "no connection of kernels works");
    } else if (bytes > config->one_shot_bytes) {
        decide(plan, GF_PLAN_RING, "ring: %zu bytes are more than one_shot_bytes = %zu", bytes, config->one_shot_bytes);
    } else if (expected.one_shot_us <= expected.ring_us) {
        decide(plan, GF_PLAN_ONE_SHOT, "one-shot: %zu bytes on %d ranks %s %.1f us, the ring %.1f us", bytes, input->ranks,
               how, expected.one_shot_us, expected.ring_us);
    } else {
        decide(plan, GF_PLAN_RING, "ring: %zu bytes on %d ranks %s %.1f us, one-shot %.1f us", bytes, input->ranks, how,
               expected.ring_us, expected.one_shot_us);
    }
}

/* Kernels cannot run at once. Those that wait for nobody can run in turns, and of much data that is faster than the hosts are. */
static void decide_in_turns(const struct gf_config *config, const struct gf_plan_input *input, size_t bytes, struct gf_plan *plan)
{
    size_t least = gf_tuner_in_turns_least(input->ranks);
    bool fits = may_map(config, input, GF_PLAN_ONE_SHOT_MAPPED) && input->ranks <= GF_LOCAL_INPUTS;
    bool told = gf_tuning_tells(tuning_of(config), GF_TOPOLOGY_TURNS, GF_PLAN_HOST);

    if (fits && told && decide_mapped(config, input, GF_PLAN_ONE_SHOT_MAPPED, 1u << GF_PLAN_HOST, bytes, plan)) {
        return;
    }
    if (fits && !told && bytes >= least) {
        decide(plan, GF_PLAN_ONE_SHOT_MAPPED, "one-shot over mapped buffers: kernels take turns here, and of %zu bytes or more "
               "that is the fastest on %d ranks", least, input->ranks);
    } else {
        decide_host(config, input, plan, no_mps);
    }
}

/* Links between nodes have FIFOs and nothing else, and what is short is sooner there by the MPI below. */
static void decide_between_nodes(const struct gf_config *config, const struct gf_plan_input *input, enum gf_algorithm forced,
                                 size_t bytes, struct gf_plan *plan)
{
    if (bytes < config->net_bytes) {
        decide(plan, GF_PLAN_STAGE, "%d nodes: %zu bytes go through MPI, which net_bytes = %zu leaves to it", input->nodes, bytes,
               config->net_bytes);
    } else if (forced != GF_PLAN_NONE && forced != GF_PLAN_RING) {
        decide(plan, GF_PLAN_STAGE, "%s was asked for, but between nodes there is the ring alone", gf_algorithm_name(forced));
    } else if (!input->kernels_may_wait) {
        decide(plan, GF_PLAN_STAGE, "%s", no_mps);
    } else if (!available(input, GF_PLAN_RING)) {
        decide(plan, GF_PLAN_STAGE, "between nodes there is the ring alone, and %s", no_ring(config));
    } else {
        decide(plan, GF_PLAN_RING, "ring: over %d nodes, of net_bytes = %zu or more", input->nodes, config->net_bytes);
    }
}

/* The agent takes one piece at a time. What it does is compatible with launches, so a rank whose agent is gone may launch. */
static void consider_agent(const struct gf_config *config, const struct gf_plan_input *input, size_t bytes, struct gf_plan *plan)
{
    size_t length = strlen(plan->reason);

    if (plan->algorithm != GF_PLAN_ONE_SHOT) {
        return;
    }
    double agent_us = expect_agent(config, input, bytes);

    plan->agent = plan->pieces == 1 && agent_us < gf_tuner_one_shot_us(bytes, input->ranks, plan->blocks);
    if (plan->agent) {
        snprintf(plan->reason + length, sizeof plan->reason - length, "; by the agent, where it is there %.1f us",
                 agent_us);
    }
}

struct gf_plan_slot gf_plan_slot(const struct gf_config *config, enum gf_algorithm algorithm)
{
    size_t bytes = 2 * config->ll_slot_bytes;

    if (algorithm == GF_PLAN_LL128) {
        bytes = (bytes + GF_LL128_SLOT_STEP - 1) / GF_LL128_SLOT_STEP * GF_LL128_SLOT_STEP;
        return (struct gf_plan_slot){ .bytes = bytes, .data = bytes / 16 * 15 };
    }
    return (struct gf_plan_slot){ .bytes = bytes, .data = config->ll_slot_bytes };
}

/* A program's calls may take two-shot in turn with what is taken where the buffers do not allow it. */
static bool ring_otherwise(const struct gf_config *config, const struct gf_plan_input *input, size_t bytes)
{
    struct gf_plan_input without = *input;
    struct gf_plan other = { .algorithm = GF_PLAN_NONE };

    without.unavailable |= 1u << GF_PLAN_TWO_SHOT;
    decide_kernel(config, &without, bytes, &other);
    return other.algorithm == GF_PLAN_RING;
}

static void size_launch(const struct gf_config *config, const struct gf_plan_input *input, size_t bytes, struct gf_plan *plan)
{
    if (plan->algorithm == GF_PLAN_ONE_SHOT || plan->algorithm == GF_PLAN_LL128) {
        size_t data = gf_plan_slot(config, plan->algorithm).data, piece = data / gf_type_size(input->type);
        bool ll128 = plan->algorithm == GF_PLAN_LL128;

        plan->blocks = ll128 ? gf_tuner_ll128_blocks(bytes, data, input->blocks)
                             : gf_tuner_one_shot_blocks(bytes, data, input->blocks);
        plan->threads = ll128 ? gf_tuner_ll128_threads(bytes, data, plan->blocks)
                              : gf_tuner_one_shot_threads(bytes, data, plan->blocks);
        plan->pieces = (uint32_t)((input->count + piece - 1) / piece);
    } else if (plan->algorithm == GF_PLAN_RING) {
        plan->blocks = gf_tuner_ring_blocks(bytes, input->ranks, input->blocks);
        plan->threads = GF_BLOCK_THREADS;
    } else if (plan->algorithm == GF_PLAN_ONE_SHOT_MAPPED) {
        plan->blocks = gf_tuner_exchange_blocks(bytes, 1, input->blocks);
        plan->threads = gf_tuner_exchange_threads(bytes, plan->blocks);
    } else if (plan->algorithm == GF_PLAN_TWO_SHOT) {
        plan->ring_order = ring_otherwise(config, input, bytes);
        plan->blocks = gf_tuner_two_shot_blocks(bytes, input->ranks, input->blocks);
        plan->threads = GF_BLOCK_THREADS;
    }
}

void gf_plan_allreduce(const struct gf_config *config, const struct gf_plan_input *whole_input, struct gf_plan *plan)
{
    struct gf_plan_input ordered = *whole_input;
    const struct gf_plan_input *input = &ordered;
    size_t bytes = input->count * gf_type_size(input->type);
    enum gf_algorithm forced = gf_forced_algorithm(config);

    *plan = (struct gf_plan){ .algorithm = GF_PLAN_NONE };
    ordered.unavailable |= config->deterministic ? 1u << GF_PLAN_RING : 0;
    if (input->count == 0) {
        decide(plan, GF_PLAN_NONE, "nothing to reduce");
    } else if (input->ranks == 1) {
        decide(plan, GF_PLAN_LOCAL, "one rank: a copy");
    } else if (gf_forced_contradict(config)) {
        decide(plan, GF_PLAN_STAGE,
               "the settings algorithm and protocol contradict each other: one-shot goes with ll or ll128, ring with simple, "
               "two-shot and one_shot_mapped with neither");
    } else if (!input->device_has_type && forced != GF_PLAN_HOST) {
        decide(plan, GF_PLAN_STAGE, "the device has no arithmetic for %s", gf_type_name(input->type));
    } else if (input->nodes > 1) {
        decide_between_nodes(config, input, forced, bytes, plan);
    } else if (forced != GF_PLAN_NONE) {
        decide_forced(config, input, forced, bytes, plan);
    } else if (!input->kernels_may_wait) {
        decide_in_turns(config, input, bytes, plan);
    } else {
        decide_kernel(config, input, bytes, plan);
    }
    size_launch(config, input, bytes, plan);
    consider_agent(config, input, bytes, plan);
}

/* Nothing of it waits on the device, so that rule 9 says nothing against it; but in time slices staging is faster for most
 * sizes. */
static void decide_exchange(const struct gf_config *config, const struct gf_plan_input *input, bool in_place,
                            struct gf_plan *plan)
{
    bool by_kernel = config->mapped == GF_MAPPED_KERNEL;

    if (config->mapped == GF_MAPPED_AUTO && available(input, GF_PLAN_EXCHANGE) && input->kernels_may_wait) {
        decide(plan, GF_PLAN_EXCHANGE, "a kernel fetches from the peers' buffers");
    } else if (config->mapped == GF_MAPPED_AUTO) {
        decide(plan, GF_PLAN_STAGE, "%s", input->kernels_may_wait ? "the ranks cannot map each other's buffers" : no_mps);
    } else if (by_kernel && available(input, GF_PLAN_EXCHANGE)) {
        decide(plan, GF_PLAN_EXCHANGE, "a kernel fetches from the peers' buffers, as a setting asks for");
    } else if (in_place) {
        decide(plan, GF_PLAN_STAGE, "blocks are swapped in place by kernels only, %s",
               by_kernel ? "which cannot be used here" : "and a setting asks for copies");
    } else if (by_kernel && config->strict) {
        decide(plan, GF_PLAN_STAGE, "a kernel was asked for that fetches from the peers' buffers, but cannot be used here");
    } else if (available(input, GF_PLAN_EXCHANGE_COPY)) {
        decide(plan, GF_PLAN_EXCHANGE_COPY, "copies fetch from the peers' buffers, %s",
               by_kernel ? "for kernels, which a setting asks for, cannot" : "as a setting asks for");
    } else {
        decide(plan, GF_PLAN_STAGE, "the ranks cannot map each other's buffers");
    }
}

void gf_plan_exchange(const struct gf_config *config, const struct gf_plan_input *input, bool in_place, int count, size_t bytes,
                      struct gf_plan *plan)
{
    *plan = (struct gf_plan){ .algorithm = GF_PLAN_NONE };
    if (input->ranks == 1) {
        decide(plan, GF_PLAN_LOCAL, "one rank: a copy");
        return;
    }
    decide_exchange(config, input, in_place, plan);
    if (plan->algorithm == GF_PLAN_EXCHANGE) {
        plan->blocks = gf_tuner_exchange_blocks(bytes, count, input->blocks);
        plan->threads = gf_tuner_exchange_threads(bytes, plan->blocks);
    }
}

/* As for exchanges, auto asks for kernels that run at once, although these do not wait. */
static void decide_reduce(const struct gf_config *config, const struct gf_plan_input *input, struct gf_plan *plan)
{
    if (!input->device_has_type) {
        decide(plan, GF_PLAN_STAGE, "the device has no arithmetic for %s", gf_type_name(input->type));
    } else if (config->mapped == GF_MAPPED_COPY) {
        decide(plan, GF_PLAN_STAGE, "copies, which a setting asks for, reduce nothing");
    } else if (input->ranks > GF_LOCAL_INPUTS) {
        decide(plan, GF_PLAN_STAGE, "a kernel reduces the buffers of %d ranks, and these are %d", GF_LOCAL_INPUTS, input->ranks);
    } else if (!available(input, GF_PLAN_REDUCE_MAPPED)) {
        decide(plan, GF_PLAN_STAGE, "the ranks cannot map each other's buffers");
    } else if (config->mapped == GF_MAPPED_AUTO && !input->kernels_may_wait) {
        decide(plan, GF_PLAN_STAGE, "%s", no_mps);
    } else {
        decide(plan, GF_PLAN_REDUCE_MAPPED, "each rank reduces from the peers' buffers what it needs");
    }
}

void gf_plan_reduce(const struct gf_config *config, const struct gf_plan_input *input, struct gf_plan *plan)
{
    size_t bytes = input->count * gf_type_size(input->type);

    *plan = (struct gf_plan){ .algorithm = GF_PLAN_NONE };
    if (input->ranks == 1) {
        decide(plan, GF_PLAN_LOCAL, "one rank: a copy");
        return;
    }
    decide_reduce(config, input, plan);
    if (plan->algorithm == GF_PLAN_REDUCE_MAPPED) {
        plan->blocks = gf_tuner_exchange_blocks(bytes, 1, input->blocks);
        plan->threads = gf_tuner_exchange_threads(bytes, plan->blocks);
    }
}
