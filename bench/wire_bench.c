/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a wire between nodes can do by itself, between this process and one that it forks:
 *
 *     wire_bench WIRE stream BYTES MESSAGES [PAIRS]    put_notify into 8 slots, each used again when a line says it was taken
 *     wire_bench WIRE pingpong BYTES MESSAGES [PAIRS]  put_notify there and back
 *
 * WIRE is "ucx" or "verbs", PAIRS the number of verbs' queue pairs of a lane (1). Prints MB/s (10^6 bytes), or µs of one way.
 * wire_bench.sh runs it in turn with the network's own benchmark.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/host_ordered.h"
#include "transport/wires.h"

enum { SLOTS = 8 };

struct end {
    const struct gf_wire_ops *ops;
    struct gf_wire *wire;
    struct gf_wire_lane *lane;
    struct gf_wire_memory memory;
    struct gf_wire_place peer;
    size_t bytes;                  /* of a message */
    int queue_pairs;
};

/* What the processes tell each other. */
struct hello {
    struct gf_wire_address address;
    struct gf_wire_place place;
};

static void check(gf_status status, const struct gf_reason *why)
{
    if (status != GF_OK) {
        fprintf(stderr, "wire_bench: %s: %s\n", gf_status_string(status), why->text);
        exit(1);
    }
}

static void turn(struct end *end)
{
    if (!end->ops->progress(end->wire)) {
        sched_yield();
    }
}

/* Asks an operation until it has begun. */
#define BEGIN(end, call)                                                \
    do {                                                                \
        gf_status begun;                                                \
        while ((begun = (call)) == GF_NO_RESOURCE) {                    \
            turn(end);                                                  \
        }                                                               \
        if (begun != GF_OK) {                                           \
            struct gf_reason reason = {""};                             \
            (end)->ops->state((end)->lane, &reason);                    \
            check(begun, &reason);                                      \
        }                                                               \
    } while (0)

static void end_open(struct end *end, int other)
{
    struct gf_wire_config config = {.gid_index = -1, .queue_pairs = end->queue_pairs};
    struct gf_wire_range range = {.bytes = SLOTS * end->bytes, .dmabuf = -1};
    struct gf_reason why = {""};
    struct hello mine, theirs;

    range.address = aligned_alloc(4096, (range.bytes + 4095) / 4096 * 4096);
    if (range.address == NULL) {
        check(GF_ERR_NO_MEMORY, &why);
    }
    memset(range.address, 1, range.bytes);
    check(end->ops->open(&config, &end->wire, &why), &why);
    check(end->ops->register_memory(end->wire, &range, &end->memory, &why), &why);
    check(end->ops->create(end->wire, 0, 1, &end->lane, &mine.address, &why), &why);
    mine.place = (struct gf_wire_place){(uintptr_t)range.address, end->memory.key[0]};
    if (write(other, &mine, sizeof mine) != (ssize_t)sizeof mine ||
        recv(other, &theirs, sizeof theirs, MSG_WAITALL) != (ssize_t)sizeof theirs) {
        fprintf(stderr, "wire_bench: the other process is gone\n");
        exit(1);
    }
    end->peer = theirs.place;
    check(end->ops->connect(end->lane, &theirs.address, &why), &why);
    BEGIN(end, end->ops->announce(end->lane, &end->memory));
}

static void end_close(struct end *end)
{
    void *address = end->memory.address;

    end->ops->destroy(end->lane, false);
    end->ops->forget(end->wire, &end->memory);
    end->ops->close(end->wire);
    free(address);
}

static void send_message(struct end *end, uint64_t step, uint64_t *word)
{
    size_t offset = step % SLOTS * end->bytes;
    struct gf_wire_place to = {end->peer.address + offset, end->peer.key};

    BEGIN(end, end->ops->put_notify(end->lane, &end->memory, end->memory.address + offset, &to, end->bytes, (uint32_t)step,
                                    &(struct gf_wire_ticket){word, step + 1}));
}

static void take_message(struct end *end)
{
    uint32_t immediate;

    while (!end->ops->take(end->lane, &immediate)) {
        struct gf_reason why = {""};

        turn(end);
        check(end->ops->state(end->lane, &why), &why);
    }
}

