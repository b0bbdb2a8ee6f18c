/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long the agent stays after an operation. A call that finds it there saves a launch. But a program that makes the device
 * wait for all its work after each call (cudaDeviceSynchronize, cudaFree) waits for the agent to leave as well. From the host
 * the two programs look alike while nothing is tried, so the agent stays now and then on trial, and the account is kept: a
 * call that finds it there earns what a launch costs, one that finds it gone pays all the time that it stayed, as if the
 * program had waited for it. Once the account is empty, operations are launched, and the next trial comes after twice as many
 * calls as the last one. A trial stays for twice the time that the program has let pass between its last calls, and one call in
 * vain ends it: so it costs what two of the program's own turns cost, and all of them a vanishing part, whatever the program
 * does.
 */
#ifndef GF_CORE_LINGER_H
#define GF_CORE_LINGER_H

#include <stdbool.h>
#include <stdint.h>

enum gf_linger_mode { GF_LINGER_AUTO, GF_LINGER_FIXED };

/* In microseconds, where nothing else is said. */
enum {
    GF_LINGER_SAVED = 5,           /* of a call that finds the agent there: a launched one takes 9.5, the agent 4.4 (one H200) */
    GF_LINGER_LEAST = 10,
    GF_LINGER_MOST = 200,
    GF_LINGER_FIRST = 4,           /* calls until the first trial: what lies before the first call of all is no gap */
    GF_LINGER_PAUSE = 64,          /* calls from there to the second */
    GF_LINGER_PAUSE_MOST = 1 << 14 /* calls */
};

/* Owned by the agent; one thread at a time. */
struct gf_linger {
    enum gf_linger_mode mode;
    uint32_t us;                   /* of the last call; 0: it was launched */
    int32_t account;
    uint32_t rest;                 /* calls until the next trial */
    uint32_t pause;                /* calls that the next rest will last */
};

/* us: of GF_LINGER_FIXED, at least 1; that never changes. */
void gf_linger_init(struct gf_linger *linger, enum gf_linger_mode mode, uint32_t us);

/* A call begins. here: the agent is still there. gap_us: since the last call has returned. Returns how long the agent is to stay
 * after this one; 0: it is better launched. */
uint32_t gf_linger_next(struct gf_linger *linger, bool here, uint64_t gap_us);

#endif
