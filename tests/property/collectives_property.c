/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random collectives, several at a time: every function in every form, on communicators of all kinds, with roots, counts, types,
 * operations, places and kinds of memory as random numbers tell. Every byte of every buffer must be as the same call leaves it on
 * host buffers, which Open MPI's own components serve. All ranks draw the same numbers from the seed of a round.
 *
 * Usage: collectives_property [--seed N] [--rounds N] [--function NAME] [--bytes N] [--host] [--tell]
 * Round i has the seed N + i, so that each can be had alone. NAME: as of MPI, without its prefix (Allgatherv). --bytes: most of a
 * part. --host: host buffers only, to see whether the MPI alone passes. --tell: what each round does, before it does it.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "examples/paths.h"
#include "tests/property/flight.h"

enum { FLIGHTS = 5, COMPLAINTS = 5 };

struct options {
    long seed, rounds, bytes;
    const char *function;
    bool host, tell;
};

struct program {
    struct harness h;
    struct options options;
    struct flight_limits limits;
    struct drawn_comms comms;
    struct stage_types shared;
    struct stage_store store;
    int complaints;
};

static long number(const char *name, const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (*end || end == text || value < 0) {
        fprintf(stderr, "collectives_property: --%s takes a number, not \"%s\"\n", name, text);
        exit(2);
    }
    return value;
}

static struct options read_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"seed", required_argument, NULL, 's'}, {"rounds", required_argument, NULL, 'r'}, {"bytes", required_argument, NULL, 'b'},
        {"function", required_argument, NULL, 'f'}, {"host", no_argument, NULL, 'h'}, {"tell", no_argument, NULL, 't'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {.seed = 1, .rounds = 200, .bytes = 1 << 16};
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 's': options.seed = number("seed", optarg); break;
        case 'r': options.rounds = number("rounds", optarg); break;
        case 'b': options.bytes = number("bytes", optarg); break;
        case 'f': options.function = optarg; break;
        case 'h': options.host = true; break;
        case 't': options.tell = true; break;
        default: exit(2);
        }
    }
    return options;
}

static const struct stage_collective *find_collective(const char *name)
{
    for (size_t i = 0; i < stage_collective_count; i++) {
        if (strcasecmp(stage_collectives[i].name, name) == 0) {
            return &stage_collectives[i];
        }
    }
    fprintf(stderr, "collectives_property: no function \"%s\"; the name is as of MPI_Allgatherv, without MPI_\n", name);
    exit(2);
}

static void repeat_line(const struct program *p, uint64_t seed, long rounds, char *text, size_t size)
{
    snprintf(text, size, "--seed %llu --rounds %ld --bytes %ld%s%s", (unsigned long long)seed, rounds, p->options.bytes,
             p->options.function ? " --function " : "", p->options.function ? p->options.function : "");
}

static void tell(const struct program *p, uint64_t seed, const struct flight *flights, int count)
{
    char text[200];

    for (int i = 0; i < count && p->h.rank == 0; i++) {
        flight_describe(&flights[i], text, sizeof text);
        printf("%llu: %s %s%s\n", (unsigned long long)seed, flights[i].choice.collective->name, text,
               flights[i].choice.in_place ? ", in place" : "");
    }
    fflush(stdout);
}

/* What is still to be waited for, in an order of this rank's own. */
static void complete(struct flight *flights, int count, uint64_t bits)
{
    MPI_Request requests[FLIGHTS];
    int from[FLIGHTS], left = 0;

    for (int i = 0; i < count; i++) {
        if (flights[i].request != MPI_REQUEST_NULL) {
            from[left] = i;
            requests[left++] = flights[i].request;
        }
    }
    stage_complete(left, requests, (int)(bits % STAGE_WAYS));
    for (int i = 0; i < left; i++) {
        flights[from[i]].request = requests[i];
        flight_spoil(&flights[from[i]]);
    }
}

