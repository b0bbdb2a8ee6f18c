/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ranks of a communicator know about one another, and what follows from it: may they share memory, do they agree on
 * their settings, may their kernels wait for one another (design rule 9), how many blocks may each keep resident.
 */
#ifndef GF_CORE_PEERS_H
#define GF_CORE_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "core/bootstrap.h"
#include "core/config.h"
#include "core/segment.h"
#include "device/device.h"

enum {
    GF_SHARED_SETTINGS = 17
};

/* What a rank tells about itself, once, by allgather; plain bytes. */
struct gf_peer_info {
    char host[64];                 /* for messages only */
    char boot_id[40];              /* same kernel? */
    char node[GF_NODE_BYTES];      /* as struct gf_config has it */
    uint64_t pid_namespace;        /* inode of the PID namespace */
    uint64_t start_time;           /* of the process, as the kernel counts: tells a recycled pid */
    int32_t pid;
    int32_t ordinal;
    unsigned char device_uuid[16];
    struct gf_segment_name probe;  /* a page that peers attach: shared memory is tried, not assumed; afterwards the abort page */
    uint8_t ipc;                   /* device capability */
    uint8_t concurrent_processes;  /* device capability */
    uint8_t host_types;            /* device capability */
    uint8_t copies_beside_kernels; /* device capability */
    uint8_t net;                   /* this rank has a net, by which it may talk to other nodes */
    uint8_t numbered_node;         /* see struct gf_comm_setup */
    uint8_t net_adapters;          /* see struct gf_comm_setup */
    uint8_t reserved;
    int32_t blocks;                /* device capability: of the whole device */
    int32_t device_ranks;          /* see struct gf_comm_setup */
    int64_t settings[GF_SHARED_SETTINGS];    /* those of struct gf_config that must be equal on all ranks */
};

/* Owned by the communicator; written by gf_peers_judge only. */
struct gf_peers {
    int rank, ranks;
    struct gf_peer_info *infos;    /* [ranks] */
    int nodes;                     /* on which the ranks are */
    uint8_t ring[GF_MAX_RANKS];    /* the ranks as they follow one another round a ring: node by node, beginning with rank 0's, so
                                      that it leaves each node once; on one node in their own order */
    uint8_t place[GF_MAX_RANKS];   /* by rank, where it is in `ring` */
    int blocks;                    /* a rank's share of its device without the agent, the least of all ranks; at least 1 */
    bool shared;                   /* some ranks share a device */
    bool kernels_may_wait;         /* the kernels of all ranks can run at once */
    bool agents;                   /* of the share some blocks are set aside for an agent: */
    int agent_blocks;              /* so many */
    bool host_types;               /* all devices know the types of gf_type_is_host_only */
    char sharing[128];             /* one phrase: who shares devices, and what follows */
};

/* Do these two count themselves to one node? Whether they can share memory there is tried. */
bool gf_peers_same_node(const struct gf_peer_info *a, const struct gf_peer_info *b);

/* Fills all but probe, net, numbered_node and net_adapters. */
void gf_peer_describe(const gf_device *device, const struct gf_config *config, int device_ranks, struct gf_peer_info *info);

/* Judges peers->infos and fills the rest: a pure function of values that are the same on all ranks but peers->rank.
 * GF_ERR_UNSUPPORTED with a sentence that names the ranks where they are on several nodes and have no net, or differ in their
 * settings. */
gf_status gf_peers_judge(struct gf_peers *peers, const struct gf_config *config, struct gf_reason *why);

/* Is rank r on this rank's node? */
bool gf_peers_are_near(const struct gf_peers *peers, int r);

/* How many adapters the nets of this rank and of rank r both have; 0: one of them does not say. */
int gf_peers_net_adapters(const struct gf_peers *peers, int r);

/* Who comes after rank r in the ring. */
static inline int gf_peers_next(const struct gf_peers *peers, int r)
{
    return peers->ring[(peers->place[r] + 1) % peers->ranks];
}

/* Does the process still run? Only for peers whose segment could be attached: they share our /proc. A zombie does not run. */
bool gf_peer_alive(const struct gf_peer_info *info);

/* The same of any process of our /proc. start_time: as gf_process_start_time has told, in the kernel's ticks; 0: not known. */
bool gf_process_alive(int32_t pid, uint64_t start_time);
uint64_t gf_process_start_time(int32_t pid);

#endif
