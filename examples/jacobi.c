/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A 2-D heat equation on device memory under plain mpirun: each step exchanges the halo with up to four neighbours
 * (MPI_Neighbor_alltoallv on a Cartesian communicator), runs the stencil on the device, and sums the squared change over all
 * ranks (MPI_Allreduce). No buffer that MPI sees is host memory. At the end every rank compares its points with those
 * of the same computation done by one rank on the host: they must have the same bits.
 */
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/jacobi_kernels.h"
#include "examples/paths.h"
#include "gpufifo/device.h"

struct options {
    int size;                  /* points along one side of the plate */
    int steps;
    const char *device;        /* null: as the environment says */
    bool check;
};

/* One rank's part of the plate. The pointers in `work` and `total` are user addresses: what MPI gets. */
struct plate {
    gpufifo_device *device;
    MPI_Comm grid;
    int rank, ranks;
    int dims[2];
    int first_row, first_column;
    struct paths_counters counters;
    struct jacobi_work work;
    double *total;             /* the change summed over all ranks */
};

static const char usage[] =
    "Usage: mpirun -n N --mca coll gpufifo,tuned,libnbc,basic,inter,self jacobi [options]\n"
    "  --size N       points along one side of the plate (default 128)\n"
    "  --steps N      time steps (default 100)\n"
    "  --device NAME  cuda, emulated, or auto: as the environment says, else a GPU (default auto)\n"
    "  --no-check     leave out the comparison with one rank, which runs on the host and takes long for large plates\n";

static const double border[JACOBI_SIDES] = { 1.0, 0.0, 0.5, 0.25 };

