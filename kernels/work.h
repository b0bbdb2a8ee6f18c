/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plain structs that host code fills and kernels read, equal for gcc and nvcc (sizes are asserted below). All pointers are
 * kernel addresses (device/device.h). Nothing here has behaviour.
 */
#ifndef GF_KERNELS_WORK_H
#define GF_KERNELS_WORK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define GF_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define GF_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

enum {
    GF_BLOCK_THREADS = 512,      /* threads of a block on a GPU */
    GF_LINE = 128,               /* words that different agents write never share a line of this size */
    GF_FIFO_DEPTH = 8,           /* slots of a FIFO; a power of two */
    GF_LL_LINE = 16,             /* bytes of a LL line: {data, flag, data, flag}, four bytes each */
    GF_LL128_SLOT_STEP = 512,    /* slots of LL128 lines are a multiple of this: 480 bytes of data, which every element divides */
    GF_MAX_CHANNELS = 64,
    GF_MAX_RANKS = 64            /* of one communicator on one node: their slots' addresses fit into a kernel's parameters */
};

enum gf_kernel {
    GF_KERNEL_ALLREDUCE_ONE_SHOT,   /* struct gf_one_shot_work */
    GF_KERNEL_ALLREDUCE_ONE_SHOT_FEW, /* struct gf_one_shot_few_work */
    GF_KERNEL_ALLREDUCE_LL128,      /* struct gf_one_shot_work */
    GF_KERNEL_ALLREDUCE_LL128_FEW,  /* struct gf_one_shot_few_work */
    GF_KERNEL_ALLREDUCE_RING,       /* struct gf_ring_work, which lends nothing */
    GF_KERNEL_ALLREDUCE_RING_LENT,  /* struct gf_ring_work */
    GF_KERNEL_ALLREDUCE_RING_DIRECT, /* struct gf_ring_direct_work */
    GF_KERNEL_ALLREDUCE_TWO_SHOT,   /* struct gf_two_shot_work */
    GF_KERNEL_ALLREDUCE_TWO_SHOT_FEW, /* struct gf_two_shot_few_work */
    GF_KERNEL_EXCHANGE,             /* struct gf_exchange_work */
    GF_KERNEL_EXCHANGE_FEW,         /* struct gf_exchange_few_work */
    GF_KERNEL_REDUCE_LOCAL,         /* struct gf_local_work */
    GF_KERNEL_COPY_LIST,            /* struct gf_copy_work */
    GF_KERNEL_PULL,                 /* struct gf_pull_work */
    GF_KERNEL_PULL_LIST,            /* struct gf_pull_list_work */
    GF_KERNEL_PACK,                 /* struct gf_pack_work */
    GF_KERNEL_PACK_LIST,            /* struct gf_pack_list_work */
    GF_KERNEL_AGENT,                /* struct gf_agent_work; at most GF_AGENT_BLOCKS blocks */
    GF_KERNEL_COUNT
};

/* One direction between two ranks on one channel, as the kernel at one end sees it. A FIFO of GF_FIFO_DEPTH slots; slot of a
 * step is step % GF_FIFO_DEPTH; head and tail count steps and only grow.
 *   the sender may fill slot `step` once step < head + GF_FIFO_DEPTH, then publishes tail = step + 1;
 *   the receiver may read slot `step` once step < tail, then publishes head = step + 1.
 * size[slot] is the slot's number of bytes: written before tail by the sender. Where hosts move the data, they may have moved a
 * step's into the receiver's own buffer instead of the slot: then GF_SIZE_LENT is added.
 * answers[slot] is such hosts' answer for a step: 2 * (step + 1), and 1 more if the data go from the sender's own buffer, so the
 * slot stays empty, and the buffer as it is until head says that the step is over.
 * address is by what the end that owns no slots learns where the buffers of the other one are (kernels/ring_work.h): first an
 * epoch, one more than the step at which its launch began, which tells that the words behind it are those of this launch.
 * Owner: core/connector.c allocates and fills it before the first launch; afterwards only the kernel at this end writes `step`,
 * at its end, so that the next launch goes on where it stopped. One kernel at a time uses a connection. */
