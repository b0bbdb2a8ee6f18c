/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How lanes come and go. A lane that is destroyed lingers: the acknowledgement of the peer's last operation may have been lost
 * or not sent yet, and the peer would take an end that was in order for one that broke. So its queue pair answers for as long
 * as a peer would ask.
 */
#include "transport/verbs_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PAGE = 4096,
    LINGERING = 128,               /* most lanes that linger; older ones end */
    LAST_WAIT = 20000000           /* nanoseconds from the last lane's destruction to the wire's close, at least */
};

/* Gives back all that is a lane's. */
static void release(struct verbs_lane *lane)
{
    gf_verbs_queue_retire(&lane->queue);
    gf_verbs_queue_destroy(&lane->queue);
    if (lane->lines_memory) {
        ibv_dereg_mr(lane->lines_memory);
    }
    free(lane->base.lines);
    free(lane);
}

/* The oldest lane that lingers, if it has been closed for longer than `age` or there are too many; null: none such. */
static struct verbs_lane *take_closed(struct verbs_wire *wire, uint64_t age)
{
    pthread_mutex_lock(&wire->lock);
    struct verbs_lane *lane = wire->closed;

    if (lane && (wire->closed_count > LINGERING || gf_verbs_now() - lane->closed_at >= age)) {
        wire->closed = lane->next;
        wire->last_closed = wire->closed ? wire->last_closed : NULL;
        wire->closed_count--;
    } else {
        lane = NULL;
    }
    pthread_mutex_unlock(&wire->lock);
    return lane;
}

static void release_closed(struct verbs_wire *wire, uint64_t age)
{
    struct verbs_lane *lane;

    while ((lane = take_closed(wire, age))) {
        release(lane);
    }
}

void gf_verbs_lanes_end(struct verbs_wire *wire)
{
    while (wire->last_closed && gf_verbs_now() - wire->last_closed->closed_at < LAST_WAIT) {
        nanosleep(&(struct timespec){ .tv_nsec = LAST_WAIT / 10 }, NULL);
    }
    release_closed(wire, 0);
}

void gf_verbs_lane_destroy(struct gf_wire_lane *base)
{
    struct verbs_lane *lane = verbs_lane_of(base);
    struct verbs_wire *wire = verbs_wire_of(base->wire);

    gf_verbs_flushes_forget(wire, lane);
    release_closed(wire, gf_verbs_patience(wire));
    if (!lane->connected || gf_verbs_lane_status(lane, NULL) != GF_OK) {
        release(lane);
        return;
    }
    gf_verbs_queue_retire(&lane->queue);
    pthread_mutex_lock(&wire->lock);
    lane->closed_at = gf_verbs_now();
    *(wire->last_closed ? &wire->last_closed->next : &wire->closed) = lane;
    wire->last_closed = lane;
    wire->closed_count++;
    pthread_mutex_unlock(&wire->lock);
}

/* Whole pages, so that nothing else lies on them: a child may lose sight of registered pages. */
static gf_status make_lines(struct verbs_lane *lane, uint32_t count, struct gf_reason *why)
{
    size_t bytes = ((size_t)count * GF_WIRE_LINE + PAGE - 1) / PAGE * PAGE;
    void *lines = NULL;

    if (count == 0) {
        return GF_OK;
    }
    if (posix_memalign(&lines, PAGE, bytes) != 0) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    memset(lines, 0, bytes);
    lane->base.lines = lines;
    lane->base.line_count = count;
    lane->lines_memory = ibv_reg_mr(verbs_wire_of(lane->base.wire)->domain, lines, bytes, GF_VERBS_ACCESS);
    if (!lane->lines_memory) {
        gf_reason_set(why, "%s: the lines of a lane cannot be registered: %s", lane->base.wire->name, strerror(errno));
        return GF_ERR_NO_MEMORY;
    }
    return GF_OK;
}

gf_status gf_verbs_lane_create(struct gf_wire *base, uint32_t line_count, struct gf_wire_lane **created,
                               struct gf_wire_address *mine, struct gf_reason *why)
{
    struct verbs_lane *lane = calloc(1, sizeof *lane);
    struct gf_verbs_end end;

    if (!lane) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    lane->base.wire = base;
    gf_status status = make_lines(lane, line_count, why);

    if (status == GF_OK) {
        status = gf_verbs_queue_create(verbs_wire_of(base), &lane->queue, why);
    }
    if (status != GF_OK) {
        release(lane);
        return status;
    }
    gf_verbs_queue_describe(&lane->queue, &end);
    if (lane->lines_memory) {
        end.lines = (uintptr_t)lane->base.lines;
        end.lines_key = lane->lines_memory->rkey;
        end.line_count = line_count;
    }
    *mine = (struct gf_wire_address){ .bytes = sizeof end };
    memcpy(mine->data, &end, sizeof end);
    *created = &lane->base;
    return GF_OK;
}

gf_status gf_verbs_lane_connect(struct gf_wire_lane *base, const struct gf_wire_address *theirs, struct gf_reason *why)
{
    struct verbs_lane *lane = verbs_lane_of(base);
    struct gf_verbs_end end;
    gf_status status = gf_verbs_end_check(verbs_wire_of(base->wire), theirs, &end, why);

    if (status == GF_OK) {
        status = gf_verbs_queue_connect(&lane->queue, &end, why);
    }
    if (status == GF_OK) {
        lane->peer_lines = (struct gf_wire_place){ end.lines, end.lines_key };
        lane->peer_line_count = end.line_count;
        lane->connected = true;
    }
    return status;
}
