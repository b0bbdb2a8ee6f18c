/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two wires of one kind in this process with a lane between them, for cmocka tests of wires. The test is the thread that makes
 * progress. What waits here ends when what it waits for has come, or fails the test when the lane is broken.
 */
#ifndef GF_TESTS_SUPPORT_WIRE_PAIR_H
#define GF_TESTS_SUPPORT_WIRE_PAIR_H

#include "transport/wire.h"

struct gftest_wires {
    const struct gf_wire_ops *ops;
    struct gf_wire *wire[2];
};

struct gftest_lanes {
    const struct gf_wire_ops *ops;
    struct gf_wire *wire[2];
    struct gf_wire_lane *lane[2];
};

/* `lines`: of each end of a lane. */
void gftest_wires_open(struct gftest_wires *wires, const struct gf_wire_ops *ops, const struct gf_wire_config *config);
void gftest_wires_close(struct gftest_wires *wires);
void gftest_lanes_connect(struct gftest_lanes *lanes, const struct gftest_wires *wires, uint32_t lines);
void gftest_lanes_destroy(struct gftest_lanes *lanes);

/* Registers host memory of this end and announces it to its peer. */
void gftest_register(struct gftest_lanes *lanes, int end, void *address, size_t bytes, struct gf_wire_memory *memory);

/* Where `at` of that memory is, for the peer. */
struct gf_wire_place gftest_place(const struct gf_wire_memory *memory, const void *at);

/* Progress at both ends. */
void gftest_progress(const struct gftest_lanes *lanes);

/* Until the word has the value. */
void gftest_await_word(const struct gftest_lanes *lanes, const uint64_t *word, uint64_t value);

/* Until a notification has come to this end; its immediate. */
uint32_t gftest_await_notification(const struct gftest_lanes *lanes, int end);

/* Until this end is broken, which must come: its state, and why. */
gf_status gftest_await_break(const struct gftest_lanes *lanes, int end, struct gf_reason *why);

#endif
