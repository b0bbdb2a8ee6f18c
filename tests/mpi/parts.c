/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading the arguments, and the counters round the parts.
 */
#include "tests/mpi/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void seed(const struct harness *h, const struct parts *parts, uint64_t value)
{
    *parts->common = value;
    *parts->own = value * 1000 + (uint64_t)h->rank;
}

static void set(struct harness *h, struct parts *parts, const char *argument, const char *equals)
{
    uint64_t value = strtoull(equals + 1, NULL, 10);
    char name[32];

    snprintf(name, sizeof name, "%.*s", (int)(equals - argument), argument);
    if (strcmp(name, "rounds") == 0) {
        parts->rounds = (int)value;
    } else if (parts->most && strcmp(name, "most") == 0) {
        *parts->most = (int)value;
    } else if (parts->common && strcmp(name, "seed") == 0) {
        seed(h, parts, value);
    } else {
        harness_check(h, parts->set && parts->set(parts->ctx, name, value), "there is no setting \"%s\"", name);
    }
}

void parts_run(struct harness *h, int argc, char **argv, struct parts *parts)
{
    const char *path = NULL;

    paths_open(&parts->counters);
    if (parts->common) {
        seed(h, parts, 1);
    }
    for (int i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');

        if (strncmp(argv[i], "path=", 5) == 0) {
            path = equals + 1;
        } else if (equals) {
            set(h, parts, argv[i], equals);
        } else {
            parts->run(parts->ctx, argv[i], parts);
        }
    }
    if (path) {
        harness_check_path(h, path, &parts->counters);
    }
    paths_close(&parts->counters);
}
