/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads gpufifo's counters by path through MPI_T.
 */
#include "examples/paths.h"

#include <stdio.h>
#include <string.h>

#define CALLS_PREFIX "coll_gpufifo_calls_"
#define BYTES_PREFIX "coll_gpufifo_bytes_"

static int path_find(struct paths *paths, const char *name)
{
    int i = 0;

    while (i < paths->count && strcmp(paths->path[i].name, name) != 0) {
        i++;
    }
    if (i == paths->count && i < PATHS_MOST) {
        snprintf(paths->path[paths->count++].name, sizeof paths->path[i].name, "%.47s", name);
    }
    return i;      /* PATHS_MOST: no room */
}

/* Makes the handle of this variable, if it is one of ours. */
static void counter_open(struct paths_counters *counters, int index)
{
    char name[256];
    int name_bytes = sizeof name, verbosity, class, bind, readonly, continuous, atomic, description_bytes = 0, count;
    MPI_Datatype type;
    MPI_T_enum enumeration;

    if (MPI_T_pvar_get_info(index, name, &name_bytes, &verbosity, &class, &type, &enumeration, NULL, &description_bytes,
                            &bind, &readonly, &continuous, &atomic)) {
        return;
    }
    bool calls = strncmp(name, CALLS_PREFIX, sizeof CALLS_PREFIX - 1) == 0;
    bool bytes = strncmp(name, BYTES_PREFIX, sizeof BYTES_PREFIX - 1) == 0;
    if ((!calls && !bytes) || type != MPI_UNSIGNED_LONG_LONG || bind != MPI_T_BIND_NO_OBJECT) {
        return;
    }
    int i = path_find(&counters->zero, name + (calls ? sizeof CALLS_PREFIX : sizeof BYTES_PREFIX) - 1);
    if (i < PATHS_MOST) {
        MPI_T_pvar_handle_alloc(counters->session, index, NULL, calls ? &counters->calls[i] : &counters->bytes[i], &count);
    }
}

void paths_open(struct paths_counters *counters)
{
    int provided, count = 0;

    *counters = (struct paths_counters){ .session = MPI_T_PVAR_SESSION_NULL };
    for (int i = 0; i < PATHS_MOST; i++) {
        counters->calls[i] = counters->bytes[i] = MPI_T_PVAR_HANDLE_NULL;
    }
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&counters->session);
    MPI_T_pvar_get_num(&count);
    for (int index = 0; index < count; index++) {
        counter_open(counters, index);
    }
}

void paths_close(struct paths_counters *counters)
{
    MPI_T_pvar_session_free(&counters->session);      /* frees the handles too */
    MPI_T_finalize();
}

bool paths_present(const struct paths_counters *counters)
{
    return counters->zero.count > 0;
}

void paths_read(const struct paths_counters *counters, struct paths *paths)
{
    *paths = counters->zero;
    for (int i = 0; i < paths->count; i++) {
        MPI_T_pvar_read(counters->session, counters->calls[i], &paths->path[i].calls);
        MPI_T_pvar_read(counters->session, counters->bytes[i], &paths->path[i].bytes);
    }
}

void paths_difference(const struct paths *before, const struct paths *after, struct paths *difference)
{
    difference->count = 0;
    for (int i = 0; i < after->count; i++) {
        struct path_count now = after->path[i];

        now.calls -= before->path[i].calls;
        now.bytes -= before->path[i].bytes;
        if (now.calls > 0) {
            difference->path[difference->count++] = now;
        }
    }
}

void paths_print(const struct paths *paths, const char *none, char *text, size_t bytes)
{
    size_t used = 0;

    snprintf(text, bytes, "%s", none);
    for (int i = 0; i < paths->count && used < bytes; i++) {
        const struct path_count *path = &paths->path[i];

        if (path->calls > 0) {
            used += (size_t)snprintf(text + used, bytes - used, "%s%s (%llu call%s, %llu bytes)", used ? ", " : "", path->name,
                                     path->calls, path->calls == 1 ? "" : "s", path->bytes);
        }
    }
}
