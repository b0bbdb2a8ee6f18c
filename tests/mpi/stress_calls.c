/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each of MPI's calls that send or receive a message.
 */
#include "tests/mpi/stress.h"

typedef int (*send_function)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*isend_function)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* The one that blocks, or the one that makes a request. */
static const struct {
    send_function blocking;
    isend_function request;
    bool start;
} calls[SENDINGS] = {
    [ISEND] = {NULL, MPI_Isend, false},          [ISSEND] = {NULL, MPI_Issend, false},
    [IBSEND] = {NULL, MPI_Ibsend, false},        [BSEND] = {MPI_Bsend, NULL, false},
    [SEND_INIT] = {NULL, MPI_Send_init, true},   [SSEND_INIT] = {NULL, MPI_Ssend_init, true},
    [BSEND_INIT] = {NULL, MPI_Bsend_init, true}, [SEND] = {MPI_Send, NULL, false},
    [SSEND] = {MPI_Ssend, NULL, false},          [IRSEND] = {NULL, MPI_Irsend, false},
    [RSEND] = {MPI_Rsend, NULL, false},          [RSEND_INIT] = {NULL, MPI_Rsend_init, true},
};

void stress_send(struct worker *worker, struct message *message)
{
    struct placed *placed = &message->placed;
    int peer = stress_peer(message->channel, message->target), tag = stress_tag(worker, message->tag), code;
    MPI_Comm comm = worker->comms[message->channel];

    placed_create(&worker->h, placed, message->from, message->bytes, message->type);
    placed_write(placed, worker->h.rank, message->seed);
    if (calls[message->sending].blocking) {
        code = calls[message->sending].blocking(placed_address(placed), placed->count, placed->type, peer, tag, comm);
    } else {
        code = calls[message->sending].request(placed_address(placed), placed->count, placed->type, peer, tag, comm,
                                               &message->request);
    }
    harness_check(&worker->h, code == MPI_SUCCESS, "round %d: send %d: code %d", worker->round, message->sending, code);
    if (calls[message->sending].start) {
        MPI_Start(&message->request);
    }
    if (message->request != MPI_REQUEST_NULL && message->cancelled) {
        MPI_Cancel(&message->request);
    }
    if (message->request != MPI_REQUEST_NULL && message->freed) {
        MPI_Request_free(&message->request);
    }
}

/* What the receive asks for. */
struct envelope {
    int source, tag;
    MPI_Comm comm;
};

static struct envelope envelope_of(const struct worker *worker, const struct receive *receive)
{
    int wildcards = worker->wildcards[receive->channel];

    return (struct envelope){
        .source = wildcards & ANY_SOURCE ? MPI_ANY_SOURCE : stress_peer(receive->channel, receive->source),
        .tag = wildcards & ANY_TAG ? MPI_ANY_TAG : stress_tag(worker, receive->tag),
        .comm = worker->comms[receive->channel]};
}

static void make_room(struct worker *worker, struct receive *receive)
{
    placed_create(&worker->h, &receive->placed, receive->to, receive->room, receive->type);
    worker->in_order[worker->ordered++] = receive;
}

void stress_post(struct worker *worker, struct receive *receive)
{
    struct envelope envelope = envelope_of(worker, receive);
    struct placed *placed = &receive->placed;

    if (receive->receiving >= POSTED) {
        return;
    }
    make_room(worker, receive);
    if (receive->receiving == IRECV) {
        MPI_Irecv(placed_address(placed), placed->count, placed->type, envelope.source, envelope.tag, envelope.comm,
                  &receive->request);
    } else {
        MPI_Recv_init(placed_address(placed), placed->count, placed->type, envelope.source, envelope.tag, envelope.comm,
                      &receive->request);
        MPI_Start(&receive->request);
    }
    if (receive->freed) {
        MPI_Request_free(&receive->request);
    }
}

/* Looks, and then takes what was there. */
static void receive_probed(struct worker *worker, struct receive *receive, const struct envelope *envelope)
{
    struct placed *placed = &receive->placed;
    MPI_Status seen;
    int there = 0, bytes = -1, got = -1;

    if (receive->receiving == PROBE) {
        MPI_Probe(envelope->source, envelope->tag, envelope->comm, &seen);
    }
    while (receive->receiving == IPROBE && !there) {
        MPI_Iprobe(envelope->source, envelope->tag, envelope->comm, &there, &seen);
    }
    receive->code = MPI_Recv(placed_address(placed), placed->count, placed->type, seen.MPI_SOURCE, seen.MPI_TAG, envelope->comm,
                             &receive->status);
    MPI_Get_count(&seen, MPI_BYTE, &bytes);
    MPI_Get_count(&receive->status, MPI_BYTE, &got);
    harness_check(&worker->h, seen.MPI_SOURCE == receive->status.MPI_SOURCE && seen.MPI_TAG == receive->status.MPI_TAG &&
                  (bytes == got || receive->code != MPI_SUCCESS), "round %d: probed %d bytes, received %d", worker->round, bytes,
                  got);
}

static void receive_matched(struct worker *worker, struct receive *receive, const struct envelope *envelope)
{
    struct placed *placed = &receive->placed;
    MPI_Message message = MPI_MESSAGE_NULL;
    int there = 0;

    if (receive->receiving != IMPROBE) {
        MPI_Mprobe(envelope->source, envelope->tag, envelope->comm, &message, MPI_STATUS_IGNORE);
    }
    while (receive->receiving == IMPROBE && !there) {
        MPI_Improbe(envelope->source, envelope->tag, envelope->comm, &there, &message, MPI_STATUS_IGNORE);
    }
    if (receive->receiving == IMRECV) {
        MPI_Imrecv(placed_address(placed), placed->count, placed->type, &message, &receive->request);
        receive->code = MPI_Wait(&receive->request, &receive->status);
    } else {
        receive->code = MPI_Mrecv(placed_address(placed), placed->count, placed->type, &message, &receive->status);
    }
    harness_check(&worker->h, message == MPI_MESSAGE_NULL, "round %d: the matched message is left", worker->round);
}

void stress_receive(struct worker *worker, struct receive *receive)
{
    struct envelope envelope = envelope_of(worker, receive);
    struct placed *placed = &receive->placed;

    if (receive->receiving < POSTED) {
        return;
    }
    make_room(worker, receive);
    if (receive->receiving == RECV) {
        receive->code = MPI_Recv(placed_address(placed), placed->count, placed->type, envelope.source, envelope.tag,
                                 envelope.comm, &receive->status);
    } else if (receive->receiving == PROBE || receive->receiving == IPROBE) {
        receive_probed(worker, receive, &envelope);
    } else {
        receive_matched(worker, receive, &envelope);
    }
}

/* A look at whatever is there, which must be a message of the plan. */
void stress_peek(struct worker *worker)
{
    MPI_Status status;
    int there = 0, bytes = -1;
    bool planned = false;

    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, worker->comms[OWN], &there, &status);
    if (!there) {
        return;
    }
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    for (int i = 0; i < MESSAGES; i++) {
        const struct message *message = &worker->messages[i];

        planned |= message->channel == OWN && message->source == status.MPI_SOURCE && message->target == worker->h.rank &&
                   stress_tag(worker, message->tag) == status.MPI_TAG && message->bytes == (size_t)bytes;
    }
    harness_check(&worker->h, planned, "round %d: a probe saw %d bytes of rank %d, tag %d, which nobody sent", worker->round,
                  bytes, status.MPI_SOURCE, status.MPI_TAG);
}
