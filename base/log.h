/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Diagnostic output. The owner of the process (the MPI component, a test) hands a sink down; nothing here is global.
 */
#ifndef GF_BASE_LOG_H
#define GF_BASE_LOG_H

#include <stdbool.h>

enum gf_log_level {
    GF_LOG_WARN = 0,   /* always shown: a slow path was taken, or something is wrong */
    GF_LOG_PATH = 1,   /* one line a communicator: which path, and why */
    GF_LOG_CALL = 2,   /* one line a call */
    GF_LOG_DEBUG = 3
};

/* write: gets one line without a newline; called from any thread. ctx: the owner's. */
struct gf_log {
    void (*write)(void *ctx, enum gf_log_level level, const char *line);
    void *ctx;
    int verbose;       /* the highest level shown */
};

/* True if a line of this level would be shown: ask before costly formatting. log may be null: then nothing is shown. */
bool gf_log_shows(const struct gf_log *log, enum gf_log_level level);
void gf_log(const struct gf_log *log, enum gf_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
