/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line of gpufifo-bench.
 */
#include "bench/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/mechanisms.h"

enum { NUMBER_MOST = 1000000, WINDOW_MOST = 4096, RANKS_MOST = 4096 };

static const char usage[] =
    "Usage: mpirun -n N gpufifo-bench [TEST] [options]\n"
    "       gpufifo-bench [TEST] --compare \"SIDE\" --compare \"SIDE\" [--rounds N] [options]\n"
    "       gpufifo-bench --tune FILE [--ranks N] [--rounds N] [options]\n"
    "       gpufifo-bench --plot FILE.svg [--mechanisms NAME,...] [--ranks N] [--rounds N] [options]\n"
    "Measures MPI by size, on device buffers, and checks every result. TEST is one of\n"
    "  allreduce                  MPI_Allreduce (the default)\n"
    "  reduce, reduce_scatter, scan\n"
    "                             MPI_Reduce to rank 0, MPI_Reduce_scatter_block, MPI_Scan: sizes are those of a contribution\n"
    "  alltoall, allgather, bcast blocks of bytes of all ranks, or of rank 0, for all\n"
    "  gather, scatter            blocks of all ranks for rank 0, and of rank 0 for each\n"
    "  latency                    half a round trip of a message between two ranks\n"
    "  bandwidth                  a window of messages in flight from one rank to another\n"
    "  bibandwidth                the same in both directions at once\n"
    "  multi                      bandwidth of all pairs of ranks at once: the first half of the ranks sends to the second\n"
    "Options:\n"
    "  --min BYTES, --max BYTES   smallest and largest message, such as 8 or 64M (default 8, 64M)\n"
    "  --factor N                 from one size to the next (default 2)\n"
    "  --iterations N             samples of a size (default 200; a fifth of it above 1M, a twentieth above 32M)\n"
    "  --warmup N                 calls before them (default 20)\n"
    "  --window N                 messages in flight (default 64; fewer where they would take more than 1G)\n"
    "  --type NAME                of reductions: float, double, int8, int32, int64 (default float)\n"
    "  --op NAME                  of reductions: sum, prod, max, min (default sum)\n"
    "  --memory KIND[,KIND]       host, pinned, managed, device, vmm, vmm_private, pool: of a collective's send\n"
    "                             and receive buffer, else of the first and the second rank of a pair (default device,device)\n"
    "  --device NAME              cuda or emulated (default: as the environment says, else a GPU)\n"
    "  --device-by-rank           each rank takes the GPU of its number on the node, as programs do by cudaSetDevice; else the\n"
    "                             first that it sees\n"
    "  --library NAME             mpi or nccl (default mpi): NCCL in the place of MPI, to compare with: a call, and the stream\n"
    "                             waited for\n"
    "  --staged                   measure in turn with it what a program without gpufifo would do: copy to pinned host memory,\n"
    "                             call MPI there, copy back\n"
    "  --json FILE                also write the figures there\n"
    "  --compare \"SIDE\"           start `mpirun OPTIONS gpufifo-bench ...` itself; give it twice or more, to run in turn.\n"
    "                             SIDE is [NAME=VALUE ...] OPTIONS [-- ARGUMENTS]: the environment of this side, of which\n"
    "                             MPIRUN names another mpirun; options of mpirun; arguments of gpufifo-bench. Words end at\n"
    "                             blanks.\n"
    "  --plot FILE                start `mpirun OPTIONS gpufifo-bench ...` itself, once with the settings of each mechanism,\n"
    "                             and draw their bandwidths over size: FILE.svg, .png or .pdf. Needs matplotlib (Debian:\n"
    "                             python3-matplotlib)\n"
    "  --mechanisms NAME,...      of a plot: only these (default all)\n"
    "  --tune FILE                start `mpirun OPTIONS gpufifo-bench ...` itself, once with each algorithm that\n"
    "                             coll_gpufifo_algorithm auto may choose, write what they took into FILE, for the MCA variable\n"
    "                             coll_gpufifo_tuning, and say where time falls off a cliff. Rows that the file has of other\n"
    "                             numbers of ranks stay\n"
    "  --ranks N                  of a plot or tuning table: of MPI_Allreduce (default 2); messages go between two\n"
    "  --rounds N                 of a comparison, plot or tuning table: how often each side runs (default 3)\n"
    "Mechanisms, by which test they are measured, and their MCA variables (coll_gpufifo_...):\n";

static const struct bench_type types[] = {
    { "float", MPI_FLOAT, 4, ELEMENT_FLOAT },
    { "double", MPI_DOUBLE, 8, ELEMENT_DOUBLE },
    { "int8", MPI_INT8_T, 1, ELEMENT_INT8 },
    { "int32", MPI_INT32_T, 4, ELEMENT_INT32 },
    { "int64", MPI_INT64_T, 8, ELEMENT_INT64 },
};

