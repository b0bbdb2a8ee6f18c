/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two processes for the pull programs: a sender and a receiver, each with an offer board and a pull engine, without MPI.
 */
#ifndef GF_TESTS_GPU_PULL_PAIR_H
#define GF_TESTS_GPU_PULL_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/messages.h"

enum { PAIR_MESSAGES = 1024 };

/* Between the two processes. Each word has one writer. */
struct pair_shared {
    uint64_t met[2];
    char apart[128 - 16];
    uint64_t round;                /* the sender: names of this round are there */
    char apart_too[128 - 8];
    uint64_t fetched;              /* the receiver: the last round that it has fetched */
    char apart_again[128 - 8];
    struct gf_offer_name names[PAIR_MESSAGES];
    long failures[2];
    double sender_us;              /* a measurement of the sender */
};

/* Lives in one of the processes. */
struct pair {
    bool sends;
    const char *driver;
    struct pair_shared *shared;
    uint64_t round;
    struct gf_pull_config config;
    struct gftest_messages m;
};

/* Forks both, runs body in each; returns how many checks failed in both together. */
long pair_run(const char *driver, void (*body)(struct pair *));

void pair_meet(struct pair *pair);

/* Counts and says what is wrong. */
bool pair_check(struct pair *pair, bool right, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same, and ends both processes. */
void pair_need(struct pair *pair, gf_status status, const char *what, const struct gf_reason *why);

/* Both: makes the pull engine anew, with pair->config. */
void pair_configure(struct pair *pair);

/* The sender: offers that the receiver may take. The receiver: waits for them; they are in shared->names. */
void pair_offer(struct pair *pair, const struct gf_offer_name *names, size_t count);
void pair_await(struct pair *pair);

uint64_t pair_now_ns(void);

/* Fills the whole device with blocks of one warp that do nothing until they are let go, or the deadline passes; on the emulated
 * device it holds kernels of other processes back where it is "solo". */
struct pair_filling;
struct pair_filling *pair_fill_device(struct pair *pair, uint64_t deadline_ns);
void pair_let_go(struct pair *pair, struct pair_filling *filling);

#endif
