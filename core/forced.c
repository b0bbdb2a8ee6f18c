/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See the header.
 */
#include "core/forced.h"

static enum gf_algorithm asked_for(const struct gf_config *config)
{
    switch (config->algorithm) {
    case GF_ALGORITHM_ONE_SHOT:
        return config->protocol == GF_PROTOCOL_LL128 ? GF_PLAN_LL128 : GF_PLAN_ONE_SHOT;
    case GF_ALGORITHM_RING:
        return GF_PLAN_RING;
    case GF_ALGORITHM_HOST:
        return GF_PLAN_HOST;
    case GF_ALGORITHM_TWO_SHOT:
        return GF_PLAN_TWO_SHOT;
    case GF_ALGORITHM_ONE_SHOT_MAPPED:
        return GF_PLAN_ONE_SHOT_MAPPED;
    case GF_ALGORITHM_AUTO:
        break;
    }
    switch (config->protocol) {
    case GF_PROTOCOL_LL:
        return GF_PLAN_ONE_SHOT;
    case GF_PROTOCOL_LL128:
        return GF_PLAN_LL128;
    case GF_PROTOCOL_SIMPLE:
        return GF_PLAN_RING;
    case GF_PROTOCOL_AUTO:
        break;
    }
    return GF_PLAN_NONE;
}

enum gf_algorithm gf_forced_algorithm(const struct gf_config *config)
{
    enum gf_algorithm forced = asked_for(config);

    return config->deterministic && forced == GF_PLAN_RING ? GF_PLAN_NONE : forced;
}

bool gf_forced_is_mapped(const struct gf_config *config)
{
    return config->algorithm == GF_ALGORITHM_TWO_SHOT || config->algorithm == GF_ALGORITHM_ONE_SHOT_MAPPED;
}

bool gf_forced_contradict(const struct gf_config *config)
{
    return (config->algorithm == GF_ALGORITHM_ONE_SHOT && config->protocol == GF_PROTOCOL_SIMPLE)
        || (config->algorithm == GF_ALGORITHM_RING && config->protocol == GF_PROTOCOL_LL)
        || (config->algorithm == GF_ALGORITHM_RING && config->protocol == GF_PROTOCOL_LL128)
        || (gf_forced_is_mapped(config) && config->protocol != GF_PROTOCOL_AUTO);
}

bool gf_forced_host_copies(const struct gf_config *config)
{
    return config->transport == GF_TRANSPORT_P2P_COPY || config->transport == GF_TRANSPORT_SHM_COPY
        || config->transport == GF_TRANSPORT_NET;
}

bool gf_forced_loses_order(const struct gf_config *config)
{
    return config->deterministic && (asked_for(config) == GF_PLAN_RING || gf_forced_host_copies(config));
}
