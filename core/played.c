/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Images of slots, and the copies between them and the slots.
 */
#include "core/played.h"

#include <string.h>

#include "base/clock.h"
#include "core/host_wait.h"
#include "kernels/allreduce.h"

/* One operation under way. The images: own data, result, outgoing lines, then the lines of each rank. */
struct play {
    struct gf_played *played;
    const struct gf_played_call *call;
    struct gf_one_shot_work work;  /* as the kernel would get it, but on the images */
    uint32_t blocks;               /* that have a part */
    size_t bytes;                  /* of data */
    size_t slot;                   /* offset of this epoch's slot of the two */
    size_t lines;                  /* bytes of the slot up to the last line */
    struct gf_reason *why;
};

gf_status gf_played_create(struct gf_played *played, gf_device *device, gf_stream *stream, size_t slot_bytes, int ranks,
                           struct gf_reason *why)
{
    void *images = NULL;
    gf_status status = gf_device_pinned_alloc(device, slot_bytes * (2 + (size_t)ranks), &images, why);

    *played = (struct gf_played){ .device = device, .stream = stream, .slot_bytes = slot_bytes,
                                  .images = status == GF_OK ? images : NULL };
    return status;
}

void gf_played_destroy(struct gf_played *played)
{
    if (played->images) {
        gf_device_pinned_free(played->device, played->images);
        played->images = NULL;
    }
}

/* LL lines take twice the memory of their data. */
static char *own_image(const struct gf_played *played) { return played->images; }
static char *result_image(const struct gf_played *played) { return played->images + played->slot_bytes / 2; }
static char *out_image(const struct gf_played *played) { return played->images + played->slot_bytes; }

static char *in_image(const struct gf_played *played, int rank)
{
    return played->images + played->slot_bytes * (2 + (size_t)rank);
}

static struct gf_team alone(uint32_t block)
{
    return (struct gf_team){ .block = block, .blocks = 1, .thread = 0, .threads = 1 };
}

/* That of one block. Images have one slot only. */
static struct gf_one_shot_part part_of(const struct play *play, uint32_t block)
{
    struct gf_team team = alone(block);
    struct gf_one_shot_part part = gf_one_shot_cut(&team, &play->work, gf_ll_unit(), 0, play->blocks, play->bytes);

    part.region -= play->slot;
    return part;
}

static struct play begin(struct gf_played *played, const struct gf_played_call *call, struct gf_reason *why)
{
    const struct gf_pattern *pattern = call->pattern;
    struct play play = {
        .played = played, .call = call, .bytes = call->count * gf_type_size(call->type),
        .slot = (call->epoch & 1) * played->slot_bytes, .why = why,
        .work = {
            .task = { .rank = (uint32_t)pattern->rank, .ranks = (uint32_t)pattern->ranks },
            .data = { own_image(played), result_image(played), call->count, call->type, call->op },
            .slot_bytes = played->slot_bytes, .epoch = call->epoch, .pieces = 1,
        },
    };

    play.blocks = gf_one_shot_blocks(call->blocks, gf_one_shot_slot_units(&play.work, gf_ll_unit()));
    for (int q = 0; q < pattern->ranks; q++) {
        play.work.peers[q] = (struct gf_peer_slots){ .to = out_image(played), .from = in_image(played, q) };
    }
    struct gf_one_shot_part last = part_of(&play, play.blocks - 1);

    play.lines = last.region + gf_part_units(&last, gf_ll_unit()) * GF_ITEM_LL_BYTES;
    return play;
}

static gf_status copy(const struct play *play, void *to, const void *from, size_t bytes)
{
    gf_status status = gf_device_copy(play->played->device, play->played->stream, to, from, bytes);

    if (status != GF_OK) {
        gf_reason_set(play->why, "a copy of %zu bytes between device and host could not be started: %s", bytes,
                      gf_status_string(status));
    }
    return status;
}

static gf_status await_copies(const struct play *play)
{
    return gf_host_await_stream(play->played->device, play->played->stream, play->call->wait, play->why);
}

