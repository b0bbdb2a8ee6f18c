/* SPDX-License-Identifier: BSD-3-Clause
 *
 * FIFOs whose slots go over a network. Both proxies play the next GPU: the sender's puts a slot that its kernel has filled into
 * the slot at the receiver for which it has a credit, and the receiver's tells its kernel.
 *
 *     kernel ─▶ slots ─put, notification─▶ slots ─▶ kernel         data
 *               lines ◀──────credit─────── lines                   at either end, beside a line's credits: why the peer aborts
 *
 * The protocol is here, once; what moves the bytes is a wire (transport/wire.h). Of a process and device there is one gf_net:
 * it has the settings, and opens the wire when the first connection needs it.
 *
 * A *lane* of the wire serves one channel, or a group of up to GF_NET_GROUP of them, by *rounds*: one step of each channel that
 * has one. Rounds are numbered from 0; at most GF_FIFO_DEPTH of a lane are under way.
 *
 *     credit     receiver → sender: a line for each step of the round (net_credit.h): where its slot is, how long, of how many
 *     steps
 *                where both ends can, a step goes without slots (net_loan.h)
 *     data       sender → receiver: of one step, a put whose notification carries the length; of several, a put each, then the
 *                lengths of all into an array at the receiver, with a notification whose value says nothing
 *     flush      at the receiver, where gf_net_needs_flush: then its device sees what has arrived
 */
#ifndef GF_TRANSPORT_NET_H
#define GF_TRANSPORT_NET_H

#include "device/device.h"
#include "transport/wire.h"

enum { GF_NET_GROUP = 8 };                /* most channels of a lane, so also most lines of a credit */

/* What is decided by what the wire and the device can do, unless a person knows better. */
enum gf_choice { GF_CHOICE_AUTO, GF_CHOICE_YES, GF_CHOICE_NO };

/* By what the device is made to see what has arrived (net_flush.h): where it is needed by what there is, always by the wire's own
 * read, in device memory by gdrcopy, or not at all. */
enum gf_flush_choice { GF_FLUSH_AUTO, GF_FLUSH_READ, GF_FLUSH_GDRCOPY, GF_FLUSH_NO };

/* Equal on all ranks but for `wire`. */
struct gf_net_config {
    const struct gf_wire_ops *const *wires;    /* null-terminated: the first that opens here is taken; outlives the net */
    struct gf_wire_config wire;
    int group;                                 /* channels that share a lane, 1 to GF_NET_GROUP */
    enum gf_choice device_memory;          /* slots in device memory: AUTO where the wire reaches it; else pinned host memory */
    enum gf_flush_choice flush;
    enum gf_choice zero_copy;              /* data go from buffer to buffer (net_loan.h): AUTO where slots are in device memory */
};

struct gf_net;
struct gf_gdrcopy;

/* device outlives it. No wire is opened yet. GF_ERR_INVALID: a setting is out of its range. */
gf_status gf_net_create(const struct gf_net_config *config, gf_device *device, struct gf_net **net, struct gf_reason *why);

/* All connections over it have been destroyed. Accepts null. */
void gf_net_destroy(struct gf_net *net);

/* The wire, opened by the first who asks. Any thread. An error: none of the configured ones opens; *why has what each said. */
gf_status gf_net_open(struct gf_net *net, struct gf_wire **wire, struct gf_reason *why);

/* How many adapters the wire has, which is opened for this; 0: it does not open. */
int gf_net_adapters(struct gf_net *net);

/* The process's gdrcopy for this net, opened by the first who asks. Any thread. Errors as gf_gdrcopy_open's. */
gf_status gf_net_gdrcopy(struct gf_net *net, struct gf_gdrcopy **gdrcopy, struct gf_reason *why);

/* Constant; the net's. */
const struct gf_net_config *gf_net_config_of(const struct gf_net *net);
gf_device *gf_net_device_of(const struct gf_net *net);

/* The program's buffers that its wire knows (net_buffers.h). */
struct gf_net_buffers;
struct gf_net_buffers *gf_net_buffers_of(struct gf_net *net);

/* What somebody who asks why a path was taken hears once a net, as a line of GF_LOG_PATH. Any thread. */
enum gf_net_saying {
    GF_NET_NO_DMABUF, GF_NET_HOST_SLOTS, GF_NET_NO_FLUSH_OF_DEVICE, GF_NET_NO_FLUSH_OF_HOST, GF_NET_SAYINGS
};
void gf_net_say_once(struct gf_net *net, enum gf_net_saying saying, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Why what has arrived in the slots need not be flushed before the kernel is told, in words that follow a colon; null: it must
 * be. As the settings say; else not in host memory, which the kernel loads over the bus by which it was told, and not in memory
 * of a device that sees arrivals in their order (enum gf_arrivals). */
const char *gf_net_flush_spared(const struct gf_net *net, bool device_slots);
bool gf_net_needs_flush(const struct gf_net *net, bool device_slots);

#endif
