/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the net transport needs of a network, and no more: a *wire* puts bytes into memory of a process elsewhere and tells it so.
 * The protocol, credits, slots and flushes, is above (net.h), once; verbs and UCX are below, each a table of these functions.
 *
 *     wire     one a process and device: its adapters with their queues, or a worker of UCX
 *     lane     of a wire: one connection to one peer. Both ends may do everything; the net transport's data go one way
 *     adapter  of a wire: what a lane goes by, the same one for its life. Of several each has memory and what breaks it to itself
 *     memory   of a wire: a range that it reads from, and that peers put into by its key
 *
 * Operations never wait. GF_OK: begun. GF_NO_RESOURCE: not begun, for want of room: ask again after progress. An error: the lane
 * is broken, for good; gf_wire_ops.state says why.
 *
 * Order, on one lane:
 *   - a notification is taken by the peer after all data that were put before it, or with it, have arrived; whether a device may
 *     load them then is the flush's matter (design rule 7);
 *   - notifications are taken in the order in which they were sent; a line may overtake them and other lines;
 *   - a line arrives whole for who finds its first and its last word new: a line is written at once, but seen as memory shows it.
 *
 * Threads: open to destroy, and register and forget, are called by any thread at any time. The operations on lanes, take, state
 * and progress are one thread's, the proxy's; a lane is destroyed when that thread does not touch it any more.
 */
#ifndef GF_TRANSPORT_WIRE_H
#define GF_TRANSPORT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/status.h"

enum {
    GF_WIRE_ADAPTERS = 8,          /* most of one wire */
    GF_WIRE_PAIRS = 8,             /* queue pairs of one lane */
    GF_WIRE_LINE = 64,             /* bytes of a line: what adapters write into host memory at once */
    GF_WIRE_ADDRESS_BYTES = 512    /* of what one end of a lane tells the other; UCX's worker addresses are the longest */
};

/* Plain bytes; carried to the peer by the bootstrap. */
struct gf_wire_address {
    uint32_t bytes;                /* in use */
    unsigned char data[GF_WIRE_ADDRESS_BYTES];
};

struct gf_wire_caps {
    bool device_memory;            /* memory of this device can be registered, */
    bool dmabuf;                   /* by a descriptor too */
    bool flush;                    /* there is a flush that makes what has arrived visible to the device */
    size_t put_bytes;              /* most of one put */
    int adapters;                  /* by which lanes go in turn, 1 to GF_WIRE_ADAPTERS */
};

/* Filled by register. Owned by whoever registered it; its place does not change until it is forgotten. */
struct gf_wire_memory {
    char *address;                 /* as given */
    size_t bytes;
    uint32_t key[GF_WIRE_ADAPTERS];    /* name it in a peer's put, by adapter: see gf_wire_key */
    void *handle;                  /* the wire's */
};

/* What to register: host memory, or memory of the device, by its dma-buf alone, or by the address by which others than kernels of
 * this process reach it. */
struct gf_wire_range {
    void *address;
    size_t bytes;
    bool device;
    int dmabuf;                    /* descriptor, the caller's; -1: by address */
    uint64_t dmabuf_offset;        /* where the range begins in it */
};

/* *word = value when the operation has ended, by a plain store of the thread that makes progress. word null, or no ticket:
 * nobody asks. */
struct gf_wire_ticket {
    uint64_t *word;
    uint64_t value;
};

/* Where a put goes: an address in memory that the peer has registered, and its key. */
struct gf_wire_place {
    uint64_t address;
    uint32_t key;
};

struct gf_wire_ops;

/* The head of each wire's own struct; fixed by open. */
struct gf_wire {
    const struct gf_wire_ops *ops;
    struct gf_wire_caps caps;
    char name[128];                /* for people: "verbs mlx5_0 port 1 gid 3 (RoCE v2)"; of several adapters their names */
};

/* The head of each lane's own struct; fixed by create. */
struct gf_wire_lane {
    struct gf_wire *wire;
    int adapter;                   /* by which it goes, counted from 0 */
    char name[160];                /* ... for people, once it is connected: "verbs mlx5_0 port 1 gid 3 (RoCE v2), MTU 4096" */
    char *lines;                   /* [line_count] lines of GF_WIRE_LINE bytes in host memory, zeroed at first, into which the
                                      peer puts; read by gf_host_observe on their words */
    uint32_t line_count;
};

/* The key by which the peer of this lane puts into the memory. */
static inline uint32_t gf_wire_key(const struct gf_wire_lane *lane, const struct gf_wire_memory *memory)
{
    return memory->key[lane->adapter];
}

