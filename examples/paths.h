/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which path did my messages take? gpufifo counts calls and bytes by path in MPI_T performance variables, named
 * coll_gpufifo_calls_<path> and coll_gpufifo_bytes_<path>. This reads them: a pattern to copy into programs of your own.
 */
#ifndef EXAMPLES_PATHS_H
#define EXAMPLES_PATHS_H

#include <stddef.h>

enum { PATHS_MOST = 32 };

struct path_count {
    char name[48];                 /* native path or "staged", as the component names it */
    unsigned long long calls;
    unsigned long long bytes;
};

/* This rank's counters at one moment. count is 0 if the component is not loaded or has no counters. */
struct paths {
    int count;
    struct path_count path[PATHS_MOST];
};

/* Opens the MPI tools interface for the time of the call; between MPI_Init and MPI_Finalize. */
void paths_read(struct paths *paths);

/* What was counted between two readings; paths that were not taken are left out. */
void paths_difference(const struct paths *before, const struct paths *after, struct paths *difference);

/* "one_shot (3 calls, 24 bytes), staged (1 call, 800 bytes)", or `none` if nothing was counted. */
void paths_print(const struct paths *paths, const char *none, char *text, size_t bytes);

#endif
