/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread that moves work on while the program is outside of MPI. It sleeps until there is work, and between turns: a turn
 * that moved nothing makes the next sleep longer, so messages that wait for a receiver for minutes cost nothing.
 */
#ifndef GF_PROXY_PUMP_H
#define GF_PROXY_PUMP_H

#include "base/status.h"

typedef struct gf_pump gf_pump;

/* What a turn found. */
enum gf_pump_turn {
    GF_PUMP_IDLE,                      /* nothing to do until gf_pump_wake */
    GF_PUMP_WAITING,                   /* there is work, but nothing could be done */
    GF_PUMP_MOVED
};

/* turn is called by the pump's thread, and must not wait. ctx outlives the pump. No thread yet: the first wake makes it. */
gf_status gf_pump_create(enum gf_pump_turn (*turn)(void *ctx), void *ctx, gf_pump **pump, struct gf_reason *why);

/* There is work. Any thread. An error: there is no thread, and will be none. A few nanoseconds when the thread is at work. */
gf_status gf_pump_wake(gf_pump *pump, struct gf_reason *why);

/* The program is at the work itself: the pump's next turn is left out, as one that moved nothing. Any thread. */
void gf_pump_relieve(gf_pump *pump);

/* Ends the thread after its turn. Accepts null. */
void gf_pump_destroy(gf_pump *pump);

#endif