/* A token that passes all ranks, one after the other, in blocking messages. */
static void pass_token(const struct harness *h)
{
    int token = 0;

    if (h->rank > 0) {
        MPI_Recv(&token, 1, MPI_INT, h->rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (h->rank + 1 < h->ranks) {
        MPI_Send(&token, 1, MPI_INT, h->rank + 1, 0, MPI_COMM_WORLD);
    }
}

/* What a program may do while operations are under way: nothing of it may wait for the other ranks' part in them. */
static void dally(struct harness *h, uint64_t bits)
{
    void *memory;

    switch (bits % 5) {
    case 0:
        harness_need(h, gpufifo_synchronize(h->device), "synchronise");
        break;
    case 1:
        harness_need(h, gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, 1 << 20, &memory), "alloc");
        harness_need(h, gpufifo_free(h->device, memory), "free");
        break;
    case 2:
        pass_token(h);
        break;
    default:
        break;
    }
}

static bool run_flights(struct program *p, struct flight *flights, int count, uint64_t shared, uint64_t own)
{
    bool passed = true, persistent = false;

    for (int i = 0; i < count; i++) {
        flight_prepare(&p->h, &flights[i]);
    }
    for (int i = 0; i < count; i++) {
        flight_start(&flights[i]);
        dally(&p->h, shared >> 8 * i);
    }
    complete(flights, count, own >> 8);
    for (int i = 0; i < count; i++) {
        passed = flight_check(&flights[i], "") && passed;
        persistent = persistent || (flights[i].member && flights[i].form == STAGE_PERSISTENT);
    }
    for (int i = 0; i < count; i++) {
        flight_again(&flights[i]);
    }
    complete(flights, count, own >> 16);
    for (int i = 0; i < count && persistent; i++) {
        passed = flight_check(&flights[i], ", later") && passed;
    }
    return passed;
}

static void run_round(struct program *p, long round)
{
    struct flight flights[FLIGHTS];
    uint64_t seed = (uint64_t)p->options.seed + (uint64_t)round, state = seed, own = seed * 100 + (uint64_t)p->h.rank;
    int count = random_next(&state) % 2 ? 1 : 1 + (int)(random_next(&state) % FLIGHTS);
    char alone[160], all[160];

    for (int i = 0; i < count; i++) {
        flight_draw(&p->h, random_next(&state), &p->limits, &p->comms, &p->shared, &p->store, &flights[i]);
    }
    if (p->options.tell) {
        tell(p, seed, flights, count);
    }
    if (!run_flights(p, flights, count, random_next(&state), random_next(&own)) && p->complaints++ < COMPLAINTS) {
        repeat_line(p, seed, 1, alone, sizeof alone);
        repeat_line(p, (uint64_t)p->options.seed, round + 1, all, sizeof all);
        fprintf(stderr, "collectives_property: rank %d: to repeat this: %s; with all before it: %s\n", p->h.rank, alone, all);
    }
    for (int i = 0; i < count; i++) {
        flight_end(&flights[i]);
    }
}

/* What rank 0's calls took, so that a reader sees what was tested. */
static void tell_paths(const struct program *p, const struct paths_counters *counters)
{
    struct paths taken;
    char text[512];

    paths_read(counters, &taken);
    paths_print(&taken, "none that gpufifo counts", text, sizeof text);
    if (p->h.rank == 0) {
        printf("collectives_property: paths: %s\n", text);
    }
}

int main(int argc, char **argv)
{
    static struct program p;               /* large for a stack */
    struct paths_counters counters;
    char text[160];

    p.options = read_options(argc, argv);
    p.limits.only = p.options.function ? find_collective(p.options.function) : NULL;
    p.limits.bytes = (int)p.options.bytes;
    harness_start(&p.h, argc, argv, MPI_THREAD_SINGLE);
    if (p.h.rank == 0) {
        repeat_line(&p, (uint64_t)p.options.seed, p.options.rounds, text, sizeof text);
        printf("collectives_property: %s\n", text);
        fflush(stdout);
    }
    paths_open(&counters);
    flight_limits_find(&p.h, p.options.host, &p.limits);
    stage_types_create(&p.shared);
    drawn_comms_make(&p.h, &p.comms);
    for (long round = 0; round < p.options.rounds; round++) {
        run_round(&p, round);
    }
    tell_paths(&p, &counters);
    paths_close(&counters);
    stage_store_clear(&p.h, &p.store);
    drawn_comms_free(&p.comms);
    stage_types_free(&p.shared);
    return harness_finish(&p.h);
}
