/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All kinds of communicators over the ranks of MPI_COMM_WORLD.
 */
#include "tests/property/drawn_comms.h"

void drawn_comms_make(const struct harness *h, struct drawn_comms *comms)
{
    MPI_Comm *comm = comms->comm;

    comm[COMM_WORLD] = MPI_COMM_WORLD;
    comm[COMM_SELF] = MPI_COMM_SELF;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm[COMM_DUP]);
    MPI_Comm_split(MPI_COMM_WORLD, h->rank % 3 > 0, -h->rank, &comm[COMM_SPLIT]);                  /* two, in reversed order */
    MPI_Comm_split(MPI_COMM_WORLD, h->rank == 0 ? MPI_UNDEFINED : 0, h->rank, &comm[COMM_PART]);
    stage_topologies_make(h->ranks, h->rank, &comm[COMM_GRID]);
    comm[COMM_INTER] = stage_intercommunicator_make(h->ranks, h->rank);
}

void drawn_comms_free(struct drawn_comms *comms)
{
    for (int i = 0; i < COMMS; i++) {
        if (i != COMM_WORLD && i != COMM_SELF && comms->comm[i] != MPI_COMM_NULL) {
            MPI_Comm_free(&comms->comm[i]);
        }
    }
}

enum drawn_comm drawn_comms_pick(const struct stage_collective *collective, uint64_t bits)
{
    int pick = (int)(bits % 16), topology = (int)(COMM_GRID + bits / 16 % STAGE_TOPOLOGIES);

    if (collective->neighbours || pick == 15) {
        return (enum drawn_comm)topology;
    }
    if (pick == 14) {
        return collective->prefix ? COMM_PART : COMM_INTER;
    }
    return pick < 5 ? COMM_WORLD : (enum drawn_comm)(pick % COMM_GRID);
}

const char *drawn_comms_name(enum drawn_comm comm)
{
    static const char *const names[COMMS] = {
        [COMM_WORLD] = "world", [COMM_DUP] = "a duplicate", [COMM_SPLIT] = "a half", [COMM_PART] = "a part", [COMM_SELF] = "self",
        [COMM_GRID] = "a torus", [COMM_GRID + 1] = "a half-open grid", [COMM_GRID + 2] = "a graph",
        [COMM_GRID + 3] = "a directed graph", [COMM_INTER] = "an intercommunicator",
    };

    return names[comm];
}
