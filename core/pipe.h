/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device messages between processes of a node whose memory cannot be mapped (no IPC, memory of pools or of the VMM interface):
 * the sender's copy engine brings chunks into slots of shared host memory, the receiver's takes them out, both at once.
 *
 *   source   one a process and device: offers, and the slots that all its messages share
 *   sink     one a process and device: takes offers of any source of the node
 *
 * A message goes
 *
 *     FREE → OFFERED → WANTED → DONE or FAILED → FREE
 *               └──────────────────▶ FAILED: the receiver cannot take it, which it says in one step, before it is served
 *
 * WANTED is the receiver's (withdrawing, the sender's, competes by compare-and-swap), and so are the ends. Only a wanted message
 * has slots, so a message that nobody receives keeps none from others. Between, a FIFO: the sender fills a slot and then
 * publishes tail; the receiver empties it and then publishes head. Both are a host's, after it has seen the end of the copy.
 *
 * Who must run: from WANTED on both sides' progress functions, called by the program inside MPI or by a thread (proxy/pump.h).
 * Without that thread a message rests after at most `depth` chunks while a side is outside MPI.
 *
 * The sender's buffer is free once the last chunk is in its slot; the receiver may be behind by `depth` chunks.
 *
 * Threads: any; each object has its lock, never held while waiting for anything but a copy within host memory of one chunk.
 */
#ifndef GF_CORE_PIPE_H
#define GF_CORE_PIPE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/offer_board.h"
#include "device/device.h"

enum { GF_PIPE_DEPTH = 16 };           /* most slots that one message may hold */

/* Settings of a process. */
struct gf_pipe_config {
    size_t chunk_bytes;                /* of a slot; a multiple of GF_PIPE_CHUNK_UNIT */
    uint32_t slots;                    /* of one source, shared by its messages, at most 65536 */
    uint32_t depth;                    /* most slots of one message, at most GF_PIPE_DEPTH */
    size_t least_bytes;                /* shorter messages are not worth it */
};
enum { GF_PIPE_CHUNK_UNIT = 65536 };   /* chunks of short messages are smaller, down to this: the first one must not keep the
                                          receiver waiting for half of the message */

/* Settings that gf_pipe_config_check takes. */
void gf_pipe_config_default(struct gf_pipe_config *config);

/* The chunks of a message of so many bytes. */
size_t gf_pipe_chunk_choose(const struct gf_pipe_config *config, size_t bytes);

/* GF_ERR_INVALID with a sentence if they cannot be. */
gf_status gf_pipe_config_check(const struct gf_pipe_config *config, struct gf_reason *why);

/* What a call of progress found. */
enum gf_pipe_turn {
    GF_PIPE_IDLE,                      /* no message at all */
    GF_PIPE_WAITING,                   /* for a copy or the other side */
    GF_PIPE_MOVED
};

typedef struct gf_pipe_source gf_pipe_source;
typedef struct gf_pipe_sink gf_pipe_sink;

/* Memory of this device. GF_ERR_UNSUPPORTED or another error: no shared memory that the device reaches. */
gf_status gf_pipe_source_create(gf_device *device, const struct gf_pipe_config *config, gf_pipe_source **source,
                                struct gf_reason *why);

/* Offers [address, address + bytes), bytes ≥ 1, of any memory that the device's copy engine reads, which stays unchanged until
 * gf_pipe_offer_poll says the end. GF_NO_RESOURCE: all offers are in use. name->index is the offer from here on. */
gf_status gf_pipe_offer(gf_pipe_source *source, const void *address, size_t bytes, struct gf_offer_name *name,
                        struct gf_reason *why);

/* GF_IN_PROGRESS, or the end, after which the index is the source's again. */
gf_status gf_pipe_offer_poll(gf_pipe_source *source, uint32_t index, struct gf_reason *why);

/* As gf_offer_withdraw. */
gf_status gf_pipe_offer_withdraw(gf_pipe_source *source, uint32_t index);

/* Starts the copies for which there is room, and tells receivers of those that have ended. Waits for nothing. */
enum gf_pipe_turn gf_pipe_source_progress(gf_pipe_source *source);

/* Waits for copies under way. What receivers have not fetched yet stays with them: they keep the memory mapped. Accepts null. */
void gf_pipe_source_destroy(gf_pipe_source *source);

/* One message at its receiver. The caller's memory, which stays where it is until gf_pipe_take_poll has said the end; the
 * contents are the sink's. */
struct gf_pipe_take {
    struct gf_pipe_take *next;
    struct gf_pipe_peer *peer;
    struct gf_pipe_entry *entry;
    uint64_t word;                     /* the state, until its end */
    char *to;
    bool to_host;
    size_t bytes, chunk_bytes;
    uint64_t chunks, issued, emptied;
    gf_status status;                  /* of the copies so far; the result once ended */
    _Atomic bool ended;
};

/* Into memory of this device, and host memory. */
gf_status gf_pipe_sink_create(gf_device *device, gf_pipe_sink **sink, struct gf_reason *why);

/* Fetches the first `bytes` bytes, as gf_pull_start. GF_ERR_UNSUPPORTED: the device has no memory for a stream; the sender learns
 * that, too. */
gf_status gf_pipe_take_start(gf_pipe_sink *sink, const struct gf_offer_name *name, void *to, size_t bytes,
                             struct gf_pipe_take *take, struct gf_reason *why);

/* As gf_pull_poll. */
gf_status gf_pipe_take_poll(gf_pipe_sink *sink, struct gf_pipe_take *take, struct gf_reason *why);

/* Ends an offer that will not be taken. */
gf_status gf_pipe_refuse(gf_pipe_sink *sink, const struct gf_offer_name *name, struct gf_reason *why);

/* The same for what senders have filled. */
enum gf_pipe_turn gf_pipe_sink_progress(gf_pipe_sink *sink);

/* Waits for copies under way; messages that have not ended never will. Accepts null. */
void gf_pipe_sink_destroy(gf_pipe_sink *sink);

#endif
