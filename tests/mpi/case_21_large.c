/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 21: messages round 2^31 bytes. Two ranks; in place, so that one buffer a rank is enough. Skipped (77), with the reason,
 * where the machine has not the memory for both.
 *
 * Usage: case_21_large [COUNT-OF-INT16]   more sizes, such as 2147483647 for nearly 2^32 bytes
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/harness.h"

enum { CHUNK = 1 << 20, PERIOD = 61 };      /* a prime: a shifted copy of a part would show */

static long long memory_available(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[200];
    long long kilobytes = 0;

    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "MemAvailable: %lld", &kilobytes);
    }
    if (file) {
        fclose(file);
    }
    return kilobytes * 1024;
}

/* Element i of a sum over `factor` ranks: small enough for a signed byte with two of them. */
static char pattern(size_t i, int factor)
{
    return (char)(factor * (int)(i % PERIOD));
}

static void write_pattern(struct harness *h, char *data, size_t bytes, size_t width)
{
    char *chunk = host_alloc(h, CHUNK);

    for (size_t start = 0; start < bytes; start += CHUNK) {
        size_t part = bytes - start < CHUNK ? bytes - start : CHUNK;
        for (size_t i = 0; i < part; i++) {
            chunk[i] = (start + i) % width == 0 ? pattern((start + i) / width, 1) : 0;
        }
        harness_need(h, gpufifo_copy(h->device, data + start, chunk, part), "copy");
    }
    free(chunk);
}

static size_t count_wrong(struct harness *h, const char *data, size_t bytes, size_t width, int factor)
{
    char *chunk = host_alloc(h, CHUNK);
    size_t wrong = 0;

    for (size_t start = 0; start < bytes; start += CHUNK) {
        size_t part = bytes - start < CHUNK ? bytes - start : CHUNK;
        harness_need(h, gpufifo_copy(h->device, chunk, data + start, part), "copy");
        for (size_t i = 0; i < part; i++) {
            wrong += chunk[i] != ((start + i) % width == 0 ? pattern((start + i) / width, factor) : 0);
        }
    }
    free(chunk);
    return wrong;
}

/* width: bytes of one element of the little-endian integer type. */
static void check_allreduce(struct harness *h, MPI_Datatype type, size_t width, size_t count)
{
    size_t bytes = width * count;
    void *data;

    harness_need(h, gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, bytes, &data), "alloc");
    write_pattern(h, data, bytes, width);
    int result = MPI_Allreduce(MPI_IN_PLACE, data, (int)count, type, MPI_SUM, MPI_COMM_WORLD);
    size_t wrong = count_wrong(h, data, bytes, width, h->ranks);
    harness_check(h, result == MPI_SUCCESS && wrong == 0, "allreduce of %zu bytes: result %d, %zu bytes are wrong", bytes, result,
                  wrong);
    harness_need(h, gpufifo_free(h->device, data), "free");
    if (h->rank == 0) {
        printf("case_21_large: allreduce of %zu bytes done\n", bytes);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    struct harness h;
    size_t asked = argc > 1 ? strtoull(argv[1], NULL, 10) : ((size_t)1 << 30) + 1;
    long long needed;
    int enough;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    needed = (long long)asked * 2 * h.ranks / 4 * 5;
    enough = memory_available() >= needed || strcmp(gpufifo_device_name(h.device), "cuda") == 0;
    MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!enough) {
        if (h.rank == 0) {
            printf("skipped: %lld MiB of memory are available, %lld are needed\n", memory_available() >> 20, needed >> 20);
        }
        MPI_Finalize();
        return 77;
    }
    if (argc == 1) {
        check_allreduce(&h, MPI_INT8_T, 1, ((size_t)1 << 31) - 1);
    }
    check_allreduce(&h, MPI_INT16_T, 2, asked);
    return harness_finish(&h);
}
