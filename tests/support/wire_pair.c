/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairs of wires and lanes.
 */
#include "tests/support/wire_pair.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* For calls that have to work. */
static void expect_ok(gf_status status, const struct gf_reason *why)
{
    if (status != GF_OK) {
        fail_msg("%s: %s", gf_status_string(status), why->text);
    }
}

void gftest_wires_open(struct gftest_wires *wires, const struct gf_wire_ops *ops, const struct gf_wire_config *config)
{
    struct gf_reason why = { "" };

    wires->ops = ops;
    for (int end = 0; end < 2; end++) {
        expect_ok(ops->open(config, &wires->wire[end], &why), &why);
    }
}

void gftest_wires_close(struct gftest_wires *wires)
{
    for (int end = 0; end < 2; end++) {
        wires->ops->close(wires->wire[end]);
    }
}

void gftest_lanes_connect(struct gftest_lanes *lanes, const struct gftest_wires *wires, uint32_t lines)
{
    struct gf_wire_address address[2];
    struct gf_reason why = { "" };

    *lanes = (struct gftest_lanes){ .ops = wires->ops, .wire = { wires->wire[0], wires->wire[1] } };
    for (int end = 0; end < 2; end++) {
        expect_ok(lanes->ops->create(lanes->wire[end], lines, &lanes->lane[end], &address[end], &why), &why);
    }
    for (int end = 0; end < 2; end++) {
        expect_ok(lanes->ops->connect(lanes->lane[end], &address[!end], &why), &why);
    }
}

void gftest_lanes_destroy(struct gftest_lanes *lanes)
{
    for (int end = 0; end < 2; end++) {
        lanes->ops->destroy(lanes->lane[end]);
    }
}

void gftest_register(struct gftest_lanes *lanes, int end, void *address, size_t bytes, struct gf_wire_memory *memory)
{
    const struct gf_wire_range range = { .address = address, .bytes = bytes, .dmabuf = -1 };
    struct gf_reason why = { "" };

    expect_ok(lanes->ops->register_memory(lanes->wire[end], &range, memory, &why), &why);
    assert_int_equal(lanes->ops->announce(lanes->lane[end], memory), GF_OK);
}

struct gf_wire_place gftest_place(const struct gf_wire_memory *memory, const void *at)
{
    return (struct gf_wire_place){ (uintptr_t)at, memory->key };
}

void gftest_progress(const struct gftest_lanes *lanes)
{
    bool moved = false;

    for (int end = 0; end < 2; end++) {
        moved |= lanes->ops->progress(lanes->wire[end]);
    }
    if (!moved) {
        sched_yield();
    }
}

static void progress_unbroken(const struct gftest_lanes *lanes)
{
    struct gf_reason why = { "" };

    gftest_progress(lanes);
    for (int end = 0; end < 2; end++) {
        expect_ok(lanes->ops->state(lanes->lane[end], &why), &why);
    }
}

void gftest_await_word(const struct gftest_lanes *lanes, const uint64_t *word, uint64_t value)
{
    while (*(const volatile uint64_t *)word != value) {
        progress_unbroken(lanes);
    }
}

uint32_t gftest_await_notification(const struct gftest_lanes *lanes, int end)
{
    uint32_t immediate;

    while (!lanes->ops->take(lanes->lane[end], &immediate)) {
        progress_unbroken(lanes);
    }
    return immediate;
}

gf_status gftest_await_break(const struct gftest_lanes *lanes, int end, struct gf_reason *why)
{
    gf_status status;

    while ((status = lanes->ops->state(lanes->lane[end], why)) == GF_OK) {
        gftest_progress(lanes);
    }
    return status;
}
