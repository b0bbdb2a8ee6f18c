/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the verbs wire share.
 *
 *     verbs.c           the wire: its rails, and registered memory
 *     verbs_rail.c      one adapter and what is of it alone, the loopback among that
 *     verbs_lane.c      the lanes' life
 *     verbs_queue.c     one queue pair: its states, and which operations of it have ended
 *     verbs_end.c       what ends tell one another
 *     verbs_move.c      the operations
 *     verbs_progress.c  the completion queue, and events of the adapter
 */
#ifndef GF_TRANSPORT_VERBS_PRIVATE_H
#define GF_TRANSPORT_VERBS_PRIVATE_H

#include <pthread.h>

#include <infiniband/verbs.h>

#include "transport/verbs.h"
#include "transport/verbs_adapter.h"

enum {
    GF_VERBS_SENDS = 128,          /* of a queue pair's send queue; a group is nine at most */
    GF_VERBS_RECEIVES = 64,        /* notifications that are expected or have not been taken */
    GF_VERBS_QUEUES = 4096,        /* of one rail */
    GF_VERBS_LAST_PAIR = 0xffffff  /* numbers of queue pairs and packets have 24 bits */
};

struct verbs_wire;
struct gf_verbs_rail;

/* Of a send: its operation has ended when all of its sends have. */
struct gf_verbs_ticket {
    struct gf_wire_ticket told;
    uint32_t *left;                /* of the operation's sends, those that have not; null: there is but this one */
};

/* One queue pair. Ended: sends below `done`; begun: those below `sent`. The tickets of those between lie at their number modulo
 * the length. Made under the rail's lock; all else is the progressing thread's, until it is retired. */
struct gf_verbs_queue {
    struct gf_verbs_rail *rail;
    struct ibv_qp *pair;
    uint32_t number;               /* never that of another queue of this rail, earlier ones included; stands in wr_id */
    uint32_t first;                /* packet sequence number */
    uint32_t inline_bytes;         /* most of one inline write, a multiple of a line */
    uint64_t sent, done;
    struct gf_verbs_ticket tickets[GF_VERBS_SENDS];
    gf_status status;              /* what broke it, and why */
    struct gf_reason why;
    uint64_t expected, arrived, taken;                 /* notifications; taken ≤ arrived ≤ expected ≤ taken + GF_VERBS_RECEIVES */
    uint32_t immediates[GF_VERBS_RECEIVES];            /* of those arrived, at their number modulo the length */
};

/* What one end of a lane tells the other, and what a loopback tells itself. In the byte order of the host, which the magic
 * shows. Of the pairs only pair_count are told. */
struct gf_verbs_end {
    uint32_t magic, version;
    uint32_t link, gid_type;       /* enum ibv_link_layer, enum ibv_gid_type */
    uint32_t mtu;                  /* enum ibv_mtu */
    uint32_t lid;
    unsigned char gid[16];
    uint32_t pair_count;           /* what stands before is the same for all lanes of a rail */
    uint32_t lines_key;
    uint64_t lines;
    uint32_t line_count;
    struct {
        uint32_t number;           /* of the queue pair, */
        uint32_t first;            /* and of its first packet */
    } pairs[GF_WIRE_PAIRS];
};
_Static_assert(sizeof(struct gf_verbs_end) <= GF_WIRE_ADDRESS_BYTES, "an end's description fits an address");

static inline size_t gf_verbs_end_bytes(uint32_t pair_count)
{
    return offsetof(struct gf_verbs_end, pairs) + pair_count * sizeof ((struct gf_verbs_end *)0)->pairs[0];
}

/* Lanes that linger, in the order in which they were destroyed. */
struct gf_verbs_closed {
    struct verbs_lane *first, *last;
    int count;
};

/* One adapter of a wire, with what is of it alone. lock: of the table, the completion queue, the lists of closed lanes, and the
 * loopback's tickets. */