/* Ends the whole job: one rank cannot go on without the others. */
static void __attribute__((noreturn)) fail(const char *what, const char *why)
{
    fprintf(stderr, "jacobi: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static void must(int result, const char *what)
{
    if (result != 0) {
        fail(what, gpufifo_error());
    }
}

static double initial(int row, int column)
{
    return (row * 31 + column * 17) % 101 / 101.0;
}

static size_t margin(const struct jacobi_work *w)
{
    return 2 * (size_t)w->columns + 2 * (size_t)w->rows;
}

/* Fills now, edge and halo, in host memory, for the part that starts at (first_row, first_column). */
static void host_initialise(const struct jacobi_work *w, double *now, double *edge, double *halo, int first_row, int first_column)
{
    double *piece = edge;

    for (int row = 0; row < w->rows; row++) {
        for (int column = 0; column < w->columns; column++) {
            now[(size_t)row * w->columns + column] = initial(first_row + row, first_column + column);
        }
    }
    memcpy(piece, now, w->columns * sizeof *now);
    memcpy(piece += w->columns, now + (size_t)(w->rows - 1) * w->columns, w->columns * sizeof *now);
    piece += w->columns;
    for (int row = 0; row < w->rows; row++) {
        piece[row] = now[(size_t)row * w->columns];
        piece[w->rows + row] = now[(size_t)row * w->columns + w->columns - 1];
    }
    for (int side = 0; side < JACOBI_SIDES; side++) {
        int length = side < JACOBI_LEFT ? w->columns : w->rows;
        for (int i = 0; i < length; i++) {
            *halo++ = border[side];
        }
    }
}

static double *device_doubles(struct plate *plate, size_t count)
{
    void *pointer;
    must(gpufifo_alloc(plate->device, GPUFIFO_MEMORY_DEVICE, count * sizeof(double), &pointer), "device memory");
    return pointer;
}

static void *host_doubles(size_t count)
{
    void *pointer = malloc(count * sizeof(double));
    if (!pointer) {
        fail("host memory", "exhausted; take a smaller --size");
    }
    return pointer;
}

static void plate_create(struct plate *plate, const struct options *options)
{
    int periods[2] = { 0, 0 }, at[2];
    struct jacobi_work *w = &plate->work;

    MPI_Comm_size(MPI_COMM_WORLD, &plate->ranks);
    MPI_Dims_create(plate->ranks, 2, plate->dims);
    if (options->size < plate->dims[0] || options->size < plate->dims[1]) {
        fail("--size", "must be at least the number of ranks along one side");
    }
    MPI_Cart_create(MPI_COMM_WORLD, 2, plate->dims, periods, 0, &plate->grid);
    MPI_Comm_rank(plate->grid, &plate->rank);
    MPI_Cart_coords(plate->grid, plate->rank, 2, at);
    plate->first_row = (long)options->size * at[0] / plate->dims[0];
    plate->first_column = (long)options->size * at[1] / plate->dims[1];
    w->rows = (long)options->size * (at[0] + 1) / plate->dims[0] - plate->first_row;
    w->columns = (long)options->size * (at[1] + 1) / plate->dims[1] - plate->first_column;

    size_t points = (size_t)w->rows * w->columns;
    double *now = host_doubles(points), *edge = host_doubles(margin(w)), *halo = host_doubles(margin(w));
    double *device_now = device_doubles(plate, points), *device_halo = device_doubles(plate, margin(w));
    host_initialise(w, now, edge, halo, plate->first_row, plate->first_column);
    w->now = device_now;
    w->next = device_doubles(plate, points);
    w->halo = device_halo;
    w->edge = device_doubles(plate, margin(w));
    w->change = device_doubles(plate, 1);
    plate->total = device_doubles(plate, 1);
    must(gpufifo_copy(plate->device, device_now, now, points * sizeof *now), "copy to the device");
    must(gpufifo_copy(plate->device, device_halo, halo, margin(w) * sizeof *halo), "copy to the device");
    must(gpufifo_copy(plate->device, w->edge, edge, margin(w) * sizeof *edge), "copy to the device");
    free(now);
    free(edge);
    free(halo);
}

static void plate_destroy(struct plate *plate)
{
    const struct jacobi_work *w = &plate->work;
    void *all[] = { (void *)w->now, w->next, (void *)w->halo, w->edge, w->change, plate->total };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        must(gpufifo_free(plate->device, all[i]), "free");
    }
    MPI_Comm_free(&plate->grid);
}

/* Runs on the emulated device, with kernel addresses. */
static void emulated_step(void *arguments)
{
    const struct jacobi_work *w = arguments;

    *w->change = 0;
    for (int row = 0; row < w->rows; row++) {
        *w->change += jacobi_row(w, row, 0, 1);
    }
}

/* The same work with the addresses under which the device reaches it. */
static struct jacobi_work kernel_work(const struct plate *plate)
{
    struct jacobi_work work = plate->work;

    work.now = gpufifo_kernel_address(plate->device, work.now);
    work.next = gpufifo_kernel_address(plate->device, work.next);
    work.halo = gpufifo_kernel_address(plate->device, work.halo);
    work.edge = gpufifo_kernel_address(plate->device, work.edge);
    work.change = gpufifo_kernel_address(plate->device, work.change);
    return work;
}

static void plate_compute(struct plate *plate)
{
    struct jacobi_work *w = &plate->work, work = kernel_work(plate);

    if (strcmp(gpufifo_device_name(plate->device), "cuda") != 0) {
        must(gpufifo_run(plate->device, emulated_step, &work), "stencil");
    } else {
#ifdef GF_HAVE_NVCC
        const char *error = jacobi_cuda_step(&work);
        if (error) {
            fail("stencil", error);
        }
#else
        fail("stencil", "built without nvcc, so there is no code for a GPU; use --device emulated");
#endif
    }
    double *next = w->next;
    w->next = (double *)w->now;
    w->now = next;
}

static void plate_exchange(struct plate *plate)
{
    const struct jacobi_work *w = &plate->work;
    int counts[JACOBI_SIDES] = { w->columns, w->columns, w->rows, w->rows };
    int places[JACOBI_SIDES] = { 0, w->columns, 2 * w->columns, 2 * w->columns + w->rows };

    MPI_Neighbor_alltoallv(w->edge, counts, places, MPI_DOUBLE, (double *)w->halo, counts, places, MPI_DOUBLE, plate->grid);
}

static double plate_residual(struct plate *plate)
{
    double total;

    MPI_Allreduce(plate->work.change, plate->total, 1, MPI_DOUBLE, MPI_SUM, plate->grid);
    must(gpufifo_copy(plate->device, &total, plate->total, sizeof total), "copy from the device");
    return sqrt(total);
}

static void print_path(const struct plate *plate, const char *what, const char *call, const struct paths *before)
{
    struct paths after, taken;
    char text[512];

    paths_read(&plate->counters, &after);
    paths_difference(before, &after, &taken);
    paths_print(&taken, "not by gpufifo: is the component loaded? (--mca coll gpufifo,...)", text, sizeof text);
    if (plate->rank == 0) {
        printf("  %-9s %-22s  path at rank 0: %s\n", what, call, text);
    }
}

/* The time steps; the first one tells which paths the messages took. Returns the last residual. */
static double plate_run(struct plate *plate, int steps, double *seconds)
{
    struct paths before;
    double residual = 0;
    double start = MPI_Wtime();

    for (int step = 0; step < steps; step++) {
        if (step == 0) {
            paths_read(&plate->counters, &before);
        }
        plate_exchange(plate);
        if (step == 0) {
            print_path(plate, "halo", "MPI_Neighbor_alltoallv", &before);
        }
        plate_compute(plate);
        if (step == 0) {
            paths_read(&plate->counters, &before);
        }
        residual = plate_residual(plate);
        if (step == 0) {
            print_path(plate, "residual", "MPI_Allreduce", &before);
            start = MPI_Wtime();
        }
    }
    *seconds = MPI_Wtime() - start;
    return residual;
}

/* The whole plate on one rank, in host memory. Returns the points, for the caller to free. */
static double *one_rank(const struct options *options, double *residual)
{
    double change = 0;
    struct jacobi_work w = { .rows = options->size, .columns = options->size, .change = &change };
    size_t points = (size_t)w.rows * w.columns;
    double *now = host_doubles(points), *next = host_doubles(points);
    double *edge = host_doubles(margin(&w)), *halo = host_doubles(margin(&w));

    host_initialise(&w, now, edge, halo, 0, 0);
    w.halo = halo;
    w.edge = edge;
    for (int step = 0; step < options->steps; step++) {
        w.now = now;
        w.next = next;
        emulated_step(&w);
        next = now;
        now = w.next;
    }
    free(next);
    free(edge);
    free(halo);
    *residual = sqrt(change);
    return now;
}

/* Returns the number of this rank's points that differ from the one-rank solution. */
static long plate_compare(const struct plate *plate, const struct options *options, double *residual)
{
    const struct jacobi_work *w = &plate->work;
    size_t points = (size_t)w->rows * w->columns;
    double *whole = one_rank(options, residual), *mine = host_doubles(points);
    long wrong = 0;

    must(gpufifo_copy(plate->device, mine, w->now, points * sizeof *mine), "copy from the device");
    for (int row = 0; row < w->rows; row++) {
        const double *expected = whole + (size_t)(plate->first_row + row) * options->size + plate->first_column;
        for (int column = 0; column < w->columns; column++) {
            wrong += memcmp(&mine[(size_t)row * w->columns + column], &expected[column], sizeof *mine) != 0;
        }
    }
    free(whole);
    free(mine);
    return wrong;
}

/* True if this run's solution is that of one rank: the same bits in every point, and a residual that differs by no more than
 * another order of additions explains. */
static bool report_check(const struct plate *plate, const struct options *options, double residual)
{
    double expected;
    long wrong = plate_compare(plate, options, &expected), all_wrong;
    double off = fabs(residual - expected) / (expected > 0 ? expected : 1);

    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, plate->grid);
    bool right = all_wrong == 0 && off < 1e-10;
    if (plate->rank == 0) {
        printf("  compared with one rank: %ld of %ld points differ, residual differs by %.1e of its value: %s\n", all_wrong,
               (long)options->size * options->size, off, right ? "right" : "WRONG");
    }
    return right;
}

