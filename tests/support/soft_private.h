/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of the wire for tests.
 */
#ifndef GF_TESTS_SUPPORT_SOFT_PRIVATE_H
#define GF_TESTS_SUPPORT_SOFT_PRIVATE_H

#include <pthread.h>

#include "core/segment.h"
#include "tests/support/soft_wire.h"

enum {
    SOFT_OPS = 12,                     /* of a lane under way */
    SOFT_PACKETS = 32,                 /* of a box; at most 64 */
    SOFT_PAYLOAD = 4096,
    SOFT_LINES_MOST = 8,
    SOFT_ANNOUNCED = 128,
    SOFT_ADAPTERS = 2,                 /* they differ in keys only */
    SOFT_FREE = GFTEST_SOFT_KINDS
};
enum { SOFT_BREAKING = 1, SOFT_BROKEN = 2 };

struct soft_packet {
    uint32_t bytes, key, immediate;
    uint32_t notifies;
    uint64_t address;
    char data[SOFT_PAYLOAD];
};

/* Of one end of a lane, in shared memory: the peer puts packets in, this end takes them out. */
struct soft_box {
    uint32_t broken;                   /* atomic */
    int32_t adapter;                   /* of its lane */
    char text[88];
    uint64_t sent, taken;              /* atomic; the peer's and this end's */
    struct soft_packet packets[SOFT_PACKETS];
    char lines[];
};

/* One operation of this end. */
struct soft_op {
    unsigned kind;                     /* SOFT_FREE: none */
    unsigned delay;                    /* turns of progress to wait */
    bool out;                          /* all of it has left; the ticket is to come */
    const char *from;
    struct gf_wire_place to;
    size_t bytes, moved;               /* of lines, moved counts the steps in which they are written */
    uint32_t immediate, index;
    uint64_t taken;                    /* of a flush */
    uint64_t lines[SOFT_LINES_MOST * GF_WIRE_LINE / sizeof(uint64_t)];
    struct gf_wire_ticket ticket;
};

/* What has arrived in device memory and is not visible yet. */
struct soft_hidden {
    struct soft_hidden *next;
    char *to;
    size_t bytes;
    uint64_t notification;             /* whose data these are */
    char data[];
};

struct soft_memory {
    const struct gf_wire_memory *memory;
    bool device;
};

struct soft_lane {
    struct gf_wire_lane base;
    struct soft_lane *next;            /* of the wire */
    bool closed;                       /* destroyed, and stays to answer until its wire is closed; behind those that are not */
    struct gf_segment own, peer;       /* boxes */
    struct soft_op ops[SOFT_OPS];      /* freed in any order */
    uint64_t begun, ended;
    struct soft_memory announced[SOFT_ANNOUNCED];
    int announcements;
    uint64_t stored;                   /* bit i: of the packets in the box the i-th is stored */
    uint64_t expected, delivered, taken;
    uint32_t immediates[64];
    struct soft_hidden *hidden;
};

/* lock guards all of it and of its lanes. */
struct soft_wire {
    struct gf_wire base;
    pthread_mutex_t lock;
    struct soft_lane *lanes;
    uint64_t random;
    uint32_t keys;
    int memories;
    struct gf_wire_counts counts;
};

bool soft_chance(struct soft_wire *wire, unsigned of);
void soft_break(struct soft_lane *lane, const char *text);
bool soft_is_broken(const struct soft_lane *lane);
/* One more of that kind; true if the lane is broken. */
bool soft_drops(struct soft_lane *lane, enum gftest_soft_kind kind);

gf_status soft_announce(struct gf_wire_lane *lane, const struct gf_wire_memory *memory);
/* That memory is forgotten. */
void soft_withdraw(struct soft_lane *lane, const struct gf_wire_memory *memory);
gf_status soft_expect(struct gf_wire_lane *lane);
bool soft_take(struct gf_wire_lane *lane, uint32_t *immediate);
bool soft_receive(struct soft_lane *lane);
void soft_show_hidden(struct soft_lane *lane, uint64_t taken);
void soft_forget_hidden(struct soft_lane *lane);

#endif
