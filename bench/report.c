/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Table and JSON.
 */
#include "config.h"

#include "bench/report.h"

#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "bench/test.h"

/* What follows `key` in the first line of the file that begins with it; "-" if there is none. */
static void file_value(const char *path, const char *key, char *value, size_t bytes)
{
    FILE *file = fopen(path, "r");
    char line[512];

    snprintf(value, bytes, "-");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) == 0) {
            char *text = line + strlen(key);

            text += strspn(text, " \t:");
            text[strcspn(text, "\n")] = '\0';
            snprintf(value, bytes, "%s", text);
            break;
        }
    }
    if (file) {
        fclose(file);
    }
}

void machine_read(struct machine *machine, const struct bench *bench)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    glob_t gpus;

    *machine = (struct machine){ .cores = (int)sysconf(_SC_NPROCESSORS_ONLN), .ranks = bench->ranks };
    gethostname(machine->host, sizeof machine->host - 1);
    file_value("/proc/cpuinfo", "model name", machine->cpu, sizeof machine->cpu);
    file_value("/proc/driver/nvidia/version", "NVRM version", machine->driver, sizeof machine->driver);
    snprintf(machine->gpu, sizeof machine->gpu, "-");
    if (glob("/proc/driver/nvidia/gpus/*/information", 0, NULL, &gpus) == 0) {
        file_value(gpus.gl_pathv[0], "Model", machine->gpu, sizeof machine->gpu);
        globfree(&gpus);
    }
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",")] = '\0';
    snprintf(machine->mpi, sizeof machine->mpi, "%.79s", version);
    snprintf(machine->gpufifo, sizeof machine->gpufifo, "%s", PACKAGE_VERSION);
    snprintf(machine->device, sizeof machine->device, "%s", gpufifo_device_name(bench->device));
}

void report_machine(FILE *out, const struct machine *machine, const struct bench *bench)
{
    const struct bench_options *options = bench->options;
    char title[80];

    bench->test->title(bench, title, sizeof title);
    fprintf(out, "# gpufifo-bench %s: %s, %d ranks, memory %s to %s, device %s\n", machine->gpufifo, title, machine->ranks,
            memory_name(options->send), memory_name(options->recv), machine->device);
    fprintf(out, "# %s, %s: %d x %s\n", machine->mpi, machine->host, machine->cores, machine->cpu);
    fprintf(out, "# GPU %s, driver %s\n", machine->gpu, machine->driver);
    fprintf(out, "# time: median over the samples, each the mean over the ranks that take it; p5, p95: its percentiles\n");
}

void report_heading(FILE *out, const struct bench *bench)
{
    const struct bench_test *test = bench->test;

    fprintf(out, "%11s %11s %11s %11s %11s %12s %12s %6s  %-16s", "size(B)", test->count_column.heading, "time(us)", "p5(us)",
            "p95(us)", test->rate_column[0].heading, test->rate_column[1].heading, "wrong", "path");
    fprintf(out, bench->options->staged ? " %11s %6s\n" : "\n", "staged(us)", "ratio");
}

void report_line(FILE *out, const struct bench *bench, const struct figures *figures)
{
    const struct figures *direct = &figures[METHOD_DIRECT], *staged = &figures[METHOD_STAGED];
    size_t wrong = direct->wrong + (bench->options->staged ? staged->wrong : 0);

    fprintf(out, "%11zu %11zu %11.2f %11.2f %11.2f %12.3f %12.3f %6zu  %-16s", direct->bytes, direct->count, direct->median_us,
            direct->p5_us, direct->p95_us, direct->rate[0], direct->rate[1], wrong, direct->path);
    if (bench->options->staged) {
        fprintf(out, " %11.2f %6.2f", staged->median_us, staged->median_us / direct->median_us);
    }
    fprintf(out, "\n");
    fflush(out);
}

static void json_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, " \"%s\": \"", key);
    for (; *text; text++) {
        fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    fprintf(out, "\",");
}

void json_begin(FILE *out, const struct machine *machine, const struct bench *bench)
{
    const struct bench_options *options = bench->options;
    char title[80];

    bench->test->title(bench, title, sizeof title);
    fprintf(out, "{ \"program\": \"gpufifo-bench\",");
    json_text(out, "test", test_name(options->kind));
    json_text(out, "title", title);
    json_text(out, "gpufifo", machine->gpufifo);
    json_text(out, "mpi", machine->mpi);
    json_text(out, "host", machine->host);
    json_text(out, "cpu", machine->cpu);
    json_text(out, "gpu", machine->gpu);
    json_text(out, "driver", machine->driver);
    json_text(out, "device", machine->device);
    json_text(out, "send", memory_name(options->send));
    json_text(out, "recv", memory_name(options->recv));
    fprintf(out, " \"cores\": %d, \"ranks\": %d,\n  \"rows\": [\n", machine->cores, machine->ranks);
}

void json_row(FILE *out, const struct bench *bench, const struct figures *f, bool first)
{
    const struct bench_test *test = bench->test;

    fprintf(out, "%s{\"bytes\": %zu, \"method\": \"%s\", \"median_us\": %.3f, \"p5_us\": %.3f, \"p95_us\": %.3f, \"wrong\": %zu, "
            "\"path\": \"%s\", \"%s\": %zu, \"%s\": %.4f, \"%s\": %.4f}", first ? "" : ",\n", f->bytes, method_name(f->method),
            f->median_us, f->p5_us, f->p95_us, f->wrong, f->path, test->count_column.key, f->count, test->rate_column[0].key,
            f->rate[0], test->rate_column[1].key, f->rate[1]);
}

bool json_row_read(const char *line, struct figures *f)
{
    char method[16] = "";

    *f = (struct figures){ 0 };
    int fields = sscanf(line, " {\"bytes\": %zu, \"method\": \"%15[a-z]\", \"median_us\": %lf, \"p5_us\": %lf, \"p95_us\": %lf, "
                        "\"wrong\": %zu, \"path\": \"%63[^\"]\", \"%*[a-z_]\": %zu, \"%*[a-z_]\": %lf, \"%*[a-z_]\": %lf",
                        &f->bytes, method, &f->median_us, &f->p5_us, &f->p95_us, &f->wrong, f->path, &f->count, &f->rate[0],
                        &f->rate[1]);

    f->method = strcmp(method, method_name(METHOD_STAGED)) == 0 ? METHOD_STAGED : METHOD_DIRECT;
    return fields == 10;
}

void json_end(FILE *out)
{
    fprintf(out, "\n  ]\n}\n");
}
