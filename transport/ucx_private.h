/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the UCX wire share.
 *
 *     ucx.c           the wire: worker, memory, progress
 *     ucx_peer.c      endpoints: made, failing, closed
 *     ucx_lane.c      lanes: made, connected, broken, destroyed
 *     ucx_op.c        operations under way, and their tickets
 *     ucx_send.c      what goes out
 *     ucx_receive.c   what comes in
 *     ucx_silence.c   hosts that have gone, over TCP
 *
 * Threads: everything is touched under the wire's lock, which UCX asks for, too. Set-up calls wait for it; operations, take and
 * progress never do: they come back as if there were no room. Callbacks of UCX run inside of calls of UCX, so under the lock.
 */
#ifndef GF_TRANSPORT_UCX_PRIVATE_H
#define GF_TRANSPORT_UCX_PRIVATE_H

#include <pthread.h>
#include <sys/types.h>

#include "transport/key_table.h"
#include "transport/ucx.h"
#include "transport/ucx_library.h"

enum {
    GF_UCX_MESSAGE = 0,            /* our active message's number; the worker is our own */
    GF_UCX_LINES = 8,              /* of one put_lines */
    GF_UCX_IN_FLIGHT = 128,        /* operations of a lane under way: UCX itself would queue without end */
    GF_UCX_WAIT_MS = 1000,         /* what destroy and close wait for a peer that does not answer */
    GF_UCX_SETS = 64
};

enum gf_ucx_kind {
    GF_UCX_KIND_PUT = 1,
    GF_UCX_KIND_NOTIFY,            /* with data or without */
    GF_UCX_KIND_LINES,
    GF_UCX_KIND_ARRIVED,           /* nothing but what each header tells of it */
    GF_UCX_KIND_REFUSAL            /* the other end has broken the lane, since what it was sent does not agree */
};

/* The header of each of our active messages; plain bytes. */
struct gf_ucx_header {
    uint64_t lane;                 /* the receiver's number of it */
    uint32_t kind;
    uint32_t key;                  /* PUT, NOTIFY: where the data go that follow */
    uint64_t address, bytes;
    uint64_t step;                 /* PUT, NOTIFY: how many of both were sent before. LINES: index of the first */
    uint64_t immediate;            /* NOTIFY */
    uint64_t arrived;              /* so many puts and notifications of the receiver's have arrived at the sender, without a
                                      gap */
};

struct gf_ucx_wire;

/* An endpoint. The wire's, until that is closed. */
struct gf_ucx_peer {
    struct gf_ucx_peer *next;
    struct gf_ucx_wire *wire;
    uint64_t id;                   /* of the wire over there */
    ucp_ep_h ep;                   /* null: given up */
    unsigned lanes;
    bool broken;
    bool silent;                   /* it was waited for in vain, and has confirmed nothing since */
    char path[96];                 /* for people: what UCX took, "tcp/eth0" */
};

/* Something under way: a message that is sent, or data that are received. A put or notification has ended when UCX says so and
 * the peer says that it has arrived: then nobody has to make progress for it any more. */
struct gf_ucx_op {
    struct gf_ucx_op *next;
    struct gf_ucx_lane *lane;
    struct gf_wire_ticket ticket;
    bool ended;                    /* UCX has called back */
    struct gf_ucx_header header;   /* sent, or received */
    unsigned char lines[GF_UCX_LINES * GF_WIRE_LINE];
};

/* In order. Zeroed: empty. */
struct gf_ucx_queue {
    struct gf_ucx_op *first, *last;
};

/* A put or notification at the receiver. Zeroed: it has not come. */
struct gf_ucx_arrival {
    bool known, done;              /* its message has come; its data, too */
    bool notify;
    uint32_t immediate;
};

struct gf_ucx_lane {
    struct gf_wire_lane base;
    uint64_t number;               /* never used again in this wire */
    uint64_t theirs;               /* the other end's */
    struct gf_ucx_peer *peer;      /* null: not connected */
    bool destroyed;                /* nobody asks any more; it remains for the callbacks of what is under way */
    uint32_t broken;               /* a flag, published after the next two */
    gf_status status;
    struct gf_reason why;

