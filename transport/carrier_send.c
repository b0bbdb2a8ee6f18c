/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sending end of a lane: credits become jobs, jobs become puts, and a message has ended when all of it was answered.
 */
#include "transport/carrier_private.h"

#include "core/pipe.h"

/* Most of one put from the program's memory: the first one shall arrive while the others leave. */
static const size_t put_most = (size_t)4 << 20;

static void end(struct gf_carrier_lane *lane, struct gf_carrier_out *message)
{
    struct gf_carrier_out **link = &lane->out.messages;

    while (*link != message) {
        link = &(*link)->next;
    }
    *link = message->next;
    gf_carrier_forget(lane->carrier, &message->data, lane->broken);
    lane->carrier->messages--;
    atomic_store_explicit(&message->end.ended, true, memory_order_release);
}

static struct gf_carrier_out *find(const struct gf_outgoing *out, uint64_t id)
{
    struct gf_carrier_out *message = out->messages;

    while (message && message->id != id) {
        message = message->next;
    }
    return message;
}

static bool is_right(const struct gf_credit *credit, const struct gf_carrier_out *message)
{
    return message && credit->kind >= GF_CREDIT_PUT && credit->kind < GF_CREDIT_KINDS && credit->wanted <= message->data.bytes
        && credit->offset <= credit->wanted && credit->bytes <= credit->wanted - credit->offset;
}

/* What the receiver says in place of wanting data. */
static void note_kind(const struct gf_carrier_lane *lane, const struct gf_credit *credit, struct gf_carrier_out *message)
{
    if (credit->kind == GF_CREDIT_REFUSED) {
        message->end.status = GF_ERR_PEER;
        gf_reason_set(&message->end.why, "rank %d gave a message up", lane->peer);
    } else if (credit->kind == GF_CREDIT_ELSEWHERE) {
        message->end.status = GF_ERR_UNSUPPORTED;
        gf_reason_set(&message->end.why, "rank %d cannot take this message from the network", lane->peer);
    }
}

static bool take_credit(struct gf_carrier_lane *lane)
{
    struct gf_outgoing *out = &lane->out;
    const struct gf_credit *line = (const struct gf_credit *)(const void *)lane->wire->lines + out->taken % GF_CARRIER_CREDITS;
    struct gf_job *job = &out->jobs[out->taken % GF_CARRIER_CREDITS];
    uint64_t number = out->taken + 1;

    if (out->taken - out->answered == GF_CARRIER_CREDITS || gf_host_observe(&line->first) != number
        || gf_host_observe(&line->last) != number) {
        return false;
    }
    *job = (struct gf_job){ .credit = *line };
    job->message = find(out, job->credit.id);
    if (!is_right(&job->credit, job->message)) {
        gf_carrier_break(lane, true, "a wrong credit");
        return false;
    }
    note_kind(lane, &job->credit, job->message);
    out->taken++;
    return true;
}

/* Which data the next put has; false: there is no room for them. */
static bool fill_put(struct gf_carrier_lane *lane, struct gf_put *put)
{
    struct gf_carrier *carrier = lane->carrier;
    struct gf_carrier_data *data = &put->job->message->data;
    const struct gf_credit *credit = &put->job->credit;
    size_t left = credit->bytes - put->job->cut, at = credit->offset + put->job->cut;

    if (data->place) {
        size_t most = carrier->wire->caps.put_bytes < put_most ? carrier->wire->caps.put_bytes : put_most;

        put->bytes = left < most ? left : most;
        put->from = data->place + at;
        put->memory = gf_carrier_memory_of(data);
        put->ready = true;
        return true;
    }
    if (gf_copy_ring_full(&carrier->out) || (put->piece = gf_pieces_take(&carrier->out_pieces)) == NULL) {
        return false;
    }
    const struct gf_pipe_config pieces = { .chunk_bytes = carrier->config.piece_bytes };
    size_t most = gf_pipe_chunk_choose(&pieces, data->bytes);

    put->bytes = left < most ? left : most;
    put->from = put->piece->memory;
    put->memory = &carrier->out_pieces.wire;
    put->status = gf_carrier_copy(lane, &carrier->out, put->piece->memory, data->address + at, put->bytes, put);
    put->ready = put->status != GF_OK;
    return true;
}

/* A message that has failed is answered without data. */
static bool begin_put(struct gf_carrier_lane *lane)
{
    struct gf_outgoing *out = &lane->out;
    struct gf_job *job = &out->jobs[out->cut % GF_CARRIER_CREDITS];
    struct gf_put *put = &out->puts[out->begun % GF_CARRIER_PUTS];

    if (out->cut == out->taken || out->begun - out->ended == GF_CARRIER_PUTS) {
        return false;
    }
    *put = (struct gf_put){ .lane = lane, .job = job, .offset = job->cut };
    if (job->message->end.status != GF_OK || job->credit.bytes == 0) {
        put->last = put->ready = true;
    } else if (fill_put(lane, put)) {
        job->cut += put->bytes;
        put->last = job->cut == job->credit.bytes;
    } else {
        return false;
    }
    out->begun++;
    out->cut += put->last;
    return true;
}

void gf_put_copied(struct gf_put *put, gf_status status)
{
    put->lane->copying--;
    put->status = status;
    put->ready = true;
}

