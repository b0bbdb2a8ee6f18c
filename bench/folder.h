/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A folder for the files of the jobs that this program starts, which is gone when the program ends, by a signal too. For that
 * SIGINT, SIGTERM, SIGHUP and SIGCHLD are blocked while there is one; the first three end the program in folder_wait or, if they
 * come between jobs, in the next one or in folder_remove. One folder at a time, one thread.
 */
#ifndef BENCH_FOLDER_H
#define BENCH_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

enum { FOLDER_BYTES = 256, FOLDER_PATH_BYTES = FOLDER_BYTES + 8 };

/* The files that may lie there: what a job says, its figures, and the figures to be drawn. */
#define FOLDER_LOG "log"
#define FOLDER_JSON "json"
#define FOLDER_PLOT "plot"

/* In $TMPDIR or /tmp. False, after one sentence, if there is none. */
bool folder_create(char folder[FOLDER_BYTES]);
void folder_remove(const char *folder);

/* The name of a file there. */
void folder_path(const char *folder, const char *name, char path[FOLDER_PATH_BYTES]);

/* Starts a child as fork does; in the child signals are as they were before folder_create. */
pid_t folder_fork(void);

/* Waits for the child's end; true if that was by exit status 0. A signal that ends this program ends the child first. */
bool folder_wait(const char *folder, pid_t child);

#endif
