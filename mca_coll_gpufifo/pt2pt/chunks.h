/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device messages in chunks, each of them a message of the PML: for peers that have this component but share no memory with
 * us. The copy out of the sender's device, the wire, and the copy into the receiver's run at once.
 *
 *   sender                                            receiver
 *   RTS {id}                    ── the envelope ──▶   matches it
 *                               ◀─────── CTS ──────   {id, bytes wanted}
 *   chunk 0, 1, …               ────────────────▶     a receive posted for each
 *
 * CTSs and chunks go over MPI_COMM_WORLD under two reserved tags. Both ends serve the messages of a pair one after the other,
 * in the order of the CTSs, which the PML keeps: so chunks need no names. The next message's chunks follow at once, and
 * messages of different pairs share nothing. A message has pinned memory only between its CTS and its end, a few chunks, so
 * none keeps it from another one. A sender whose device fails sends the rest empty.
 *
 * Both sides' progress is that of MPI.
 *
 * Threads: any, for all but create and destroy. gf_chunks_exchange calls the PML, with no lock held; one thread at a time is
 * in it, and others pass.
 */
#ifndef GF_MCA_PT2PT_CHUNKS_H
#define GF_MCA_PT2PT_CHUNKS_H

#include <stdatomic.h>

#include "mca_coll_gpufifo/ompi_abi.h"

#include "core/pipe.h"

enum { GF_CHUNKS_TAG_CTS = -5, GF_CHUNKS_TAG_CHUNK = -6 };     /* unused by Open MPI: see mailbox.h */

struct gf_chunks;
struct gf_chunks_out;
struct gf_copier;

/* Names a message to its receiver: plain bytes, in the RTS. */
struct gf_chunks_name {
    int32_t rank;                      /* of the sender in MPI_COMM_WORLD */
    uint64_t id;                       /* there */
    uint64_t chunk_bytes;
};

/* What a CTS says. */
struct gf_chunks_cts {
    uint64_t id;
    uint64_t wanted;
    int32_t failure;                   /* a gf_status: nobody will receive it */
    uint32_t reserved;
};

/* One message at its receiver. The caller's memory, which stays where it is until gf_chunks_take_poll has said the end; the
 * contents are ours. */
struct gf_chunks_in {
    struct gf_chunks_in *next;
    struct gf_chunks_cts cts;
    ompi_request_t *request;           /* of the CTS */
    int peer;
    struct gf_copier *copier;          /* null: to is host memory */
    char *to;
    uint64_t chunk_bytes, chunks, posted, stored;
    gf_status status;                  /* so far; the result once ended */
    _Atomic bool ended;
};

/* One a process. Null: no host memory. */
struct gf_chunks *gf_chunks_create(void);
/* No message is under way, or their ends are of no interest and the PML is gone. Accepts null. */
void gf_chunks_destroy(struct gf_chunks *chunks);

/* Ids from here on are the caller's to choose; the receiver may know them before they are offered. */
#define GF_CHUNKS_OWN_IDS ((uint64_t)1 << 63)

/* Offers [address, address + bytes), bytes ≥ 1, memory of that device, to a rank of MPI_COMM_WORLD. id: 0, or one of the
 * caller's that no other message under way has. */
gf_status gf_chunks_offer(struct gf_chunks *chunks, int ordinal, const void *address, size_t bytes, int peer, uint64_t id,
                          struct gf_chunks_out **message, struct gf_chunks_name *name, struct gf_reason *why);

/* GF_IN_PROGRESS, or the end, after which the message is gone. */
gf_status gf_chunks_offer_poll(struct gf_chunks *chunks, struct gf_chunks_out *message, struct gf_reason *why);

/* Its RTS was not sent: the message is gone. */
void gf_chunks_offer_withdraw(struct gf_chunks *chunks, struct gf_chunks_out *message);

/* Fetches the first `bytes` bytes into memory of that device, or of the host. */
gf_status gf_chunks_take(struct gf_chunks *chunks, const struct gf_chunks_name *name, int ordinal, void *to, size_t bytes,
                         struct gf_chunks_in *message, struct gf_reason *why);

/* Tells the sender that nobody will. */
void gf_chunks_refuse(struct gf_chunks *chunks, const struct gf_chunks_name *name);

gf_status gf_chunks_take_poll(struct gf_chunks *chunks, struct gf_chunks_in *message, struct gf_reason *why);

/* Moves all messages on. Costs a nanosecond when there are none. */
void gf_chunks_exchange(struct gf_chunks *chunks);

#endif