struct gf_verbs_rail {
    struct verbs_wire *wire;
    int index;
    char name[100];                                    /* "verbs mlx5_0 port 1 gid 3 (RoCE v2)" */
    struct gf_verbs_adapter adapter;
    struct ibv_pd *domain;
    pthread_mutex_t lock;
    struct ibv_cq *ends;
    int queues;                                        /* that exist; their completions fit the completion queue */
    uint32_t next_number;
    struct gf_verbs_queue *table[GF_VERBS_QUEUES];     /* at their number modulo the length */
    struct gf_verbs_closed closed, broken;             /* lanes that linger: that ended in order, and that broke */
    struct gf_verbs_queue loopback;
    const struct verbs_lane *flushing[GF_VERBS_SENDS]; /* for which lane a flush is, at its ticket's place */
    unsigned char sink[GF_WIRE_LINE];                  /* where flushes read to */
    struct ibv_mr *sink_memory;
    gf_status status;                                  /* what broke all of its lanes, and why; the progressing thread's */
    struct gf_reason why;
    uint64_t port_down;                                /* since when, in nanoseconds of the monotonic clock; 0: it is up */
    uint32_t looks;                                    /* of progress */
};

struct verbs_wire {
    struct gf_wire base;
    struct gf_wire_config config;                      /* zeros replaced by the defaults */
    int rail_count;
    struct gf_verbs_rail *rails;                       /* [rail_count], in the order of gf_adapters_choose */
    struct gf_wire_counts counts;
};

/* A lane is one queue pair, or several that carry long data together (verbs_move.c). */
struct verbs_lane {
    struct gf_wire_lane base;
    struct gf_verbs_rail *rail;
    int made;                                          /* queues made, */
    int pairs;                                         /* ... of which the first so many are used: as many as the peer has, too */
    struct gf_verbs_queue *queues;                     /* [made] */
    uint32_t left[GF_VERBS_SENDS];                     /* of operations over several, at the place of their send in the first */
    struct ibv_mr *lines_memory;
    bool connected;
    struct gf_wire_place peer_lines;
    uint32_t peer_line_count;
    struct verbs_lane *next;                           /* of those that linger */
    uint64_t closed_at;                                /* gf_verbs_now */
};

static inline struct verbs_wire *verbs_wire_of(const struct gf_wire *wire)
{
    return (struct verbs_wire *)wire;
}

static inline struct verbs_lane *verbs_lane_of(const struct gf_wire_lane *lane)
{
    return (struct verbs_lane *)lane;
}

/* The adapter is open; the rest is made. What was made remains for close after an error. */
gf_status gf_verbs_rail_open(struct gf_verbs_rail *rail, struct gf_reason *why);

/* And the adapter. All lanes are destroyed; those that linger end. */
void gf_verbs_rail_close(struct gf_verbs_rail *rail);

/* A queue pair to which receives can be posted already. */
gf_status gf_verbs_queue_create(struct gf_verbs_rail *rail, struct gf_verbs_queue *queue, struct gf_reason *why);

/* Its completions are not looked at any more; what the peer sends is still answered. Accepts one that is retired, and one of
 * zeros. */
void gf_verbs_queue_retire(struct gf_verbs_queue *queue);

/* One that is retired: what the peer sends is not answered any more, and nothing of it reaches memory. */
void gf_verbs_queue_shut(struct gf_verbs_queue *queue);

/* A retired one, or one of zeros. May take long, which keeps no other queue waiting. */
void gf_verbs_queue_destroy(struct gf_verbs_queue *queue);

/* What the other end of these queues, of one rail, needs to know; lines are left out. */
void gf_verbs_end_describe(const struct gf_verbs_queue *queues, int count, struct gf_verbs_end *end);

/* Is this an end that this rail can connect to? If not, *why says what is wrong with it. */
gf_status gf_verbs_end_check(const struct gf_verbs_rail *rail, const struct gf_wire_address *address, struct gf_verbs_end *end,
                             struct gf_reason *why);

