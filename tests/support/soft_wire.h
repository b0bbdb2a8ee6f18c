/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A wire (transport/wire.h) for tests, between threads of one process or between processes of one machine: what is put travels
 * through shared memory and is stored by whoever receives it. It does whatever a wire may do:
 *
 *   - the source of a put is read late, its ticket comes later still, and not in the order of the puts
 *   - what was put between two notifications is stored in any order; lines overtake it, and are torn for a while
 *   - device memory has rubbish where something has arrived, until a flush that began after its notification was taken
 *   - operations find no room now and then
 *
 * It breaks a lane for what no wire would let pass: a notification that nobody expects, a put to where nothing was announced; and
 * where the test wants it.
 */
#ifndef GF_TESTS_SUPPORT_SOFT_WIRE_H
#define GF_TESTS_SUPPORT_SOFT_WIRE_H

#include "transport/wire.h"

extern const struct gf_wire_ops gftest_soft_wire;

enum gftest_soft_kind {
    GFTEST_SOFT_PUT, GFTEST_SOFT_NOTIFY, GFTEST_SOFT_LINES, GFTEST_SOFT_FLUSH, GFTEST_SOFT_TAKE, GFTEST_SOFT_KINDS
};

/* Changes what leaves with an operation: `bytes` at data (of a put, a notification or lines), and the immediate. */
typedef void gftest_soft_tamper(enum gftest_soft_kind kind, void *data, size_t bytes, uint32_t *immediate);

/* What the test wants of all wires of its process. Set before a wire is opened, but for what is said to be atomic. */
struct gftest_soft_wants {
    uint64_t seed;                     /* atomic; each wire takes the next number */
    bool closed;                       /* there is no such network */
    bool no_device_memory, no_flush;   /* capabilities that it has not */
    size_t put_bytes;                  /* 0: any */
    int adapters;                      /* 1 or 2; 0: 2. A lane whose ends go by different ones does not connect */
    bool refuse_dmabuf, refuse_device, refuse_host;    /* registrations that fail: as a dma-buf, by an address of either kind */
    uint32_t dmabufs, registrations;   /* not wants but counts, atomic: of registrations, those as a dma-buf, and all */
    uint32_t drop[GFTEST_SOFT_KINDS];  /* atomic; the lane breaks with the n-th operation of this kind, from 1; 0: never */
    gftest_soft_tamper *tamper;        /* null: nothing is changed */
};

/* Is there something under way that may yet read or change [begin, begin + bytes), or may a peer still put there? */
bool gftest_soft_may_touch(struct gf_wire *wire, const char *begin, size_t bytes);

/* Nothing at all may: there is nothing under way, and no peer may put anywhere. */
bool gftest_soft_is_idle(struct gf_wire *wire);

/* What a read of device memory by the processor does: all is visible whose notification was taken. */
void gftest_soft_show(struct gf_wire *wire);

/* The process's; the one global of the test. */
extern struct gftest_soft_wants gftest_soft_wants;

#endif
