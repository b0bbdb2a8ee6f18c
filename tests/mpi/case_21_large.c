/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 21: messages round 2^31 bytes. Two ranks; in place, so that one buffer a rank is enough. Skipped (77), with the reason,
 * where the machine has not the memory for both.
 *
 * Usage: case_21_large [COUNT-OF-INT16]   more sizes, such as 2147483647 for nearly 2^32 bytes
 *        case_21_large replace            MPI_Sendrecv_replace of one element of more than 2^31 bytes, from and to the rank
 *        itself
 */
#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/harness.h"

enum { CHUNK = 1 << 20, PERIOD = 61 };      /* a prime: a shifted copy of a part would show */
static const long long replaced_bytes = (long long)INT_MAX + 10;

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

/* No int counts its bytes. */
static MPI_Datatype large_element(size_t bytes)
{
    MPI_Datatype chunk, element, types[2] = {MPI_DATATYPE_NULL, MPI_CHAR};
    int lengths[2] = {(int)(bytes / CHUNK), (int)(bytes % CHUNK)};
    MPI_Aint places[2] = {0, (MPI_Aint)(bytes / CHUNK * CHUNK)};

    MPI_Type_contiguous(CHUNK, MPI_CHAR, &chunk);
    types[0] = chunk;
    MPI_Type_create_struct(2, lengths, places, types, &element);
    MPI_Type_commit(&element);
    MPI_Type_free(&chunk);
    return element;
}

static void check_replace(struct harness *h)
{
    size_t bytes = replaced_bytes, wrong;
    MPI_Datatype element = large_element(bytes);
    MPI_Status status;
    MPI_Count moved;
    void *data;

    harness_need(h, gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, bytes, &data), "alloc");
    write_pattern(h, data, bytes, 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int result = MPI_Sendrecv_replace(data, 1, element, h->rank, 1, h->rank, 1, MPI_COMM_WORLD, &status);
    harness_check(h, result == MPI_SUCCESS, "replace: result %d", result);
    if (result == MPI_SUCCESS) {
        MPI_Get_elements_x(&status, element, &moved);
        wrong = count_wrong(h, data, bytes, 1, 1);
        harness_check(h, moved == (MPI_Count)bytes && wrong == 0, "replace: %lld elements, %zu bytes are wrong", (long long)moved,
                      wrong);
    }
    harness_need(h, gpufifo_free(h->device, data), "free");
    MPI_Type_free(&element);
}

int main(int argc, char **argv)
{
    struct harness h;
    bool replace = argc > 1 && strcmp(argv[1], "replace") == 0;
    size_t asked = argc > 1 ? strtoull(argv[1], NULL, 10) : ((size_t)1 << 30) + 1;
    long long needed;
    int enough;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    /* A replaced message is there three times: the buffer, its packed copy, and where it lands. */
    needed = (replace ? 3 * replaced_bytes : (long long)asked * 2) * h.ranks / 4 * 5;
    enough = memory_available() >= needed || strcmp(gpufifo_device_name(h.device), "cuda") == 0;
    MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!enough) {
        if (h.rank == 0) {
            printf("skipped: %lld MiB of memory are available, %lld are needed\n", memory_available() >> 20, needed >> 20);
        }
        MPI_Finalize();
        return 77;
    }
    if (replace) {
        check_replace(&h);
        return harness_finish(&h);
    }
    if (argc == 1) {
        check_allreduce(&h, MPI_INT8_T, 1, ((size_t)1 << 31) - 1);
    }
    check_allreduce(&h, MPI_INT16_T, 2, asked);
    return harness_finish(&h);
}
