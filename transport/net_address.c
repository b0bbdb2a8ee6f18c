/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Of each lane: how many bytes are as in the first one's, how many follow, and these.
 */
#include "transport/net_address.h"

#include <string.h>

struct head {
    uint16_t same, own;
};

size_t gf_net_addresses_pack(const struct gf_wire_address *addresses, int count, unsigned char *packed)
{
    const struct gf_wire_address *first = &addresses[0];
    unsigned char *at = packed;

    for (int i = 0; i < count; i++) {
        const struct gf_wire_address *one = &addresses[i];
        struct head head = { .same = 0 };

        while (i > 0 && head.same < one->bytes && head.same < first->bytes && one->data[head.same] == first->data[head.same]) {
            head.same++;
        }
        head.own = (uint16_t)(one->bytes - head.same);
        memcpy(at, &head, sizeof head);
        memcpy(at + sizeof head, one->data + head.same, head.own);
        at += sizeof head + head.own;
    }
    return (size_t)(at - packed);
}

bool gf_net_addresses_unpack(const unsigned char *packed, size_t bytes, struct gf_wire_address *addresses, int count)
{
    const unsigned char *at = packed, *end = packed + bytes;

    for (int i = 0; i < count; i++) {
        struct head head;

        if ((size_t)(end - at) < sizeof head) {
            return false;
        }
        memcpy(&head, at, sizeof head);
        at += sizeof head;
        if (head.same > (i > 0 ? addresses[0].bytes : 0) || head.own > end - at || head.same + head.own > GF_WIRE_ADDRESS_BYTES) {
            return false;
        }
        addresses[i] = (struct gf_wire_address){ .bytes = (uint32_t)head.same + head.own };
        memcpy(addresses[i].data, addresses[0].data, i > 0 ? head.same : 0);
        memcpy(addresses[i].data + head.same, at, head.own);
        at += head.own;
    }
    return at == end;
}