/* The same lines for all peers. */
static gf_status send_lines(const struct play *play, bool with_flags)
{
    const struct gf_pattern *pattern = play->call->pattern;
    gf_status status = GF_OK;

    memset(out_image(play->played), 0, play->lines);
    for (uint32_t b = 0; b < play->blocks; b++) {
        struct gf_team team = alone(b);
        struct gf_one_shot_part part = part_of(play, b);

        part.flag = with_flags ? part.flag : 0;
        gf_one_shot_send(&team, &play->work, &part);
    }
    for (int q = 0; q < pattern->ranks && status == GF_OK; q++) {
        if (q != pattern->rank) {
            status = copy(play, pattern->send[q].connector.endpoint.lines + play->slot, out_image(play->played), play->lines);
        }
    }
    return status == GF_OK ? await_copies(play) : status;
}

static gf_status fetch(const struct play *play, int rank)
{
    return copy(play, in_image(play->played, rank), play->call->pattern->recv[rank].connector.endpoint.lines + play->slot,
                play->lines);
}

/* Has every line of the image its flag? */
static bool has_come(const struct play *play, int rank)
{
    const char *lines = in_image(play->played, rank);
    union gf_item ignored;

    for (uint32_t b = 0; b < play->blocks; b++) {
        struct gf_one_shot_part part = part_of(play, b);

        for (uint64_t i = 0; i < gf_part_units(&part, gf_ll_unit()); i++) {
            if (!gf_load_ll_item(lines + part.region + i * GF_ITEM_LL_BYTES, &ignored, gf_item_lines(gf_valid_bytes(&part, i)),
                                 part.flag)) {
                return false;
            }
        }
    }
    return true;
}

/* Until all lines of the rank have come; then once more. */
static gf_status receive_lines(const struct play *play, int rank)
{
    uint64_t began = gf_now_ns(), deadline_ns = play->call->deadline_ns;

    for (bool before = false, come = false; !before; ) {
        gf_status status = fetch(play, rank);

        before = come;
        if (status == GF_OK) {
            status = await_copies(play);
        }
        if (status == GF_OK && !before && !(come = has_come(play, rank))) {
            status = play->call->wait->poll(play->call->wait->ctx, play->why);
        }
        if (status == GF_OK && !come && deadline_ns > 0 && gf_now_ns() - began > deadline_ns) {
            gf_reason_set(play->why, "rank %d waited longer than deadline_ms = %llu for rank %d", play->call->pattern->rank,
                          (unsigned long long)(deadline_ns / 1000000u), rank);
            status = GF_ERR_TIMEOUT;
        }
        if (status != GF_OK) {
            return status;
        }
    }
    return GF_OK;
}

static void reduce(const struct play *play)
{
    for (uint32_t b = 0; b < play->blocks; b++) {
        struct gf_team team = alone(b);
        struct gf_one_shot_part part = part_of(play, b);

        gf_one_shot_reduce(&team, &play->work, &part, gf_load_ragged(part.own, gf_valid_bytes(&part, 0)));
    }
}

static gf_status run(const struct play *play)
{
    gf_status status = copy(play, own_image(play->played), play->call->send, play->bytes);

    if (status == GF_OK) {
        status = await_copies(play);
    }
    if (status == GF_OK) {
        status = send_lines(play, false);
    }
    if (status == GF_OK) {
        status = send_lines(play, true);
    }
    for (int q = 0; q < play->call->pattern->ranks && status == GF_OK; q++) {
        if (q != play->call->pattern->rank) {
            status = receive_lines(play, q);
        }
    }
    if (status != GF_OK) {
        return status;
    }
    reduce(play);
    status = copy(play, play->call->recv, result_image(play->played), play->bytes);
    return status == GF_OK ? await_copies(play) : status;
}

gf_status gf_played_allreduce(struct gf_played *played, const struct gf_played_call *call, struct gf_reason *why)
{
    const struct play play = begin(played, call, why);
    gf_status status = run(&play);

    if (status != GF_OK) {
        gf_device_stream_sync(played->device, played->stream);
    }
    return status;
}
