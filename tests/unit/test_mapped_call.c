/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls over mapped buffers, driven by polling: what is not ready is answered and not waited for, what others may still load is
 * not written, and what ends early ends after its copies. Forked ranks on the emulated device, which meet at barriers, so that
 * who is how far is certain.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "core/comm_private.h"
#include "core/exchange.h"
#include "tests/support/core_comm.h"

enum { SECONDS = 120, BYTES = 4096, TIMES = 1000 };

/* One rank's communicator and two buffers. */
struct bench {
    struct gftest_comm c;
    struct gf_mapped_buffer send, recv;
};

static int allocate(struct gftest_rank *rank, struct bench *b, struct gf_mapped_buffer *buffer)
{
    void *address = NULL;

    GFTEST_CHECK(rank, gf_device_alloc(b->c.device, BYTES, &address, NULL) == GF_OK);
    buffer->address = address;
    buffer->bytes = BYTES;
    GFTEST_CHECK(rank, gf_driver_pointer(b->c.device->driver, address, &buffer->where) == GF_OK);
    return 0;
}

static uint64_t copy_word(struct bench *b, void *to, const void *from)
{
    uint64_t word = 0;

    gf_device_copy(b->c.device, b->c.stream, to ? to : &word, from, sizeof word);
    gf_device_stream_sync(b->c.device, b->c.stream);
    return word;
}

static uint64_t value(int rank)
{
    return 0x1000u + (uint64_t)rank;
}

/* mapped: how. The send buffer begins with this rank's value. */
static int bench_open(struct gftest_rank *rank, enum gf_mapped_use mapped, struct bench *b)
{
    struct gf_config config = gftest_config();
    struct gf_reason why = { "" };

    memset(b, 0, sizeof *b);
    config.mapped = mapped;
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &b->c, &why) == GF_OK, "%s", why.text);
    if (allocate(rank, b, &b->send) != 0 || allocate(rank, b, &b->recv) != 0) {
        return 1;
    }
    copy_word(b, b->send.address, &(uint64_t){ value(rank->rank) });
    return 0;
}

static void bench_close(struct gftest_rank *rank, struct bench *b)
{
    gftest_barrier(rank);
    gf_device_free(b->c.device, b->send.address);
    gf_device_free(b->c.device, b->recv.address);
    gftest_comm_close(&b->c);
}

/* Everybody's word, from everybody. */
static struct gf_exchange allgather(const struct bench *b, const struct gftest_rank *rank)
{
    struct gf_exchange x = { .name = "test", .what = { 1, 2 }, .send = b->send, .recv = b->recv };

    for (int r = 0; r < rank->ranks; r++) {
        x.give[r] = (struct gf_registry_block){ 0, sizeof(uint64_t) };
        x.take[r] = (struct gf_registry_block){ (uint64_t)r * sizeof(uint64_t), sizeof(uint64_t) };
    }
    return x;
}

static gf_status poll_often(struct bench *b, struct gf_mapped_call *call, struct gf_reason *why)
{
    gf_status status = GF_IN_PROGRESS;

    for (int i = 0; i < TIMES && status == GF_IN_PROGRESS; i++) {
        status = gf_mapped_call_poll(b->c.comm, call, why);
    }
    return status;
}

/* Until it comes to this step, whenever that is. */
static gf_status poll_until(struct bench *b, struct gf_mapped_call *call, enum gf_mapped_step step, struct gf_reason *why)
{
    gf_status status = GF_IN_PROGRESS;

    while (status == GF_IN_PROGRESS && call->step != step) {
        status = gf_mapped_call_poll(b->c.comm, call, why);
    }
    return status;
}