static const struct bench_op ops[] = { { "sum", MPI_SUM }, { "prod", MPI_PROD }, { "max", MPI_MAX }, { "min", MPI_MIN } };

static const char *const memory_names[] = { [GPUFIFO_MEMORY_HOST] = "host", [GPUFIFO_MEMORY_PINNED] = "pinned",
                                            [GPUFIFO_MEMORY_MANAGED] = "managed", [GPUFIFO_MEMORY_DEVICE] = "device",
                                            [GPUFIFO_MEMORY_VMM] = "vmm", [GPUFIFO_MEMORY_VMM_PRIVATE] = "vmm_private",
                                            [GPUFIFO_MEMORY_POOL] = "pool" };

static const char *const test_names[] = { [BENCH_ALLREDUCE] = "allreduce", [BENCH_LATENCY] = "latency",
                                          [BENCH_BANDWIDTH] = "bandwidth", [BENCH_BIBANDWIDTH] = "bibandwidth",
                                          [BENCH_MULTI] = "multi", [BENCH_ALLTOALL] = "alltoall",
                                          [BENCH_ALLGATHER] = "allgather", [BENCH_BCAST] = "bcast",
                                          [BENCH_GATHER] = "gather", [BENCH_SCATTER] = "scatter",
                                          [BENCH_REDUCE] = "reduce", [BENCH_REDUCE_SCATTER] = "reduce_scatter",
                                          [BENCH_SCAN] = "scan" };

const char *test_name(enum bench_kind kind)
{
    return test_names[kind];
}

const char *memory_name(enum gpufifo_memory kind)
{
    return memory_names[kind];
}

static void __attribute__((noreturn)) bad(const char *option, const char *value, const char *wanted)
{
    fprintf(stderr, "gpufifo-bench: --%s takes %s, not \"%s\"; --help says more\n", option, wanted, value);
    exit(1);
}

/* A number of bytes, with K, M or G for powers of 1024. */
static size_t bytes_read(const char *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    int shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 : *end == 'G' || *end == 'g' ? 30 : 0;

    if (end == text || end[shift ? 1 : 0] || !(value >= 1 && value <= 64e9)) {
        bad(option, text, "a number of bytes such as 8 or 64M");
    }
    return (size_t)(value * (double)((size_t)1 << shift));
}

static int number_read(const char *option, const char *text, int least, int most)
{
    char *end, wanted[60];
    long value = strtol(text, &end, 10);

    if (*end || end == text || value < least || value > most) {
        snprintf(wanted, sizeof wanted, "a whole number from %d to %d", least, most);
        bad(option, text, wanted);
    }
    return (int)value;
}

static enum gpufifo_memory kind_read(const char *name, size_t length, const char *all)
{
    for (size_t kind = 0; kind < sizeof memory_names / sizeof *memory_names; kind++) {
        if (memory_names[kind] && strlen(memory_names[kind]) == length && strncmp(memory_names[kind], name, length) == 0) {
            return (enum gpufifo_memory)kind;
        }
    }
    bad("memory", all, "one or two of host, pinned, managed, device, vmm, vmm_private, pool, with a comma between");
}

static void memory_read(struct bench_options *options, const char *text)
{
    const char *comma = strchr(text, ',');

    options->send = kind_read(text, comma ? (size_t)(comma - text) : strlen(text), text);
    options->recv = comma ? kind_read(comma + 1, strlen(comma + 1), text) : options->send;
}

static enum bench_kind test_read(const char *name)
{
    for (size_t kind = 0; kind < sizeof test_names / sizeof *test_names; kind++) {
        if (strcmp(test_names[kind], name) == 0) {
            return (enum bench_kind)kind;
        }
    }
    fprintf(stderr, "gpufifo-bench: there is no test \"%s\", only allreduce, reduce, reduce_scatter, scan, alltoall, "
                    "allgather, bcast, gather, scatter, latency, bandwidth, bibandwidth and multi\n", name);
    exit(1);
}

static const struct bench_type *type_read(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, name) == 0) {
            return &types[i];
        }
    }
    bad("type", name, "float, double, int8, int32 or int64");
}

static const struct bench_op *op_read(const char *name)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(ops[i].name, name) == 0) {
            return &ops[i];
        }
    }
    bad("op", name, "sum, prod, max or min");
}

static bool library_read(const char *name)
{
    if (strcmp(name, "mpi") != 0 && strcmp(name, "nccl") != 0) {
        bad("library", name, "mpi or nccl");
    }
    return strcmp(name, "nccl") == 0;
}

