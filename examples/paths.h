/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which path did my messages take? gpufifo counts calls and bytes by path in MPI_T performance variables, named
 * coll_gpufifo_calls_<path> and coll_gpufifo_bytes_<path>. This reads them: a pattern to copy into programs of your own.
 */
#ifndef EXAMPLES_PATHS_H
#define EXAMPLES_PATHS_H

#include <mpi.h>
#include <stdbool.h>
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

/* Handles of the counters; MPI_T counts for a handle from when it is made. Filled by paths_open, read-only until paths_close. */
struct paths_counters {
    MPI_T_pvar_session session;
    struct paths zero;                       /* the names, with nothing counted */
    MPI_T_pvar_handle calls[PATHS_MOST];     /* of zero.path[i] */
    MPI_T_pvar_handle bytes[PATHS_MOST];
};

/* Begins to count, and ends it; both between MPI_Init and MPI_Finalize. */
void paths_open(struct paths_counters *counters);
void paths_close(struct paths_counters *counters);

/* Is gpufifo in use in this job? Without it an MPI that knows no device memory crashes on it. */
bool paths_present(const struct paths_counters *counters);

/* What was counted since paths_open. */
void paths_read(const struct paths_counters *counters, struct paths *paths);

/* What was counted between two readings of the same counters; paths that were not taken are left out. */
void paths_difference(const struct paths *before, const struct paths *after, struct paths *difference);

/* "one_shot (3 calls, 24 bytes), staged (1 call, 800 bytes)", or `none` if there were no calls. */
void paths_print(const struct paths *paths, const char *none, char *text, size_t bytes);

#endif
