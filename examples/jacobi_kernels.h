/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The stencil of the heat equation, in the C that gcc and nvcc both compile: the emulated device runs it as one lane,
 * a GPU with a block of threads a row (jacobi_cuda.cu).
 *
 * A rank holds rows × columns points without a margin. What it needs of its neighbours lies in `halo`, what they need of it
 * in `edge`; both hold four pieces one after the other: row above, row below, column left, column right. So MPI fills
 * `halo` from the neighbours' `edge` and no point is copied twice. A piece at the border of the plate has no
 * neighbour: it keeps the border's temperature for ever.
 */
#ifndef EXAMPLES_JACOBI_KERNELS_H
#define EXAMPLES_JACOBI_KERNELS_H

#ifdef __CUDACC__
#define JACOBI_INLINE static __device__ inline
#else
#define JACOBI_INLINE static inline
#endif

/* All addresses as the device reaches them. */
struct jacobi_work {
    const double *now;       /* [rows][columns] */
    double *next;            /* [rows][columns] */
    const double *halo;      /* [2 * columns + 2 * rows] */
    double *edge;            /* [2 * columns + 2 * rows], of `next` */
    double *change;          /* one number: the sum over all points of (next - now)² */
    int rows, columns;
};

enum { JACOBI_ABOVE, JACOBI_BELOW, JACOBI_LEFT, JACOBI_RIGHT, JACOBI_SIDES };

/* The mean of the four neighbours. One order of additions, so that every partition gives the same bits. */
JACOBI_INLINE double jacobi_mean(double above, double below, double left, double right)
{
    return 0.25 * ((above + below) + (left + right));
}

/* Computes the points lane, lane + lanes, … of one row; returns the sum of their squared changes. */
JACOBI_INLINE double jacobi_row(const struct jacobi_work *w, int row, int lane, int lanes)
{
    const double *above = w->halo, *below = above + w->columns, *left = below + w->columns, *right = left + w->rows;
    double *top = w->edge, *bottom = top + w->columns, *first = bottom + w->columns, *last = first + w->rows;
    const double *here = w->now + (long)row * w->columns;
    double change = 0;

    for (int column = lane; column < w->columns; column += lanes) {
        double value = jacobi_mean(row > 0 ? here[column - w->columns] : above[column],
                                   row < w->rows - 1 ? here[column + w->columns] : below[column],
                                   column > 0 ? here[column - 1] : left[row],
                                   column < w->columns - 1 ? here[column + 1] : right[row]);
        double step = value - here[column];

        w->next[(long)row * w->columns + column] = value;
        change += step * step;
        if (row == 0) {
            top[column] = value;
        }
        if (row == w->rows - 1) {
            bottom[column] = value;
        }
        if (column == 0) {
            first[row] = value;
        }
        if (column == w->columns - 1) {
            last[row] = value;
        }
    }
    return change;
}

#ifdef __cplusplus
extern "C" {
#endif

/* One step on a GPU, finished on return; jacobi_cuda.cu. Null on success, else what went wrong. */
const char *jacobi_cuda_step(const struct jacobi_work *work);

#ifdef __cplusplus
}
#endif

#endif
