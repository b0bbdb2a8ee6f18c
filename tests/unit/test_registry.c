/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mapped buffers: those that go and come again at the same address, more than there are places, those that some rank cannot map,
 * and calls that differ. Forked ranks on the emulated device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/comm_private.h"
#include "tests/support/core_comm.h"
#include "tests/unit/scalar.h"

enum { SECONDS = 120, KIB = 1024 };

/* A registry of its own, beside a communicator whose watch it uses. */
struct bench {
    struct gftest_comm c;
    struct gf_registry registry;
    struct gf_fault fault;
};

static int bench_open(struct gftest_rank *rank, const char *fault, struct bench *b)
{
    struct gf_config config = gftest_config();
    struct gf_reason why = { "" };

    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &b->c, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gf_fault_parse(fault, rank->rank, &b->fault, &why) == GF_OK, "%s", why.text);
    gf_status status = gf_registry_create(&b->registry, b->c.imports, &b->c.comm->watch, &b->fault, &config, &why);

    GFTEST_CHECK(rank, status == GF_OK, "%s", why.text);
    return 0;
}

static void bench_close(struct gftest_rank *rank, struct bench *b)
{
    gf_registry_destroy(&b->registry);
    gftest_barrier(rank);
    gftest_comm_close(&b->c);
}

static void *allocate(struct bench *b, size_t bytes)
{
    void *address = NULL;

    return gf_device_alloc(b->c.device, bytes, &address, NULL) == GF_OK ? address : NULL;
}

static uint64_t copy_word(struct bench *b, void *to, const void *from)
{
    uint64_t word = 0;

    gf_device_copy(b->c.device, b->c.stream, to ? to : &word, from, sizeof word);
    gf_device_stream_sync(b->c.device, b->c.stream);
    return word;
}

static gf_status enter(struct bench *b, char *first, char *second, uint64_t what, struct gf_reason *why)
{
    const struct gf_registry_buffer buffers[GF_REGISTRY_BUFFERS] = {
        { first, 8, NULL, false }, { second, 8, NULL, false }, { second, 0, NULL, false },
    };
    const uint64_t whats[2] = { what, 5 };

    return gf_registry_enter(&b->registry, buffers, whats, why);
}

/* A word of a peer's buffer i, through the mapping. */
static uint64_t peer_word(struct bench *b, int peer, int i)
{
    const struct gf_registry_record *record = b->registry.records[peer];
    const struct gf_import *import = b->registry.of[peer].imports[record->place[i]];

    return import ? copy_word(b, NULL, import->address + record->offset[i]) : 0;
}

static int mappings(const struct bench *b, int peer)
{
    int count = 0;

    for (int place = 0; place < GF_REGISTRY_PLACES; place++) {
        count += b->registry.of[peer].imports[place] != NULL;
    }
    return count;
}

/* What a rank writes into a buffer in a round. */
static uint64_t value(int rank, uint64_t round, int which)
{
    return ((uint64_t)rank << 40) + (round << 2) + (uint64_t)which;
}

/* The last word of each buffer, whose size changes: a mapping of the older buffer at this address may not reach so far. */
static int reuse_body(struct gftest_rank *rank)
{
    enum { ROUNDS = 10000 };
    struct gf_reason why = { "" };
    const char *last = NULL;
    struct bench b;
    int peer = 1 - rank->rank, again = 0;

    if (bench_open(rank, NULL, &b) != 0) {
        return 1;
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        size_t bytes = (1 + round % 3) * 8 * KIB;
        char *buffer = allocate(&b, bytes), *end = buffer + bytes - 8;
        uint64_t word = value(rank->rank, round, 0);

        GFTEST_CHECK(rank, buffer != NULL);
        again += buffer == last;
        last = buffer;
        copy_word(&b, end, &word);
        GFTEST_CHECK(rank, enter(&b, end, end, round, &why) == GF_OK, "round %llu: %s", (unsigned long long)round, why.text);
        word = peer_word(&b, peer, 0);
        GFTEST_CHECK(rank, word == value(peer, round, 0), "round %d: %llx", (int)round, (unsigned long long)word);
        GFTEST_CHECK(rank, mappings(&b, peer) == 1, "freed memory is mapped still");
        gftest_barrier(rank);
        GFTEST_CHECK(rank, gf_device_free(b.c.device, buffer) == GF_OK);
    }
    GFTEST_CHECK(rank, again > ROUNDS / 2, "the address came again %d times only", again);
    bench_close(rank, &b);
    return 0;
}

static void test_freed_and_allocated_again(void **state)
{
    (void)state;
    gftest_expect(2, reuse_body, NULL, SECONDS);
}

