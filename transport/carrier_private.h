/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of the carrier, for its own files, all of it under the carrier's lock:
 *
 *     carrier.c           the carrier, its turns, and how lanes live and break
 *     carrier_memory.c    registrations and pieces
 *     carrier_send.c      sending ends: credits taken, data put
 *     carrier_receive.c   receiving ends: credits given, notifications taken
 *     carrier_flush.c     what makes the device see what has arrived
 */
#ifndef GF_TRANSPORT_CARRIER_PRIVATE_H
#define GF_TRANSPORT_CARRIER_PRIVATE_H

#include <pthread.h>

#include "core/copy_ring.h"
#include "core/host_ordered.h"
#include "proxy/pump.h"
#include "transport/carrier.h"
#include "transport/net_buffers.h"
#include "transport/net_flush.h"

enum { GF_CARRIER_PUTS = 16 };        /* of a lane, under way */

enum gf_credit_kind {
    GF_CREDIT_PUT = 1,                 /* leave to put */
    GF_CREDIT_REFUSED,                 /* nobody takes the message */
    GF_CREDIT_ELSEWHERE,               /* it is wanted by another way */
    GF_CREDIT_KINDS
};

/* A line at the sending end. Believed when its first and its last word are its number, counted from 1. */
struct gf_credit {
    uint64_t first;
    uint64_t id;                       /* of the message */
    uint64_t offset, bytes;            /* which part of it */
    uint64_t address;
    uint32_t key;
    uint32_t kind;                     /* enum gf_credit_kind */
    uint64_t wanted;                   /* of the whole message */
    uint64_t last;
};
_Static_assert(sizeof(struct gf_credit) == GF_WIRE_LINE, "a credit is a line");

/* The line behind the credits, at either end: says nothing, or that the other end has given up. */
struct gf_farewell {
    uint64_t first;                    /* GF_FAREWELL */
    char text[GF_WIRE_LINE - 2 * sizeof(uint64_t)];    /* why, cut short */
    uint64_t last;                     /* as first */
};
_Static_assert(sizeof(struct gf_farewell) == GF_WIRE_LINE, "a farewell is a line");
enum { GF_FAREWELL = 1 };

/* What a notification carries: the credit's number, and 1 if there are no data. */
static inline uint32_t gf_carrier_immediate(uint64_t number, bool failed)
{
    return (uint32_t)number << 1 | failed;
}

/* Pinned memory that the wire knows. */
struct gf_carrier_piece {
    struct gf_carrier_piece *next;
    char *memory;
};

/* Those of one way. Made when first needed. */
struct gf_pieces {
    void *all;                         /* null: not made */
    bool registered;
    struct gf_wire_memory wire;
    struct gf_carrier_piece piece[GF_CARRIER_PIECES], *idle;
};

/* Part of what a credit allows. */
struct gf_put {
    struct gf_carrier_lane *lane;
    struct gf_job *job;
    const char *from;
    const struct gf_wire_memory *memory;
    struct gf_carrier_piece *piece;            /* null: from is the program's */
    uint64_t offset;                   /* within the credit */
    size_t bytes;
    bool last;                         /* of its credit: notifies */
    bool ready;                        /* the data are there */
    gf_status status;                  /* of the copy to the piece */
    uint64_t ended;                    /* 1 when its put has ended */
};

/* A credit that was taken. */
struct gf_job {
    struct gf_credit credit;
    struct gf_carrier_out *message;
    uint64_t cut;                      /* bytes that are in puts */
    bool all_cut;
};

struct gf_outgoing {
    struct gf_carrier_out *messages;   /* not ended */
    struct gf_job jobs[GF_CARRIER_CREDITS];
    uint64_t taken, cut, answered;     /* jobs: answered ≤ cut ≤ taken ≤ answered + CREDITS */
    struct gf_put puts[GF_CARRIER_PUTS];
    uint64_t begun, issued, ended;     /* puts: ended ≤ issued ≤ begun ≤ ended + PUTS */
};

/* A credit that was given. */
struct gf_grant {
    struct gf_carrier_lane *lane;
    struct gf_carrier_in *message;
    uint64_t offset, bytes;
    struct gf_carrier_piece *piece;            /* null: they are put where they belong */
    bool last;                         /* of its message */
    bool stored;                       /* the data are where they belong */
    uint64_t flushed;                  /* 1 when the device sees them */
};

struct gf_incoming {
    struct gf_carrier_in *first, **newest;     /* not ended, in order */
    struct gf_grant grants[GF_CARRIER_CREDITS];
    uint64_t expected;                 /* notifications that the wire was told of */
    uint64_t given, noticed, flushing, storing, done;  /* grants: each ≤ the one before; given ≤ done + CREDITS */
};

struct gf_carrier_lane {
    struct gf_carrier_lane *next;
    struct gf_carrier *carrier;
    int peer;
    bool sends;
    struct gf_wire_lane *wire;         /* null: destroyed */
    bool broken;
    bool tell;                         /* broken: the other end is to be told */
    unsigned rest;                     /* broken: turns left until it is destroyed, and its messages end */
    bool reported;                     /* broken: a message at its sending end has ended with that */
    struct gf_reason why;              /* of the break; cause: without saying which peer, cut short */
    char cause[48];
    unsigned copying;                  /* copies under way */
    unsigned vain;                     /* turns in a row that moved nothing */
    struct gf_outgoing out;            /* sends */
    struct gf_incoming in;
};

