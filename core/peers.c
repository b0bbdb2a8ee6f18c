/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Describes this rank, and judges what all ranks described.
 */
#include "core/peers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/tuning.h"

static const char *const setting_names[GF_SHARED_SETTINGS] = {
    "transport", "algorithm", "protocol", "one_shot_bytes", "ll_slot_bytes", "simple_slot_bytes", "simple_buffer", "channels",
    "deadline_ms", "strict", "agent", "agent_blocks", "mapped", "net", "net_bytes",
    "tuning (a number that its rows give)", "deterministic",
};

static void collect_settings(const struct gf_config *config, int64_t settings[GF_SHARED_SETTINGS])
{
    const int64_t values[GF_SHARED_SETTINGS] = {
        config->transport, config->algorithm, config->protocol, (int64_t)config->one_shot_bytes, (int64_t)config->ll_slot_bytes,
        (int64_t)config->simple_slot_bytes, config->simple_buffer, config->channels, (int64_t)config->deadline_ms, config->strict,
        config->agent, config->agent_blocks, config->mapped, config->net, (int64_t)config->net_bytes,
        config->tuning ? config->tuning->hash : 0, config->deterministic,
    };

    memcpy(settings, values, sizeof values);
}

/* The first line of a file of /proc, without its end; an empty text where it cannot be read. */
static void read_line(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");

    text[0] = '\0';
    if (!file) {
        return;
    }
    if (fgets(text, (int)size, file)) {
        text[strcspn(text, "\n")] = '\0';
    }
    fclose(file);
}

/* State letter and start time of a process, from /proc/<pid>/stat: fields 3 and 22, counted behind the name, which may hold
 * anything and ends at the last parenthesis. */
static bool read_stat(int32_t pid, char *state, uint64_t *start_time)
{
    char path[64], line[1024];

    snprintf(path, sizeof path, "/proc/%" PRId32 "/stat", pid);
    read_line(path, line, sizeof line);
    const char *rest = strrchr(line, ')');

    return rest && sscanf(rest + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
                          state, start_time) == 2;
}

void gf_peer_describe(const gf_device *device, const struct gf_config *config, int device_ranks, struct gf_peer_info *info)
{
    struct stat namespace;

    memset(info, 0, sizeof *info);
    if (gethostname(info->host, sizeof info->host - 1) != 0) {
        strcpy(info->host, "unknown");
    }
    read_line("/proc/sys/kernel/random/boot_id", info->boot_id, sizeof info->boot_id);
    snprintf(info->node, sizeof info->node, "%s", config->node);
    if (stat("/proc/self/ns/pid", &namespace) == 0) {
        info->pid_namespace = (uint64_t)namespace.st_ino;
    }
    info->pid = (int32_t)getpid();
    info->start_time = gf_process_start_time(info->pid);
    info->ordinal = device->ordinal;
    memcpy(info->device_uuid, device->caps.uuid, sizeof info->device_uuid);
    info->ipc = device->caps.ipc;
    info->concurrent_processes = device->caps.concurrent_processes;
    info->host_types = device->caps.host_types;
    info->copies_beside_kernels = device->caps.copies_beside_kernels;
    info->blocks = device->caps.blocks;
    info->device_ranks = device_ranks;
    collect_settings(config, info->settings);
}

bool gf_peers_same_node(const struct gf_peer_info *a, const struct gf_peer_info *b)
{
    return memcmp(a->boot_id, b->boot_id, sizeof a->boot_id) == 0 && memcmp(a->node, b->node, sizeof a->node) == 0
        && a->numbered_node == b->numbered_node;
}

static gf_status check_settings(const struct gf_peers *peers, struct gf_reason *why)
{
    for (int r = 1; r < peers->ranks; r++) {
        for (int s = 0; s < GF_SHARED_SETTINGS; s++) {
            int64_t first = peers->infos[0].settings[s], other = peers->infos[r].settings[s];

            if (first != other) {
                gf_reason_set(why, "rank %d on %s has the setting %s = %" PRId64 ", but rank 0 has %" PRId64 ": give all "
                              "ranks the same", r, peers->infos[r].host, setting_names[s], other, first);
                return GF_ERR_UNSUPPORTED;
            }
        }
    }
    return GF_OK;
}

/* Ranks of this communicator on the device of rank r. */
static int ranks_on_device(const struct gf_peers *peers, int r)
{
    int count = 0;

    for (int q = 0; q < peers->ranks; q++) {
        count += memcmp(peers->infos[q].device_uuid, peers->infos[r].device_uuid, sizeof peers->infos[q].device_uuid) == 0;
    }
    return count;
}

/* More than one serve messages of 8 KiB and more, and eight are enough for what one-shot takes. A small share is for the kernels
 * that move much. */
enum { AGENT_BLOCKS = 8, AGENT_BLOCKS_SHARE = 32 };

static int choose_agent_blocks(const struct gf_config *config, int share)
{
    return config->agent_blocks > 0 ? config->agent_blocks : share >= AGENT_BLOCKS_SHARE ? AGENT_BLOCKS : 1;
}