struct gf_conn {
    uint64_t *head;              /* receiver writes, sender polls: lives near the sender */
    uint64_t *tail;              /* sender writes, receiver polls: lives near the receiver */
    uint32_t *size;              /* [GF_FIFO_DEPTH], beside tail */
    char *slots;                 /* GF_FIFO_DEPTH * slot_bytes: near the receiver or near the sender */
    uint64_t slot_bytes;         /* a multiple of GF_LINE */
    uint64_t step;               /* next step of this end */
    uint64_t *answers;           /* [GF_FIFO_DEPTH], beside head */
    uint64_t *address;           /* [GF_ADDRESS_WORDS], beside head, or beside tail where the slots are at the sender */
};
enum { GF_ADDRESS_WORDS = 3 };   /* epoch, send buffer, receive buffer */
#define GF_SIZE_LENT (1u << 31)
GF_STATIC_ASSERT(sizeof(struct gf_conn) == 64, "host and device agree on gf_conn");

/* Of the census of a GPU, which only CUDA has (device/cuda_census.c). */
struct gf_census_work {
    uint32_t *word;              /* pinned: gets twice the ticket, and one more if all blocks were there at once */
    uint32_t ticket;
};

/* What every communicating kernel gets: identity, the way out, and how the host learns the end. */
struct gf_task {
    uint32_t rank, ranks;        /* within the communicator */
    uint32_t *abort;             /* pinned; nonzero: leave at once. Polled by every spin. */
    uint64_t deadline_ns;        /* longest time of one spin without progress, 0 = none */
    uint32_t *blocks_done;       /* device memory; blocks of this launch that have finished; the last one resets it to 0 */
    uint64_t *done;              /* pinned; the last block to finish stores `ticket` here: see gf_publish_done */
    uint32_t *error;             /* pinned; enum gf_kernel_error, stored before done by a block that gave up */
    uint64_t ticket;             /* never 0; grows by one a launch */
};
GF_STATIC_ASSERT(sizeof(struct gf_task) == 56, "host and device agree on gf_task");

enum gf_kernel_error {
    GF_KERNEL_OK = 0,
    GF_KERNEL_ABORTED = 1,       /* saw the abort word */
    GF_KERNEL_TIMEOUT = 2,       /* a spin passed its deadline */
    GF_KERNEL_MISMATCH = 3       /* a peer sent another number of bytes than this rank expects: their counts differ */
};

/* The data of a reduction. count is in elements; send may equal recv. Any alignment of the element type. */
struct gf_reduction {
    const void *send;
    void *recv;
    uint64_t count;
    uint32_t type;               /* enum gf_type */
    uint32_t op;                 /* enum gf_op */
};

/* Where the LL lines between this rank and one peer are: two slots each way. */
struct gf_peer_slots {
    char *to;                    /* at the peer, for lines of mine */
    char *from;                  /* my own, for lines of the peer */
};

/* One-shot allreduce: every rank stores its data as LL or LL128 lines into a slot at each peer, then reduces all slots in rank
 * order. Two slots a peer alternate; the flag of a line is the epoch, so no head is needed: a rank that has received epoch e +
 * 1 from a peer knows that the peer has read epoch e.
 * A message longer than a slot goes in pieces, each with the next epoch. */
struct gf_one_shot_work {
    struct gf_task task;
    struct gf_reduction data;
    uint64_t slot_bytes;         /* bytes of one slot, flags included: holds slot_bytes / 2 bytes of data in LL lines, 15/16 in
                                    LL128 lines */
    uint32_t epoch;              /* of the first piece, and one more each piece; never 0, see GF_LL_EPOCH_LAST */
    uint32_t pieces;
    struct gf_peer_slots peers[GF_MAX_RANKS];    /* last, since a kernel's parameters are fetched line by line as it reads them */
};

/* The beginning of a gf_one_shot_work, for communicators of at most GF_FEW_RANKS ranks: a launch copies all parameters whether
 * a kernel reads them or not, and the whole table costs 0.3 µs. */
enum { GF_FEW_RANKS = 8 };
struct gf_one_shot_few_work {
    uint64_t words[(offsetof(struct gf_one_shot_work, peers) + GF_FEW_RANKS * sizeof(struct gf_peer_slots)) / sizeof(uint64_t)];
};
GF_STATIC_ASSERT(sizeof(struct gf_one_shot_few_work) == 104 + 16 * GF_FEW_RANKS, "the header is whole words");

/* The host sweeps (zeroes) all slots, with all ranks agreed, before an epoch would pass this one, and starts again at 1.
 * A build with GF_LL_FLAG_BITS=8 wraps early, to test the sweep. */
