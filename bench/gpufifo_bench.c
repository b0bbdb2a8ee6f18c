/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gpufifo-bench: MPI_Allreduce and messages by size on device buffers. --help says how to use it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/compare.h"
#include "bench/output.h"
#include "bench/plot.h"
#include "bench/report.h"
#include "bench/tune.h"

static FILE *json_open(const char *path)
{
    FILE *file = output_open(path);

    if (!file) {
        MPI_Abort(MPI_COMM_WORLD, 2);
        exit(2);
    }
    return file;
}

/* All sizes; returns the number of wrong elements, on every rank. */
static size_t measure_all(struct bench *bench, FILE *json)
{
    const struct bench_options *o = bench->options;
    size_t wrong = 0;
    bool first = true;

    for (size_t size = o->min; size <= o->max; size *= o->factor) {
        struct figures figures[METHOD_COUNT];

        bench_measure(bench, size, figures);
        if (figures[METHOD_DIRECT].count == 0) {
            continue;
        }
        if (bench->rank == 0) {
            report_line(stdout, bench, figures);
        }
        for (int method = 0; method < (o->staged ? METHOD_COUNT : 1); method++, first = false) {
            wrong += figures[method].wrong;
            if (json) {
                json_row(json, bench, &figures[method], first);
            }
        }
    }
    return wrong;
}

int main(int argc, char **argv)
{
    struct bench_options options;
    struct bench bench;
    FILE *json = NULL;

    options_read(&options, argc, argv);
    if (options.compare_count) {
        return compare_run(&options, argc, argv);
    }
    if (options.plot) {
        return plot_run(&options, argc, argv);
    }
    if (options.tune) {
        return tune_run(&options, argc, argv);
    }
    MPI_Init(&argc, &argv);
    bench_create(&bench, &options);
    if (bench.rank == 0) {
        struct machine machine;

        machine_read(&machine, &bench);
        report_machine(stdout, &machine, &bench);
        report_heading(stdout, &bench);
        json = options.json ? json_open(options.json) : NULL;
        if (json) {
            json_begin(json, &machine, &bench);
        }
    }
    size_t wrong = measure_all(&bench, json);
    if (json) {
        json_end(json);
        fclose(json);
    }
    bench_destroy(&bench);
    MPI_Finalize();
    return wrong ? 1 : 0;
}