/* The sender's line: how many have been taken. */
static uint64_t taken_so_far(const struct end *end)
{
    return gf_host_observe((const uint64_t *)(const void *)end->lane->lines);
}

static void stream_send(struct end *end, uint64_t messages)
{
    uint64_t words[SLOTS] = {0};

    for (uint64_t step = 0; step < messages; step++) {
        while (step >= taken_so_far(end) + SLOTS || (step >= SLOTS && words[step % SLOTS] != step - SLOTS + 1)) {
            turn(end);
        }
        send_message(end, step, &words[step % SLOTS]);
    }
    while (taken_so_far(end) < messages) {
        turn(end);
    }
}

static void stream_take(struct end *end, uint64_t messages)
{
    for (uint64_t step = 0; step < messages; step++) {
        uint64_t line[GF_WIRE_LINE / sizeof(uint64_t)] = {step + 1};

        take_message(end);
        BEGIN(end, end->ops->expect(end->lane));
        line[7] = step + 1;
        BEGIN(end, end->ops->put_lines(end->lane, 0, line, 1));
    }
}

static void pingpong(struct end *end, bool first, uint64_t messages)
{
    uint64_t word = 0;

    for (uint64_t step = 0; step < messages; step++) {
        if (first) {
            send_message(end, step, &word);
        }
        take_message(end);
        BEGIN(end, end->ops->expect(end->lane));
        if (!first) {
            send_message(end, step, &word);
        }
    }
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* One process; the first prints. */
static void run(struct end *end, bool first, bool stream, uint64_t messages, int other)
{
    uint64_t warm = messages / 10 + 1;
    char ready = 0;
    double start;

    end_open(end, other);
    for (int i = 0; i < SLOTS; i++) {
        BEGIN(end, end->ops->expect(end->lane));
    }
    if (write(other, "r", 1) != 1 || recv(other, &ready, 1, 0) != 1) {
        exit(1);
    }
    start = now();
    for (int round = 0; round < 2; round++) {
        uint64_t count = round == 0 ? warm : messages;

        start = now();
        if (!stream) {
            pingpong(end, first, count);
        } else if (first) {
            memset(end->lane->lines, 0, GF_WIRE_LINE);
            stream_send(end, count);
        } else {
            stream_take(end, count);
        }
    }
    double seconds = now() - start;
    if (first && stream) {
        printf("%.1f\n", 1e-6 * (double)end->bytes * (double)messages / seconds);
    } else if (first) {
        printf("%.2f\n", 1e6 * seconds / (double)messages / 2);
    }
    fflush(stdout);
    /* The last line or message has arrived for both when both have said so. */
    if (write(other, "d", 1) == 1) {
        while (recv(other, &ready, 1, MSG_DONTWAIT) != 1) {
            turn(end);
        }
    }
    end_close(end);
}

int main(int count, char **arguments)
{
    bool counts = count == 5 || count == 6;
    const struct gf_wire_ops *const *wires = counts ? gf_wires_named(arguments[1]) : NULL;
    bool stream = counts && strcmp(arguments[2], "stream") == 0;
    uint64_t messages = counts ? strtoull(arguments[4], NULL, 10) : 0;
    struct end end = {.bytes = counts ? strtoull(arguments[3], NULL, 10) : 0, .queue_pairs = count == 6 ? atoi(arguments[5]) : 0};
    int sockets[2], status = 1;

    if (wires == NULL || (!stream && strcmp(arguments[2], "pingpong") != 0) || end.bytes == 0 || messages == 0) {
        fprintf(stderr, "usage: %s WIRE stream|pingpong BYTES MESSAGES [PAIRS]; WIRE is one that this build has\n", arguments[0]);
        return 2;
    }
    end.ops = wires[0];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) {
        perror("socketpair");
        return 1;
    }
    pid_t child = fork();
    bool first = child > 0;
    close(sockets[first]);
    run(&end, first, stream, messages, sockets[!first]);
    if (first && waitpid(child, &status, 0) != child) {
        status = 1;
    }
    return first ? status != 0 : 0;
}
