/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random point-to-point traffic between all ranks, of one thread or of several on one communicator:
 *   test_pt2pt_stress THREADS ROUNDS [SEED]
 * All ranks draw the same plan from the seed, which is printed: who sends how much to whom, from and to which memory, by which
 * calls.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/mpi/pt2pt_buffers.h"

enum { MESSAGES = 24, MAX_THREADS = 8 };
enum { NOTE = 67 };                    /* bytes of the note that announces a large message: probes must tell one from data */

enum sending { ISEND, ISSEND, SEND_INIT, SENDINGS };
enum receiving { IRECV, RECV_INIT, RECV, MRECV, IMRECV, PROBE, IPROBE, RECEIVINGS };

/* One message of the plan, and what this rank has of it. */
struct message {
    int source, target, tag;
    size_t bytes, room;
    enum gpufifo_memory from, to;
    enum sending sending;
    enum receiving receiving;
    unsigned seed;
    struct buffer sent, received;
    MPI_Request send, receive;
};

struct worker {
    struct harness h;                  /* of this thread: the counts of checks are its own */
    int index, rounds;
    unsigned long long random;
    pthread_t thread;
};

static unsigned draw(struct worker *worker, unsigned below)
{
    worker->random = worker->random * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)((worker->random >> 33) % below);
}

static void plan(struct worker *worker, struct message *message, int number)
{
    static const enum gpufifo_memory kinds[] = {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_DEVICE,
                                                GPUFIFO_MEMORY_MANAGED};

    message->source = (int)draw(worker, (unsigned)worker->h.ranks);
    message->target = (int)draw(worker, (unsigned)worker->h.ranks);
    message->tag = worker->index * MESSAGES + number;
    message->bytes = draw(worker, 4) == 0 ? NOTE : draw(worker, 1u << draw(worker, 18));
    message->room = message->bytes + draw(worker, 2) * draw(worker, 5000);
    message->from = kinds[draw(worker, 4)];
    message->to = kinds[draw(worker, 4)];
    message->sending = draw(worker, SENDINGS);
    message->receiving = draw(worker, RECEIVINGS);
    message->seed = draw(worker, 1000);
    message->send = message->receive = MPI_REQUEST_NULL;
}

static struct ends ends_of(struct worker *worker, const struct message *message)
{
    return (struct ends){.h = &worker->h, .from = message->from, .to = message->to, .name = "stress"};
}

/* The receives that are posted before anything is sent. */
static void post(struct worker *worker, struct message *message)
{
    struct ends ends = ends_of(worker, message);

    if (message->target != worker->h.rank) {
        return;
    }
    landing_create(&ends, &message->received, message->room);
    if (message->receiving == IRECV) {
        MPI_Irecv(message->received.data, (int)message->room, MPI_BYTE, message->source, message->tag, MPI_COMM_WORLD,
                  &message->receive);
    } else if (message->receiving == RECV_INIT) {
        MPI_Recv_init(message->received.data, (int)message->room, MPI_BYTE, message->source, message->tag, MPI_COMM_WORLD,
                      &message->receive);
        MPI_Start(&message->receive);
    }
}

static void send(struct worker *worker, struct message *message)
{
    struct ends ends = ends_of(worker, message);
    const void *data;

    if (message->source != worker->h.rank) {
        return;
    }
    message_create(&ends, &message->sent, message->bytes, message->seed);
    data = message->sent.data;
    if (message->sending == ISEND) {
        MPI_Isend(data, (int)message->bytes, MPI_BYTE, message->target, message->tag, MPI_COMM_WORLD, &message->send);
    } else if (message->sending == ISSEND) {
        MPI_Issend(data, (int)message->bytes, MPI_BYTE, message->target, message->tag, MPI_COMM_WORLD, &message->send);
    } else {
        MPI_Send_init(data, (int)message->bytes, MPI_BYTE, message->target, message->tag, MPI_COMM_WORLD, &message->send);
        MPI_Start(&message->send);
    }
}