/* Rule 9: kernels that wait for one another must be able to run at once. Ranks that share a device divide its blocks; the
 * device's other processes (device_ranks) may run kernels of other communicators at the same time, so they get a share too. */
static void judge_sharing(struct gf_peers *peers, const struct gf_config *config)
{
    int blocks = config->channels > 0 && config->channels < GF_MAX_CHANNELS ? config->channels : GF_MAX_CHANNELS;
    int most = 1;

    peers->kernels_may_wait = true;
    peers->host_types = true;
    snprintf(peers->sharing, sizeof peers->sharing, "each rank has a device of its own");
    for (int r = 0; r < peers->ranks; r++) {
        const struct gf_peer_info *info = &peers->infos[r];
        int here = ranks_on_device(peers, r);
        int shares = info->device_ranks > here ? info->device_ranks : here;

        peers->host_types = peers->host_types && info->host_types;
        if (info->blocks / shares < blocks) {
            blocks = info->blocks / shares;
        }
        if (here > most) {
            most = here;
            snprintf(peers->sharing, sizeof peers->sharing, "up to %d ranks share a device whose processes run side by side",
                     here);
        }
        if (here > 1 && !info->concurrent_processes && peers->kernels_may_wait) {
            peers->kernels_may_wait = false;
        }
    }
    peers->shared = most > 1;
    if (!peers->kernels_may_wait) {
        snprintf(peers->sharing, sizeof peers->sharing, "%d ranks share a device that runs one process at a time (no MPS)", most);
    } else if (blocks < 1) {
        peers->kernels_may_wait = false;
        snprintf(peers->sharing, sizeof peers->sharing, "%d ranks share a device with too few blocks for all of them at once",
                 most);
    }
    peers->agent_blocks = choose_agent_blocks(config, blocks);
    peers->agents = config->agent != GF_AGENT_OFF && peers->nodes == 1 && peers->kernels_may_wait
        && blocks > peers->agent_blocks;
    blocks -= peers->agents ? peers->agent_blocks : 0;
    peers->blocks = blocks < 1 ? 1 : blocks;
}

static bool is_first_of_node(const struct gf_peers *peers, int r)
{
    int first = 0;

    while (!gf_peers_same_node(&peers->infos[first], &peers->infos[r])) {
        first++;
    }
    return first == r;
}

static void order_by_node(struct gf_peers *peers)
{
    uint8_t places = 0;

    peers->nodes = 0;
    for (int first = 0; first < peers->ranks; first++) {
        if (!is_first_of_node(peers, first)) {
            continue;
        }
        peers->nodes++;
        for (int r = first; r < peers->ranks; r++) {
            if (gf_peers_same_node(&peers->infos[first], &peers->infos[r])) {
                peers->place[r] = places;
                peers->ring[places++] = (uint8_t)r;
            }
        }
    }
}

static gf_status judge_nodes(struct gf_peers *peers, struct gf_reason *why)
{
    const struct gf_peer_info *infos = peers->infos;
    int alone = 0, far = 0;

    order_by_node(peers);
    while (alone < peers->ranks && infos[alone].net) {
        alone++;
    }
    while (far < peers->ranks && gf_peers_same_node(&infos[0], &infos[far])) {
        far++;
    }
    if (peers->nodes > 1 && alone < peers->ranks) {
        gf_reason_set(why, "rank 0 is on %s and rank %d on %s: gpufifo's own path serves the ranks of one node, or of several by "
                      "coll_gpufifo_net, which rank %d does not have", infos[0].host, far, infos[far].host, alone);
        return GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}

gf_status gf_peers_judge(struct gf_peers *peers, const struct gf_config *config, struct gf_reason *why)
{
    if (peers->ranks > GF_MAX_RANKS) {
        gf_reason_set(why, "%d ranks: gpufifo's own path serves up to %d ranks", peers->ranks, GF_MAX_RANKS);
        return GF_ERR_UNSUPPORTED;
    }
    gf_status status = judge_nodes(peers, why);

    judge_sharing(peers, config);
    return status == GF_OK ? check_settings(peers, why) : status;
}

bool gf_peers_are_near(const struct gf_peers *peers, int r)
{
    return gf_peers_same_node(&peers->infos[peers->rank], &peers->infos[r]);
}

int gf_peers_net_adapters(const struct gf_peers *peers, int r)
{
    int mine = peers->infos[peers->rank].net_adapters, theirs = peers->infos[r].net_adapters;

    return mine < theirs ? mine : theirs;
}

bool gf_peer_alive(const struct gf_peer_info *info)
{
    return gf_process_alive(info->pid, info->start_time);
}

uint64_t gf_process_start_time(int32_t pid)
{
    char state;
    uint64_t start_time;

    return read_stat(pid, &state, &start_time) ? start_time : 0;
}

bool gf_process_alive(int32_t pid, uint64_t start_time)
{
    char state;
    uint64_t now;

    return read_stat(pid, &state, &now) && state != 'Z' && state != 'X' && (start_time == 0 || now == start_time);
}
