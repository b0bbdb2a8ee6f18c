/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the sending and the receiving end of a connection over a network have in common: memory, lanes, the turn of the proxy,
 * and how they end. What is theirs alone is in net_send.h and net_recv.h.
 */
#ifndef GF_TRANSPORT_NET_END_H
#define GF_TRANSPORT_NET_END_H

#include "kernels/work.h"
#include "proxy/proxy.h"
#include "transport/net_loan.h"
#include "transport/net_memory.h"

/* One step of a round. */
struct gf_net_part {
    int channel;
    uint32_t bytes;
    uint64_t step;                 /* of the channel */
    struct gf_wire_place to;       /* sender: where its credit says */
    struct gf_net_offer own;       /* in this end's buffer: receiver: what was offered, sender: what is put; 0 bytes: none */
    bool lent;                     /* both ends said yes */
    uint64_t ended;                /* sender: round + 1 when the put has ended */
};

struct gf_net_round {
    uint32_t count;
    uint64_t ended;                /* round + 1 when the put of the sizes (sender) or the flush (receiver) has ended */
    struct gf_net_part parts[GF_NET_GROUP];
};

/* By what a lane's peer names the memory of this end. Plain bytes, before the lanes' addresses in the rest of a blob. */
struct gf_net_keys {
    uint32_t slots, sizes;
};

struct gf_net_lane {
    struct gf_wire_lane *wire;
    int number, first, width;      /* it serves channels [first, first + width) */
    struct gf_net_keys peer;       /* as the peer told */
    struct gf_net_round rounds[GF_FIFO_DEPTH];
};

/* Where the peer puts at this end. Plain bytes, of a blob. */
struct gf_net_room {
    uint64_t slots, slots_bytes;
    uint64_t sizes;                /* [lanes][GF_FIFO_DEPTH][group] lengths of four bytes; 0: no lane has more than one channel */
};

/* Owner: the connector. Fixed when connected, but for what lanes have and what ends the end: the proxy's thread uses these
 * until the task is removed. */
struct gf_net_end {
    struct gf_connector *c;
    struct gf_wire *wire;
    int group, lane_count;
    struct gf_net_lane *lanes;         /* [lane_count] */
    struct gf_net_memory slots, sizes;
    struct gf_net_flush flush;         /* of the slots; of a sender none */
    void *words;                       /* pinned: tails, sizes and heads between the kernel and the proxy */
    struct gf_net_room peer;
    struct gf_net_loan loan;
    uint32_t used;                     /* atomic; a launch was expected */
    uint32_t asked;                    /* atomic; gf_net_end_ask was called, and no turn has looked at it */
    struct gf_reason why;              /* of a stage that failed without the wire's doing */
    bool dead;
    int told;                          /* lanes over which the peer was told of the end */
    int rest;                          /* turns that are left to get that out, and to hear the same of the peer */
    uint32_t settled;                  /* atomic; there are none */
    struct gf_proxy_task task;         /* of the sender or receiver */
};

/* Memory and lanes, whose ends have line_count + GF_NET_NOTICE_LINES lines for each of their channels, and the description for
 * the peer. What was made remains for close after an error. */
gf_status gf_net_end_open(struct gf_net_end *end, struct gf_connector *c, uint32_t line_count, struct gf_blob *mine,
                          struct gf_reason *why);

/* Checks what the peer described, connects the lanes, fills the endpoint, and hands end->task to the proxy. */
gf_status gf_net_end_connect(struct gf_net_end *end, const struct gf_blob *theirs, struct gf_reason *why);

/* After an abort: waits until the peer has been told of it and has told the same, so that it begins nothing more, for about a
 * second at most, and ends the lanes, with what is under way on them. All else remains for close. */
void gf_net_end_leave(struct gf_net_end *end);

/* Takes it from the proxy first. Accepts one that was not opened but for c. */
void gf_net_end_close(struct gf_net_end *end);

/* Somebody has waited for long: the next turn puts a line that says nothing, which finds a dead network or peer out where the
 * lane has nothing under way; and looks what became of earlier ones. Any thread. */
void gf_net_end_ask(struct gf_net_end *end);

/* One turn: progress, then `climb` for each lane, whose errors end this end and all waits of the communicator. */
typedef enum gf_proxy_turn gf_net_climb(void *ctx, int lane, gf_status *status);
enum gf_proxy_turn gf_net_end_turn(struct gf_net_end *end, gf_net_climb *climb, void *ctx);

/* Where a part's data are at this end, and in which memory, as its wire knows them. */
char *gf_net_end_slot(const struct gf_net_end *end, const struct gf_net_part *part);
char *gf_net_end_data(const struct gf_net_end *end, const struct gf_net_part *part, const struct gf_wire_memory **memory);

/* Rounds of a launch that makes steps[i] steps on channel i: as many as the channel with the most has steps. */
static inline uint64_t gf_net_rounds(const struct gf_net_lane *lane, const uint64_t *steps)
{
    uint64_t most = 0;

    for (int i = lane->first; i < lane->first + lane->width; i++) {
        most = steps[i] > most ? steps[i] : most;
    }
    return most;
}

static inline struct gf_net_round *gf_net_round_of(struct gf_net_lane *lane, uint64_t round)
{
    return &lane->rounds[round % GF_FIFO_DEPTH];
}

/* Where the lengths of a round are, in bytes from the start of the sizes. */
static inline size_t gf_net_sizes_offset(const struct gf_net_end *end, const struct gf_net_lane *lane, uint64_t round)
{
    size_t rounds = (size_t)lane->number * GF_FIFO_DEPTH + round % GF_FIFO_DEPTH;

    return rounds * (size_t)end->group * sizeof(uint32_t);
}

#endif
