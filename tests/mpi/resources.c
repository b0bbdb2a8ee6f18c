/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From /proc/self, malloc, and by trying how much device memory can be had.
 */
#include "tests/mpi/resources.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 64 << 10, MOST_PIECES = 4096 };

static long count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    long count = 0;

    while (folder && readdir(folder)) {
        count++;
    }
    if (folder) {
        closedir(folder);
    }
    return count;
}

static long count_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    long count = 0;

    for (int c = maps ? fgetc(maps) : EOF; c != EOF; c = fgetc(maps)) {
        count += c == '\n';
    }
    if (maps) {
        fclose(maps);
    }
    return count;
}

/* How many less than there could be can still be had. */
static long count_device_pieces(struct harness *h)
{
    static void *pieces[MOST_PIECES];
    long count = 0;

    if (strcmp(gpufifo_device_name(h->device), "emulated") != 0) {
        return 0;
    }
    while (count < MOST_PIECES && gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, PIECE, &pieces[count]) == 0) {
        count++;
    }
    for (long i = 0; i < count; i++) {
        harness_need(h, gpufifo_free(h->device, pieces[i]), "free");
    }
    return MOST_PIECES - count;
}

struct resources resources_now(struct harness *h)
{
    struct resources now = {.device_pieces = count_device_pieces(h)};

    MPI_Barrier(MPI_COMM_WORLD);
    now.descriptors = count_descriptors();
    now.mappings = count_mappings();
    now.heap = (long)mallinfo2().uordblks;
    return now;
}

struct resources resources_growth(const struct resources *before, const struct resources *after)
{
    return (struct resources){after->descriptors - before->descriptors, after->mappings - before->mappings,
                              after->heap - before->heap, after->device_pieces - before->device_pieces};
}

void resources_check(struct harness *h, const struct resources *growth, const struct resources *allowed, const char *what)
{
    harness_check(h, growth->descriptors <= allowed->descriptors, "%s: %ld more open files", what, growth->descriptors);
    harness_check(h, growth->mappings <= allowed->mappings, "%s: %ld more mappings", what, growth->mappings);
    harness_check(h, growth->heap <= allowed->heap, "%s: %ld more bytes of malloc", what, growth->heap);
    harness_check(h, growth->device_pieces <= allowed->device_pieces, "%s: %ld less pieces of free device memory", what,
                  growth->device_pieces);
    if (h->rank == 0) {
        printf("%s: %s: %ld files, %ld mappings, %ld bytes, %ld pieces of device memory came\n", h->name, what,
               growth->descriptors, growth->mappings, growth->heap, growth->device_pieces);
    }
}
