/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Formats one line and hands it to the owner's sink.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_BYTES = 1024 };    /* longer lines are cut */

bool gf_log_shows(const struct gf_log *log, enum gf_log_level level)
{
    return log && log->write && (level == GF_LOG_WARN || (int)level <= log->verbose);
}

void gf_log(const struct gf_log *log, enum gf_log_level level, const char *format, ...)
{
    if (!gf_log_shows(log, level))
        return;
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    log->write(log->ctx, level, line);
}
