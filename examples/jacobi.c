/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A 2-D heat equation on device memory under plain mpirun: each step exchanges the margins with up to four neighbours, rows as
 * they lie in memory by MPI_Sendrecv, columns as a vector datatype by MPI_Irecv and MPI_Isend; runs the stencil on the device;
 * and sums the squared change over all ranks by MPI_Allreduce. No buffer that MPI sees is host memory. At the end every rank
 * compares its points with those of the same computation done by one rank on the host: they must have the same bits.
 */
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/jacobi_host.h"
#include "examples/paths.h"
#include "gpufifo/device.h"

struct options {
    int size;                  /* points along one side of the plate */
    int steps;
    const char *device;        /* null: as the environment says */
    bool check;
};

enum side { ABOVE, BELOW, LEFT, RIGHT, SIDES };

/* One rank's part of the plate. The pointers in `work` and `total` are user addresses: what MPI gets. */
struct plate {
    gpufifo_device *device;
    MPI_Comm grid;
    int rank, ranks;
    int dims[2];
    int first_row, first_column;
    int neighbour[SIDES];              /* MPI_PROC_NULL at the border of the plate */
    MPI_Datatype column;               /* one point of each row */
    struct paths_counters counters;
    struct jacobi_work work;
    double *total;                     /* the change summed over all ranks */
};

static const char usage[] =
    "Usage: mpirun -n N --mca coll gpufifo,tuned,libnbc,basic,inter,self jacobi [options]\n"
    "  --size N       points along one side of the plate (default 128)\n"
    "  --steps N      time steps (default 100)\n"
    "  --device NAME  cuda, emulated, or auto: as the environment says, else a GPU (default auto)\n"
    "  --no-check     leave out the comparison with one rank, which runs on the host and takes long for large plates\n";

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

static double *device_doubles(struct plate *plate, size_t count)
{
    void *pointer;
    must(gpufifo_alloc(plate->device, GPUFIFO_MEMORY_DEVICE, count * sizeof(double), &pointer), "device memory");
    return pointer;
}

/* An MPI that was built for CUDA may do without gpufifo; none knows the emulated device. */
static void must_reach_device(const struct plate *plate)
{
    if (!paths_present(&plate->counters) && strcmp(gpufifo_device_name(plate->device), "emulated") == 0) {
        fail("MPI cannot reach the emulated device", "the component coll/gpufifo is not in use; "
             "--mca coll_gpufifo_device emulated --mca coll_gpufifo_verbose 1 says why");
    }
}

/* Who has which part. */
static void plate_divide(struct plate *plate, int size)
{
    int periods[2] = { 0, 0 }, at[2];
    struct jacobi_work *w = &plate->work;

    MPI_Comm_size(MPI_COMM_WORLD, &plate->ranks);
    MPI_Dims_create(plate->ranks, 2, plate->dims);
    if (size < plate->dims[0] || size < plate->dims[1]) {
        fail("--size", "must be at least the number of ranks along one side");
    }
    MPI_Cart_create(MPI_COMM_WORLD, 2, plate->dims, periods, 0, &plate->grid);
    MPI_Comm_rank(plate->grid, &plate->rank);
    MPI_Cart_coords(plate->grid, plate->rank, 2, at);
    MPI_Cart_shift(plate->grid, 0, 1, &plate->neighbour[ABOVE], &plate->neighbour[BELOW]);
    MPI_Cart_shift(plate->grid, 1, 1, &plate->neighbour[LEFT], &plate->neighbour[RIGHT]);
    plate->first_row = (int)((long)size * at[0] / plate->dims[0]);
    plate->first_column = (int)((long)size * at[1] / plate->dims[1]);
    w->rows = (int)((long)size * (at[0] + 1) / plate->dims[0]) - plate->first_row;
    w->columns = (int)((long)size * (at[1] + 1) / plate->dims[1]) - plate->first_column;
    MPI_Type_vector(w->rows, 1, w->columns + 2, MPI_DOUBLE, &plate->column);
    MPI_Type_commit(&plate->column);
}

static void plate_create(struct plate *plate, const struct options *options)
{
    struct jacobi_work *w = &plate->work;

    plate_divide(plate, options->size);
    size_t points = jacobi_points(w);
    double *host = jacobi_host_doubles(points), *now = device_doubles(plate, points);
    w->next = device_doubles(plate, points);
    w->change = device_doubles(plate, 1);
    plate->total = device_doubles(plate, 1);
    jacobi_initialise(w, host, plate->first_row, plate->first_column);
    must(gpufifo_copy(plate->device, now, host, points * sizeof *now), "copy to the device");
    must(gpufifo_copy(plate->device, w->next, host, points * sizeof *now), "copy to the device");
    w->now = now;
    free(host);
}

static void plate_destroy(struct plate *plate)
{
    const struct jacobi_work *w = &plate->work;
    void *all[] = { (void *)w->now, w->next, w->change, plate->total };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        must(gpufifo_free(plate->device, all[i]), "free");
    }
    MPI_Type_free(&plate->column);
    MPI_Comm_free(&plate->grid);
}

/* The same work with the addresses under which the device reaches it. */
static struct jacobi_work kernel_work(const struct plate *plate)
{
    struct jacobi_work work = plate->work;

