/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making a drawn call, in the form that is asked for.
 */
#include "tests/mpi/exchange_call.h"

#include <strings.h>

#include "tests/mpi/stage_collectives.h"

/* One side's arguments of alltoallw: displacements in bytes; what has no gaps is counted in bytes by every other pair. */
struct by_type {
    MPI_Datatype types[EXCHANGE_PEERS];
    int count[EXCHANGE_PEERS], at[EXCHANGE_PEERS];
    MPI_Aint address_at[EXCHANGE_PEERS];
};

static void type_parts(const struct exchange_source *t, const struct exchange_call *c, const struct exchange_side *side,
                       struct by_type *by)
{
    for (int i = 0; i < side->peers->count; i++) {
        bool in_bytes = (side->peers->rank[i] + t->rank) % 2 && side->extent == c->size;

        by->types[i] = in_bytes ? MPI_BYTE : side->type;
        by->count[i] = side->count[i] * (in_bytes ? c->size : 1);
        by->at[i] = side->at[i] * side->extent;
        by->address_at[i] = by->at[i];
    }
}

static const struct stage_collective *find_collective(const char *name)
{
    const struct stage_collective *found = stage_collectives;

    while (strcasecmp(found->name, name) != 0) {
        found++;
    }
    return found;
}

/* Elements of one part: those that are equal, or this rank's own. */
static int one_part(const struct exchange_call *c, enum stage_side side, enum stage_side other, int elements)
{
    return side == SIDE_ONE && other == SIDE_V ? elements : c->equal;
}

void exchange_run(const struct exchange_source *t, const struct exchange_call *c, void *send, void *recv)
{
    const struct stage_collective *collective = find_collective(exchange_name(c));
    bool typed = collective->send == SIDE_W;
    struct exchange_side s = c->send, r = c->recv;
    struct by_type by_send, by_recv;
    MPI_Request request;

    type_parts(t, c, &s, &by_send);
    type_parts(t, c, &r, &by_recv);
    struct stage_arguments a = {
        .comm = t->comm, .root = c->root, .send = send, .recv = recv, .stype = s.type, .rtype = r.type,
        .scount = one_part(c, collective->send, collective->recv, s.elements),
        .rcount = one_part(c, collective->recv, collective->send, r.elements),
        .scounts = typed ? by_send.count : s.count, .sdispls = typed ? by_send.at : s.at,
        .rcounts = typed ? by_recv.count : r.count, .rdispls = typed ? by_recv.at : r.at,
        .sbytes = by_send.address_at, .rbytes = by_recv.address_at, .stypes = by_send.types, .rtypes = by_recv.types};

    if (t->form == EXCHANGE_BLOCKING) {
        collective->blocking(&a);
        return;
    }
    if (t->form == EXCHANGE_NONBLOCKING || !collective->persistent) {
        collective->nonblocking(&a, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    collective->persistent(&a, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}
