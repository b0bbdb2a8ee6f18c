/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device that is no more than a table of functions, for an agent whose block the test plays. Its memory is the host's.
 */
#ifndef GF_TESTS_UNIT_AGENT_DEVICE_H
#define GF_TESTS_UNIT_AGENT_DEVICE_H

#include "device/device.h"
#include "kernels/work.h"

/* One device, and the block on it. The test's; one thread. */
struct fake {
    gf_device device;
    struct gf_agent_work work;     /* of the last launch */
    int launches, syncs;
    int blocks;                    /* of each launch */
    gf_status launch_status, query_status;
    uint64_t done_at_query;        /* what the block says when the device is asked; 0: nothing */
    uint64_t left_at_sync;         /* what the block says when it is waited for; 0: nothing */
};

/* Of fake.device. */
extern const struct gf_device_ops fake_ops;

#endif
