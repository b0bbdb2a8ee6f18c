/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints, as JSON, what bench/scaling.py computes with: sizes, and what a rank exchanges with all others while a communicator and
 * its ring is connected, as counted under gf_comm_create and the first allreduce.
 *
 *     setup_figures RANKS
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/connect.h"
#include "core/layout.h"
#include "core/tuner.h"
#include "tests/support/core_comm.h"
#include "transport/carrier_private.h"
#include "transport/net.h"
#include "transport/net_notice.h"

enum { MOST_CALLS = 32, SECONDS = 60 };

/* The exchanges of one phase, in order. */
struct phase {
    int allgathers, alltoalls;
    size_t gathered[MOST_CALLS], exchanged[MOST_CALLS];    /* bytes for one rank */
};

struct counter {
    struct gf_bootstrap inner;
    struct phase *phase;
};

static gf_status allgather(void *ctx, const void *mine, void *all, size_t bytes)
{
    struct counter *counter = ctx;
    struct phase *phase = counter->phase;

    if (phase->allgathers == MOST_CALLS) {
        return GF_ERR_NO_MEMORY;
    }
    phase->gathered[phase->allgathers++] = bytes;
    return counter->inner.allgather(counter->inner.ctx, mine, all, bytes);
}

static gf_status alltoall(void *ctx, const void *to, void *from, size_t bytes)
{
    struct counter *counter = ctx;
    struct phase *phase = counter->phase;

    if (phase->alltoalls == MOST_CALLS) {
        return GF_ERR_NO_MEMORY;
    }
    phase->exchanged[phase->alltoalls++] = bytes;
    return counter->inner.alltoall(counter->inner.ctx, to, from, bytes);
}

static void progress(void *ctx)
{
    const struct counter *counter = ctx;

    counter->inner.progress(counter->inner.ctx);
}

static void print_list(const char *name, const size_t *bytes, int count)
{
    printf("\"%s\": [", name);
    for (int i = 0; i < count; i++) {
        printf("%s%zu", i ? ", " : "", bytes[i]);
    }
    printf("]");
}

static void print_phase(const char *name, const struct phase *phase)
{
    printf("  \"%s\": {", name);
    print_list("allgather", phase->gathered, phase->allgathers);
    printf(", ");
    print_list("alltoall", phase->exchanged, phase->alltoalls);
    printf("},\n");
}

static void print_sizes(const struct gf_config *config)
{
    const struct gf_connector_shape ring = { .channels = GF_RING_CHANNELS, .slot_bytes = config->simple_slot_bytes };

    printf("  \"most_ranks\": %d,\n  \"channels\": %d,\n  \"group\": %d,\n  \"depth\": %d,\n", GF_MAX_RANKS,
           GF_RING_CHANNELS, GF_NET_GROUP, GF_FIFO_DEPTH);
    printf("  \"slot_bytes\": %zu,\n  \"slots_bytes\": %zu,\n", ring.slot_bytes, gf_layout_slots_bytes(&ring));
    printf("  \"line_bytes\": %d,\n  \"notice_lines\": %d,\n  \"info_bytes\": %zu,\n  \"link_bytes\": %zu,\n", GF_WIRE_LINE,
           GF_NET_NOTICE_LINES, sizeof(struct gf_peer_info), sizeof(struct gf_link));
    printf("  \"carrier_lane_bytes\": %zu,\n  \"carrier_lines\": %d,\n  \"carrier_pieces\": %d\n",
           sizeof(struct gf_carrier_lane), GF_CARRIER_CREDITS + 1, GF_CARRIER_PIECES);
}

static int body(struct gftest_rank *rank)
{
    struct phase create = { .allgathers = 0 }, ring = create, second = create;
    struct counter counter = { .inner = rank->bootstrap, .phase = &create };
    struct gf_config config = gftest_config();
    struct gftest_comm c;

    rank->bootstrap.ctx = &counter;
    rank->bootstrap.allgather = allgather;
    rank->bootstrap.alltoall = alltoall;
    rank->bootstrap.progress = progress;
    config.algorithm = GF_ALGORITHM_RING;
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, NULL) == GF_OK);
    counter.phase = &ring;
    GFTEST_CHECK(rank, gftest_try_allreduce(&c, 1000, NULL) == GF_OK);
    counter.phase = &second;
    GFTEST_CHECK(rank, gftest_try_allreduce(&c, 1000, NULL) == GF_OK);
    GFTEST_CHECK(rank, second.allgathers == 0 && second.alltoalls == 0, "a second call exchanges something");
    gftest_comm_close(&c);
    if (rank->rank == 0) {
        printf("{\n");
        print_phase("create", &create);
        print_phase("ring", &ring);
        print_sizes(&config);
        printf("}\n");
    }
    return fflush(stdout);
}

int main(int argc, char **argv)
{
    int ranks = argc == 2 ? atoi(argv[1]) : 0;

    if (ranks < 2 || ranks > GFTEST_MAX_RANKS) {
        fprintf(stderr, "usage: setup_figures RANKS (2 to %d)\n", GFTEST_MAX_RANKS);
        return 2;
    }
    struct gftest_end end = gftest_run(ranks, body, NULL, SECONDS);

    if (end.timed_out) {
        fprintf(stderr, "setup_figures: the ranks did not end in %d s\n", SECONDS);
    }
    return end.failed || end.killed || end.timed_out ? 1 : 0;
}