#ifndef GF_LL_FLAG_BITS
#define GF_LL_FLAG_BITS 32
#endif
#define GF_LL_EPOCH_LAST ((uint32_t)((1ull << GF_LL_FLAG_BITS) - 1))

/* ---- the agent (kernels/agent.h): blocks that stay, and their ring of commands ---- */
enum {
    GF_COMMANDS = 8,             /* lines of the ring: commands in flight */
    GF_COMMAND_WORDS = 8,        /* of a line: {data, flag}, four bytes each */
    GF_AGENT_BLOCKS = 16,        /* most blocks of an agent: one a 4 KiB of a default LL slot */
    GF_AGENT_TABLES = 64         /* communicators that use one agent at a time */
};

enum gf_command_kind {
    GF_COMMAND_LEAVE = 1,
    GF_COMMAND_ALLREDUCE,        /* one-shot, of one piece */
    GF_COMMAND_NOTHING,          /* what a launch begins with: its end tells that the agent runs */
    GF_COMMAND_PULL              /* struct gf_pull_command */
};

/* The data of a line: kind, linger_us and table are every command's; what the other fields mean is the business of its kind. */
struct gf_command {
    uint8_t kind;                /* enum gf_command_kind */
    uint8_t type, op;            /* enum gf_type as gf_canonical_type gives it, enum gf_op */
    uint8_t blocks;              /* of a launch that would do the same: tells where its lines lie */
    uint16_t linger_us;          /* how long to wait for the next command */
    uint16_t table;              /* modulo GF_AGENT_TABLES: which; above: which use of it. A kind that needs none ignores it. */
    const void *send;
    void *recv;
    uint32_t bytes;              /* of data */
    uint32_t epoch;              /* as in gf_one_shot_work */
};

/* A message fetched from a peer's memory, as a gf_pull_item. Waits for nobody. */
enum { GF_PULL_COMMAND_MOST = 1 << 16 };
struct gf_pull_command {
    uint8_t kind;                /* as in gf_command */
    uint8_t to_host;             /* `to` is host memory */
    uint16_t last;               /* its number of bytes less one */
    uint16_t linger_us;          /* as in gf_command */
    uint16_t reserved;
    const void *from;
    void *to;
    uint64_t *end;               /* host memory; gets GF_PULL_END when the message has been moved */
};
GF_STATIC_ASSERT(sizeof(struct gf_pull_command) == sizeof(struct gf_command) &&
                 offsetof(struct gf_pull_command, linger_us) == offsetof(struct gf_command, linger_us),
                 "commands have kind and linger_us at one place");

union gf_command_line {
    struct gf_command command;
    struct gf_pull_command pull;
    uint32_t word[GF_COMMAND_WORDS];
};
GF_STATIC_ASSERT(sizeof(struct gf_command) == 4 * GF_COMMAND_WORDS, "a command fills its line");

/* By which the leading block passes commands on to its helpers, in device memory, zero at first. `line` is the leader's, did[b]
 * that of block b. */
struct gf_agent_relay {
    uint64_t line[GF_LINE / sizeof(uint64_t)];    /* as a line of the ring; the rest is unused */
    uint64_t did[GF_AGENT_BLOCKS][GF_LINE / sizeof(uint64_t)];    /* the first word: all relayed commands below this number */
};

/* Commands are numbered from 0 on; command n is on line n % GF_COMMANDS, and only the host writes there. It writes a line again
 * when the command that was on it has ended, or the launch it was given to is over; and never uses a number twice. done and left
 * have one writer each, the agent; both only grow. */
struct gf_agent_work {
    const uint64_t *ring;        /* pinned: GF_COMMANDS lines, zero at first */
    uint64_t *done;              /* pinned: all commands below this number have ended, or were not taken by launches of old */
    uint64_t *left;              /* pinned: this launch is over; it has taken all below this number, and none from it on */
    const struct gf_one_shot_work *tables;   /* device memory, [GF_AGENT_TABLES]: task, slot_bytes, pieces = 1 and peers */
    struct gf_agent_relay *relay;            /* not looked at by an agent of one block */
    uint64_t first;              /* the number of this launch's GF_COMMAND_NOTHING */
    uint64_t linger_us;          /* how long to wait for the command after it */
};
GF_STATIC_ASSERT(sizeof(struct gf_agent_work) == 56, "host and device agree on gf_agent_work");