/* Rank 0 enters first, and has fetched first: it is told so both times, and ends when rank 1 has fetched, too. */
static int early_body(struct gftest_rank *rank)
{
    enum gf_mapped_use mapped = *(const enum gf_mapped_use *)rank->argument;
    struct gf_reason why = { "" };
    struct gf_mapped_call call;
    struct bench b;

    if (bench_open(rank, mapped, &b) != 0) {
        return 1;
    }
    const struct gf_exchange x = allgather(&b, rank);

    GFTEST_CHECK(rank, gf_comm_exchange(b.c.comm, &x, &why) == GF_OK, "%s", why.text);     /* all is connected and mapped */
    for (int round = 0; round < 3; round++) {
        if (rank->rank != 0) {
            gftest_barrier(rank);
        }
        GFTEST_CHECK(rank, gf_exchange_start(b.c.comm, &x, &call, &why) == GF_OK, "%s", why.text);
        if (rank->rank == 0) {
            GFTEST_CHECK(rank, poll_often(&b, &call, &why) == GF_IN_PROGRESS && call.step == GF_MAPPED_ENTERING);
            gftest_barrier(rank);
            GFTEST_CHECK(rank, poll_until(&b, &call, GF_MAPPED_LEAVING, &why) == GF_IN_PROGRESS, "%s", why.text);
            GFTEST_CHECK(rank, poll_often(&b, &call, &why) == GF_IN_PROGRESS, "nobody else has fetched");
        }
        gftest_barrier(rank);
        GFTEST_CHECK(rank, gf_mapped_call_finish(b.c.comm, &call, &why) == GF_OK, "%s", why.text);
        for (int r = 0; r < rank->ranks; r++) {
            uint64_t word = copy_word(&b, NULL, b.recv.address + (size_t)r * sizeof word);

            GFTEST_CHECK(rank, word == value(r) + (uint64_t)round, "%llx from rank %d", (unsigned long long)word, r);
        }
        copy_word(&b, b.send.address, &(uint64_t){ value(rank->rank) + (uint64_t)round + 1 });
    }
    bench_close(rank, &b);
    return 0;
}

static void test_nothing_waits(void **state)
{
    enum gf_mapped_use ways[] = { GF_MAPPED_KERNEL, GF_MAPPED_COPY };

    (void)state;
    gftest_expect(3, early_body, &ways[0], SECONDS);
    gftest_expect(3, early_body, &ways[1], SECONDS);
}

/* The next rank's word goes into this rank's own buffer, once nobody loads from that any more. */
static gf_status fetch_next(gf_comm *comm, const struct gf_mapped_call *call, struct gf_reason *why)
{
    const struct bench *b = call->ctx;
    int next = (comm->peers.rank + 1) % comm->peers.ranks;

    return gf_execution_start_copy(&comm->execution, b->recv.address,
                                   gf_registry_user_address(&comm->mapped.registry, next, GF_MAPPED_SEND), 8, why);
}

static gf_status store_own(gf_comm *comm, const struct gf_mapped_call *call, struct gf_reason *why)
{
    const struct bench *b = call->ctx;

    return gf_execution_start_copy(&comm->execution, b->send.address, b->recv.address, 8, why);
}

static gf_status fetch_and_fail(gf_comm *comm, const struct gf_mapped_call *call, struct gf_reason *why)
{
    const struct bench *b = call->ctx;

    gf_execution_start_copy(&comm->execution, b->recv.address, b->send.address, BYTES, why);
    gf_reason_set(why, "as wanted");
    return GF_ERR_INVALID;
}

static int connect_and_start(struct gftest_rank *rank, struct bench *b, gf_mapped_part *start, gf_mapped_part *settle,
                             struct gf_mapped_call *call)
{
    const struct gf_exchange x = allgather(b, rank);
    struct gf_reason why = { "" };

    GFTEST_CHECK(rank, gf_comm_exchange(b->c.comm, &x, &why) == GF_OK, "%s", why.text);
    *call = (struct gf_mapped_call){ .name = "test", .send = &b->send, .start = start, .settle = settle, .ctx = b };
    if (start) {
        gf_mapped_call_start(b->c.comm, call);
    }
    return 0;
}

