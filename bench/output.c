/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening files to be written, or saying why that cannot be done.
 */
#include "bench/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static FILE *open_or_say(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);

    if (!file) {
        fprintf(stderr, "gpufifo-bench: cannot write %s: %s\n", path, strerror(errno));
    }
    return file;
}

bool output_check(const char *path)
{
    bool is_new = access(path, F_OK) != 0;
    FILE *file = open_or_say(path, "a");

    if (file) {
        fclose(file);
        if (is_new) {
            unlink(path);
        }
    }
    return file != NULL;
}

FILE *output_open(const char *path)
{
    return open_or_say(path, "w");
}