/* Two-shot allreduce over buffers that all ranks have mapped: rank r reduces the r-th part of the data, loading from all ranks'
 * buffers, and stores the result into all ranks' buffers. Block b of a rank does the b-th part of that.
 * Launched once all ranks are known to have entered the call, so nobody waits before the data move.
 * Line r * GF_MAX_CHANNELS + b of a rank's flags is written by block b of rank r: the last epoch in which that block has done
 * its part. Zeroed at first; epochs only grow, and are equal on all ranks in a call. */
struct gf_two_shot_work {
    struct gf_task task;
    struct gf_reduction data;    /* of this rank */
    uint64_t epoch;              /* never 0 */
    void *addresses[3 * GF_MAX_RANKS];    /* the own ones too: `ranks` send buffers, in the order of the reduction; as many
                                             receive buffers and flags, by rank, ranks * GF_MAX_CHANNELS lines each; last, as
                                             in gf_one_shot_work */
};
GF_STATIC_ASSERT(sizeof(struct gf_two_shot_work) <= 4000, "a kernel takes 4 KiB of parameters");
struct gf_two_shot_few_work {    /* its beginning, for at most GF_FEW_RANKS ranks */
    uint64_t words[(offsetof(struct gf_two_shot_work, addresses) + 3 * GF_FEW_RANKS * sizeof(void *)) / sizeof(uint64_t)];
};
GF_STATIC_ASSERT(sizeof(struct gf_two_shot_few_work) == 96 + 24 * GF_FEW_RANKS, "the header is whole words");

/* recv[i] = inputs[0][i] op inputs[1][i] op ... in this order: waits for nobody. recv may equal one of the inputs. */
enum { GF_LOCAL_INPUTS = 16 };
struct gf_local_work {
    struct gf_task task;
    const void *inputs[GF_LOCAL_INPUTS];
    void *recv;
    uint64_t count;
    uint32_t type, op;
    uint32_t input_count;        /* 1 .. GF_LOCAL_INPUTS */
    uint32_t reserved;
};

/* Copies `count` pieces in one launch: waits for nobody. Pieces must not overlap. */
struct gf_piece {
    void *to;
    const void *from;
    uint64_t bytes;
};
struct gf_copy_work {
    struct gf_task task;
    const struct gf_piece *pieces;   /* kernel address, usually pinned */
    uint64_t count;
};

/* Fetches up to one piece from each rank, over buffers that all have mapped: waits for nobody. Think of the pieces one after
 * the other, each filled up to whole lines: block b moves bytes [b * share, (b + 1) * share) of that. */
struct gf_exchange_work {
    struct gf_task task;
    uint64_t share;              /* a multiple of GF_LINE */
    uint32_t count;              /* of pieces */
    uint32_t swap;               /* both ends of a piece get what the other had */
    struct gf_piece pieces[GF_MAX_RANKS];    /* last, as in gf_one_shot_work */
};
struct gf_exchange_few_work {    /* its beginning, for at most GF_FEW_RANKS pieces */
    uint64_t words[(offsetof(struct gf_exchange_work, pieces) + GF_FEW_RANKS * sizeof(struct gf_piece)) / sizeof(uint64_t)];
};
GF_STATIC_ASSERT(sizeof(struct gf_exchange_few_work) == 72 + 24 * GF_FEW_RANKS, "the header is whole words");

enum { GF_PULL_ITEMS = 64 };     /* of one launch: the list fits into a kernel's parameters */

/* What launches of pulls (one after the other) and their host share in device memory, so that the host can close one that has
 * not started (kernels/pull.h). All zero at first. Blocks write all of it but `closed`, which the host writes by copy engine.
 * */
struct gf_pull_gate {
    uint32_t entered;            /* blocks that have entered: one word of eight bytes together with closed */
    uint32_t closed;             /* ticket (32 bits) of a launch that is closed: its blocks that enter now touch nothing */
    uint32_t left;               /* blocks that have left again */
    uint32_t reserved[29];
    uint32_t done[GF_PULL_ITEMS];      /* blocks that are done with their part of the item; its last one resets it */
    uint64_t finished[GF_PULL_ITEMS];  /* the ticket of the launch that has moved this item whole: never reset */
};
GF_STATIC_ASSERT(sizeof(struct gf_pull_gate) == 7 * GF_LINE, "host and device agree on gf_pull_gate");