static int settle_body(struct gftest_rank *rank)
{
    struct gf_reason why = { "" };
    struct gf_mapped_call call;
    struct bench b;

    if (bench_open(rank, GF_MAPPED_COPY, &b) != 0 || connect_and_start(rank, &b, fetch_next, store_own, &call) != 0) {
        return 1;
    }
    if (rank->rank == 0) {
        GFTEST_CHECK(rank, poll_until(&b, &call, GF_MAPPED_LEAVING, &why) == GF_IN_PROGRESS, "%s", why.text);
        GFTEST_CHECK(rank, poll_often(&b, &call, &why) == GF_IN_PROGRESS);
        GFTEST_CHECK(rank, copy_word(&b, NULL, b.send.address) == value(0), "written although others load it");
    }
    gftest_barrier(rank);
    GFTEST_CHECK(rank, gf_mapped_call_finish(b.c.comm, &call, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, copy_word(&b, NULL, b.send.address) == value((rank->rank + 1) % rank->ranks));
    GFTEST_CHECK(rank, gf_mapped_call_poll(b.c.comm, &call, &why) == GF_OK, "it has ended");
    bench_close(rank, &b);
    return 0;
}

static void test_own_buffer_last(void **state)
{
    (void)state;
    gftest_expect(3, settle_body, NULL, SECONDS);
}

/* A part that fails after it has queued a copy: the error comes when the copy has ended, and the communicator is dead. */
static int failing_body(struct gftest_rank *rank)
{
    struct gf_reason why = { "" };
    struct gf_mapped_call call;
    struct bench b;

    if (bench_open(rank, GF_MAPPED_COPY, &b) != 0 || connect_and_start(rank, &b, fetch_and_fail, NULL, &call) != 0) {
        return 1;
    }
    gf_status status = poll_until(&b, &call, GF_MAPPED_ENDED, &why);

    GFTEST_CHECK(rank, status == GF_ERR_INVALID && strcmp(why.text, "as wanted") == 0, "%s", why.text);
    GFTEST_CHECK(rank, gf_device_stream_query(b.c.device, b.c.comm->stream) == GF_OK, "a copy runs still");
    GFTEST_CHECK(rank, b.c.comm->broken == GF_ERR_INVALID);
    bench_close(rank, &b);
    return 0;
}

static void test_failure_ends_the_copies(void **state)
{
    (void)state;
    gftest_expect(2, failing_body, NULL, SECONDS);
}

/* Rank 1 never enters. */
static int cancelled_body(struct gftest_rank *rank)
{
    struct gf_reason why = { "" }, first = { "the first reason" }, second = { "the second" };
    struct gf_mapped_call call;
    struct bench b;

    if (bench_open(rank, GF_MAPPED_COPY, &b) != 0
        || connect_and_start(rank, &b, rank->rank == 0 ? fetch_next : NULL, NULL, &call) != 0) {
        return 1;
    }
    if (rank->rank == 0) {
        GFTEST_CHECK(rank, poll_often(&b, &call, &why) == GF_IN_PROGRESS);
        gf_mapped_call_cancel(&call, GF_ERR_PEER, &first);
        gf_mapped_call_cancel(&call, GF_ERR_TIMEOUT, &second);
        GFTEST_CHECK(rank, gf_mapped_call_poll(b.c.comm, &call, &why) == GF_ERR_PEER);
        GFTEST_CHECK(rank, strcmp(why.text, first.text) == 0, "%s", why.text);
    }
    bench_close(rank, &b);
    return 0;
}

static void test_cancelled(void **state)
{
    (void)state;
    gftest_expect(2, cancelled_body, NULL, SECONDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_waits), cmocka_unit_test(test_own_buffer_last),
        cmocka_unit_test(test_failure_ends_the_copies), cmocka_unit_test(test_cancelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
