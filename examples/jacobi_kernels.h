/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The stencil of the heat equation, in the C that gcc and nvcc both compile: the emulated device runs it as one lane,
 * a GPU with a block of threads a row (jacobi_cuda.cu).
 *
 * A rank holds rows × columns points with a margin of one point all round: what it needs of its neighbours. MPI fills the margin
 * from the neighbours' outermost points. At the border of the plate there is no neighbour: there the margin keeps the
 * border's temperature for ever. The corners of the margin are not used.
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
    const double *now;       /* [rows + 2][columns + 2] */
    double *next;            /* likewise; only the points inside the margin are written */
    double *change;          /* one number: the sum over all points of (next - now)² */
    int rows, columns;       /* without the margin */
};

/* Where the point is; row -1 and `rows`, column -1 and `columns` are the margin. */
JACOBI_INLINE long jacobi_place(const struct jacobi_work *w, int row, int column)
{
    return (long)(row + 1) * (w->columns + 2) + column + 1;
}

/* The mean of the four neighbours. One order of additions, so that every partition gives the same bits. */
JACOBI_INLINE double jacobi_mean(double above, double below, double left, double right)
{
    return 0.25 * ((above + below) + (left + right));
}

/* Computes the points lane, lane + lanes, … of one row; returns the sum of their squared changes. */
JACOBI_INLINE double jacobi_row(const struct jacobi_work *w, int row, int lane, int lanes)
{
    const double *above = w->now + jacobi_place(w, row - 1, 0), *here = w->now + jacobi_place(w, row, 0);
    const double *below = w->now + jacobi_place(w, row + 1, 0);
    double *next = w->next + jacobi_place(w, row, 0);
    double change = 0;

    for (int column = lane; column < w->columns; column += lanes) {
        double value = jacobi_mean(above[column], below[column], here[column - 1], here[column + 1]);
        double step = value - here[column];

        next[column] = value;
        change += step * step;
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