/* How lanes are made. Kept by whoever opens the wire; the strings outlive it. Zero: the wire's own default. */
struct gf_wire_config {
    const char *adapters;          /* names of verbs devices, separated by commas, or null: all. Used are those that are nearest
                                      to the device, each as near as the others */
    int most_adapters;             /* ... and no more than this; 0: GF_WIRE_ADAPTERS */
    int port;
    int gid_index;                 /* -1: the right one is found */
    int service_level, traffic_class;
    int mtu;                       /* most bytes of a packet's data, 256 to 4096, a power of two: each lane has the smaller one of
                                      its ends'; 0: what the port has */
    int timeout;                   /* of an acknowledgement, 4.096 µs · 2^timeout (InfiniBand's Local ACK Timeout), 1 to 31 */
    int retries;                   /* 0 to 7 */
    int queue_pairs;               /* of a lane, 1 to 8, over which long data are spread */
    int silence;                   /* seconds in which a host may acknowledge nothing, where the wire has no time-outs of its own
                                      (ucx over TCP); 0: for ever, or as the system has it */
    const char *near;              /* PCI address of the device ("0000:1b:00.0"), or null: unknown */
    const struct gf_log *log;      /* may be null */
};

struct gf_wire_ops {
    const char *name;              /* "verbs", "ucx" */

    /* GF_ERR_UNSUPPORTED with a sentence: there is no such network here. */
    gf_status (*open)(const struct gf_wire_config *config, struct gf_wire **wire, struct gf_reason *why);
    void (*close)(struct gf_wire *wire);           /* all lanes are destroyed and all memory is forgotten */

    /* GF_ERR_UNSUPPORTED: this memory cannot be registered; nothing else is amiss. */
    gf_status (*register_memory)(struct gf_wire *wire, const struct gf_wire_range *range, struct gf_wire_memory *memory,
                                 struct gf_reason *why);
    void (*forget)(struct gf_wire *wire, struct gf_wire_memory *memory);

    /* A new end of a lane, which tells its address. Lanes go by the wire's adapters in turn, that of `number` by the one at
     * number modulo their count: so both ends give the same number, and where one wire has fewer adapters, a number below their
     * count. connect takes the other end's address, checks it, and waits
     * for nobody: the other end may connect later, and what is sent to it before arrives then, or is sent again for as long as
     * timeout and retries last. */
    gf_status (*create)(struct gf_wire *wire, unsigned number, uint32_t line_count, struct gf_wire_lane **lane,
                        struct gf_wire_address *mine, struct gf_reason *why);
    gf_status (*connect)(struct gf_wire_lane *lane, const struct gf_wire_address *theirs, struct gf_reason *why);

    /* Accepts one that was never connected; operations under way are lost. broken: whoever used it gave up in the middle, and
     * what the peer has under way reaches no memory any more afterwards. Otherwise the peer may not have noticed yet that the
     * lane was used for the last time: it is answered for a while, and what it puts may still arrive. */
    void (*destroy)(struct gf_wire_lane *lane, bool broken);

    /* Before a peer is told a key: it may put there from now on, until the memory is forgotten. Again: nothing. */
    gf_status (*announce)(struct gf_wire_lane *lane, const struct gf_wire_memory *memory);

    /* Ended: the source may be written again. [from, from + bytes) lies in `memory`; bytes may be 0, then memory may be null. A
     * key that was announced but has not arrived yet: GF_NO_RESOURCE. What lies outside of what was announced: an error. */
    gf_status (*put)(struct gf_wire_lane *lane, const struct gf_wire_memory *memory, const void *from,
                     const struct gf_wire_place *to, size_t bytes, const struct gf_wire_ticket *ticket);

    /* The same, and one notification that carries `immediate`; the peer has to have said that it expects it. Ended: data and
     * notification arrive also if nobody here makes progress any more. */
    gf_status (*put_notify)(struct gf_wire_lane *lane, const struct gf_wire_memory *memory, const void *from,
                            const struct gf_wire_place *to, size_t bytes, uint32_t immediate,
                            const struct gf_wire_ticket *ticket);

    /* Lines [index, index + count) of the peer's, which must not wrap; the source may be reused at once. count ≥ 1, at most 8. */
    gf_status (*put_lines)(struct gf_wire_lane *lane, uint32_t index, const void *lines, uint32_t count);

    /* One more notification may come: called before the peer learns of it. */
    gf_status (*expect)(struct gf_wire_lane *lane);

    /* The next notification; false: none has come. */
    bool (*take)(struct gf_wire_lane *lane, uint32_t *immediate);

    /* Ended: what arrived in `memory` before the last notification that was taken is visible to the device's loads. Only with
     * caps.flush. */
    gf_status (*flush)(struct gf_wire_lane *lane, const struct gf_wire_memory *memory, const void *at,
                       const struct gf_wire_ticket *ticket);

    /* GF_OK, or what broke the lane, with a sentence that names the adapter and its own status. */
    gf_status (*state)(struct gf_wire_lane *lane, struct gf_reason *why);

    /* Looks for ends and arrivals on all lanes. True: there were some. */
    bool (*progress)(struct gf_wire *wire);

    /* Operations begun so far, by kind: for tests and reports. */
    const struct gf_wire_counts *(*counts)(const struct gf_wire *wire);
};

struct gf_wire_counts {
    uint64_t puts, notifies, line_puts, flushes;
};

#endif