    uint64_t sent, confirmed;      /* puts and notifications begun; that the peer said have arrived */
    struct gf_ucx_queue unconfirmed;   /* those, in order */
    unsigned in_flight;            /* ops */

    struct gf_key_table announced; /* struct gf_wire_memory, ours, that the peer may put into */
    uint64_t expected, notified;   /* notifications that may come, and that came: since ever */
    uint64_t taken;                /* the first put or notification that has not been done and taken */
    uint64_t arrived, told;        /* the first that is not done; what the peer knows of it */
    struct gf_ucx_lane *next_untold;   /* of the wire's list */
    bool is_untold;
    struct gf_ucx_arrival *ring;   /* [ring_size], a power of two, from `taken` on */
    uint64_t ring_size;
};

/* An address: this, the worker's own, and the lane's number. Plain bytes. */
struct gf_ucx_address_head {
    uint64_t magic;
    uint64_t wire;
    uint32_t worker_bytes;
    uint32_t sum;                  /* of the worker's address */
};

/* Epolls of the process: those that there were before the worker, and those that came with it. */
struct gf_ucx_sets {
    int other[GF_UCX_SETS], own[GF_UCX_SETS];
    int others, own_count;
};

struct gf_ucx_wire {
    struct gf_wire base;
    struct gf_ucx_library ucx;
    const struct gf_log *log;
    pthread_mutex_t lock;
    uint32_t waiting;              /* set-up calls that want the lock: operations let them go first */
    uint64_t id;                   /* random */
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;        /* the worker's */
    size_t address_bytes;
    uint32_t keys;                 /* given */
    struct gf_ucx_peer *peers;
    struct gf_ucx_lane **lanes;    /* [lane_room], null where there is none */
    uint64_t lane_room, lanes_made;
    struct gf_ucx_queue ended;     /* ops whose tickets progress hands out */
    struct gf_ucx_lane *untold;    /* lanes whose peers are to be told what has arrived, unless a message has told them
                                      meanwhile */
    struct gf_ucx_op *spare;
    struct gf_wire_counts counts;
    int silence_ms;                /* 0: none is too long */
    struct gf_ucx_sets sets;
    unsigned turns;                /* of progress */
    int64_t looked_ms;             /* at the sockets */
};

static inline struct gf_ucx_wire *gf_ucx_wire_of(const struct gf_wire *wire)
{
    return (struct gf_ucx_wire *)(uintptr_t)wire;
}

static inline struct gf_ucx_lane *gf_ucx_lane_of(const struct gf_wire_lane *lane)
{
    return (struct gf_ucx_lane *)(uintptr_t)lane;
}

static inline struct gf_ucx_wire *gf_ucx_of(const struct gf_ucx_lane *lane)
{
    return gf_ucx_wire_of(lane->base.wire);
}

/* ucx.c */
void gf_ucx_lock(struct gf_ucx_wire *wire);
bool gf_ucx_try_lock(struct gf_ucx_wire *wire);
void gf_ucx_unlock(struct gf_ucx_wire *wire);

/* Makes progress until `done` says so, or GF_UCX_WAIT_MS have passed: false. */
bool gf_ucx_wait(struct gf_ucx_wire *wire, bool (*done)(void *argument), void *argument);

/* ucx_peer.c: an address is the worker's alone. Null with a reason: UCX cannot reach it. */
struct gf_ucx_peer *gf_ucx_peer_get(struct gf_ucx_wire *wire, uint64_t id, const void *address, gf_status *status,
                                    struct gf_reason *why);
/* A lane is gone. */
void gf_ucx_peer_leave(struct gf_ucx_peer *peer);
/* Breaks all its lanes. */
void gf_ucx_peer_break(struct gf_ucx_peer *peer, ucs_status_t status);
/* Ends what is under way, without asking the peer. */
void gf_ucx_peer_give_up(struct gf_ucx_peer *peer);
/* Closes all endpoints. */
void gf_ucx_peers_close(struct gf_ucx_wire *wire);

