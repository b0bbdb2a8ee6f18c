/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The heat equation in host memory.
 */
#include "examples/jacobi_host.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const double above = 1.0, below = 0.0, left = 0.5, right = 0.25;      /* of the border */

static double initial(int row, int column)
{
    return (row * 31 + column * 17) % 101 / 101.0;
}

size_t jacobi_points(const struct jacobi_work *work)
{
    return (size_t)(work->rows + 2) * (size_t)(work->columns + 2);
}

double *jacobi_host_doubles(size_t count)
{
    double *pointer = malloc(count * sizeof(double));

    if (!pointer) {
        fprintf(stderr, "jacobi: host memory is exhausted; take a smaller --size\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
        exit(2);
    }
    return pointer;
}

void jacobi_initialise(const struct jacobi_work *work, double *points, int first_row, int first_column)
{
    for (int row = -1; row <= work->rows; row++) {
        for (int column = -1; column <= work->columns; column++) {
            points[jacobi_place(work, row, column)] = row < 0 ? above : row == work->rows ? below : column < 0 ? left :
                column == work->columns ? right : initial(first_row + row, first_column + column);
        }
    }
}

void jacobi_step(void *work)
{
    const struct jacobi_work *w = work;

    *w->change = 0;
    for (int row = 0; row < w->rows; row++) {
        *w->change += jacobi_row(w, row, 0, 1);
    }
}

double *jacobi_one_rank(int size, int steps, struct jacobi_work *work, double *residual)
{
    *residual = 0;
    *work = (struct jacobi_work){ .change = residual, .rows = size, .columns = size };
    double *now = jacobi_host_doubles(jacobi_points(work)), *next = jacobi_host_doubles(jacobi_points(work));

    jacobi_initialise(work, now, 0, 0);
    jacobi_initialise(work, next, 0, 0);
    for (int step = 0; step < steps; step++) {
        work->now = now;
        work->next = next;
        jacobi_step(work);
        next = now;
        now = work->next;
    }
    free(next);
    *residual = sqrt(*residual);
    return now;
}
