/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings of a communicator. The owner fills them (from MCA variables) before gf_comm_create and does not change them
 * afterwards. Everything here that affects the choice of a path must be equal on all ranks: gf_comm_create checks it.
 */
#ifndef GF_CORE_CONFIG_H
#define GF_CORE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gf_force_transport {
    GF_TRANSPORT_AUTO, GF_TRANSPORT_P2P, GF_TRANSPORT_SHM, GF_TRANSPORT_P2P_COPY, GF_TRANSPORT_SHM_COPY,
    GF_TRANSPORT_NET
};
enum gf_force_algorithm { GF_ALGORITHM_AUTO, GF_ALGORITHM_ONE_SHOT, GF_ALGORITHM_RING, GF_ALGORITHM_HOST, GF_ALGORITHM_TWO_SHOT,
                          GF_ALGORITHM_ONE_SHOT_MAPPED };
enum gf_force_protocol { GF_PROTOCOL_AUTO, GF_PROTOCOL_LL, GF_PROTOCOL_SIMPLE, GF_PROTOCOL_LL128 };

/* Whether collectives that move blocks fetch them from the peers' own buffers, which all ranks have mapped, and by what; and, by
 * kernels only, whether those that reduce load from there. AUTO: by a kernel, where kernels of all ranks run at once, from
 * buffers that come again (core/familiar.h). */
enum gf_mapped_use { GF_MAPPED_OFF, GF_MAPPED_KERNEL, GF_MAPPED_COPY, GF_MAPPED_AUTO };

/* Whose memory holds the slots of a Simple FIFO: the sender stores into the receiver's, or the receiver loads from the
 * sender's. DIRECT: likewise, but what lies in the buffers of the program at both ends goes from one to the other without a slot,
 * where all ranks can map these. */
enum gf_simple_buffer { GF_BUFFER_RECEIVER, GF_BUFFER_SENDER, GF_BUFFER_DIRECT_WRITE, GF_BUFFER_DIRECT_READ };

static inline bool gf_buffer_is_direct(enum gf_simple_buffer buffer)
{
    return buffer == GF_BUFFER_DIRECT_WRITE || buffer == GF_BUFFER_DIRECT_READ;
}

/* Has the sender the slots? */
static inline bool gf_buffer_at_sender(enum gf_simple_buffer buffer)
{
    return buffer == GF_BUFFER_SENDER || buffer == GF_BUFFER_DIRECT_READ;
}

/* Whether small operations go to the agent (core/agent.h), and how long it stays: as experience tells, or always agent_us. */
enum gf_agent_use { GF_AGENT_OFF, GF_AGENT_AUTO, GF_AGENT_FIXED };

/* Whether kernels of ranks of different nodes talk, and by which network; else their calls go through MPI. ANY: the best there
 * is. */
enum gf_force_net { GF_NET_OFF, GF_NET_VERBS, GF_NET_UCX, GF_NET_ANY };

/* How blocking collectives go whose ranks are on several nodes, if messages between device buffers can be made of them. AUTO: by
 * these from between_bytes on; OFF: staged; MESSAGES: by these always. */
enum gf_between_nodes { GF_BETWEEN_AUTO, GF_BETWEEN_OFF, GF_BETWEEN_MESSAGES };

enum { GF_AGENT_US_MOST = 60000 };
enum { GF_NODE_BYTES = 64 };

struct gf_fault;                   /* core/fault.h */
struct gf_tuning;                  /* core/tuning.h */

struct gf_config {
    enum gf_force_transport transport;     /* between ranks of one node */
    enum gf_force_algorithm algorithm;
    enum gf_force_protocol protocol;
    const struct gf_tuning *tuning; /* by which the algorithm is chosen, lives as long as what has this; null: the one built in */
    size_t one_shot_bytes;         /* largest message for one-shot LL when the choice is automatic */
    size_t ll_slot_bytes;          /* data bytes of one LL slot: longer one-shot messages go in pieces. LL128 slots take the same
                                      memory and hold 15/8 of it. */
    size_t simple_slot_bytes;      /* bytes of one slot of a Simple FIFO */
    enum gf_simple_buffer simple_buffer;
    enum gf_mapped_use mapped;
    enum gf_agent_use agent;
    uint32_t agent_us;             /* 1 to GF_AGENT_US_MOST, of GF_AGENT_FIXED */
    int agent_blocks;              /* of an agent: 1 to GF_AGENT_BLOCKS; 0: by the device's share */
    uint32_t agent_start_us;       /* how long a launch of it may take to begin, before others do its work */
    enum gf_force_net net;
    size_t net_bytes;              /* with ranks on several nodes: shorter messages are staged */
    enum gf_between_nodes between_nodes;
    size_t between_bytes;          /* of AUTO: the least block that a rank sends or receives */
    int channels;                  /* most blocks a call may use, 0 = by the device's share */
    bool by_fd;                    /* memory that only a file descriptor shares is mapped by peers, too */
    uint64_t deadline_ms;          /* a kernel's spin without progress, 0 = none */
    char node[GF_NODE_BYTES];      /* ranks with different names here are on different nodes, on one machine too; each its own */
    bool deterministic;            /* reductions go in the order of the ranks, whatever the path */
    bool strict;                   /* a fall-back to a slower path is an error */
    const char *fault;             /* fault injection for tests: "name:n,…" makes the n-th such step fail; null in production */
    struct gf_fault *stages;       /* the same, of what belongs to no communicator (core/fault.h); null in unit tests */
};

#endif
