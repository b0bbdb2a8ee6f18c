/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host-sequenced allreduce, piece by piece: copy in, reduce, copy out. While the CPUs reduce a piece, the copy engine brings
 * the next one and takes the one before.
 */
#include "proxy/host_sequenced.h"

#include <stdlib.h>

#include "base/clock.h"
#include "core/host_ordered.h"
#include "core/host_wait.h"
#include "core/peers.h"
#include "proxy/host_memory.h"
#include "proxy/host_reduce.h"

/* From this size of a piece on each rank reduces its share and all read the board, which costs one more meeting of the hosts
 * (about a microsecond); below it each rank reduces everything for itself. A core reduces some 10 GB/s. */
enum { SHARE_BYTES = 32 * 1024 };
/* Shares begin at multiples of this many elements, so at whole lines of the board. */
enum { SHARE_ELEMENTS = GF_LINE };
enum { POLLS_PER_CLOCK = 256 };

/* Owned by the communicator, as *state. */
struct host_sequenced {
    struct gf_host_slots memory;
    gf_stream *stream;
    uint64_t deadline_ns;              /* of one wait, 0: none */
    uint64_t next_piece;               /* its number, the same on all ranks between calls */
};

/* One allreduce under way. */
struct call {
    struct host_sequenced *s;
    const char *send;
    char *recv;
    size_t count, element_bytes, piece_elements;
    enum gf_type type;
    enum gf_op op;
    uint64_t first, pieces;            /* numbers first .. first + pieces - 1 */
    const struct gf_host_wait *wait;
    struct gf_reason *why;
};

static gf_status host_create(const struct gf_config *config, const struct gf_bootstrap *bootstrap, gf_device *device,
                             gf_stream *stream, void **state, struct gf_reason *why)
{
    struct host_sequenced *s = calloc(1, sizeof *s);

    *state = NULL;
    if (!s) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    s->stream = stream;
    s->deadline_ns = config->deadline_ms * 1000000u;
    gf_status status = gf_host_slots_open(&s->memory, config, bootstrap, device, why);

    if (status != GF_OK) {
        free(s);
        return status;
    }
    *state = s;
    return GF_OK;
}

static void host_destroy(void *state)
{
    struct host_sequenced *s = state;

    gf_device_stream_sync(s->memory.device, s->stream);
    gf_host_slots_close(&s->memory);
    free(s);
}

/* One turn of a wait that began with *turn = 0. */
static gf_status poll_once(const struct call *call, uint32_t *turn, uint64_t *began_ns)
{
    uint64_t deadline_ns = call->s->deadline_ns;

    if (deadline_ns > 0 && (*turn)++ % POLLS_PER_CLOCK == 0) {
        uint64_t now = gf_now_ns();

        if (*began_ns == 0) {
            *began_ns = now;
        } else if (now - *began_ns > deadline_ns) {
            gf_reason_set(call->why, "rank %d waited longer than deadline_ms = %llu for the hosts of its peers",
                          call->s->memory.rank, (unsigned long long)(deadline_ns / 1000000u));
            return GF_ERR_TIMEOUT;
        }
    }
    return call->wait->poll(call->wait->ctx, call->why);
}

enum counter { ARRIVED, REDUCED };

static uint64_t *counter_of(const struct host_sequenced *s, int rank, enum counter which)
{
    struct gf_host_counters *counters = gf_host_slots_counters(&s->memory, rank);

    return which == ARRIVED ? &counters->arrived : &counters->reduced;
}

/* Until the counters of all ranks are at least `value`. */
static gf_status await_all(const struct call *call, enum counter which, uint64_t value)
{
    for (int r = 0; r < call->s->memory.ranks; r++) {
        const uint64_t *counter = counter_of(call->s, r, which);
        uint32_t turn = 0;
        uint64_t began_ns = 0;

        while (gf_host_observe(counter) < value) {
            gf_status status = poll_once(call, &turn, &began_ns);

            if (status != GF_OK) {
                return status;
            }
        }
    }
    return GF_OK;
}

static void publish(const struct call *call, enum counter which, uint64_t value)
{
    gf_host_publish(counter_of(call->s, call->s->memory.rank, which), value);
}

/* Until all queued copies are done. */
static gf_status await_copies(const struct call *call)
{
    return gf_host_await_stream(call->s->memory.device, call->s->stream, call->wait, call->why);
}

/* Elements of a piece; *offset: bytes before it. */
static size_t piece_elements(const struct call *call, uint64_t piece, size_t *offset)
{
    size_t begin = (size_t)(piece - call->first) * call->piece_elements;
    size_t rest = call->count - begin;

    *offset = begin * call->element_bytes;
    return rest < call->piece_elements ? rest : call->piece_elements;
}

static bool is_shared(const struct call *call, size_t elements)
{
    return elements * call->element_bytes >= SHARE_BYTES;
}

