/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How lanes come and go. A lane that is destroyed lingers: the acknowledgement of the peer's last operation may have been lost
 * or not sent yet, and the peer would take an end that was in order for one that broke. So its queue pair answers for as long
 * as a peer would ask. A lane that broke lingers too, but its queue pairs are put into the error state, in which they answer
 * nothing: drivers may take long to take apart one whose packets nobody acknowledged (soft-RoCE: most of a minute each), and the
 * error that somebody waits for would come after that. What lingers goes when it has for long enough and lanes are made, or where
 * a new queue pair finds no room, as far as it owes nobody an answer.
 */
#include "transport/verbs_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PAGE = 4096,
    LINGERING = 128,               /* most lanes of either list; older ones end */
    LAST_WAIT = 20000000           /* nanoseconds from the last lane's destruction to the wire's close, at least */
};

/* Gives back all that is a lane's. */
static void release(struct verbs_lane *lane)
{
    for (int i = 0; i < lane->made; i++) {
        gf_verbs_queue_retire(&lane->queues[i]);
        gf_verbs_queue_destroy(&lane->queues[i]);
    }
    if (lane->lines_memory) {
        ibv_dereg_mr(lane->lines_memory);
    }
    free(lane->base.lines);
    free(lane->queues);
    free(lane);
}

/* The lane that has been in the list for the longest time, taken out, if that is longer than `age` nanoseconds or there are more
 * than LINGERING; null: none such. */
static struct verbs_lane *take_oldest(struct gf_verbs_rail *rail, struct gf_verbs_closed *list, uint64_t age)
{
    pthread_mutex_lock(&rail->lock);
    struct verbs_lane *lane = list->first;

    if (lane && (list->count > LINGERING || gf_verbs_now() - lane->closed_at >= age)) {
        list->first = lane->next;
        list->last = list->first ? list->last : NULL;
        list->count--;
    } else {
        lane = NULL;
    }
    pthread_mutex_unlock(&rail->lock);
    return lane;
}

/* True: there were some. */
static bool release_older(struct gf_verbs_rail *rail, struct gf_verbs_closed *list, uint64_t age)
{
    struct verbs_lane *lane;
    bool some = false;

    while ((lane = take_oldest(rail, list, age))) {
        release(lane);
        some = true;
    }
    return some;
}

void gf_verbs_lanes_end(struct gf_verbs_rail *rail)
{
    while (rail->closed.last && gf_verbs_now() - rail->closed.last->closed_at < LAST_WAIT) {
        nanosleep(&(struct timespec){ .tv_nsec = LAST_WAIT / 10 }, NULL);
    }
    (void)release_older(rail, &rail->closed, 0);
    (void)release_older(rail, &rail->broken, 0);
}

static void linger(struct gf_verbs_rail *rail, struct gf_verbs_closed *list, struct verbs_lane *lane)
{
    pthread_mutex_lock(&rail->lock);
    lane->closed_at = gf_verbs_now();
    *(list->last ? &list->last->next : &list->first) = lane;
    list->last = lane;
    list->count++;
    pthread_mutex_unlock(&rail->lock);
}

/* Whoever calls this may have other lanes to progress: so none that broke is taken apart here, and of the others one. */
void gf_verbs_lane_destroy(struct gf_wire_lane *base, bool broken)
{
    struct verbs_lane *lane = verbs_lane_of(base);
    struct gf_verbs_rail *rail = lane->rail;

    gf_verbs_flushes_forget(rail, lane);
    if (!lane->connected) {
        release(lane);
        return;
    }
    broken = broken || gf_verbs_lane_status(lane, NULL) != GF_OK;
    for (int i = 0; i < lane->made; i++) {
        gf_verbs_queue_retire(&lane->queues[i]);
        if (broken) {
            gf_verbs_queue_shut(&lane->queues[i]);
        }
    }
    linger(rail, broken ? &rail->broken : &rail->closed, lane);
    struct verbs_lane *oldest = take_oldest(rail, &rail->closed, gf_verbs_patience(rail));

    if (oldest) {
        release(oldest);
    }
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
    lane->lines_memory = ibv_reg_mr(lane->rail->domain, lines, bytes, GF_VERBS_ACCESS);
    if (!lane->lines_memory) {
        gf_reason_set(why, "%s: the lines of a lane cannot be registered: %s", lane->rail->name, strerror(errno));
        return GF_ERR_NO_MEMORY;
    }
    return GF_OK;
}

