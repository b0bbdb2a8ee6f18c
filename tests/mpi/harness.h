/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the MPI test programs share: start and end, checks that are counted on every rank, buffers of any memory kind with
 * canaries round them. The values and what should come out of them are in values.h.
 */
#ifndef TESTS_MPI_HARNESS_H
#define TESTS_MPI_HARNESS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "gpufifo/device.h"

struct paths_counters;

/* One a program, on main's stack. */
struct harness {
    const char *name;          /* the program */
    gpufifo_device *device;
    int rank, ranks;           /* of MPI_COMM_WORLD */
    long checks, failures;     /* of this rank, by any thread */
};

/* MPI_Init_thread with `threads`, then the device that the environment names. Ends the job if there is none. */
void harness_start(struct harness *h, int argc, char **argv, int threads);

/* Collective. Rank 0 prints one line; returns the exit status of the program: 0 only if no check failed on any rank and
 * at least one was made. */
int harness_finish(struct harness *h);

/* Counts; prints the sentence for the first few that fail. Returns `right`. */
bool harness_check(struct harness *h, bool right, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Checks, after the calls, that each of them took one of these paths (names as in examples/paths.h, with commas), and one at
 * least the first. Types that the device does not have, such as long double on a GPU, are staged whatever was asked for. */
void harness_check_path(struct harness *h, const char *names, const struct paths_counters *counters);

/* For what the test itself needs: prints the sentence and ends the job. */
void harness_need(struct harness *h, int result, const char *what);

/* Memory of one kind with a canary before and behind it. data is what MPI gets. */
struct buffer {
    struct harness *h;
    enum gpufifo_memory kind;
    char *block;
    char *data;
    size_t bytes;
};

/* offset: bytes by which data is shifted off the block's natural alignment. bytes may be 0: data is then a valid address.
 * What is in data: bytes of 0xEE. */
void buffer_create(struct harness *h, struct buffer *buffer, enum gpufifo_memory kind, size_t bytes, size_t offset);

/* Destroys, after a check that the canaries are untouched. */
void buffer_destroy(struct buffer *buffer, const char *what);

/* All of data, to or from host memory of the caller; finished on return. */
void buffer_write(struct buffer *buffer, const void *host);
void buffer_read(const struct buffer *buffer, void *host);

/* malloc that ends the job instead of returning null. */
void *host_alloc(struct harness *h, size_t bytes);

#endif
