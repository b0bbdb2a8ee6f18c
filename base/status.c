/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of results, and the sentence that goes with them.
 */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *gf_status_string(gf_status status)
{
    switch (status) {
    case GF_OK:              return "success";
    case GF_IN_PROGRESS:     return "in progress";
    case GF_NO_RESOURCE:     return "no resource at the moment";
    case GF_ERR_INVALID:     return "invalid argument";
    case GF_ERR_UNSUPPORTED: return "not supported on this path";
    case GF_ERR_NO_MEMORY:   return "out of memory";
    case GF_ERR_DEVICE:      return "device error";
    case GF_ERR_SYSTEM:      return "system error";
    case GF_ERR_PEER:        return "peer failure";
    case GF_ERR_ABORTED:     return "aborted";
    case GF_ERR_TIMEOUT:     return "deadline passed";
    }
    return "unknown status";
}

void gf_reason_set(struct gf_reason *why, const char *format, ...)
{
    if (!why)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof(why->text), format, arguments);
    va_end(arguments);
}
