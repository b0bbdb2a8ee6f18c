/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a program without device buffers pays for the component: the time of an 8-byte MPI_Allreduce on host memory.
 * host_overhead.sh runs it with and without the component in turn.
 *
 * Usage: host_overhead [SAMPLES [CALLS]]     prints the median over SAMPLES of the nanoseconds a call, at rank 0; each sample is
 *                                            the mean of CALLS calls one after the other
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/samples.h"

enum { MOST_SAMPLES = 100000 };

static int number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (*end || value < 1 || value > MOST_SAMPLES) {
        fprintf(stderr, "host_overhead: \"%s\" should be a number from 1 to %d\n", text, MOST_SAMPLES);
        exit(1);
    }
    return value;
}

int main(int argc, char **argv)
{
    static double samples[MOST_SAMPLES];
    int count = argc > 1 ? number(argv[1]) : 200, calls = argc > 2 ? number(argv[2]) : 1000;
    double mine = 1, all = 0;
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int sample = -count / 10; sample < count; sample++) {      /* the first tenth warms up */
        double start = MPI_Wtime();
        for (int call = 0; call < calls; call++) {
            MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        if (sample >= 0) {
            samples[sample] = (MPI_Wtime() - start) * 1e9 / calls;
        }
    }
    samples_sort(samples, count);
    if (rank == 0) {
        printf("%.1f\n", samples_at(samples, count, 0.5));
    }
    MPI_Finalize();
    return all == ranks ? 0 : 1;
}