static void note_failure(struct gf_put *put)
{
    struct gf_carrier_out *message = put->job->message;

    if (put->status != GF_OK && message->end.status == GF_OK) {
        message->end.status = put->status;
        gf_reason_set(&message->end.why, "a message could not be copied through host memory: %s",
                      gf_status_string(put->status));
    }
}

static gf_status issue(struct gf_carrier_lane *lane, struct gf_put *put)
{
    const struct gf_wire_ops *ops = lane->carrier->wire->ops;
    const struct gf_credit *credit = &put->job->credit;
    const struct gf_wire_place to = { .address = credit->address + put->offset, .key = credit->key };
    const struct gf_wire_ticket ticket = { &put->ended, 1 };
    bool failed = put->job->message->end.status != GF_OK;
    size_t bytes = failed ? 0 : put->bytes;

    if (put->last) {
        return ops->put_notify(lane->wire, bytes > 0 ? put->memory : NULL, put->from, &to, bytes,
                               gf_carrier_immediate(credit->first, failed), &ticket);
    }
    if (failed) {
        put->ended = 1;
        return GF_OK;
    }
    return ops->put(lane->wire, put->memory, put->from, &to, bytes, &ticket);
}

static bool issue_put(struct gf_carrier_lane *lane)
{
    struct gf_outgoing *out = &lane->out;
    struct gf_put *put = &out->puts[out->issued % GF_CARRIER_PUTS];
    struct gf_reason why;

    if (out->issued == out->begun || !put->ready) {
        return false;
    }
    if (gf_fault_hits(lane->carrier->config.fault, GF_FAULT_WIRE, &why)) {
        gf_carrier_break(lane, true, why.text);
        return false;
    }
    note_failure(put);
    gf_status status = issue(lane, put);

    if (status != GF_OK) {
        (void)gf_carrier_failed(lane, status);
        return false;
    }
    out->issued++;
    return true;
}

/* The oldest put has ended, and with it perhaps a credit and a message. */
static bool retire_put(struct gf_carrier_lane *lane)
{
    struct gf_outgoing *out = &lane->out;
    struct gf_put *put = &out->puts[out->ended % GF_CARRIER_PUTS];

    if (out->ended == out->issued || !put->ended) {
        return false;
    }
    gf_pieces_give(&lane->carrier->out_pieces, put->piece);
    out->ended++;
    if (put->last) {
        struct gf_carrier_out *message = put->job->message;

        message->answered += put->job->credit.bytes;
        out->answered++;
        if (message->answered == put->job->credit.wanted) {
            end(lane, message);
        }
    }
    return true;
}

bool gf_outgoing_turn(struct gf_carrier_lane *lane)
{
    bool moved = false;

    while (retire_put(lane)) {
        moved = true;
    }
    while (take_credit(lane)) {
        moved = true;
    }
    while (!lane->broken && begin_put(lane)) {
        moved = true;
    }
    while (!lane->broken && issue_put(lane)) {
        moved = true;
    }
    return moved;
}

void gf_outgoing_fail(struct gf_carrier_lane *lane)
{
    struct gf_outgoing *out = &lane->out;

    for (; out->ended < out->begun; out->ended++) {
        gf_pieces_give(&lane->carrier->out_pieces, out->puts[out->ended % GF_CARRIER_PUTS].piece);
    }
    while (out->messages) {
        struct gf_carrier_out *message = out->messages;

        lane->reported = true;
        gf_carrier_fail_end(&message->end, GF_ERR_PEER, &lane->why);
        end(lane, message);
    }
}

gf_status gf_carrier_send(struct gf_carrier_lane *lane, uint64_t id, const struct gf_carrier_data *data,
                          struct gf_carrier_out *message, struct gf_reason *how)
{
    struct gf_carrier *carrier = lane->carrier;
    struct gf_reason why = { "" };

    *message = (struct gf_carrier_out){ .id = id, .data = *data };
    gf_carrier_register(carrier, false, &message->data, &why);
    bool reached = message->data.place;

    pthread_mutex_lock(&carrier->lock);
    gf_status status = gf_carrier_admit(lane, reached ? NULL : &carrier->out_pieces, how);

    /* The peer may have died while nothing was under way: by another way nobody would ever tell, so one message does. */
    if (status == GF_OK || (status == GF_ERR_PEER && !lane->reported)) {
        status = GF_OK;
        message->next = lane->out.messages;
        lane->out.messages = message;
        gf_carrier_count(carrier);
    }
    pthread_mutex_unlock(&carrier->lock);
    if (status != GF_OK) {
        gf_carrier_forget(carrier, &message->data, false);
        return GF_ERR_UNSUPPORTED;
    }
    gf_carrier_tell(reached, &why, how);
    return GF_OK;
}

gf_status gf_carrier_send_poll(const struct gf_carrier_out *message, struct gf_reason *why)
{
    return gf_carrier_poll_end(&message->end, why);
}

void gf_carrier_send_withdraw(struct gf_carrier_lane *lane, struct gf_carrier_out *message)
{
    pthread_mutex_lock(&lane->carrier->lock);
    if (!message->end.ended) {
        end(lane, message);
    }
    pthread_mutex_unlock(&lane->carrier->lock);
}
