/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The addresses of many lanes in few bytes: of each, after the first, only what comes behind the beginning that the two share.
 * Lanes of one wire share most: a wire puts what is the lane's own last.
 */
#ifndef GF_TRANSPORT_NET_ADDRESS_H
#define GF_TRANSPORT_NET_ADDRESS_H

#include "transport/wire.h"

/* Bytes that `count` addresses can need. */
static inline size_t gf_net_addresses_most(int count)
{
    return (size_t)count * (2 * sizeof(uint16_t) + GF_WIRE_ADDRESS_BYTES);
}

/* Returns the bytes in use. */
size_t gf_net_addresses_pack(const struct gf_wire_address *addresses, int count, unsigned char *packed);

/* False: this is not what pack has made of so many. */
bool gf_net_addresses_unpack(const unsigned char *packed, size_t bytes, struct gf_wire_address *addresses, int count);

#endif
