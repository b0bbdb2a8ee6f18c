/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the point-to-point tests share: buffers filled by a seed, checks of what arrived, and the ranks' ring.
 */
#ifndef TESTS_MPI_PT2PT_BUFFERS_H
#define TESTS_MPI_PT2PT_BUFFERS_H

#include "tests/mpi/harness.h"

enum { BUFFER_UNTOUCHED = 0xEE };      /* what buffer_create puts into a buffer */

/* The two ends of the messages of one test: every rank sends to the next one and receives from the previous one. */
struct ends {
    struct harness *h;
    enum gpufifo_memory from, to;      /* the kinds of the send and of the receive buffers */
    int next, previous;
    const char *name;                  /* of the test, for messages */
};

/* A test of messages between such ends, and the kinds of memory at both. */
struct ends_test {
    const char *name;
    void (*run)(const struct ends *);
};
struct ends_kinds {
    enum gpufifo_memory from, to;
};

/* Every test with every pair of kinds; all ranks meet after each. */
void ends_run(struct harness *h, const struct ends_test *tests, size_t test_count, const struct ends_kinds *kinds,
              size_t kind_count);

/* Device and host memory at either end. */
enum { ENDS_DEVICE_HOST = 4 };
extern const struct ends_kinds ends_device_host[ENDS_DEVICE_HOST];

/* Byte i of the message that `rank` sends with this seed. Never the byte that a fresh buffer holds. */
unsigned char message_byte(int rank, unsigned seed, size_t i);

/* A buffer of that many bytes with this rank's message. */
void message_create(const struct ends *ends, struct buffer *buffer, size_t bytes, unsigned seed);

/* A buffer for messages, untouched. */
void landing_create(const struct ends *ends, struct buffer *buffer, size_t bytes);

/* The first `bytes` must be those of the message of `rank`, what is behind them untouched. */
void landing_compare(const struct ends *ends, const struct buffer *buffer, size_t bytes, int rank, unsigned seed);

/* The same; then destroys the buffer. */
void landing_check(const struct ends *ends, struct buffer *buffer, size_t bytes, int rank, unsigned seed);

/* The status must name the sender, the tag and the number of bytes. */
void status_check(const struct ends *ends, const MPI_Status *status, int source, int tag, size_t bytes);

#endif
