/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two processes, one of which is killed, or stopped. They tell each other their addresses by a pipe.
 */
#include "wire_cases.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "wire_ends.h"

struct wire_thread {
    pthread_t thread;
    struct gf_wire *wire;
    int stop;
};

static void *progress_until_stopped(void *argument)
{
    struct wire_thread *thread = argument;

    while (!__atomic_load_n(&thread->stop, __ATOMIC_ACQUIRE)) {
        wire_tested->progress(thread->wire);
        sched_yield();
    }
    return NULL;
}

struct wire_thread *wire_thread_start(struct gf_wire *wire)
{
    struct wire_thread *thread = calloc(1, sizeof *thread);

    thread->wire = wire;
    pthread_create(&thread->thread, NULL, progress_until_stopped, thread);
    return thread;
}

void wire_thread_stop(struct wire_thread *thread)
{
    __atomic_store_n(&thread->stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread->thread, NULL);
    free(thread);
}

/* What the processes tell each other. */
struct hello {
    struct gf_wire_address address;
    struct gf_wire_place place;
};

static void hello_send(int to, const struct wire_end *end)
{
    struct hello hello = {end->address, {(uintptr_t)end->memory.address, end->memory.key[0]}};

    if (write(to, &hello, sizeof hello) != (ssize_t)sizeof hello) {
        fprintf(stderr, "the other process does not listen\n");
    }
}

static bool hello_receive(int from, struct hello *hello)
{
    size_t got = 0;

    while (got < sizeof *hello) {
        ssize_t more = read(from, (char *)hello + got, sizeof *hello - got);

        if (more <= 0) {
            return false;
        }
        got += (size_t)more;
    }
    return true;
}

/* The other process has closed its end, or is gone. */
static bool is_over(int from)
{
    struct pollfd ready = {.fd = from, .events = POLLIN};

    return poll(&ready, 1, 0) > 0;
}

/* So many bytes came as the immediate says: they go back. */
static gf_status put_back(struct wire_end *end, uint32_t bytes)
{
    gf_status status;

    while ((status = wire_tested->put_notify(end->lane, &end->memory, end->memory.address, &end->place, bytes, bytes, NULL)) ==
               GF_NO_RESOURCE && !is_over(0)) {
        wire_tested->progress(end->wire);
    }
    return status;
}

int wire_peer_run(void)
{
    struct wire_end end = {0};
    struct hello hello;
    uint32_t bytes;

    wire_end_open(&end);
    hello_send(1, &end);
    if (!hello_receive(0, &hello)) {
        return 1;
    }
    end.place = hello.place;
    wire_end_connect(&end, &hello.address, NULL);
    if (wire_tested->expect(end.lane) != GF_OK || write(1, "r", 1) != 1) {
        return 1;
    }
    while (!is_over(0)) {
        wire_tested->progress(end.wire);
        if (wire_tested->take(end.lane, &bytes) && (wire_tested->expect(end.lane) != GF_OK || put_back(&end, bytes) != GF_OK)) {
            break;
        }
        sched_yield();
    }
    wire_end_close(&end);
    return 0;
}

/* An end here, and one in a process of its own that puts everything back. */
static struct child peer_open(struct wire_end *end)
{
    char argument[64], ready = 0;
    struct hello hello;

    snprintf(argument, sizeof argument, "%s%s", WIRE_PEER, wire_tested->name);
    struct child child = child_exec(argument, "");
    wire_end_open(end);
    assert_true(hello_receive(child.from, &hello));
    end->place = hello.place;
    hello_send(child.to, end);
    wire_end_connect(end, &hello.address, NULL);
    assert_int_equal(read(child.from, &ready, 1), 1);
    assert_int_equal(ready, 'r');
    return child;
}

/* There and back, once. */
static void echo(struct wire_pair *pair, struct wire_end *end, uint32_t bytes)
{
    char *kept = malloc(bytes + 1);
    uint32_t back;

    for (uint32_t i = 0; i < bytes; i++) {
        kept[i] = end->memory.address[i] = (char)(i * 7 + bytes);
    }
    WIRE_BEGIN(pair, wire_tested->expect(end->lane));
    WIRE_BEGIN(pair, wire_tested->put_notify(end->lane, &end->memory, end->memory.address, &end->place, bytes, bytes, NULL));
    WIRE_UNTIL(pair, wire_tested->take(end->lane, &back));
    assert_int_equal(back, bytes);
    assert_memory_equal(end->memory.address, kept, bytes);
    free(kept);
}

void wire_test_two_processes(void **state)
{
    static const uint32_t sizes[] = {0, 1, 8, 4096, 5000, 1000000};
    struct wire_pair pair = {0};
    struct child child = peer_open(&pair.a);

    (void)state;
    /* The macros drive two wires. */
    pair.b = pair.a;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            echo(&pair, &pair.a, sizes[i]);
        }
    }
    assert_int_equal(child_wait(&child), 0);
    wire_end_close(&pair.a);
}

