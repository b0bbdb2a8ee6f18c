/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of communicators. What is copied are pointers and numbers, whose owner is the original; so a copy has a class of its
 * own, which ends nothing but itself.
 */
#include "mca_coll_gpufifo/placed.h"

#include <stddef.h>

typedef struct gf_placed {
    ompi_communicator_t comm;          /* first: Open MPI takes it for one */
    ompi_communicator_t *original;     /* retained */
} gf_placed_t;

static void placed_destruct(gf_placed_t *placed)
{
    gf_mpi_release_comm(placed->original);
}

static OBJ_CLASS_INSTANCE(gf_placed_t, opal_object_t, NULL, placed_destruct);

ompi_communicator_t *gf_placed_comm(ompi_communicator_t *comm, int32_t place)
{
    gf_placed_t *placed = OBJ_NEW(gf_placed_t);

    if (!placed) {
        return NULL;
    }
    memcpy((char *)&placed->comm + sizeof(opal_object_t), (char *)comm + sizeof(opal_object_t),
           sizeof(placed->comm) - sizeof(opal_object_t));
    placed->comm.c_nbc_tag = place;
    placed->original = comm;
    OBJ_RETAIN(comm);
    return &placed->comm;
}