static void compare_read(struct bench_options *options, const char *text)
{
    if (options->compare_count == COMPARE_MOST) {
        bad("compare", text, "at most four sides");
    }
    options->compare[options->compare_count++] = text;
}

static void usage_print(FILE *out)
{
    fputs(usage, out);
    mechanisms_print(out);
}

static void option_read(struct bench_options *options, int option)
{
    switch (option) {
    case 'm': options->min = bytes_read("min", optarg); break;
    case 'M': options->max = bytes_read("max", optarg); break;
    case 'f': options->factor = (size_t)number_read("factor", optarg, 2, NUMBER_MOST); break;
    case 'i': options->iterations = number_read("iterations", optarg, 5, NUMBER_MOST); break;
    case 'w': options->warmup = number_read("warmup", optarg, 0, NUMBER_MOST); break;
    case 'W': options->window = number_read("window", optarg, 1, WINDOW_MOST); break;
    case 't': options->type = type_read(optarg); break;
    case 'o': options->op = op_read(optarg); break;
    case 'k': memory_read(options, optarg); break;
    case 'd': options->device = optarg; break;
    case 'D': options->by_rank = true; break;
    case 'l': options->by_nccl = library_read(optarg); break;
    case 's': options->staged = true; break;
    case 'j': options->json = optarg; break;
    case 'c': compare_read(options, optarg); break;
    case 'r': options->rounds = number_read("rounds", optarg, 1, NUMBER_MOST); break;
    case 'p': options->plot = optarg; break;
    case 'u': options->tune = optarg; break;
    case 'n': options->mechanisms = optarg; break;
    case 'R': options->ranks = number_read("ranks", optarg, 2, RANKS_MOST); break;
    case 'h': usage_print(stdout); exit(0);
    default: usage_print(stderr); exit(1);
    }
}

static void __attribute__((noreturn)) bad_mixture(const char *sentence)
{
    fprintf(stderr, "gpufifo-bench: %s\n", sentence);
    exit(1);
}

static void options_check(const struct bench_options *options)
{
    if (options->min > options->max) {
        fprintf(stderr, "gpufifo-bench: --min %zu is larger than --max %zu\n", options->min, options->max);
        exit(1);
    }
    if (options->compare_count == 1) {
        bad_mixture("--compare needs a second side to compare with: give it twice");
    }
    if (options->compare_count && options->plot) {
        bad_mixture("--plot has sides of its own: give it without --compare");
    }
    if (options->tune && (options->compare_count || options->plot)) {
        bad_mixture("--tune has sides of its own: give it without --compare and --plot");
    }
    if ((options->compare_count || options->plot || options->tune) && (getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK"))) {
        bad_mixture("--compare, --plot and --tune start mpirun themselves: call gpufifo-bench without it");
    }
    mechanisms_check(options->mechanisms);
}

void options_read(struct bench_options *options, int argc, char **argv)
{
    static const struct option known[] = {
        { "min", required_argument, NULL, 'm' },
        { "max", required_argument, NULL, 'M' },
        { "factor", required_argument, NULL, 'f' },
        { "iterations", required_argument, NULL, 'i' },
        { "warmup", required_argument, NULL, 'w' },
        { "window", required_argument, NULL, 'W' },
        { "type", required_argument, NULL, 't' },
        { "op", required_argument, NULL, 'o' },
        { "memory", required_argument, NULL, 'k' },
        { "device", required_argument, NULL, 'd' },
        { "device-by-rank", no_argument, NULL, 'D' },
        { "library", required_argument, NULL, 'l' },
        { "staged", no_argument, NULL, 's' },
        { "json", required_argument, NULL, 'j' },
        { "compare", required_argument, NULL, 'c' },
        { "plot", required_argument, NULL, 'p' },
        { "tune", required_argument, NULL, 'u' },
        { "mechanisms", required_argument, NULL, 'n' },
        { "ranks", required_argument, NULL, 'R' },
        { "rounds", required_argument, NULL, 'r' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int option;

    *options = (struct bench_options){
        .min = 8, .max = 64u << 20, .factor = 2, .iterations = 200, .warmup = 20, .window = 64, .type = &types[0],
        .op = &ops[0], .send = GPUFIFO_MEMORY_DEVICE, .recv = GPUFIFO_MEMORY_DEVICE, .ranks = 2, .rounds = 3,
    };
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        option_read(options, option);
    }
    if (optind < argc && !options->plot && !options->tune) {
        options->kind = test_read(argv[optind++]);
    }
    if (optind < argc) {
        fprintf(stderr, "gpufifo-bench: unexpected argument \"%s\"; --help says what there is\n", argv[optind]);
        exit(1);
    }
    options_check(options);
}
