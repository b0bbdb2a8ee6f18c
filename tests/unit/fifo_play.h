/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two threads that play the kernels of a launch, one at each end of a connection whose data the host moves: the sender fills
 * slots, with sizes and bytes that the seed gives, and the receiver looks at them.
 */
#ifndef GF_TESTS_UNIT_FIFO_PLAY_H
#define GF_TESTS_UNIT_FIFO_PLAY_H

#include "core/abort.h"
#include "core/connector.h"

enum { PLAY_CHANNELS = 8, PLAY_SLOT_BYTES = 256, PLAY_MOST_STEPS = 40 };
enum { PLAY_BUFFER_BYTES = PLAY_CHANNELS * PLAY_MOST_STEPS * PLAY_SLOT_BYTES };
enum { PLAY_RECEIVER, PLAY_SENDER };

/* Zeroed but for what is said. */
struct play {
    struct gf_connector ends[2];                   /* READY; of PLAY_CHANNELS channels at most, slots of PLAY_SLOT_BYTES */
    struct gf_abort *aborts[2];                    /* by which the kernels of each end leave */
    uint64_t seed;
    uint64_t done[2][PLAY_CHANNELS];               /* steps of each end's earlier launches */
    uint64_t steps[PLAY_CHANNELS];                 /* of the next launch */
    const char *failed;                            /* the receiver's first complaint */
    char *buffers[2];                              /* [PLAY_BUFFER_BYTES] at either end, that every second step may do without
                                                      slots; null: it has none */
    bool lends[2];                                 /* that end took it for this launch */
    uint64_t lent;                                 /* steps so far that came there */
};

/* GPUFIFO_TEST_SEED, or a fixed one. Ends the program where GPUFIFO_TEST_DEADLINE_MS, or two minutes, have passed: a hang. */
uint64_t play_seed(void);

uint32_t play_size(const struct play *p, int channel, uint64_t step);

void play_choose_steps(struct play *p, uint64_t *random);

/* Tells both ends of the launch and plays it, `first` before the other. Returns when both kernels have left. */
void play_launch(struct play *p, int first);

/* An end whose communicator was aborted, as after a call that failed at once. */
void play_give_up(struct play *p, int end);

/* Until the sender's heads reach its steps, without a further launch: that is what a communicator's end waits for. */
void play_await_drained(struct play *p);

#endif