/* A lane between wires of this process. */
static void lane_open(struct gf_wire *wires[2], struct gf_wire_lane *lanes[2])
{
    struct gf_wire_address addresses[2];

    for (int i = 0; i < 2; i++) {
        assert_int_equal(wire_tested->create(wires[i], 0, 1, &lanes[i], &addresses[i], NULL), GF_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(wire_tested->connect(lanes[i], &addresses[1 - i], NULL), GF_OK);
    }
}

static void lane_works(struct wire_pair *pair, struct gf_wire_lane *lanes[2])
{
    uint32_t immediate;

    WIRE_BEGIN(pair, wire_tested->expect(lanes[0]));
    WIRE_BEGIN(pair, wire_tested->put_notify(lanes[1], NULL, NULL, &pair->b.place, 0, 9, NULL));
    WIRE_UNTIL(pair, wire_tested->take(lanes[0], &immediate));
    assert_int_equal(immediate, 9);
    wire_pair_progress(pair);
}

void wire_test_a_killed_peer_breaks_its_lanes_alone(void **state)
{
    struct wire_pair *pair = *state;
    struct wire_end end = {0};
    struct gf_wire_lane *before[2], *after[2];
    struct gf_reason why = {""};
    struct wire_pair driven;

    struct child child = peer_open(&end);
    struct gf_wire *wires[2] = {pair->a.wire, end.wire};
    driven = (struct wire_pair){pair->a, end};
    lane_open(wires, before);
    lane_works(&driven, before);
    echo(&driven, &end, 100000);
    kill(child.pid, SIGKILL);
    assert_int_equal(child_wait(&child), -1);
    /* An idle lane need not notice. */
    WIRE_UNTIL(&driven, wire_tested->put_notify(end.lane, &end.memory, end.memory.address, &end.place, 100000, 1, NULL) < 0 ||
                            wire_tested->state(end.lane, NULL) != GF_OK);
    assert_true(wire_tested->state(end.lane, &why) < 0);
    print_message("%s\n", why.text);
    assert_true(strlen(why.text) > 10);

    /* Lanes of the wire whose peer died, to one who lives. */
    lane_works(&driven, before);
    lane_open(wires, after);
    lane_works(&driven, after);
    wire_send(pair, 0, 0, 100000, 77, NULL);
    assert_int_equal(wire_take(pair), 77);
    for (int i = 0; i < 2; i++) {
        wire_tested->destroy(before[i], false);
        wire_tested->destroy(after[i], false);
    }
    wire_end_close(&end);
}

/* Somewhere between its data and what ends them. */
void wire_test_a_peer_that_is_killed_while_it_sends(void **state)
{
    unsigned seed = (unsigned)getpid(), draw = seed;

    (void)state;
    print_message("seed %u\n", seed);
    for (int round = 0; round < 4; round++) {
        struct wire_pair pair = {0};
        struct child child = peer_open(&pair.a);
        uint32_t back;

        pair.b = pair.a;
        echo(&pair, &pair.a, 8);
        WIRE_BEGIN(&pair, wire_tested->expect(pair.a.lane));
        WIRE_BEGIN(&pair, wire_tested->put_notify(pair.a.lane, &pair.a.memory, pair.a.memory.address, &pair.a.place, WIRE_MEMORY,
                                                  WIRE_MEMORY, NULL));
        for (int turns = rand_r(&draw) % 300; turns > 0 && !wire_tested->take(pair.a.lane, &back); turns--) {
            wire_pair_progress(&pair);
            sched_yield();
        }
        kill(child.pid, SIGKILL);
        assert_int_equal(child_wait(&child), -1);
        WIRE_UNTIL(&pair, wire_tested->put_notify(pair.a.lane, NULL, NULL, &pair.a.place, 0, 0, NULL) < 0 ||
                              wire_tested->state(pair.a.lane, NULL) != GF_OK);
        wire_end_close(&pair.a);
    }
}

void wire_test_a_stopped_peer_does_not_keep_us(void **state)
{
    enum { MOST = 64 };
    struct wire_pair pair = {0};
    struct child child = peer_open(&pair.a);
    uint64_t words[MOST] = {0};

    (void)state;
    pair.b = pair.a;
    echo(&pair, &pair.a, 8);
    kill(child.pid, SIGSTOP);
    for (int i = 0; i < MOST; i++) {
        gf_status status = wire_tested->put(pair.a.lane, &pair.a.memory, pair.a.memory.address, &pair.a.place, WIRE_MEMORY,
                                            &(struct gf_wire_ticket){&words[i], 1});

        if (status == GF_NO_RESOURCE) {
            break;
        }
        assert_int_equal(status, GF_OK);
        wire_pair_progress(&pair);
    }
    wire_end_close(&pair.a);
    kill(child.pid, SIGKILL);
    assert_int_equal(child_wait(&child), -1);
}