/* Connects it to the i-th queue pair of an end that was checked. */
gf_status gf_verbs_queue_connect(struct gf_verbs_queue *queue, const struct gf_verbs_end *peer, int i, struct gf_reason *why);

/* The smaller one of both ends'. */
enum ibv_mtu gf_verbs_end_mtu(const struct gf_verbs_rail *rail, const struct gf_verbs_end *peer);

/* Room for so many more sends? */
static inline bool gf_verbs_queue_has_room(const struct gf_verbs_queue *queue, uint32_t sends)
{
    return queue->done + GF_VERBS_SENDS >= queue->sent + sends;
}

/* Posts one send, for which there is room; sets its wr_id, and whether it is signalled. */
gf_status gf_verbs_queue_post(struct gf_verbs_queue *queue, struct ibv_send_wr *send, const struct gf_verbs_ticket *ticket);

/* Posts one receive of zero length, for which there is room. */
gf_status gf_verbs_queue_post_receive(struct gf_verbs_queue *queue);

/* One completion, of this queue. */
void gf_verbs_queue_complete(struct gf_verbs_queue *queue, const struct ibv_wc *completion);

/* Nothing more goes over it. The first reason stays. */
void gf_verbs_queue_break(struct gf_verbs_queue *queue, gf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* wr_id: which queue, whether it is a receive, and the send's place in the ring of tickets. */
enum { GF_VERBS_RECEIVE = 1u << 31 };

static inline uint32_t gf_verbs_number_of(uint64_t wr_id)
{
    return (uint32_t)(wr_id >> 32);
}

/* Nanoseconds of the monotonic clock. */
uint64_t gf_verbs_now(void);

/* For how long the adapter tries to reach a peer before it breaks the lane, in nanoseconds. */
uint64_t gf_verbs_patience(const struct gf_verbs_rail *rail);

/* Lanes: as in wire.h. */
gf_status gf_verbs_lane_create(struct gf_wire *wire, unsigned number, uint32_t line_count, struct gf_wire_lane **lane,
                               struct gf_wire_address *mine, struct gf_reason *why);
gf_status gf_verbs_lane_connect(struct gf_wire_lane *lane, const struct gf_wire_address *theirs, struct gf_reason *why);
void gf_verbs_lane_destroy(struct gf_wire_lane *lane, bool broken);

/* The flushes of this lane that are under way end without a word. */
void gf_verbs_flushes_forget(struct gf_verbs_rail *rail, const struct verbs_lane *lane);

/* Before the rail is closed: ends all lanes that linger. */
void gf_verbs_lanes_end(struct gf_verbs_rail *rail);

/* What peers and flushes may do with registered memory. */
enum { GF_VERBS_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

/* What breaks a lane: one of its queues, the loopback, the adapter or its port. */
gf_status gf_verbs_lane_status(const struct verbs_lane *lane, struct gf_reason *why);

/* The operations of the table in wire.h. */
gf_status gf_verbs_put(struct gf_wire_lane *lane, const struct gf_wire_memory *memory, const void *from,
                       const struct gf_wire_place *to, size_t bytes, const struct gf_wire_ticket *ticket);
gf_status gf_verbs_put_notify(struct gf_wire_lane *lane, const struct gf_wire_memory *memory, const void *from,
                              const struct gf_wire_place *to, size_t bytes, uint32_t immediate,
                              const struct gf_wire_ticket *ticket);
gf_status gf_verbs_put_lines(struct gf_wire_lane *lane, uint32_t index, const void *lines, uint32_t count);
gf_status gf_verbs_expect(struct gf_wire_lane *lane);
bool gf_verbs_take(struct gf_wire_lane *lane, uint32_t *immediate);
gf_status gf_verbs_flush(struct gf_wire_lane *lane, const struct gf_wire_memory *memory, const void *at,
                         const struct gf_wire_ticket *ticket);
bool gf_verbs_progress(struct gf_wire *wire);

#endif
