/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One FIFO alone: a sender that runs as far ahead as it may, and a receiver. In a ring of few ranks every rank waits for
 * all others, and no sender ever runs out of slots.
 */
#ifndef GF_TESTS_STREAM_H
#define GF_TESTS_STREAM_H

#include <stdbool.h>
#include <stdint.h>

struct stream {
    uint32_t threads;             /* of either team */
    bool weak;
    uint64_t seed;
    uint64_t first, steps;        /* through the FIFO, of random sizes: from this number on, so many */
    uint64_t deadline_ns;
};

/* Did all arrive as it was sent? */
bool stream_is_right(const struct stream *stream);

#endif
