/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Notices of aborts.
 */
#include "transport/net_notice.h"

#include <stdio.h>
#include <string.h>

#include "core/abort.h"
#include "core/host_ordered.h"

enum { WRITTEN = 1 };

struct message {
    int32_t status;
    char text[sizeof ((struct gf_abort_page *)0)->text];
};

struct line {
    uint64_t first;                /* WRITTEN */
    char part[GF_WIRE_LINE - 2 * sizeof(uint64_t)];
    uint64_t last;
};
_Static_assert(sizeof(struct line) == GF_WIRE_LINE, "as the wire has them");
_Static_assert(sizeof(struct message) <= GF_NET_NOTICE_LINES * sizeof ((struct line *)0)->part, "a message fits");

/* Bytes of the message in line i. */
static size_t part_bytes(size_t i)
{
    size_t most = sizeof ((struct line *)0)->part, begin = i * most;
    size_t left = begin < sizeof(struct message) ? sizeof(struct message) - begin : 0;

    return left < most ? left : most;
}

gf_status gf_net_notice_put(struct gf_wire_lane *lane, gf_status status, const char *text)
{
    struct message message = { .status = status };
    struct line lines[GF_NET_NOTICE_LINES] = { { .first = 0 } };

    snprintf(message.text, sizeof message.text, "%s", text);
    for (size_t i = 0; i < GF_NET_NOTICE_LINES; i++) {
        lines[i].first = lines[i].last = WRITTEN;
        memcpy(lines[i].part, (const char *)&message + i * sizeof lines[i].part, part_bytes(i));
    }
    return lane->wire->ops->put_lines(lane, 0, lines, GF_NET_NOTICE_LINES);
}

void gf_net_notice_put_nothing(struct gf_wire_lane *lane)
{
    const struct line nothing = { .first = 0 };

    (void)lane->wire->ops->put_lines(lane, 0, &nothing, 1);
}

bool gf_net_notice_take(const struct gf_wire_lane *lane, gf_status *status, struct gf_reason *text)
{
    const struct line *lines = (const void *)lane->lines;
    struct message message;

    for (size_t i = 0; i < GF_NET_NOTICE_LINES; i++) {
        if (gf_host_observe(&lines[i].first) != WRITTEN || gf_host_observe(&lines[i].last) != WRITTEN) {
            return false;
        }
        memcpy((char *)&message + i * sizeof lines[i].part, lines[i].part, part_bytes(i));
    }
    *status = message.status < 0 ? (gf_status)message.status : GF_ERR_ABORTED;
    gf_reason_set(text, "%.*s", (int)sizeof message.text, message.text);
    return true;
}
