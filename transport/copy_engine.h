/* SPDX-License-Identifier: BSD-3-Clause
 *
 * FIFOs whose data the host moves by copy engine. The sender's kernel fills slots in memory of its own device and publishes tail
 * in host memory; the sender's proxy copies a slot to the peer when it is filled and there is room, and when the copy has ended
 * publishes tail to the peer. What the peer is, the transport says:
 *
 *     p2p_copy   kernel ─▶ slots ─copy────────────────────────────▶ slots ─▶ kernel        tail and head in shared host memory
 *     shm_copy   kernel ─▶ slots ─copy─▶ shared host memory ─copy─▶ slots ─▶ kernel        the receiver has a proxy, too
 *
 * Words. A block of words has a line of tails (tail, then the sizes of the slots, as core/layout.h has them) and a line of heads
 * for each channel: gf_words_*. Between sender's kernel and proxy: pinned memory of the sender. Between the sender's proxy and
 * whatever is beyond: in the receiver's segment.
 */
#ifndef GF_TRANSPORT_COPY_ENGINE_H
#define GF_TRANSPORT_COPY_ENGINE_H

#include "core/abort.h"
#include "core/connector.h"
#include "core/copy_ring.h"
#include "core/host_ordered.h"
#include "core/layout.h"
#include "kernels/mutants.h"
#include "proxy/stages.h"

static inline size_t gf_words_bytes(const struct gf_connector_shape *shape)
{
    return 2 * (size_t)shape->channels * GF_LINE;
}

static inline uint64_t *gf_words_tail(char *words, int channel)
{
    return (uint64_t *)(void *)(words + (size_t)channel * GF_LINE);
}

static inline uint32_t *gf_words_size(char *words, int channel, uint64_t step)
{
    return (uint32_t *)(void *)(words + (size_t)channel * GF_LINE + GF_LAYOUT_SIZES) + step % GF_FIFO_DEPTH;
}

static inline char *gf_words_heads(char *words, const struct gf_connector_shape *shape)
{
    return words + (size_t)shape->channels * GF_LINE;
}

static inline uint64_t *gf_words_head(char *words, const struct gf_connector_shape *shape, int channel)
{
    return (uint64_t *)(void *)(gf_words_heads(words, shape) + (size_t)channel * GF_LINE);
}

static inline uint64_t *gf_words_answer(char *words, const struct gf_connector_shape *shape, int channel, uint64_t step)
{
    char *answers = gf_words_heads(words, shape) + (size_t)channel * GF_LINE + GF_LAYOUT_ANSWERS;

    return (uint64_t *)(void *)answers + step % GF_FIFO_DEPTH;
}

/* A step's slot is filled: its size, then the tail. */
static inline void gf_words_publish(char *words, int channel, uint64_t step, uint32_t bytes)
{
    if (GF_MUTANT == GF_MUTANT_COPY_LATE_SIZE) {
        gf_host_publish(gf_words_tail(words, channel), step + 1);
    }
    *gf_words_size(words, channel, step) = bytes;
    gf_host_publish(gf_words_tail(words, channel), step + 1);
}

/* The same of a step that has been moved on, from one block of words to the next. */
static inline void gf_words_pass(char *to, char *from, int channel, uint64_t step)
{
    gf_words_publish(to, channel, step, *gf_words_size(from, channel, step));
}

/* What a FIFO's reader has promised when its slot of `step` may be used: it has read all steps below this. */
static inline uint64_t gf_head_for(uint64_t step)
{
    return step + 1 > GF_FIFO_DEPTH ? step + 1 - GF_FIFO_DEPTH : 0;
}

/* Where the slot of a step is, among those of one end. */
static inline char *gf_slot_of(char *slots, const struct gf_connector_shape *shape, int channel, uint64_t step)
{
    return slots + ((size_t)channel * GF_FIFO_DEPTH + step % GF_FIFO_DEPTH) * shape->slot_bytes;
}

/* Copies of the FIFOs of one end, and whom to tell of trouble. The thread's that drives it; zeroed: closed. */
struct gf_copies {
    struct gf_connector *c;            /* outlives it */
    struct gf_copy_ring ring;
    bool dead;                         /* after an error or an abort nothing is moved any more */
};

/* May this connector be served by copies at all? GF_ERR_UNSUPPORTED: its shape is another, or there is no proxy. */
gf_status gf_copies_check(struct gf_connector *c, struct gf_reason *why);
gf_status gf_copies_open(struct gf_copies *copies, struct gf_connector *c, struct gf_reason *why);
void gf_copies_close(struct gf_copies *copies);

/* As a stage: starts one, whose end will be counted in *ended. GF_NO_RESOURCE: as many as there may be are under way. */
gf_status gf_copies_start(struct gf_copies *copies, void *to, const void *from, uint32_t bytes, uint64_t *ended);

/* Counts the copies that have ended. An error: of one of them. */
gf_status gf_copies_collect(struct gf_copies *copies);

/* At the start of a turn. False: the communicator was aborted, or this end is dead: do nothing. */
bool gf_copies_alive(struct gf_copies *copies);

/* A stage or a copy failed: ends this end, and all waits of the communicator. */
void gf_copies_fail(struct gf_copies *copies, gf_status status);

/* Slots in memory of this end's device, not zeroed: no word there is polled. */
gf_status gf_slots_alloc(struct gf_connector *c, void **slots, struct gf_reason *why);

/* The endpoint of an end whose kernel has slots of its own and a block of words, given by user addresses. */
gf_status gf_copied_endpoint(struct gf_connector *c, void *slots, char *words, struct gf_reason *why);

/* The sending end: memory, ladders and task. Owned by the connector, as its private data or a part of it. */
struct gf_copy_sender;

gf_status gf_copy_sender_open(struct gf_connector *c, struct gf_copy_sender **sender, struct gf_reason *why);

/* Whereto: the peer's slots, as the copy engine reaches them, and its words, host addresses; these outlive the sender. Fills the
 * endpoint; from here on the proxy is at work. */
gf_status gf_copy_sender_connect(struct gf_copy_sender *sender, char *peer_slots, char *peer_words, struct gf_reason *why);

/* As gf_transport.expect. */
void gf_copy_sender_expect(struct gf_copy_sender *sender, const uint64_t *steps);

/* Waits for copies under way. Accepts null. */
void gf_copy_sender_close(struct gf_copy_sender *sender);

#endif
