/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two processes that exchange messages over a network, played in one: their carriers, with pumps and copy engines, and the soft
 * wire between them. One world at a time.
 */
#ifndef GF_TESTS_UNIT_CARRIER_WORLD_H
#define GF_TESTS_UNIT_CARRIER_WORLD_H

#include "transport/carrier.h"

enum { PIECE_BYTES = 4096, AFTER = 64, UNTOUCHED = 0x5a };

/* Both ways: lane i goes from end i to the other one. */
struct carrier_world {
    gf_device *device;
    struct gf_net *nets[2];
    struct gf_fault faults[2];
    struct gf_carrier *carriers[2];
    struct gf_carrier_lane *out[2], *in[2];
    bool program;                      /* makes progress, too */
};

struct message {
    int from;                          /* end */
    uint64_t id;
    size_t bytes, wanted;
    unsigned char *source, *target;
    bool to_host;
    bool began;                        /* the lane took it */
    struct gf_carrier_out out;
    struct gf_carrier_in in;
    gf_status sent, received;
    struct gf_reason out_why, in_why;
};

/* Rank 6 is end 0, rank 7 is end 1. Nothing in a world may take longer than two minutes. gftest_soft_wants is set before, but for
 * its seed, and cleared by close. */
void carrier_world_open(struct carrier_world *w, enum gf_choice device_memory, uint64_t seed);
/* The same in steps: begin, create of either end, join. close may follow any. */
void carrier_world_begin(struct carrier_world *w, enum gf_choice device_memory, enum gf_flush_choice flush, uint64_t seed);
gf_status carrier_world_create(struct carrier_world *w, int end, struct gf_reason *why);
void carrier_world_join(struct carrier_world *w);
void carrier_world_close(struct carrier_world *w);

/* A message of `bytes` of which the receiver wants so many, in memory of the device; behind them nothing may change. */
void message_make(struct carrier_world *w, struct message *m, int from, uint64_t id, size_t bytes, size_t wanted);
void message_unmake(struct carrier_world *w, struct message *m);

gf_status message_send(struct carrier_world *w, struct message *m);
gf_status message_receive(struct carrier_world *w, struct message *m);

/* Both ends of all of them. */
void messages_await(struct carrier_world *w, struct message *m, int count);

void message_expect_data(const struct message *m);
/* The sentence names that rank. */
void expect_rank(const struct gf_reason *why, int rank);

#endif
