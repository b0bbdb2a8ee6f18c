/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan of a round of random messages. It ends whatever the order of things: of the receives on one channel all or none name
 * their sources, and their tags, so that each message has a receive that no other one needs; and only where all receives are
 * posted before the sends does a send wait for its receive.
 */
#include "tests/mpi/stress.h"
#include "tests/mpi/values.h"

enum {
    EAGER = 4000,              /* Open MPI 4.1 overruns the buffer when it truncates longer ones from host memory */
    TYPED = 1 << 14            /* with gaps, eight times as long */
};

unsigned stress_draw(struct worker *worker, unsigned below)
{
    return (unsigned)(random_next(&worker->random) % below);
}

enum gpufifo_memory stress_draw_kind(struct worker *worker)
{
    static const enum gpufifo_memory kinds[] = {
        GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_HOST,
        GPUFIFO_MEMORY_PINNED, GPUFIFO_MEMORY_MANAGED, GPUFIFO_MEMORY_VMM, GPUFIFO_MEMORY_VMM_PRIVATE, GPUFIFO_MEMORY_POOL,
    };

    return kinds[stress_draw(worker, sizeof kinds / sizeof kinds[0])];
}

/* Every third message or so has gaps. */
static uint64_t draw_type(struct worker *worker)
{
    return stress_draw(worker, 3) == 0 ? 1 + stress_draw(worker, 1u << 30) : 0;
}

static enum channel draw_channel(struct worker *worker)
{
    return (enum channel)stress_draw(worker, worker->h.ranks > 1 ? CHANNELS : INTER);
}

static void draw_ends(struct worker *worker, struct message *message)
{
    unsigned ranks = (unsigned)worker->h.ranks;

    message->channel = worker->crowded != CHANNELS ? worker->crowded : draw_channel(worker);
    message->source = (int)stress_draw(worker, ranks);
    message->target = (int)stress_draw(worker, ranks);
    if (message->channel == INTER && (message->source - message->target) % 2 == 0) {
        message->target = message->source > 0 ? message->source - 1 : 1;
    }
    /* To the own rank Open MPI 4.1 truncates without an error. */
    if (worker->truncating && message->source == message->target) {
        message->target = (message->source + 1) % worker->h.ranks;
    }
    message->tag = (int)stress_draw(worker, TAGS);
}

static void draw_data(struct worker *worker, struct message *message)
{
    message->sending = (enum sending)stress_draw(worker, worker->fenced ? SENDINGS : worker->posted ? WHEN_POSTED : ANY_TIME);
    message->bytes = stress_draw(worker, 4) == 0 ? NOTE : stress_draw(worker, 1u << stress_draw(worker, 18));
    if (worker->truncating && !worker->cuts_long) {
        message->bytes %= EAGER / 2;
    }
    if (message->sending == BSEND || message->sending == IBSEND || message->sending == BSEND_INIT) {
        message->bytes %= BUFFERED / 2;
    }
    /* Whole elements may have more, but less than twice as many, as elements are short. */
    message->type = draw_type(worker);
    if (message->type != 0) {
        message->bytes %= TYPED;
    }
    if (worker->frees && message->bytes == 0) {
        message->bytes = 1;
    }
    message->bytes = placed_bytes(message->bytes, message->type);
    message->from = stress_draw_kind(worker);
    message->seed = stress_draw(worker, 1000);
    message->freed = stress_draw(worker, 8) == 0;
    message->cancelled = stress_draw(worker, 8) == 0;
}

/* Of an error of a persistent receive Open MPI 4.1 says nothing where it is found by a test, and that of MPI_Imrecv crashes it
 * with pml ucx. */
static enum receiving draw_receiving(struct worker *worker)
{
    enum receiving receiving = (enum receiving)stress_draw(worker, worker->posted ? POSTED : RECEIVINGS);

    return !worker->truncating ? receiving : receiving == RECV_INIT ? IRECV : receiving == IMRECV ? MRECV : receiving;
}

/* Only where its message can be told without its status. */
static bool draw_freed(struct worker *worker, const struct receive *receive)
{
    return worker->frees && !worker->truncating && !(worker->wildcards[receive->channel] & ANY_SOURCE) &&
           stress_draw(worker, 4) == 0;
}

/* What the longest message needs that it may get, or anything at all. */
static void draw_room(struct worker *worker, struct receive *receive)
{
    size_t most = 0;

    for (int i = 0; i < MESSAGES; i++) {
        const struct message *message = &worker->messages[i];

        if (message->channel == receive->channel && message->target == receive->target && message->bytes > most) {
            most = message->bytes;
        }
    }
    receive->room = most + stress_draw(worker, 2) * stress_draw(worker, 5000);
    if (worker->truncating) {
        receive->room = stress_draw(worker, stress_draw(worker, 2) && most > NOTE ? NOTE : (unsigned)most + 1);
    }
}

void stress_plan(struct worker *worker)
{
    worker->posted = stress_draw(worker, 2);
    worker->fenced = worker->posted && stress_draw(worker, 2);
    worker->crowded = stress_draw(worker, 2) ? draw_channel(worker) : CHANNELS;
    worker->truncating = worker->h.ranks > 1 && stress_draw(worker, 4) == 0;
    worker->ordered = 0;
    for (int c = 0; c < CHANNELS; c++) {
        worker->wildcards[c] = (int)stress_draw(worker, c == SHARED ? ANY_TAG : ANY_SOURCE + ANY_TAG + 1);
    }
    for (int i = 0; i < MESSAGES; i++) {
        struct message *message = &worker->messages[i];

        *message = (struct message){.request = MPI_REQUEST_NULL};
        draw_ends(worker, message);
        draw_data(worker, message);
    }
    for (int i = 0; i < MESSAGES; i++) {
        const struct message *message = &worker->messages[i];
        struct receive *receive = &worker->receives[i];

        *receive = (struct receive){.source = message->source, .target = message->target, .tag = message->tag,
                                    .channel = message->channel, .request = MPI_REQUEST_NULL};
        receive->receiving = draw_receiving(worker);
        receive->freed = draw_freed(worker, receive);
        receive->to = stress_draw_kind(worker);
        draw_room(worker, receive);
        receive->type = receive->room <= TYPED ? draw_type(worker) : 0;
    }
}
