/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From how many bytes on a message goes another way, where no setting says so: by the table (core/tuning.h), and where that does
 * not tell, by the one built in, and where that does not either, by an estimate. What pulls go by is in core/pull_plan.h. Pure.
 */
#ifndef GF_CORE_MESSAGE_SIZES_H
#define GF_CORE_MESSAGE_SIZES_H

#include "core/tuning.h"

/* Bytes, none above PTRDIFF_MAX, which means: never. */
struct gf_message_sizes {
    size_t agent;                  /* up to so many the receiver's agent fetches it; at most GF_PULL_COMMAND_MOST */
    size_t pack;                   /* from so many on data with gaps are packed in device memory, shorter ones in host memory */
    size_t pipe;                   /* from so many on what cannot be mapped goes in pieces, shorter ones as a whole */
    size_t net;                    /* between nodes: from so many on by the network, shorter ones in chunks over MPI */
};

/* tuning: null: there is none but that which is built in. */
struct gf_message_sizes gf_message_sizes_of(const struct gf_tuning *tuning);

#endif