/* What is left of broken lanes makes room where there is none. */
static gf_status make_queues(struct verbs_lane *lane, int count, struct gf_reason *why)
{
    struct gf_verbs_rail *rail = lane->rail;
    gf_status status = GF_OK;

    lane->queues = calloc((size_t)count, sizeof *lane->queues);
    if (!lane->queues) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    while (lane->made < count && status == GF_OK) {
        status = gf_verbs_queue_create(rail, &lane->queues[lane->made], why);
        lane->made += status == GF_OK;
        if (status == GF_ERR_NO_MEMORY && release_older(rail, &rail->broken, 0)) {
            status = GF_OK;
        }
    }
    lane->pairs = lane->made;
    return status;
}

gf_status gf_verbs_lane_create(struct gf_wire *base, unsigned number, uint32_t line_count, struct gf_wire_lane **created,
                               struct gf_wire_address *mine, struct gf_reason *why)
{
    struct verbs_wire *wire = verbs_wire_of(base);
    struct verbs_lane *lane = calloc(1, sizeof *lane);
    struct gf_verbs_end end;

    if (!lane) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    lane->rail = &wire->rails[number % (unsigned)wire->rail_count];
    lane->base.wire = base;
    lane->base.adapter = lane->rail->index;
    snprintf(lane->base.name, sizeof lane->base.name, "%s", lane->rail->name);
    (void)release_older(lane->rail, &lane->rail->closed, gf_verbs_patience(lane->rail));
    (void)release_older(lane->rail, &lane->rail->broken, gf_verbs_patience(lane->rail));
    gf_status status = make_lines(lane, line_count, why);

    if (status == GF_OK) {
        status = make_queues(lane, wire->config.queue_pairs, why);
    }
    if (status != GF_OK) {
        release(lane);
        return status;
    }
    gf_verbs_end_describe(lane->queues, lane->made, &end);
    if (lane->lines_memory) {
        end.lines = (uintptr_t)lane->base.lines;
        end.lines_key = lane->lines_memory->rkey;
        end.line_count = line_count;
    }
    *mine = (struct gf_wire_address){ .bytes = (uint32_t)gf_verbs_end_bytes(end.pair_count) };
    memcpy(mine->data, &end, mine->bytes);
    *created = &lane->base;
    return GF_OK;
}

/* For people. */
static void name_lane(struct verbs_lane *lane, const struct gf_verbs_end *end)
{
    char pairs[32] = "";

    if (lane->pairs > 1) {
        snprintf(pairs, sizeof pairs, ", %d queue pairs", lane->pairs);
    }
    snprintf(lane->base.name, sizeof lane->base.name, "%s, MTU %d%s", lane->rail->name,
             gf_verbs_mtu_bytes(gf_verbs_end_mtu(lane->rail, end)), pairs);
}

gf_status gf_verbs_lane_connect(struct gf_wire_lane *base, const struct gf_wire_address *theirs, struct gf_reason *why)
{
    struct verbs_lane *lane = verbs_lane_of(base);
    struct gf_verbs_end end;
    gf_status status = gf_verbs_end_check(lane->rail, theirs, &end, why);

    if (status == GF_OK && (int)end.pair_count < lane->pairs) {
        lane->pairs = (int)end.pair_count;
    }
    for (int i = 0; i < lane->pairs && status == GF_OK; i++) {
        status = gf_verbs_queue_connect(&lane->queues[i], &end, i, why);
    }
    if (status == GF_OK) {
        lane->peer_lines = (struct gf_wire_place){ end.lines, end.lines_key };
        lane->peer_line_count = end.line_count;
        lane->connected = true;
        name_lane(lane, &end);
    }
    return status;
}
