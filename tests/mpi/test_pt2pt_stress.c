/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random point-to-point traffic between all ranks, of one thread or of several:
 *   test_pt2pt_stress THREADS ROUNDS [SEED [WORD]...]
 *       frees       of some receives the requests are freed; the data are looked at until they have come
 *       cuts_long   messages are truncated however long they are
 * Every call, every kind of memory, datatypes, wildcards, short buffers, intercommunicators. The seed is printed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/stress.h"

enum { MAX_THREADS = 8, INTER_TAG = 9 };

/* All requests of this rank that are left. No PML of Open MPI takes back what it has begun to send. */
static void complete(struct worker *worker, enum stress_way way)
{
    MPI_Request requests[2 * MESSAGES];
    MPI_Status statuses[2 * MESSAGES];
    int codes[2 * MESSAGES], count = 2 * MESSAGES, cancelled;

    for (int i = 0; i < MESSAGES; i++) {
        requests[i] = worker->receives[i].request;
        requests[MESSAGES + i] = worker->messages[i].request;
    }
    stress_complete(way, count, requests, statuses, codes);
    for (int i = 0; i < MESSAGES; i++) {
        if (worker->receives[i].request != MPI_REQUEST_NULL) {
            worker->receives[i].status = statuses[i];
            worker->receives[i].code = codes[i];
        }
        if (worker->messages[i].request != MPI_REQUEST_NULL) {
            MPI_Test_cancelled(&statuses[MESSAGES + i], &cancelled);
            harness_check(&worker->h, codes[MESSAGES + i] == MPI_SUCCESS && !cancelled, "round %d: a send: code %d%s",
                          worker->round, codes[MESSAGES + i], cancelled ? ", cancelled" : "");
        }
    }
    for (int i = 0; i < count; i++) {
        if (requests[i] != MPI_REQUEST_NULL) {
            MPI_Request_free(&requests[i]);
        }
    }
}

/* Each rank sends in an order of its own. Nothing of a round is left when the next one starts. */
static void play(struct worker *worker)
{
    enum stress_way way = (enum stress_way)stress_draw(worker, worker->truncating ? FINDING_ERRORS : STRESS_WAYS);
    bool peeks = stress_draw(worker, 2), exchanges = stress_draw(worker, 2);

    for (int i = 0; i < MESSAGES; i++) {
        if (worker->receives[i].target == worker->h.rank) {
            stress_post(worker, &worker->receives[i]);
        }
    }
    if (worker->fenced) {
        MPI_Barrier(worker->comms[OWN]);
    }
    for (int turn = 0; turn < MESSAGES; turn++) {
        struct message *message = stress_sent(worker, worker->h.rank, turn);

        if (message->source == worker->h.rank) {
            stress_send(worker, message);
        }
        if (peeks) {
            stress_peek(worker);
        }
    }
    if (exchanges) {
        stress_exchange(worker);
    }
    for (int i = MESSAGES - 1; i >= 0; i--) {
        if (worker->receives[i].target == worker->h.rank) {
            stress_receive(worker, &worker->receives[i]);
        }
    }
    complete(worker, way);
    stress_match(worker);
    MPI_Barrier(worker->comms[OWN]);
    for (int i = 0; i < MESSAGES; i++) {
        if (worker->messages[i].source == worker->h.rank) {
            placed_destroy(&worker->messages[i].placed, "a send");
        }
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;

    for (worker->round = 0; worker->round < worker->rounds; worker->round++) {
        stress_plan(worker);
        play(worker);
    }
    return NULL;
}

static MPI_Comm returning(MPI_Comm comm)
{
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

static void open_comms(struct worker *worker)
{
    int side = worker->h.rank % 2;
    MPI_Comm half;

    worker->comms[SHARED] = returning(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &worker->comms[OWN]);
    MPI_Comm_dup(MPI_COMM_WORLD, &worker->pairs);
    returning(worker->comms[OWN]);
    if (worker->h.ranks > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, INTER_TAG, &worker->comms[INTER]);
        returning(worker->comms[INTER]);
        MPI_Comm_free(&half);
    }
}

static void close_comms(struct worker *worker)
{
    MPI_Comm_free(&worker->comms[OWN]);
    MPI_Comm_free(&worker->pairs);
    if (worker->h.ranks > 1) {
        MPI_Comm_free(&worker->comms[INTER]);
    }
}

/* `all` has what is the same for all workers. */
static void run_all(struct harness *h, int threads, uint64_t seed, const struct worker *all)
{
    static struct worker workers[MAX_THREADS];       /* too large for a stack */
    pthread_t ids[MAX_THREADS];

    for (int i = 0; i < threads; i++) {
        workers[i] = *all;
        workers[i].h = *h;
        workers[i].h.checks = workers[i].h.failures = 0;
        workers[i].index = i;
        workers[i].random = seed * 1000003u + (unsigned)i;
        open_comms(&workers[i]);
    }
    for (int i = 1; i < threads; i++) {
        harness_need(h, pthread_create(&ids[i], NULL, work, &workers[i]), "pthread_create");
    }
    work(&workers[0]);
    for (int i = 0; i < threads; i++) {
        if (i > 0) {
            pthread_join(ids[i], NULL);
        }
        close_comms(&workers[i]);
        h->checks += workers[i].h.checks;
        h->failures += workers[i].h.failures;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    static struct worker all;          /* too large for a stack */
    int threads = argc > 1 ? atoi(argv[1]) : 1, attached;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    void *room;
    struct harness h;

    harness_start(&h, argc, argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    harness_check(&h, threads >= 1 && threads <= MAX_THREADS, "1 to %d threads, not %d", MAX_THREADS, threads);
    threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
    all.rounds = argc > 2 ? atoi(argv[2]) : 10;
    for (int i = 4; i < argc; i++) {
        all.frees |= strcmp(argv[i], "frees") == 0;
        all.cuts_long |= strcmp(argv[i], "cuts_long") == 0;
    }
    if (h.rank == 0) {
        printf("test_pt2pt_stress: %d threads, %d rounds, seed %llu\n", threads, all.rounds, (unsigned long long)seed);
    }
    attached = threads * 2 * MESSAGES * (BUFFERED + MPI_BSEND_OVERHEAD);
    room = host_alloc(&h, (size_t)attached);
    MPI_Buffer_attach(room, attached);
    run_all(&h, threads, seed, &all);
    MPI_Buffer_detach(&room, &attached);
    free(room);
    return harness_finish(&h);
}
