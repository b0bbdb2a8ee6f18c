/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations under way: taken from a list of spare ones, and given back when UCX has called back for the last time. Tickets are
 * handed out by progress alone, since a set-up call of another thread may be the one inside of which UCX calls back.
 */
#include <stdlib.h>

#include "transport/ucx_private.h"

void gf_ucx_queue_push(struct gf_ucx_queue *queue, struct gf_ucx_op *op)
{
    op->next = NULL;
    if (queue->first == NULL) {
        queue->first = op;
    } else {
        queue->last->next = op;
    }
    queue->last = op;
}

struct gf_ucx_op *gf_ucx_queue_pop(struct gf_ucx_queue *queue)
{
    struct gf_ucx_op *op = queue->first;

    if (op != NULL) {
        queue->first = op->next;
    }
    return op;
}

static void keep(struct gf_ucx_wire *wire, struct gf_ucx_op *op)
{
    op->next = wire->spare;
    wire->spare = op;
}

struct gf_ucx_op *gf_ucx_op_begin(struct gf_ucx_lane *lane, const struct gf_wire_ticket *ticket)
{
    struct gf_ucx_wire *wire = gf_ucx_of(lane);
    struct gf_ucx_op *op = wire->spare;

    if (op != NULL) {
        wire->spare = op->next;
    } else {
        op = malloc(sizeof *op);
        if (op == NULL) {
            return NULL;
        }
    }
    lane->in_flight++;
    op->lane = lane;
    op->ticket = ticket != NULL ? *ticket : (struct gf_wire_ticket){0};
    op->ended = false;
    op->header = (struct gf_ucx_header){.lane = lane->theirs};
    return op;
}

void gf_ucx_op_end(struct gf_ucx_op *op, ucs_status_t status)
{
    struct gf_ucx_lane *lane = op->lane;
    struct gf_ucx_wire *wire = gf_ucx_of(lane);

    lane->in_flight--;
    if (status != UCS_OK) {
        gf_ucx_lane_fail(lane, status);
    }
    if (status == UCS_OK && op->ticket.word != NULL && !lane->destroyed) {
        gf_ucx_queue_push(&wire->ended, op);
    } else {
        keep(wire, op);
    }
}

bool gf_ucx_ops_collect(struct gf_ucx_wire *wire)
{
    struct gf_ucx_op *op;
    bool some = wire->ended.first != NULL;

    while ((op = gf_ucx_queue_pop(&wire->ended)) != NULL) {
        if (op->ticket.word != NULL) {
            *op->ticket.word = op->ticket.value;
        }
        keep(wire, op);
    }
    return some;
}
