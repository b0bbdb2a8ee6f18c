/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators come and go without leaving memory, mappings or descriptors behind, and end only when peers have taken what
 * was sent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/comm_private.h"
#include "tests/support/core_comm.h"
#include "tests/support/descriptors.h"

enum { SECONDS = 240, ROUNDS = 200, WARM_UP = 5 };

static int mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    int count = 0;

    for (int c; (c = fgetc(maps)) != EOF; ) {
        count += c == '\n';
    }
    fclose(maps);
    return count;
}

/* One communicator with all that it can have: both kinds of connections, and the host's memory. */
static int one_life(struct gftest_rank *rank, enum gf_force_transport transport)
{
    const struct {
        enum gf_force_algorithm asked;
        enum gf_algorithm expected;
    } algorithms[] = {
        { GF_ALGORITHM_ONE_SHOT, GF_PLAN_ONE_SHOT }, { GF_ALGORITHM_RING, GF_PLAN_RING }, { GF_ALGORITHM_HOST, GF_PLAN_HOST },
        { GF_ALGORITHM_TWO_SHOT, transport == GF_TRANSPORT_SHM ? GF_PLAN_ONE_SHOT : GF_PLAN_TWO_SHOT },
    };
    struct gf_config config = gftest_config();
    struct gftest_comm c;
    struct gf_reason why = { "" };

    config.transport = transport;
    config.ll_slot_bytes = config.simple_slot_bytes = 8192;
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        /* Another count each time, or the last plan would be taken again. */
        struct gftest_allreduce what = { .count = 5000 + i, .type = GF_INT16, .op = GF_SUM, .seed = i };

        /* The setting is the same on all ranks, so it may change between calls. */
        c.comm->config.algorithm = algorithms[i].asked;
        GFTEST_CHECK(rank, gftest_allreduce(rank, &c, &what) == 0);
        GFTEST_CHECK(rank, gf_comm_last_plan(c.comm)->algorithm == algorithms[i].expected);
    }
    gftest_comm_close(&c);
    return 0;
}

/* The device keeps its descriptors for its life: hold it open, as a process that uses it does. */
static int life_body(struct gftest_rank *rank)
{
    int descriptors = 0, maps = 0;
    gf_driver *driver;
    gf_device *device;

    GFTEST_CHECK(rank, gf_driver_open("emulated", &driver, NULL) == GF_OK && gf_device_open(driver, 0, &device, NULL) == GF_OK);
    for (int i = 0; i < ROUNDS; i++) {
        if (one_life(rank, i % 2 ? GF_TRANSPORT_P2P : GF_TRANSPORT_SHM) != 0) {
            return 1;
        }
        /* Until all have closed, a slower rank's file may be found open here while it is attached. */
        gftest_barrier(rank);
        if (i == WARM_UP) {
            descriptors = gftest_open_descriptors();
            maps = mappings();
        }
    }
    GFTEST_CHECK(rank, gftest_open_descriptors() <= descriptors, "%d descriptors, %d after the first rounds",
                 gftest_open_descriptors(), descriptors);
    GFTEST_CHECK(rank, mappings() <= maps + 8, "%d mappings, %d after the first rounds", mappings(), maps);
    gf_device_close(device);
    return 0;
}

/* The device's memory is small: a few communicators' worth, so what stays behind would fill it. */
static void test_nothing_stays_behind(void **state)
{
    (void)state;
    setenv("GPUFIFO_EMULATED", "memory=16M", 1);
    gftest_expect(2, life_body, NULL, SECONDS);
    unsetenv("GPUFIFO_EMULATED");
}

/* A failed connection's device memory is back at once: after it, nearly all memory can be allocated. */
static int failed_body(struct gftest_rank *rank)
{
    struct gf_config config = gftest_config();
    struct gftest_comm c;
    struct gf_reason why = { "" };
    void *large;

    config.algorithm = GF_ALGORITHM_RING;
    config.simple_slot_bytes = 512 << 10;
    config.channels = 4;
    config.fault = "ipc_open:1+";
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gftest_try_allreduce(&c, 1000, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, strstr(c.warning, "next is shm"), "%s", c.warning);
    GFTEST_CHECK(rank, gf_device_alloc(c.device, 24 << 20, &large, &why) == GF_OK, "%s", why.text);
    gf_device_free(c.device, large);
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

static void test_failed_connection_gives_memory_back(void **state)
{
    (void)state;
    setenv("GPUFIFO_EMULATED", "memory=32M", 1);
    gftest_expect(2, failed_body, NULL, SECONDS);
    unsetenv("GPUFIFO_EMULATED");
}

/* Makes it look as if the next rank had not yet taken one step more, and ends the communicator: that must wait. Rank 1 notes
 * that it lets go before it does, by an abort. */
struct drain {
    enum gf_simple_buffer buffer;
    uint32_t let_go;                   /* in memory shared by the ranks, as all of it */
};

static int drain_body(struct gftest_rank *rank)
{
    struct drain *drain = rank->argument;
    struct gf_config config = gftest_config();
    struct gftest_comm c;
    struct gf_conn conn;

    config.algorithm = GF_ALGORITHM_RING;
    config.simple_buffer = drain->buffer;
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, NULL) == GF_OK);
    GFTEST_CHECK(rank, gftest_try_allreduce(&c, 1000, NULL) == GF_OK);
    gftest_barrier(rank);
    if (rank->rank == 0) {
        void *conns = c.comm->ring.conns;

        GFTEST_CHECK(rank, gf_execution_copy(&c.comm->execution, &conn, conns, sizeof conn, NULL) == GF_OK);
        conn.step++;
        GFTEST_CHECK(rank, gf_execution_copy(&c.comm->execution, conns, &conn, sizeof conn, NULL) == GF_OK);
    }
    gftest_barrier(rank);
    if (rank->rank == 1) {
        usleep(100000);
        __atomic_store_n(&drain->let_go, 1, __ATOMIC_RELEASE);
        gf_comm_abort(c.comm, "let go");
    }
    gftest_comm_close(&c);
    GFTEST_CHECK(rank, __atomic_load_n(&drain->let_go, __ATOMIC_ACQUIRE) == 1);
    return 0;
}

static void test_end_waits_for_the_next_rank(void **state)
{
    struct drain *drain = mmap(NULL, sizeof *drain, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(drain, MAP_FAILED);
    for (enum gf_simple_buffer buffer = GF_BUFFER_RECEIVER; buffer <= GF_BUFFER_DIRECT_READ; buffer++) {
        *drain = (struct drain){ .buffer = buffer };
        gftest_expect(2, drain_body, drain, SECONDS);
    }
    munmap(drain, sizeof *drain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_stays_behind),
        cmocka_unit_test(test_failed_connection_gives_memory_back),
        cmocka_unit_test(test_end_waits_for_the_next_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
