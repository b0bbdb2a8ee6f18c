/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host program in an Open MPI that says it is another version than the component was built for. The component keeps out, and
 * the program runs.
 */
#include <mpi.h>
#include <stdio.h>

/* In place of Open MPI's, for all that is in this process. */
int MPI_Get_library_version(char *version, int *length)
{
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Open MPI v%d.%d.0", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION + 1);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int rank, ranks, sum = -1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != ranks * (ranks - 1) / 2;
}
