/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table. "strict" makes a mechanism that cannot be had fail, with the reason, where another would be taken.
 */
#include "bench/mechanisms.h"

#include <stdlib.h>
#include <string.h>

#define ALLREDUCE BENCH_ALLREDUCE, METHOD_DIRECT
#define MESSAGE BENCH_LATENCY, METHOD_DIRECT

const struct mechanism mechanisms[] = {
    { "ll", ALLREDUCE, "strict=true agent=off algorithm=one_shot protocol=ll transport=p2p", "one_shot" },
    { "ll128", ALLREDUCE, "strict=true agent=off algorithm=one_shot protocol=ll128 transport=p2p", "one_shot" },
    { "agent", ALLREDUCE, "strict=true algorithm=one_shot transport=p2p agent=5000", "agent" },
    { "simple_receiver", ALLREDUCE, "strict=true agent=off algorithm=ring transport=p2p simple_buffer=receiver", "ring" },
    { "simple_sender", ALLREDUCE, "strict=true agent=off algorithm=ring transport=p2p simple_buffer=sender", "ring" },
    { "direct_write", ALLREDUCE, "strict=true agent=off algorithm=ring transport=p2p simple_buffer=direct_write", "ring" },
    { "direct_read", ALLREDUCE, "strict=true agent=off algorithm=ring transport=p2p simple_buffer=direct_read", "ring" },
    { "p2p_copy", ALLREDUCE, "strict=true agent=off algorithm=ring transport=p2p_copy", "ring" },
    { "one_shot_mapped", ALLREDUCE, "strict=true agent=off algorithm=one_shot_mapped", "one_shot_mapped" },
    { "two_shot", ALLREDUCE, "strict=true agent=off algorithm=two_shot", "two_shot" },
    { "shm_ll", ALLREDUCE, "strict=true agent=off algorithm=one_shot protocol=ll transport=shm", "one_shot" },
    { "shm", ALLREDUCE, "strict=true agent=off algorithm=ring transport=shm", "ring" },
    { "shm_copy", ALLREDUCE, "strict=true agent=off algorithm=ring transport=shm_copy", "ring" },
    { "host_sequenced", ALLREDUCE, "strict=true agent=off algorithm=host", "host_sequenced" },
    { "staged", BENCH_ALLREDUCE, METHOD_STAGED, "", NULL },
    { "pull_kernel", MESSAGE, "strict=true agent=off transport=p2p pull=kernel", "pt2pt_pulled" },
    { "pull_agent", MESSAGE, "strict=true transport=p2p agent=5000", "pt2pt_agent" },
    { "pull_copy_engine", MESSAGE, "strict=true agent=off transport=p2p pull=copy_engine", "pt2pt_pulled" },
    { "stage", MESSAGE, "agent=off transport=shm pipe_bytes=4294967296", "pt2pt_staged" },
    { "pipe", MESSAGE, "strict=true agent=off transport=shm pipe_bytes=1", "pt2pt_piped" },
    { "staged", BENCH_LATENCY, METHOD_STAGED, "", NULL },
    { .name = NULL },
};

/* The next name of a list, of *length bytes; null at its end. */
static const char *next_name(const char **rest, char between, size_t *length)
{
    const char *name = *rest;

    if (!name || !*name) {
        return NULL;
    }
    *length = strcspn(name, (char[]){ between, '\0' });
    *rest = name + *length + (name[*length] == between);
    return name;
}

bool mechanism_took(const struct mechanism *mechanism, const char *taken)
{
    size_t length;

    for (const char *name; mechanism->path && (name = next_name(&taken, '+', &length));) {
        if (strlen(mechanism->path) == length && strncmp(mechanism->path, name, length) == 0) {
            return true;
        }
    }
    return !mechanism->path;
}

static bool has_name(const struct mechanism *mechanism, const char *name, size_t length)
{
    return strlen(mechanism->name) == length && strncmp(mechanism->name, name, length) == 0;
}

bool mechanism_in(const struct mechanism *mechanism, const char *list)
{
    size_t length;

    if (!list) {
        return true;
    }
    for (const char *name; (name = next_name(&list, ',', &length));) {
        if (has_name(mechanism, name, length)) {
            return true;
        }
    }
    return false;
}

void mechanisms_check(const char *list)
{
    size_t length;

    for (const char *name; (name = next_name(&list, ',', &length));) {
        bool known = false;

        for (const struct mechanism *m = mechanisms; m->name; m++) {
            known |= has_name(m, name, length);
        }
        if (!known) {
            fprintf(stderr, "gpufifo-bench: there is no mechanism \"%.*s\"; --help lists them\n", (int)length, name);
            exit(1);
        }
    }
}

void mechanisms_print(FILE *out)
{
    for (const struct mechanism *m = mechanisms; m->name; m++) {
        fprintf(out, "  %-17s %-10s %s\n", m->name, test_name(m->test),
                m->method == METHOD_STAGED ? "what a program does without gpufifo, see --staged" : m->settings);
    }
}

void mechanism_side(const struct mechanism *mechanism, int ranks, char text[MECHANISM_SIDE_BYTES])
{
    char settings[200], *rest = NULL;
    FILE *out = fmemopen(text, MECHANISM_SIDE_BYTES, "w");

    if (!out) {
        text[0] = '\0';
        return;
    }
    snprintf(settings, sizeof settings, "%s", mechanism->settings);
    fprintf(out, "-n %d --mca coll_gpufifo_verbose paths", mechanism->test == BENCH_ALLREDUCE ? ranks : 2);
    for (char *word = strtok_r(settings, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        int name = (int)strcspn(word, "=");

        fprintf(out, " --mca coll_gpufifo_%.*s %s", name, word, word + name + 1);
    }
    fprintf(out, " -- %s%s", test_name(mechanism->test), mechanism->method == METHOD_STAGED ? " --staged" : "");
    fclose(out);
}
