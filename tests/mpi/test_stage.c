/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every collective in every form with every mixture of host and device buffers, on ranks, grids and graphs, and between groups:
 * the same bytes as on host buffers.
 *
 * Usage: test_stage [seed=N] [rounds=N] [only=NAME] [host]
 * host: with host buffers only, to see whether the MPI alone passes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/stage_case.h"
#include "tests/mpi/stage_comms.h"

struct options {
    uint64_t seed;
    int rounds;
    const char *only;          /* name of one collective; null: all */
    int mixtures;              /* of memory kinds */
};

enum { MIXTURES = 5 };

/* Memory of one buffer. Mixtures 0 to 3: host or device, the same on all ranks; 4: each rank draws. */
static enum gpufifo_memory kind_of(const struct harness *h, uint64_t seed, int mixture, int side)
{
    static const enum gpufifo_memory kinds[] = {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_DEVICE,
                                                GPUFIFO_MEMORY_PINNED, GPUFIFO_MEMORY_MANAGED};

    if (mixture < 4) {
        return mixture & (1 << side) ? GPUFIFO_MEMORY_DEVICE : GPUFIFO_MEMORY_HOST;
    }
    return kinds[stage_draw(seed, h->rank, 40 + side, 5)];
}

static void run_variants(struct harness *h, const struct stage_types *types, struct stage_choice *choice, int mixtures,
                         enum stage_form form)
{
    enum gpufifo_memory kind = mixtures == 1 ? GPUFIFO_MEMORY_HOST : GPUFIFO_MEMORY_DEVICE;
    struct stage_place alike = {.send = kind, .recv = kind};

    for (int mixture = 0; mixture < mixtures; mixture++) {
        for (int variant = 0; variant < 4; variant++) {
            struct stage_place place = {.send = kind_of(h, choice->seed, mixture, 0),
                                        .recv = kind_of(h, choice->seed, mixture, 1)};

            choice->in_place = (variant & 1) && choice->collective->in_place != IN_PLACE_NOT;
            choice->op = variant & 2 ? NULL : test_op_find("MPI_SUM");
            choice->root = stage_draw(choice->seed, 0, 50, h->ranks);
            stage_case_run(h, types, choice, &place, form);
            choice->seed++;
        }
    }
    choice->in_place = false;
    choice->empty = true;
    stage_case_run(h, types, choice, &alike, form);
    choice->empty = false;
}

static struct options read_options(int argc, char **argv)
{
    struct options options = {.seed = 1, .rounds = 1, .mixtures = MIXTURES};

    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "seed=", 5) == 0) {
            options.seed = strtoull(argv[i] + 5, NULL, 10);
        } else if (strncmp(argv[i], "rounds=", 7) == 0) {
            options.rounds = atoi(argv[i] + 7);
        } else if (strncmp(argv[i], "only=", 5) == 0) {
            options.only = argv[i] + 5;
        } else if (strcmp(argv[i], "host") == 0) {
            options.mixtures = 1;
        }
    }
    return options;
}

static void run_collective(struct harness *h, const struct stage_types *types, struct stage_choice *choice, int mixtures,
                           MPI_Comm inter, const MPI_Comm topologies[STAGE_TOPOLOGIES])
{
    for (int form = 0; form < STAGE_FORMS; form++) {
        if (choice->collective->neighbours) {
            for (int i = 0; i < STAGE_TOPOLOGIES; i++) {
                choice->comm = topologies[i];
                run_variants(h, types, choice, mixtures, (enum stage_form)form);
            }
            continue;
        }
        choice->comm = MPI_COMM_WORLD;
        run_variants(h, types, choice, mixtures, (enum stage_form)form);
        if (inter != MPI_COMM_NULL && !choice->collective->prefix) {
            choice->comm = inter;
            run_variants(h, types, choice, mixtures, (enum stage_form)form);
        }
    }
}

int main(int argc, char **argv)
{
    struct harness h;
    struct stage_types types;
    MPI_Comm topologies[STAGE_TOPOLOGIES], inter;
    struct options options = read_options(argc, argv);
    struct stage_choice choice = {.seed = options.seed << 20, .most = STAGE_COLUMNS};

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    if (h.rank == 0) {
        printf("%s: seed=%llu\n", h.name, (unsigned long long)options.seed);
    }
    stage_types_create(&types);
    stage_topologies_make(h.ranks, h.rank, topologies);
    inter = stage_intercommunicator_make(h.ranks, h.rank);
    for (int round = 0; round < options.rounds; round++) {
        for (size_t i = 0; i < stage_collective_count; i++) {
            choice.collective = &stage_collectives[i];
            if (!options.only || strcmp(options.only, choice.collective->name) == 0) {
                run_collective(&h, &types, &choice, options.mixtures, inter, topologies);
            }
        }
    }
    for (int i = 0; i < STAGE_TOPOLOGIES; i++) {
        MPI_Comm_free(&topologies[i]);
    }
    if (inter != MPI_COMM_NULL) {
        MPI_Comm_free(&inter);
    }
    stage_types_free(&types);
    return harness_finish(&h);
}