/* ucx_lane.c */
gf_status gf_ucx_create(struct gf_wire *wire, unsigned number, uint32_t line_count, struct gf_wire_lane **lane,
                        struct gf_wire_address *mine, struct gf_reason *why);
gf_status gf_ucx_connect(struct gf_wire_lane *lane, const struct gf_wire_address *theirs, struct gf_reason *why);
void gf_ucx_destroy(struct gf_wire_lane *lane, bool broken);
gf_status gf_ucx_state(struct gf_wire_lane *lane, struct gf_reason *why);
struct gf_ucx_lane *gf_ucx_lane_find(const struct gf_ucx_wire *wire, uint64_t number);
/* The first reason stays. Returns status. */
gf_status gf_ucx_lane_break(struct gf_ucx_lane *lane, gf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* UCX refused something of it. */
void gf_ucx_lane_fail(struct gf_ucx_lane *lane, ucs_status_t status);
/* Memory of one that has no op under way. */
void gf_ucx_lane_free(struct gf_ucx_lane *lane);

/* ucx_send.c */
gf_status gf_ucx_announce(struct gf_wire_lane *lane, const struct gf_wire_memory *memory);
gf_status gf_ucx_put(struct gf_wire_lane *lane, const struct gf_wire_memory *memory, const void *from,
                     const struct gf_wire_place *to, size_t bytes, const struct gf_wire_ticket *ticket);
gf_status gf_ucx_put_notify(struct gf_wire_lane *lane, const struct gf_wire_memory *memory, const void *from,
                            const struct gf_wire_place *to, size_t bytes, uint32_t immediate,
                            const struct gf_wire_ticket *ticket);
gf_status gf_ucx_put_lines(struct gf_wire_lane *lane, uint32_t index, const void *lines, uint32_t count);
/* Tells the other end that this one has broken. */
void gf_ucx_refuse(struct gf_ucx_lane *lane);
/* Tells the other end what has arrived, if it does not know. */
void gf_ucx_confirm(struct gf_ucx_lane *lane);
/* The same for all lanes on the wire's list. */
void gf_ucx_confirm_all(struct gf_ucx_wire *wire);
/* Ends puts and notifications that have arrived, in order; of a broken lane, all of which UCX has called back. */
void gf_ucx_unconfirmed_end(struct gf_ucx_lane *lane);
/* The peer says how many have arrived. False: it cannot be. */
bool gf_ucx_confirmed(struct gf_ucx_lane *lane, uint64_t arrived);

/* ucx_op.c */
/* Null: there is no memory. */
struct gf_ucx_op *gf_ucx_op_begin(struct gf_ucx_lane *lane, const struct gf_wire_ticket *ticket);
/* Its ticket will be handed out; or, after an error, the lane is broken. */
void gf_ucx_op_end(struct gf_ucx_op *op, ucs_status_t status);
/* Hands out tickets. True: there were some. */
bool gf_ucx_ops_collect(struct gf_ucx_wire *wire);
void gf_ucx_queue_push(struct gf_ucx_queue *queue, struct gf_ucx_op *op);
struct gf_ucx_op *gf_ucx_queue_pop(struct gf_ucx_queue *queue);

/* ucx_silence.c: before the worker is made, after it was, and in each turn of progress. */
void gf_ucx_silence_begin(struct gf_ucx_wire *wire);
void gf_ucx_silence_worker_made(struct gf_ucx_wire *wire);
void gf_ucx_silence_look(struct gf_ucx_wire *wire);
/* Has the kernel at the other end of this TCP connection answered nothing for so long, though asked again and again? */
bool gf_ucx_socket_is_silent(int descriptor, int silence_ms);

/* ucx_receive.c */
gf_status gf_ucx_expect(struct gf_wire_lane *lane);
bool gf_ucx_take(struct gf_wire_lane *lane, uint32_t *immediate);
ucs_status_t gf_ucx_receive(void *wire, const void *header, size_t header_bytes, void *data, size_t bytes,
                            const ucp_am_recv_param_t *param);

#endif