/* How what arrives is flushed. Constant once the carrier is made. */
struct gf_carrier_flush {
    enum gf_net_flush_way host, device;        /* in memory of either kind */
    bool not_device;                   /* device memory would need one that is not to be had: */
    struct gf_reason why;
    void *memory;                      /* of the device, for the processor to read; null: it does not */
    struct gf_gdrcopy_window window;   /* ... of a page in there */
};

struct gf_carrier {
    struct gf_carrier_config config;
    struct gf_wire *wire;
    struct gf_carrier_flush flush;
    gf_pump *pump;                     /* null: there is none, and messages rest while nobody calls progress */
    pthread_mutex_t lock;              /* guards what follows */
    struct gf_carrier_lane *lanes;
    struct gf_copy_ring out, in;       /* copies to pieces, and from there */
    bool rings;                        /* they are made */
    struct gf_pieces out_pieces, in_pieces;
    unsigned messages;                 /* not ended */
    unsigned linger;                   /* turns to come without any: the wire may have things to say to peers */
    _Atomic bool busy;
};

/* carrier.c. With the lock held. */
/* There is one message more. */
void gf_carrier_count(struct gf_carrier *carrier);
/* Nothing goes over it any more. The first reason stays; all its messages end some turns later. tell: the other end may not
 * know. */
void gf_carrier_break(struct gf_carrier_lane *lane, bool tell, const char *why);
/* GF_NO_RESOURCE is none. True: the lane is broken. */
bool gf_carrier_failed(struct gf_carrier_lane *lane, gf_status status);
/* Neither end has given up, nor the wire; else it breaks. */
bool gf_carrier_lane_lives(struct gf_carrier_lane *lane);
/* Starts a copy that ends with gf_put_copied or gf_grant_stored, whose owner is given. */
gf_status gf_carrier_copy(struct gf_carrier_lane *lane, struct gf_copy_ring *ring, void *to, const void *from, size_t bytes,
                       void *owner);

/* May a message begin, by these pieces, or null: without? With the lock held. GF_ERR_PEER: the lane is broken;
 * GF_ERR_UNSUPPORTED: there are no pieces. */
gf_status gf_carrier_admit(struct gf_carrier_lane *lane, struct gf_pieces *pieces, struct gf_reason *why);
/* GF_IN_PROGRESS, or the message's result. Any thread. */
gf_status gf_carrier_poll_end(const struct gf_carrier_end *end, struct gf_reason *why);
/* The message fails, unless it has before. With the lock held. */
void gf_carrier_fail_end(struct gf_carrier_end *end, gf_status status, const struct gf_reason *why);

/* carrier_memory.c. register: any thread, without the lock; whether the wire reaches it: data->place, else *why says why not. */
void gf_carrier_register(struct gf_carrier *carrier, bool receives, struct gf_carrier_data *data, struct gf_reason *why);
/* failed: as gf_net_buffers_put's. */
void gf_carrier_forget(struct gf_carrier *carrier, struct gf_carrier_data *data, bool failed);
/* As what the wire knows them; they have a place. */
const struct gf_wire_memory *gf_carrier_memory_of(const struct gf_carrier_data *data);
/* For people: whether the wire reaches the program's memory, else why not. */
void gf_carrier_tell(bool reached, const struct gf_reason *why, struct gf_reason *how);
/* Pinned memory, and streams for the copies. */
gf_status gf_pieces_open(struct gf_carrier *carrier, struct gf_pieces *pieces, struct gf_reason *why);
void gf_pieces_close(struct gf_carrier *carrier, struct gf_pieces *pieces);
/* Null: all are in use. */
struct gf_carrier_piece *gf_pieces_take(struct gf_pieces *pieces);
/* Accepts null. */
void gf_pieces_give(struct gf_pieces *pieces, struct gf_carrier_piece *piece);

/* carrier_flush.c. open: errors as gf_carrier_create's; the carrier has its wire. close: idempotent; lanes are destroyed. */
gf_status gf_carrier_flush_open(struct gf_carrier *carrier, struct gf_reason *why);
void gf_carrier_flush_close(struct gf_carrier *carrier);
/* What has arrived at that place in `memory`, of the device or not. *word becomes 1 when it is visible. Errors as
 * gf_net_flush_begin's. With the lock held. */
gf_status gf_carrier_flush_begin(struct gf_carrier_lane *lane, bool device, const struct gf_wire_memory *memory,
                                 const char *place, uint64_t *word, struct gf_reason *why);

/* carrier_send.c, carrier_receive.c: a turn of a lane. True: something moved. */
bool gf_outgoing_turn(struct gf_carrier_lane *lane);
bool gf_incoming_turn(struct gf_carrier_lane *lane);
void gf_put_copied(struct gf_put *put, gf_status status);
void gf_grant_stored(struct gf_grant *grant, gf_status status);
/* Ends all messages of a broken lane. */
void gf_outgoing_fail(struct gf_carrier_lane *lane);
void gf_incoming_fail(struct gf_carrier_lane *lane);

#endif
