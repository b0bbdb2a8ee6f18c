/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads gpufifo's counters by path through MPI_T.
 */
#include "examples/paths.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define CALLS_PREFIX "coll_gpufifo_calls_"
#define BYTES_PREFIX "coll_gpufifo_bytes_"

static unsigned long long counter_value(MPI_T_pvar_session session, int index, MPI_Datatype type, int bind, bool continuous)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_pvar_handle handle;
    int count;
    unsigned long long value = 0;

    if (MPI_T_pvar_handle_alloc(session, index, bind == MPI_T_BIND_MPI_COMM ? (void *)&world : NULL, &handle, &count)) {
        return 0;
    }
    if (count == 1) {
        if (!continuous) {
            MPI_T_pvar_start(session, handle);
        }
        if (type == MPI_UNSIGNED) {
            unsigned narrow = 0;
            MPI_T_pvar_read(session, handle, &narrow);
            value = narrow;
        } else {
            MPI_T_pvar_read(session, handle, &value);
        }
    }
    MPI_T_pvar_handle_free(session, &handle);
    return value;
}

static struct path_count *path_find(struct paths *paths, const char *name)
{
    for (int i = 0; i < paths->count; i++) {
        if (strcmp(paths->path[i].name, name) == 0) {
            return &paths->path[i];
        }
    }
    if (paths->count == PATHS_MOST) {
        return NULL;
    }
    struct path_count *path = &paths->path[paths->count++];
    snprintf(path->name, sizeof path->name, "%s", name);
    return path;
}

static void counter_add(struct paths *paths, MPI_T_pvar_session session, int index)
{
    char name[256];
    int name_bytes = sizeof name, verbosity, class, bind, readonly, continuous, atomic, description_bytes = 0;
    MPI_Datatype type;
    MPI_T_enum enumeration;

    if (MPI_T_pvar_get_info(index, name, &name_bytes, &verbosity, &class, &type, &enumeration, NULL, &description_bytes,
                            &bind, &readonly, &continuous, &atomic)) {
        return;
    }
    bool calls = strncmp(name, CALLS_PREFIX, sizeof CALLS_PREFIX - 1) == 0;
    bool bytes = strncmp(name, BYTES_PREFIX, sizeof BYTES_PREFIX - 1) == 0;
    if (!calls && !bytes) {
        return;
    }
    struct path_count *path = path_find(paths, name + (calls ? sizeof CALLS_PREFIX : sizeof BYTES_PREFIX) - 1);
    if (path) {
        *(calls ? &path->calls : &path->bytes) = counter_value(session, index, type, bind, continuous);
    }
}

void paths_read(struct paths *paths)
{
    MPI_T_pvar_session session;
    int provided, count = 0;

    memset(paths, 0, sizeof *paths);
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided)) {
        return;
    }
    if (MPI_T_pvar_session_create(&session) == MPI_SUCCESS) {
        MPI_T_pvar_get_num(&count);
        for (int i = 0; i < count; i++) {
            counter_add(paths, session, i);
        }
        MPI_T_pvar_session_free(&session);
    }
    MPI_T_finalize();
}

void paths_difference(const struct paths *before, const struct paths *after, struct paths *difference)
{
    struct paths earlier = *before;

    memset(difference, 0, sizeof *difference);
    for (int i = 0; i < after->count; i++) {
        struct path_count now = after->path[i];
        const struct path_count *was = path_find(&earlier, now.name);

        now.calls -= was ? was->calls : 0;
        now.bytes -= was ? was->bytes : 0;
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
        int written = snprintf(text + used, bytes - used, "%s%s (%llu call%s, %llu bytes)", i ? ", " : "", path->name, path->calls,
                               path->calls == 1 ? "" : "s", path->bytes);
        used += written > 0 ? (size_t)written : 0;
    }
}
