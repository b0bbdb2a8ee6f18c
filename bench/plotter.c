/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The script is a file of its own, since users run it by hand, too: GPUFIFO_PLOT names it, else it is where it was installed.
 */
#include "bench/plotter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The one of PATH may be another than the distribution's, whose package has matplotlib. */
static const char *const pythons[] = { "python3", "/usr/bin/python3" };

static const char *script(void)
{
    const char *path = getenv("GPUFIFO_PLOT");

    return path && *path ? path : GF_PLOT_SCRIPT;
}

/* Its exit status; 127 if it could not be run. */
static int run(const char *python, const char *first, const char *second)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        execlp(python, python, script(), first, second, (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *python_find(void)
{
    for (size_t i = 0; i < sizeof pythons / sizeof *pythons; i++) {
        if (run(pythons[i], "--check", NULL) == 0) {
            return pythons[i];
        }
    }
    return NULL;
}

bool plotter_check(const char *picture)
{
    if (access(script(), R_OK) != 0) {
        fprintf(stderr, "gpufifo-bench: %s, which draws, cannot be read: %s; GPUFIFO_PLOT may name another plot.py\n", script(),
                strerror(errno));
        return false;
    }
    const char *python = python_find();

    if (!python) {
        fprintf(stderr, "gpufifo-bench: --plot needs python3 with matplotlib: apt-get install python3-matplotlib\n");
        return false;
    }
    return run(python, "--check", picture) == 0;
}

bool plotter_draw(const char *picture, const char *json)
{
    const char *python = python_find();
    bool drawn = python && run(python, picture, json) == 0;

    if (!drawn) {
        fprintf(stderr, "gpufifo-bench: %s could not be drawn\n", picture);
    }
    return drawn;
}
