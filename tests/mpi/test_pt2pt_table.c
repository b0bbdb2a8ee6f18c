/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Our functions stand in the PML's table between MPI_Init and MPI_Finalize, and are gone afterwards: where they were, the PML's
 * own are again. With "above", somebody else puts a function in front of one of ours meanwhile: then messages pass through
 * both, and the table stays as it is. With "untouched", none of ours may ever be there, and messages are in host memory.
 *
 * The table is seen as what it is, pointers to functions, of which the dynamic linker tells whose each is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/pt2pt_buffers.h"

/* Of Open MPI's pml.h, the same in all versions from 4.1 to 6.0: so many functions come first, these among them. */
enum { WORDS = 20, ADD_COMM = 4, IRECV = 7 };
enum { TAG = 5, BYTES = 5000 };

typedef int (*irecv_function)(void *, size_t, void *, int, int, void *, void *);

extern void *mca_pml[];

static irecv_function irecv_below;
static int irecv_calls;

static int irecv_above(void *buffer, size_t count, void *type, int source, int tag, void *comm, void *request)
{
    irecv_calls++;
    return irecv_below(buffer, count, type, source, tag, comm, request);
}

/* The file that the function is in, which stays loaded from then on. */
static const char *file_of(void *function)
{
    Dl_info info;

    if (!function || !dladdr(function, &info) || !dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD)) {
        return "";
    }
    return info.dli_fname;
}

static bool is_ours(int word) { return strstr(file_of(mca_pml[word]), "gpufifo") != NULL; }

static void ring(struct harness *h, enum gpufifo_memory kind)
{
    struct ends ends = {.h = h, .from = kind, .to = kind, .next = (h->rank + 1) % h->ranks,
                        .previous = (h->rank + h->ranks - 1) % h->ranks, .name = "ring"};
    struct buffer from, to;
    MPI_Request request;

    message_create(&ends, &from, BYTES, 1);
    landing_create(&ends, &to, BYTES);
    MPI_Irecv(to.data, BYTES, MPI_BYTE, ends.previous, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(from.data, BYTES, MPI_BYTE, ends.next, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    landing_check(&ends, &to, BYTES, ends.previous, 1);
    buffer_destroy(&from, ends.name);
}

/* below: the file of those functions that we leave alone; null: unknown. */
static int ours_left(const bool *replaced, const char *below)
{
    int left = 0;

    for (int word = 0; word < WORDS; word++) {
        if (is_ours(word) || (below && replaced[word] && strcmp(file_of(mca_pml[word]), below) != 0)) {
            printf("word %d of the PML's table is of \"%s\"\n", word, file_of(mca_pml[word]));
            left++;
        }
    }
    return left;
}

int main(int argc, char **argv)
{
    bool above = argc > 1 && strcmp(argv[1], "above") == 0, untouched = argc > 1 && strcmp(argv[1], "untouched") == 0;
    bool replaced[WORDS];
    struct harness h;
    char *below;
    int count = 0, left;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    for (int word = 0; word < WORDS; word++) {
        replaced[word] = is_ours(word);
        count += replaced[word];
    }
    harness_check(&h, untouched ? count == 0 : count >= 12 && replaced[IRECV], "%d functions of the PML were replaced", count);
    /* Open MPI's monitoring goes, too, and leaves those that were below itself. */
    below = strstr(file_of(mca_pml[ADD_COMM]), "monitoring") ? NULL : strdup(file_of(mca_pml[ADD_COMM]));
    if (above) {
        memcpy(&irecv_below, &mca_pml[IRECV], sizeof irecv_below);
        *(irecv_function *)(void *)&mca_pml[IRECV] = irecv_above;
    }
    ring(&h, untouched ? GPUFIFO_MEMORY_HOST : GPUFIFO_MEMORY_DEVICE);
    harness_check(&h, irecv_calls == above, "%d calls came through the function above ours", irecv_calls);
    count = harness_finish(&h);
    left = ours_left(replaced, below);
    free(below);
    return count != 0 || (above ? left == 0 : left != 0);
}