static gf_status queue_copy(const struct call *call, void *to, const void *from, size_t bytes)
{
    gf_status status = gf_device_copy(call->s->memory.device, call->s->stream, to, from, bytes);

    if (status != GF_OK) {
        gf_reason_set(call->why, "a copy of %zu bytes between device and host could not be started: %s", bytes,
                      gf_status_string(status));
    }
    return status;
}

/* The input slot is free once all have reduced the piece before the last. */
static gf_status copy_in(const struct call *call, uint64_t piece)
{
    const struct gf_host_slots *m = &call->s->memory;
    size_t offset, elements = piece_elements(call, piece, &offset);
    gf_status status = piece >= 2 ? await_all(call, REDUCED, piece - 1) : GF_OK;

    return status == GF_OK ? queue_copy(call, gf_host_slots_input(m, m->rank, piece), call->send + offset,
                                        elements * call->element_bytes) : status;
}

/* Reduces elements [begin, end) of a piece into the result slot of rank `owner`. */
static void reduce_range(const struct call *call, uint64_t piece, size_t begin, size_t end, int owner)
{
    const struct gf_host_slots *m = &call->s->memory;
    const void *inputs[GF_MAX_RANKS];
    size_t offset = begin * call->element_bytes;

    for (int r = 0; r < m->ranks; r++) {
        inputs[r] = gf_host_slots_input(m, r, piece) + offset;
    }
    /* cppcheck-suppress uninitvar; there are always ranks */
    gf_host_reduce(inputs, m->ranks, gf_host_slots_result(m, owner, piece) + offset, (end - begin) * call->element_bytes,
                   call->type, call->op);
}

/* This rank's part of the work. That all have arrived says too that all are done with the result slots of the piece before the
 * last. */
static gf_status reduce(const struct call *call, uint64_t piece)
{
    const struct gf_host_slots *m = &call->s->memory;
    size_t offset, elements = piece_elements(call, piece, &offset);
    gf_status status = await_all(call, ARRIVED, piece + 1);

    if (status != GF_OK) {
        return status;
    }
    if (is_shared(call, elements)) {
        size_t part = (elements / (size_t)m->ranks / SHARE_ELEMENTS + 1) * SHARE_ELEMENTS;
        size_t begin = (size_t)m->rank * part, end = begin + part;

        if (begin < elements) {
            reduce_range(call, piece, begin, end < elements ? end : elements, 0);
        }
    } else {
        reduce_range(call, piece, 0, elements, m->rank);
    }
    publish(call, REDUCED, piece + 1);
    return GF_OK;
}

static gf_status copy_out(const struct call *call, uint64_t piece)
{
    const struct gf_host_slots *m = &call->s->memory;
    size_t offset, elements = piece_elements(call, piece, &offset);
    bool shared = is_shared(call, elements);
    gf_status status = shared ? await_all(call, REDUCED, piece + 1) : GF_OK;

    return status == GF_OK ? queue_copy(call, call->recv + offset, gf_host_slots_result(m, shared ? 0 : m->rank, piece),
                                        elements * call->element_bytes) : status;
}

/* One turn of the pipeline: at its start the input of `piece` has arrived here, at its end that of the next one has. */
static gf_status turn(const struct call *call, uint64_t piece)
{
    bool more = piece + 1 < call->first + call->pieces;
    gf_status status = more ? copy_in(call, piece + 1) : GF_OK;

    if (status == GF_OK) {
        status = reduce(call, piece);
    }
    if (status == GF_OK) {
        status = await_copies(call);
    }
    if (status != GF_OK) {
        return status;
    }
    if (more) {
        publish(call, ARRIVED, piece + 2);
    }
    return copy_out(call, piece);
}

static gf_status run(const struct call *call)
{
    gf_status status = copy_in(call, call->first);

    if (status == GF_OK) {
        status = await_copies(call);
    }
    if (status == GF_OK) {
        publish(call, ARRIVED, call->first + 1);
    }
    for (uint64_t i = 0; i < call->pieces && status == GF_OK; i++) {
        status = turn(call, call->first + i);
    }
    return status == GF_OK ? await_copies(call) : status;
}

static gf_status host_allreduce(void *state, const void *send, void *recv, size_t count, enum gf_type type, enum gf_op op,
                                const struct gf_host_wait *wait, struct gf_reason *why)
{
    struct host_sequenced *s = state;
    struct call call = {
        .s = s, .send = send, .recv = recv, .count = count, .element_bytes = gf_type_size(type), .type = type, .op = op,
        .first = s->next_piece, .wait = wait, .why = why,
    };

    if (count == 0) {
        return GF_OK;
    }
    call.piece_elements = s->memory.piece_bytes / call.element_bytes;
    call.pieces = (count + call.piece_elements - 1) / call.piece_elements;
    gf_status status = run(&call);

    s->next_piece += call.pieces;
    if (status != GF_OK) {
        /* Nothing may touch the caller's buffers after the return. */
        gf_device_stream_sync(s->memory.device, s->stream);
    }
    return status;
}

const struct gf_host_executor gf_host_sequenced = {
    .create = host_create, .allreduce = host_allreduce, .destroy = host_destroy,
};