/* Without taking it. */
static void probe(const struct ends *ends, const struct message *message)
{
    MPI_Status status;
    int there = 0;

    if (message->receiving == PROBE) {
        MPI_Probe(message->source, message->tag, MPI_COMM_WORLD, &status);
    } else {
        while (!there) {
            MPI_Iprobe(message->source, message->tag, MPI_COMM_WORLD, &there, &status);
        }
    }
    status_check(ends, &status, message->source, message->tag, message->bytes);
}

/* The receives that come after the sends, and the ends of the others. */
static void receive(struct worker *worker, struct message *message)
{
    struct ends ends = ends_of(worker, message);
    void *data = message->received.data;
    int room = (int)message->room;
    MPI_Message matched;
    MPI_Status status;

    if (message->target != worker->h.rank) {
        return;
    }
    if (message->receiving >= PROBE) {
        probe(&ends, message);
    }
    if (message->receiving == RECV || message->receiving >= PROBE) {
        MPI_Recv(data, room, MPI_BYTE, message->source, message->tag, MPI_COMM_WORLD, &status);
    } else if (message->receiving == MRECV) {
        MPI_Mprobe(message->source, message->tag, MPI_COMM_WORLD, &matched, MPI_STATUS_IGNORE);
        MPI_Mrecv(data, room, MPI_BYTE, &matched, &status);
    } else if (message->receiving == IMRECV) {
        MPI_Mprobe(message->source, message->tag, MPI_COMM_WORLD, &matched, MPI_STATUS_IGNORE);
        MPI_Imrecv(data, room, MPI_BYTE, &matched, &message->receive);
        MPI_Wait(&message->receive, &status);
    } else {
        MPI_Wait(&message->receive, &status);
    }
    if (message->receive != MPI_REQUEST_NULL) {
        MPI_Request_free(&message->receive);
    }
    status_check(&ends, &status, message->source, message->tag, message->bytes);
    landing_check(&ends, &message->received, message->bytes, message->source, message->seed);
}

static void finish_send(struct worker *worker, struct message *message)
{
    if (message->source != worker->h.rank) {
        return;
    }
    MPI_Wait(&message->send, MPI_STATUS_IGNORE);
    if (message->send != MPI_REQUEST_NULL) {
        MPI_Request_free(&message->send);
    }
    buffer_destroy(&message->sent, "stress");
}

/* Sends go in an order that the rank draws for itself from where the round starts. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    struct message messages[MESSAGES];

    for (int round = 0; round < worker->rounds; round++) {
        for (int i = 0; i < MESSAGES; i++) {
            plan(worker, &messages[i], i);
        }
        for (int i = 0; i < MESSAGES; i++) {
            post(worker, &messages[i]);
        }
        for (int i = 0; i < MESSAGES; i++) {
            send(worker, &messages[(i * 5 + worker->h.rank) % MESSAGES]);
        }
        for (int i = MESSAGES - 1; i >= 0; i--) {
            receive(worker, &messages[i]);
        }
        for (int i = 0; i < MESSAGES; i++) {
            finish_send(worker, &messages[i]);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 10;
    unsigned long long seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    struct worker workers[MAX_THREADS];
    struct harness h;

    harness_start(&h, argc, argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    harness_check(&h, threads >= 1 && threads <= MAX_THREADS, "1 to %d threads, not %d", MAX_THREADS, threads);
    threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
    if (h.rank == 0) {
        printf("test_pt2pt_stress: %d threads, %d rounds, seed %llu\n", threads, rounds, seed);
    }
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){.h = h, .index = i, .rounds = rounds, .random = seed * 1000003u + (unsigned)i};
        workers[i].h.checks = workers[i].h.failures = 0;
        if (i > 0) {
            harness_need(&h, pthread_create(&workers[i].thread, NULL, work, &workers[i]), "pthread_create");
        }
    }
    work(&workers[0]);
    for (int i = 0; i < threads; i++) {
        if (i > 0) {
            pthread_join(workers[i].thread, NULL);
        }
        h.checks += workers[i].h.checks;
        h.failures += workers[i].h.failures;
    }
    return harness_finish(&h);
}