static int number(const char *option, const char *text, int least)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (*end || end == text || value < least || value > 1 << 20) {
        fprintf(stderr, "jacobi: --%s takes a number from %d to %d, not \"%s\"\n", option, least, 1 << 20, text);
        exit(1);
    }
    return value;
}

static void options_read(struct options *options, int argc, char **argv)
{
    static const struct option known[] = { { "size", required_argument, NULL, 's' }, { "steps", required_argument, NULL, 't' },
                                           { "device", required_argument, NULL, 'd' }, { "no-check", no_argument, NULL, 'n' },
                                           { "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 } };
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 's': options->size = number("size", optarg, 1); break;
        case 't': options->steps = number("steps", optarg, 1); break;
        case 'd': options->device = optarg; break;
        case 'n': options->check = false; break;
        case 'h': fputs(usage, stdout); exit(0);
        default: fputs(usage, stderr); exit(1);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "jacobi: unexpected argument \"%s\"\n%s", argv[optind], usage);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct options options = { .size = 128, .steps = 100, .device = NULL, .check = true };
    struct plate plate = { 0 };
    double seconds;

    options_read(&options, argc, argv);
    MPI_Init(&argc, &argv);
    must(gpufifo_device_open(options.device, -1, &plate.device), "no device");
    plate_create(&plate, &options);
    paths_open(&plate.counters);
    if (plate.rank == 0) {
        printf("jacobi: %d x %d points on %d x %d ranks, %d steps, device %s\n", options.size, options.size, plate.dims[0],
               plate.dims[1], options.steps, gpufifo_device_name(plate.device));
    }
    double residual = plate_run(&plate, options.steps, &seconds);
    if (plate.rank == 0) {
        printf("  residual  %.12e after %d steps", residual, options.steps);
        printf(options.steps > 1 ? ", %.1f us a step\n" : "\n", seconds * 1e6 / (options.steps - 1 ? options.steps - 1 : 1));
    }
    bool right = !options.check || report_check(&plate, &options, residual);
    paths_close(&plate.counters);
    plate_destroy(&plate);
    gpufifo_device_close(plate.device);
    MPI_Finalize();
    return right ? 0 : 3;
}
