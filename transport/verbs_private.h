/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the verbs wire share.
 *
 *     verbs.c           the wire: adapter, registered memory, the loopback
 *     verbs_lane.c      the lanes' life
 *     verbs_queue.c     one queue pair: its states, and which operations of it have ended
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
    GF_VERBS_QUEUES = 4096         /* of one wire */
};

struct verbs_wire;

/* One queue pair. Ended: sends below `done`; begun: those below `sent`. The tickets of those between lie at their number modulo
 * the length. Made and destroyed under the wire's lock; all else is the progressing thread's. */
struct gf_verbs_queue {
    struct verbs_wire *wire;
    struct ibv_qp *pair;
    uint32_t number;               /* never that of another queue of this wire, earlier ones included; stands in wr_id */
    uint32_t first;                /* packet sequence number */
    uint32_t inline_bytes;         /* most of one inline write, a multiple of a line */
    uint64_t sent, done;
    struct gf_wire_ticket tickets[GF_VERBS_SENDS];
    gf_status status;              /* what broke it, and why */
    struct gf_reason why;
    uint64_t expected, arrived, taken;                 /* notifications; taken ≤ arrived ≤ expected ≤ taken + GF_VERBS_RECEIVES */
    uint32_t immediates[GF_VERBS_RECEIVES];            /* of those arrived, at their number modulo the length */
};

/* What one end of a lane tells the other, and what a loopback tells itself. In the byte order of the host, which the magic
 * shows. */
struct gf_verbs_end {
    uint32_t magic, version;
    uint32_t link, gid_type;       /* enum ibv_link_layer, enum ibv_gid_type */
    uint32_t mtu;                  /* enum ibv_mtu */
    uint32_t lid;
    unsigned char gid[16];
    uint32_t pair;                 /* number of the queue pair; what stands before is the same for all lanes of a wire */
    uint32_t first;
    uint64_t lines;
    uint32_t lines_key, line_count;
};
_Static_assert(sizeof(struct gf_verbs_end) <= GF_WIRE_ADDRESS_BYTES, "an end's description fits an address");

/* lock: of the table, the completion queue, the list of closed lanes, and the loopback's tickets. */
struct verbs_wire {
    struct gf_wire base;
    struct gf_wire_config config;
    struct gf_verbs_adapter adapter;
    struct ibv_pd *domain;
    pthread_mutex_t lock;
    struct ibv_cq *ends;
    int queues;                                        /* that exist; their completions fit the completion queue */
    uint32_t next_number;
    struct gf_verbs_queue *table[GF_VERBS_QUEUES];     /* at their number modulo the length */
    struct verbs_lane *closed, *last_closed;           /* lanes that linger, in the order in which they were destroyed */
    int closed_count;
    struct gf_verbs_queue loopback;
    const struct verbs_lane *flushing[GF_VERBS_SENDS]; /* for which lane a flush is, at its ticket's place */
    unsigned char sink[GF_WIRE_LINE];                  /* where flushes read to */
    struct ibv_mr *sink_memory;
    struct gf_wire_counts counts;
    gf_status status;                                  /* what broke all lanes, and why; the progressing thread's */
    struct gf_reason why;
    uint64_t port_down;                                /* since when, in nanoseconds of the monotonic clock; 0: it is up */
    uint32_t looks;                                    /* of progress */
};

struct verbs_lane {
    struct gf_wire_lane base;
    struct gf_verbs_queue queue;
    struct ibv_mr *lines_memory;
    bool connected;
    struct gf_wire_place peer_lines;
    uint32_t peer_line_count;
    struct verbs_lane *next;                           /* of the closed ones */
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

/* A queue pair to which receives can be posted already. */
gf_status gf_verbs_queue_create(struct verbs_wire *wire, struct gf_verbs_queue *queue, struct gf_reason *why);

/* Its completions are not looked at any more; what the peer sends is still answered. Accepts one that is retired, and one of
 * zeros. */
void gf_verbs_queue_retire(struct gf_verbs_queue *queue);

/* A retired one, or one of zeros. */
void gf_verbs_queue_destroy(struct gf_verbs_queue *queue);

/* What the other end of this queue needs to know; lines are left out. */
void gf_verbs_queue_describe(const struct gf_verbs_queue *queue, struct gf_verbs_end *end);

/* Connects it to an end that was checked (gf_verbs_end_check). */
gf_status gf_verbs_queue_connect(struct gf_verbs_queue *queue, const struct gf_verbs_end *peer, struct gf_reason *why);

/* Is this an end that this wire can connect to? If not, *why says what is wrong with it. */
gf_status gf_verbs_end_check(const struct verbs_wire *wire, const struct gf_wire_address *address, struct gf_verbs_end *end,
                             struct gf_reason *why);

/* Room for so many more sends? */
static inline bool gf_verbs_queue_has_room(const struct gf_verbs_queue *queue, uint32_t sends)
{
    return queue->done + GF_VERBS_SENDS >= queue->sent + sends;
}

/* Posts one send, for which there is room; sets its wr_id, and whether it is signalled. */
gf_status gf_verbs_queue_post(struct gf_verbs_queue *queue, struct ibv_send_wr *send, const struct gf_wire_ticket *ticket);

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
uint64_t gf_verbs_patience(const struct verbs_wire *wire);

/* Lanes: as in wire.h. */
gf_status gf_verbs_lane_create(struct gf_wire *wire, uint32_t line_count, struct gf_wire_lane **lane,
                               struct gf_wire_address *mine, struct gf_reason *why);
gf_status gf_verbs_lane_connect(struct gf_wire_lane *lane, const struct gf_wire_address *theirs, struct gf_reason *why);
void gf_verbs_lane_destroy(struct gf_wire_lane *lane);

/* The flushes of this lane that are under way end without a word. */
void gf_verbs_flushes_forget(struct verbs_wire *wire, const struct verbs_lane *lane);

/* Before the wire is closed: ends all lanes that linger. */
void gf_verbs_lanes_end(struct verbs_wire *wire);

/* What peers and flushes may do with registered memory. */
enum { GF_VERBS_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

/* What breaks a lane: its queue, the loopback, the adapter or its port. */
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
