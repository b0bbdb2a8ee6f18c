/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The heat equation in host memory: where it starts, and its solution by one rank, to compare with.
 */
#ifndef EXAMPLES_JACOBI_HOST_H
#define EXAMPLES_JACOBI_HOST_H

#include <stddef.h>

#include "examples/jacobi_kernels.h"

/* Points of w->now and of w->next, with the margin. */
size_t jacobi_points(const struct jacobi_work *work);

/* Fills `points`, in host memory, for the part of the plate that starts at (first_row, first_column). The margin gets the
 * border's temperature. */
void jacobi_initialise(const struct jacobi_work *work, double *points, int first_row, int first_column);

/* One step by one lane; work: a struct jacobi_work with addresses that the caller may touch. */
void jacobi_step(void *work);

/* The whole plate after so many steps. Returns the points, for the caller to free; *work then has their layout. */
double *jacobi_one_rank(int size, int steps, struct jacobi_work *work, double *residual);

/* Host memory; ends the job if there is none left. */
double *jacobi_host_doubles(size_t count);

#endif
