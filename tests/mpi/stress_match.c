/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which message each receive must have got, by MPI's order: of messages that one rank sent and that both of two receives may get,
 * the receive that was posted first gets the first one.
 */
#include "tests/mpi/stress.h"

enum { NOTHING = 1001 };               /* a tag that no message has */

/* The first one left of those that the receive may have got from the source that its status names. */
static struct message *next_from(struct worker *worker, const struct receive *receive, int source)
{
    bool any_tag = worker->wildcards[receive->channel] & ANY_TAG;

    for (int turn = 0; turn < MESSAGES; turn++) {
        struct message *message = stress_sent(worker, source, turn);

        if (message->source == source && message->target == worker->h.rank && message->channel == receive->channel &&
            !message->taken && (any_tag || message->tag == receive->tag)) {
            return message;
        }
    }
    return NULL;
}

/* Of a receive whose request was freed; the probes make progress. */
static void await_data(struct worker *worker, const struct receive *receive, const struct message *message)
{
    int flag;

    while (!placed_holds(&receive->placed, message->bytes, message->source, message->seed)) {
        MPI_Iprobe(MPI_ANY_SOURCE, NOTHING, worker->pairs, &flag, MPI_STATUS_IGNORE);
    }
}

static void match(struct worker *worker, struct receive *receive)
{
    struct harness *h = &worker->h;
    int source = receive->freed ? receive->source : stress_world(worker, receive->channel, receive->status.MPI_SOURCE);
    int bytes = -1, class;
    struct message *message = source >= 0 && source < h->ranks ? next_from(worker, receive, source) : NULL;
    bool named = !(worker->wildcards[receive->channel] & ANY_SOURCE);

    if (!harness_check(h, message && (!named || source == receive->source), "round %d: channel %d, way %d: a message of rank %d",
                       worker->round, receive->channel, receive->receiving, source)) {
        return;
    }
    message->taken = true;
    if (receive->freed) {
        await_data(worker, receive, message);
        return;
    }
    MPI_Error_class(receive->code, &class);
    MPI_Get_count(&receive->status, MPI_BYTE, &bytes);
    harness_check(h, receive->status.MPI_TAG == stress_tag(worker, message->tag), "round %d: tag %d instead of %d", worker->round,
                  receive->status.MPI_TAG, stress_tag(worker, message->tag));
    if (message->bytes > receive->placed.bytes) {
        harness_check(h, class == MPI_ERR_TRUNCATE, "round %d: way %d: %zu bytes into %zu: class %d", worker->round,
                      receive->receiving, message->bytes, receive->placed.bytes, class);
        return;
    }
    harness_check(h, class == MPI_SUCCESS && bytes == (int)message->bytes, "round %d: channel %d, way %d: %d bytes, class %d, of "
                  "%zu", worker->round, receive->channel, receive->receiving, bytes, class, message->bytes);
    placed_check(h, &receive->placed, message->bytes, source, message->seed, "stress");
}

/* When MPI has left the buffer of a receive whose request was freed, nothing tells. So it stays. */
void stress_match(struct worker *worker)
{
    for (int i = 0; i < worker->ordered; i++) {
        match(worker, worker->in_order[i]);
        if (!worker->in_order[i]->freed) {
            placed_destroy(&worker->in_order[i]->placed, "a receive");
        }
    }
}