    work.now = gpufifo_kernel_address(plate->device, work.now);
    work.next = gpufifo_kernel_address(plate->device, work.next);
    work.change = gpufifo_kernel_address(plate->device, work.change);
    return work;
}

static void plate_compute(struct plate *plate)
{
    struct jacobi_work *w = &plate->work, work = kernel_work(plate);

    if (strcmp(gpufifo_device_name(plate->device), "cuda") != 0) {
        must(gpufifo_run(plate->device, jacobi_step, &work), "stencil");
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

/* Where the point is in `now`. */
static double *point(const struct plate *plate, int row, int column)
{
    return (double *)plate->work.now + jacobi_place(&plate->work, row, column);
}

/* Row 0 goes up and comes from below, then the last row goes down and comes from above. */
static void exchange_rows(const struct plate *plate)
{
    const struct jacobi_work *w = &plate->work;
    const int *to = plate->neighbour;

    MPI_Sendrecv(point(plate, 0, 0), w->columns, MPI_DOUBLE, to[ABOVE], 0, point(plate, w->rows, 0), w->columns, MPI_DOUBLE,
                 to[BELOW], 0, plate->grid, MPI_STATUS_IGNORE);
    MPI_Sendrecv(point(plate, w->rows - 1, 0), w->columns, MPI_DOUBLE, to[BELOW], 0, point(plate, -1, 0), w->columns, MPI_DOUBLE,
                 to[ABOVE], 0, plate->grid, MPI_STATUS_IGNORE);
}

static void exchange_columns(const struct plate *plate)
{
    const struct jacobi_work *w = &plate->work;
    const int *to = plate->neighbour;
    MPI_Request request[4];

    MPI_Irecv(point(plate, 0, -1), 1, plate->column, to[LEFT], 1, plate->grid, &request[0]);
    MPI_Irecv(point(plate, 0, w->columns), 1, plate->column, to[RIGHT], 1, plate->grid, &request[1]);
    MPI_Isend(point(plate, 0, 0), 1, plate->column, to[LEFT], 1, plate->grid, &request[2]);
    MPI_Isend(point(plate, 0, w->columns - 1), 1, plate->column, to[RIGHT], 1, plate->grid, &request[3]);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
}

static double plate_residual(struct plate *plate)
{
    double total;

    MPI_Allreduce(plate->work.change, plate->total, 1, MPI_DOUBLE, MPI_SUM, plate->grid);
    must(gpufifo_copy(plate->device, &total, plate->total, sizeof total), "copy from the device");
    return sqrt(total);
}

/* Tells by which paths this rank's messages went since `before`. */
static void print_path(const struct plate *plate, const char *what, const char *call, struct paths *before)
{
    struct paths after, taken;
    char text[512];

    paths_read(&plate->counters, &after);
    paths_difference(before, &after, &taken);
    paths_print(&taken, "none by gpufifo: is the component loaded? (--mca coll gpufifo,...)", text, sizeof text);
    if (plate->rank == 0) {
        printf("  %-9s %-22s  path at rank 0: %s\n", what, call, text);
    }
    *before = after;
}

static bool has_neighbour(const struct plate *plate, enum side one, enum side other)
{
    return plate->neighbour[one] != MPI_PROC_NULL || plate->neighbour[other] != MPI_PROC_NULL;
}

/* A time step that tells which paths the messages of each kind took. */
static double plate_first_step(struct plate *plate)
{
    struct paths before;

    paths_read(&plate->counters, &before);
    exchange_rows(plate);
    if (has_neighbour(plate, ABOVE, BELOW)) {
        print_path(plate, "rows", "MPI_Sendrecv", &before);
    }
    exchange_columns(plate);
    if (has_neighbour(plate, LEFT, RIGHT)) {
        print_path(plate, "columns", "MPI_Isend, MPI_Irecv", &before);
    }
    plate_compute(plate);
    double residual = plate_residual(plate);
    print_path(plate, "residual", "MPI_Allreduce", &before);
    return residual;
}

/* The time steps. Returns the last residual; *seconds: of all but the first step. */
static double plate_run(struct plate *plate, int steps, double *seconds)
{
    double residual = plate_first_step(plate), start = MPI_Wtime();

    for (int step = 1; step < steps; step++) {
        exchange_rows(plate);
        exchange_columns(plate);
        plate_compute(plate);
        residual = plate_residual(plate);
    }
    *seconds = MPI_Wtime() - start;
    return residual;
}

/* Returns the number of this rank's points that differ from the one-rank solution. */
static long plate_compare(const struct plate *plate, const struct options *options, double *residual)
{
    const struct jacobi_work *w = &plate->work;
    struct jacobi_work one;
    double *whole = jacobi_one_rank(options->size, options->steps, &one, residual), *mine = jacobi_host_doubles(jacobi_points(w));
    long wrong = 0;

    must(gpufifo_copy(plate->device, mine, w->now, jacobi_points(w) * sizeof *mine), "copy from the device");
    for (int row = 0; row < w->rows; row++) {
        for (int column = 0; column < w->columns; column++) {
            const double *expected = &whole[jacobi_place(&one, plate->first_row + row, plate->first_column + column)];

            wrong += memcmp(&mine[jacobi_place(w, row, column)], expected, sizeof *mine) != 0;
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
    paths_open(&plate.counters);
    must_reach_device(&plate);
    plate_create(&plate, &options);
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
