/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device messages without MPI: a rank with an offer board and a pull engine, and buffers whose contents
 * follow from a seed.
 */
#ifndef GF_TESTS_SUPPORT_MESSAGES_H
#define GF_TESTS_SUPPORT_MESSAGES_H

#include "core/imports.h"
#include "core/offer_board.h"
#include "core/pull.h"
#include "tests/support/ranks.h"

/* Lives in one rank. */
struct gftest_messages {
    struct gftest_rank *rank;
    gf_driver *driver;
    gf_device *device;
    gf_stream *stream;             /* the test's own */
    gf_offer_board *board;
    struct gf_imports *imports;
    gf_pull_engine *engine;
};

/* Opens device 0 of this kind (GPUFIFO_EMULATED says which emulated one), and both ends. rank may be null where gftest_tell is
 * not used. */
gf_status gftest_messages_open(struct gftest_rank *rank, const char *driver, const struct gf_pull_config *config,
                               struct gftest_messages *m, struct gf_reason *why);
/* What tests want: offers that are moved at once, several blocks for small messages, and no rescue of what a busy machine
 * delays. */
struct gf_pull_config gftest_pull_config(void);

/* Opens both ends on the emulated device, which launches kernels also where "solo" holds them back. Says what fails. */
gf_status gftest_end_open(struct gftest_rank *rank, const struct gf_pull_config *config, struct gftest_messages *m);
void gftest_messages_close(struct gftest_messages *m);

/* Memory of any kind, zeroed; null if there is none. INVALID stands for nothing. */
void *gftest_alloc(struct gftest_messages *m, enum gf_memory_kind kind, size_t bytes);
void gftest_free(struct gftest_messages *m, enum gf_memory_kind kind, void *address);

/* Any memory: byte i gets what seed and i give; are the bytes so? Both are finished on return. */
void gftest_write(struct gftest_messages *m, void *to, size_t bytes, uint64_t seed);
bool gftest_holds(struct gftest_messages *m, const void *from, size_t bytes, uint64_t seed);

/* Offers memory of this rank. */
gf_status gftest_offer(struct gftest_messages *m, const void *address, size_t bytes, bool may_move, struct gf_offer_name *name,
                       struct gf_reason *why);

/* Both sides' progress, with a turn for other processes. */
void gftest_turn(struct gftest_messages *m);

/* Progress until the end of one offer or pull. */
gf_status gftest_wait_offer(struct gftest_messages *m, uint32_t index, struct gf_reason *why);
gf_status gftest_wait_pull(struct gftest_messages *m, struct gf_pull *pull, struct gf_reason *why);

/* Starts a pull and waits for it. */
gf_status gftest_fetch(struct gftest_messages *m, const struct gf_offer_name *name, void *to, size_t bytes,
                       struct gf_reason *why);

/* Tells what rank `from` knows to all. bytes ≤ 4096. */
void gftest_tell(struct gftest_messages *m, int from, void *data, size_t bytes);

/* A number in [0, below) from a state that goes on. */
uint64_t gftest_random(uint64_t *state, uint64_t below);

#endif