/* Random use of more buffers than places, at random offsets, some of which are freed and allocated again. */
static int many_body(struct gftest_rank *rank)
{
    enum { BUFFERS = 24, ROUNDS = 400, WORDS = 512 };
    uint64_t random = *(const uint64_t *)rank->argument + (uint64_t)rank->rank * 1000;
    struct gf_reason why = { "" };
    char *buffers[BUFFERS] = { NULL };
    struct bench b;

    if (bench_open(rank, NULL, &b) != 0) {
        return 1;
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        char *used[2];

        for (int i = 0; i < 2; i++) {
            /* Mostly of a few, so that some are known. */
            char **buffer = &buffers[scalar_random(&random) % (scalar_random(&random) % 4 ? 6 : BUFFERS)];

            if (*buffer && i == 0 && scalar_random(&random) % 8 == 0) {
                gf_device_free(b.c.device, *buffer);
                *buffer = NULL;
            }
            *buffer = *buffer ? *buffer : allocate(&b, WORDS * 8);
            /* Even words for the first, odd ones for the second: they may lie in one buffer. */
            used[i] = *buffer + (scalar_random(&random) % (WORDS / 2) * 2 + (uint64_t)i) * 8;
            copy_word(&b, used[i], &(uint64_t){ value(rank->rank, round, i) });
        }
        GFTEST_CHECK(rank, enter(&b, used[0], used[1], round, &why) == GF_OK, "round %d: %s", (int)round, why.text);
        for (int peer = 0; peer < rank->ranks; peer++) {
            for (int i = 0; i < 2 && peer != rank->rank; i++) {
                uint64_t word = peer_word(&b, peer, i);

                GFTEST_CHECK(rank, word == value(peer, round, i), "round %llu: %llx of rank %d", (unsigned long long)round,
                             (unsigned long long)word, peer);
            }
        }
        gftest_barrier(rank);
    }
    bench_close(rank, &b);
    return 0;
}

static void test_more_than_places(void **state)
{
    uint64_t seed = 20261129;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    gftest_expect(3, many_body, &seed, SECONDS);
}

/* Known buffers cost no mapping: none is opened in any of these calls. */
static int known_body(struct gftest_rank *rank)
{
    struct gf_reason why = { "" };
    struct bench b;

    if (bench_open(rank, NULL, &b) != 0) {
        return 1;
    }
    char *buffer = allocate(&b, KIB), *other = allocate(&b, KIB);

    GFTEST_CHECK(rank, enter(&b, buffer, other, 0, &why) == GF_OK, "%s", why.text);
    uint64_t judged = b.registry.of[0].page->judged;

    for (uint64_t round = 1; round < 100; round++) {
        GFTEST_CHECK(rank, enter(&b, buffer + round, other + 2 * round, round, &why) == GF_OK, "%s", why.text);
        GFTEST_CHECK(rank, b.registry.of[0].page->judged == judged, "round %llu mapped again", (unsigned long long)round);
    }
    /* One that is freed is unmapped within as many calls as there are places, by all. */
    gf_device_free(b.c.device, other);
    for (uint64_t round = 0; round < GF_REGISTRY_PLACES; round++) {
        GFTEST_CHECK(rank, enter(&b, buffer, buffer, round, &why) == GF_OK, "%s", why.text);
    }
    GFTEST_CHECK(rank, mappings(&b, 1 - rank->rank) == 1, "%d mappings", mappings(&b, 1 - rank->rank));
    bench_close(rank, &b);
    return 0;
}

static void test_known_buffers(void **state)
{
    (void)state;
    gftest_expect(2, known_body, NULL, SECONDS);
}

/* More buffers than places, each in some calls, and again: those that wait do not drive out what is in use. */
static int patient_body(struct gftest_rank *rank)
{
    enum { BUFFERS = GF_REGISTRY_PLACES + 4, TURNS = 4, CALLS = GF_FAMILIAR_CALLS + 1 };
    struct gf_reason why = { "" };
    char *buffers[BUFFERS];
    uint64_t judged = 0;
    struct bench b;

    if (bench_open(rank, NULL, &b) != 0) {
        return 1;
    }
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i] = allocate(&b, KIB);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < BUFFERS; i++) {
            for (int call = 1; call <= CALLS; call++) {
                const struct gf_registry_buffer one = { buffers[i], 8, NULL, true };
                const struct gf_registry_buffer all[GF_REGISTRY_BUFFERS] = { one, one, one };
                bool mapped = i < GF_REGISTRY_PLACES && (turn > 0 || call >= GF_FAMILIAR_CALLS);
                gf_status status = gf_registry_enter(&b.registry, all, (uint64_t[2]){ (uint64_t)i, 1 }, &why);

                GFTEST_CHECK(rank, status == (mapped ? GF_OK : GF_NO_RESOURCE), "turn %d, buffer %d, call %d: %s", turn, i, call,
                             gf_status_string(status));
            }
        }
        GFTEST_CHECK(rank, turn == 0 || b.registry.of[0].page->judged == judged, "turn %d mapped again", turn);
        judged = b.registry.of[0].page->judged;
    }
    bench_close(rank, &b);
    return 0;
}

