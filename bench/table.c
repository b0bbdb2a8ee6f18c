/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading the old file, writing the new one.
 */
#include "bench/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char first_line[] = "gpufifo-tuning 1";

enum { PATH_MOST = 4096, LINE_MOST = 512 };

/* Makes a new file beside `path`, whose name it gives. Negative, after one sentence, if that cannot be. */
static int beside_create(const char *path, char beside[PATH_MOST])
{
    int length = snprintf(beside, PATH_MOST, "%s.XXXXXX", path);
    int file = length < PATH_MOST ? mkstemp(beside) : -1;

    if (file < 0) {
        fprintf(stderr, "gpufifo-bench: cannot write %s: %s\n", path, strerror(length < PATH_MOST ? errno : ENAMETOOLONG));
    }
    return file;
}

static bool can_write(const char *path)
{
    char beside[PATH_MOST];
    int file = beside_create(path, beside);

    if (file >= 0) {
        close(file);
        unlink(beside);
    }
    return file >= 0;
}

bool table_check(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[LINE_MOST] = "";
    bool missing = !file && errno == ENOENT;
    bool empty = file && !fgets(line, sizeof line, file) && feof(file);

    if (file) {
        fclose(file);
    }
    line[strcspn(line, "\r\n")] = '\0';
    if (!missing && !empty && strcmp(line, first_line) != 0) {
        fprintf(stderr, "gpufifo-bench: %s is no table of this version, for it does not begin with \"%s\": give --tune another "
                        "file\n", path, first_line);
        return false;
    }
    return can_write(path);
}

/* Is this a row or a comment of these ranks? */
static bool is_of(const char *line, const struct table_part *part)
{
    char first[16], topology[16];
    int ranks;

    return sscanf(line, "%15s %15s %d", first, topology, &ranks) == 3
        && (strcmp(first, "allreduce") == 0 || strcmp(first, "message") == 0 || strcmp(first, "#") == 0)
        && strcmp(topology, part->topology) == 0 && ranks == part->ranks;
}

static void copy_others(FILE *out, const char *path, const struct table_part *part)
{
    FILE *old = fopen(path, "r");
    char line[LINE_MOST];

    while (old && fgets(line, sizeof line, old)) {
        if (strncmp(line, first_line, strlen(first_line)) != 0 && !is_of(line, part)) {
            fprintf(out, "%s%s", line, strchr(line, '\n') ? "" : "\n");
        }
    }
    if (old) {
        fclose(old);
    }
}

/* As if it had been made without a detour. */
static void give_usual_mode(int file)
{
    mode_t mask = umask(0);

    umask(mask);
    (void)fchmod(file, 0666 & ~mask);
}

bool table_write(const char *path, const struct table_part *part, void (*rows)(FILE *out, const void *ctx), const void *ctx)
{
    char beside[PATH_MOST];
    int file = beside_create(path, beside);
    FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
    bool written = out != NULL;

    if (file < 0) {
        return false;
    }
    if (out) {
        give_usual_mode(file);
        fprintf(out, "%s\n", first_line);
        copy_others(out, path, part);
        rows(out, ctx);
        written = fflush(out) == 0 && !ferror(out) && fsync(file) == 0;
        written = fclose(out) == 0 && written && rename(beside, path) == 0;
    }
    if (!written) {
        fprintf(stderr, "gpufifo-bench: cannot write %s: %s\n", path, strerror(errno));
        unlink(beside);
    }
    return written;
}