/* A message: fetched from a peer's memory, which learns the end from the word. */
struct gf_pull_item {
    void *to;
    const void *from;
    uint64_t bytes;              /* at least 1 */
    uint64_t *end;               /* host memory; gets GF_PULL_END when the item has been moved */
    uint64_t start;              /* of a list: where the item begins in the concatenation; a multiple of GF_LINE */
    uint32_t blocks;             /* that have a part of it */
    uint32_t to_host;            /* `to` is host memory */
};
GF_STATIC_ASSERT(sizeof(struct gf_pull_item) == 48, "host and device agree on gf_pull_item");

enum { GF_PULL_END = 1 };

/* Of one item block b moves the shares b, b + blocks, … of `share` bytes each; of several, bytes [b * share, (b + 1) * share)
 * of their concatenation, whatever items these belong to. Waits for nobody. */
struct gf_pull_launch {
    struct gf_pull_gate *gate;
    uint64_t ticket;             /* never used before with this gate; its lower 32 bits are never 0 */
    uint64_t share;              /* a multiple of GF_LINE */
    uint32_t count;              /* of items */
    uint32_t reserved;
};
struct gf_pull_work {            /* one item: short parameters are fetched and sent sooner */
    struct gf_pull_launch launch;
    struct gf_pull_item item;
};
enum { GF_PULL_BLOCKS = 288 };   /* most blocks of a list */
struct gf_pull_list_work {
    struct gf_pull_launch launch;
    uint8_t first[GF_PULL_BLOCKS];     /* the item in which block b begins */
    struct gf_pull_item items[GF_PULL_ITEMS];
};
GF_STATIC_ASSERT(sizeof(struct gf_pull_list_work) <= 4000, "a kernel takes 4 KiB of parameters");

/* n / value is n * multiplier >> shift for all n < 2^31; value is at most 2^31 where that is used. */
struct gf_divisor {
    uint64_t value;
    uint32_t multiplier, shift;
};

enum {
    GF_PACK_DIMS = 4,            /* of blocks in a strided part */
    GF_PACK_IN_FLIGHT = 4,       /* words that a thread has on their way */
    GF_PACK_TILE = GF_BLOCK_THREADS * GF_PACK_IN_FLIGHT      /* words that a block moves at a time */
};

/* A part of so many words or more is computed in 64 bits. A build with less tests that. */
#ifndef GF_PACK_WIDE
#define GF_PACK_WIDE (1u << 30)
#endif

/* A copy of data that have gaps at one end or at both (kernels/pack.h; core/flat.c fills it). The data are `words` words of
 * `word` bytes, to which all addresses, lengths and distances are multiples. At an end that is packed word n is at n * word. At
 * one that is not, it is
 *   strided (offsets is null): in blocks of block.value words; their places count up through the dims, the innermost first, the
 *       last of which needs no divisor and has the stride `stride[dims - 1]` (no dims: there is one block);
 *   listed: in element n / element.value, at a distance of `extent` from the one before. There it belongs to the entry
 *       of offsets[] whose block has it: by division if all blocks have block.value words; else (block.value is 0) by a search in
 *       starts[], where in an element's data each block begins, from hints[byte >> hint_shift] to the next hint on. */
struct gf_pack_part {
    char *to;
    const char *from;
    uint64_t words;              /* at least 1 */
    uint64_t first_tile;         /* of a list: tiles of the parts before it */
    struct gf_divisor block, element;
    struct gf_divisor count[GF_PACK_DIMS - 1];
    int64_t stride[GF_PACK_DIMS];
    int64_t extent;
    const int64_t *offsets;
    const uint64_t *starts;
    const uint32_t *hints;
    uint32_t hint_shift;
    uint32_t dims;
    uint32_t word;               /* 1, 2, 4, 8 or 16 */
    uint8_t to_packed, from_packed;
    uint8_t reserved[2];
};
GF_STATIC_ASSERT(sizeof(struct gf_pack_part) == 192, "host and device agree on gf_pack_part");

/* One part, or many in one launch: waits for nobody. No byte is written twice. */
struct gf_pack_work {
    struct gf_task task;
    struct gf_pack_part part;
};
struct gf_pack_list_work {
    struct gf_task task;
    const struct gf_pack_part *parts;    /* by first_tile */
    uint64_t count;
    uint64_t tiles;              /* of all */
};

#endif