static void test_patient_buffers(void **state)
{
    (void)state;
    gftest_expect(2, patient_body, NULL, SECONDS);
}

/* Rank 1 cannot export its second buffer once, then rank 0 cannot map what comes next: all are told alike, and go on later. */
static int refused_body(struct gftest_rank *rank)
{
    struct gf_reason why = { "" };
    struct bench b;

    if (bench_open(rank, "ipc_export:2@1,ipc_open:5@0", &b) != 0) {
        return 1;
    }
    char *first = allocate(&b, KIB), *second = allocate(&b, KIB), *third = allocate(&b, KIB), *fourth = allocate(&b, KIB);

    GFTEST_CHECK(rank, enter(&b, first, second, 1, &why) == GF_ERR_UNSUPPORTED);
    GFTEST_CHECK(rank, strncmp(why.text, "rank 1: ", 8) == 0 && strstr(why.text, "ipc_export"), "%s", why.text);
    GFTEST_CHECK(rank, enter(&b, first, second, 2, &why) == GF_OK, "%s", why.text);
    /* Rank 0 has mapped two buffers of each of two others. */
    for (uint64_t round = 3; round < 6; round++) {
        GFTEST_CHECK(rank, enter(&b, first, third, round, &why) == GF_ERR_UNSUPPORTED, "round %d", (int)round);
        GFTEST_CHECK(rank, strncmp(why.text, "rank 0: ", 8) == 0 && strstr(why.text, "ipc_open"), "%s", why.text);
    }
    GFTEST_CHECK(rank, enter(&b, first, second, 6, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, enter(&b, fourth, second, 7, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, enter(&b, (char *)&b, second, 8, &why) == GF_ERR_UNSUPPORTED, "host memory");
    GFTEST_CHECK(rank, enter(&b, fourth + KIB - 7, second, 9, &why) == GF_ERR_UNSUPPORTED, "past the end");
    GFTEST_CHECK(rank, strstr(why.text, "several allocations"), "%s", why.text);
    bench_close(rank, &b);
    return 0;
}

static void test_refused(void **state)
{
    (void)state;
    gftest_expect(3, refused_body, NULL, SECONDS);
}

static int differing_body(struct gftest_rank *rank)
{
    struct gf_reason why = { "" };
    struct bench b;

    if (bench_open(rank, NULL, &b) != 0) {
        return 1;
    }
    char *buffer = allocate(&b, KIB);

    GFTEST_CHECK(rank, enter(&b, buffer, buffer, (uint64_t)rank->rank, &why) == GF_ERR_PEER);
    GFTEST_CHECK(rank, strstr(why.text, "count, datatype or operation"), "%s", why.text);
    bench_close(rank, &b);
    return 0;
}

static void test_calls_that_differ(void **state)
{
    (void)state;
    gftest_expect(2, differing_body, NULL, SECONDS);
}

/* Each step of creating one may fail on one rank: all fail alike, and nothing is left. */
static int failing_body(struct gftest_rank *rank)
{
    const char *fault = rank->argument;
    struct gf_config config = gftest_config();
    struct gf_reason why = { "" };
    struct bench b;

    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &b.c, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gf_fault_parse(fault, rank->rank, &b.fault, &why) == GF_OK, "%s", why.text);
    gf_status status = gf_registry_create(&b.registry, b.c.imports, &b.c.comm->watch, &b.fault, &config, &why);

    GFTEST_CHECK(rank, status == GF_ERR_UNSUPPORTED && strncmp(why.text, "rank 1: ", 8) == 0, "%s", why.text);
    GFTEST_CHECK(rank, b.registry.of == NULL && b.registry.segments == NULL);
    gftest_barrier(rank);
    gftest_comm_close(&b.c);
    return 0;
}

static void test_cannot_be_created(void **state)
{
    (void)state;
    gftest_expect(3, failing_body, "segment:1@1", SECONDS);
    gftest_expect(3, failing_body, "attach:2@1", SECONDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_freed_and_allocated_again),
        cmocka_unit_test(test_more_than_places),
        cmocka_unit_test(test_known_buffers),
        cmocka_unit_test(test_patient_buffers),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_calls_that_differ),
        cmocka_unit_test(test_cannot_be_created),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
