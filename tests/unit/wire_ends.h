/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two ends of a lane, for the tests of wires: each a wire, a lane and registered memory that the other may put into.
 */
#ifndef GF_TESTS_UNIT_WIRE_ENDS_H
#define GF_TESTS_UNIT_WIRE_ENDS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <time.h>

#include "transport/wire.h"

enum {
    WIRE_MEMORY = 2 << 20,         /* bytes of each end */
    WIRE_LINES = 16,
    WIRE_PATIENCE = 60             /* seconds until something that has to come counts as missing */
};

struct wire_end {
    struct gf_wire *wire;
    struct gf_wire_lane *lane;
    struct gf_wire_address address;
    struct gf_wire_memory memory;
    struct gf_wire_place place;    /* of the other end's memory */
};

struct wire_pair {
    struct wire_end a, b;
};

/* The wire that this run is about. */
extern const struct gf_wire_ops *wire_tested;

/* By which wire_open opens it: at first all is the wire's own choice. */
extern struct gf_wire_config wire_config;

struct gf_wire *wire_open(void);
/* Wire, lane and memory, not connected. */
void wire_end_open(struct wire_end *end);
/* Connects, and announces its memory; `progress` is a second wire to be driven meanwhile, or null. */
void wire_end_connect(struct wire_end *end, const struct gf_wire_address *theirs, struct gf_wire *progress);
void wire_end_close(struct wire_end *end);

/* As fixtures of cmocka: *state is a struct wire_pair, connected, each end's memory zeroed. */
int wire_pair_open(void **state);
int wire_pair_close(void **state);

void wire_pair_progress(struct wire_pair *pair);
/* expect at `to`, then put_notify of bytes at `from_offset` to `to_offset`; asks again as long as there is no room. */
void wire_send(struct wire_pair *pair, size_t from_offset, size_t to_offset, size_t bytes, uint32_t immediate,
               const struct gf_wire_ticket *ticket);
uint32_t wire_take(struct wire_pair *pair);

static inline time_t wire_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

#define WIRE_UNTIL(pair, condition)                                         \
    do {                                                                    \
        time_t wire_start = wire_now();                                     \
        while (!(condition)) {                                              \
            wire_pair_progress(pair);                                       \
            assert_true(wire_now() - wire_start < WIRE_PATIENCE);           \
        }                                                                   \
    } while (0)

/* A call that has to begin, as soon as there is room. */
#define WIRE_BEGIN(pair, call)                                              \
    do {                                                                    \
        gf_status wire_status;                                              \
        WIRE_UNTIL(pair, (wire_status = (call)) != GF_NO_RESOURCE);         \
        assert_int_equal(wire_status, GF_OK);                               \
    } while (0)

#endif
