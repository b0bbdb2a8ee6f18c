/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Forking ranks, and their exchange: every rank writes into its own area of a shared mapping, all meet, all read, all meet again.
 */
#include "tests/support/ranks.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { AREA_BYTES = 64 * 1024 };

/* The mapping. `ended` is written by the parent, everything else by the ranks. */
struct world {
    int ranks;
    uint32_t meetings[GFTEST_MAX_RANKS];       /* how many barriers each rank has come to */
    uint32_t ended[GFTEST_MAX_RANKS];
    unsigned char areas[GFTEST_MAX_RANKS][AREA_BYTES];
};

struct member {
    struct world *world;
    int rank;
};

/* False if a rank has ended: its area cannot be trusted. */
static bool meet(struct member *member)
{
    struct world *world = member->world;
    uint32_t mine = __atomic_add_fetch(&world->meetings[member->rank], 1, __ATOMIC_ACQ_REL);
    bool complete = true;

    for (int r = 0; r < world->ranks; r++) {
        while (__atomic_load_n(&world->meetings[r], __ATOMIC_ACQUIRE) < mine) {
            if (__atomic_load_n(&world->ended[r], __ATOMIC_ACQUIRE)) {
                complete = false;
                break;
            }
            sched_yield();
        }
    }
    return complete;
}

static gf_status rank_allgather(void *ctx, const void *mine, void *all, size_t bytes)
{
    struct member *member = ctx;
    struct world *world = member->world;

    if (bytes > AREA_BYTES) {
        return GF_ERR_NO_MEMORY;
    }
    memcpy(world->areas[member->rank], mine, bytes);
    if (!meet(member)) {
        return GF_ERR_PEER;
    }
    for (int r = 0; r < world->ranks; r++) {
        memcpy((char *)all + (size_t)r * bytes, world->areas[r], bytes);
    }
    return meet(member) ? GF_OK : GF_ERR_PEER;
}

static gf_status rank_alltoall(void *ctx, const void *to, void *from, size_t bytes)
{
    struct member *member = ctx;
    struct world *world = member->world;

    if (bytes * (size_t)world->ranks > AREA_BYTES) {
        return GF_ERR_NO_MEMORY;
    }
    memcpy(world->areas[member->rank], to, bytes * (size_t)world->ranks);
    if (!meet(member)) {
        return GF_ERR_PEER;
    }
    for (int r = 0; r < world->ranks; r++) {
        memcpy((char *)from + (size_t)r * bytes, world->areas[r] + (size_t)member->rank * bytes, bytes);
    }
    return meet(member) ? GF_OK : GF_ERR_PEER;
}

static void rank_progress(void *ctx)
{
    (void)ctx;
    sched_yield();
}

void gftest_barrier(struct gftest_rank *rank)
{
    meet(rank->bootstrap.ctx);
}

void gftest_die(void)
{
    kill(getpid(), SIGKILL);
    for (;;) {
        pause();
    }
}

void gftest_complain(const struct gftest_rank *rank, const char *file, int line, const char *condition, const char *format, ...)
{
    char text[600];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "rank %d of %d: %s:%d: not true: %s%s\n", rank->rank, rank->ranks, file, line, condition, text);
}

static void run_rank(struct world *world, int r, int (*body)(struct gftest_rank *), void *argument)
{
    struct member member = { world, r };
    struct gftest_rank rank = {
        .rank = r, .ranks = world->ranks, .argument = argument,
        .bootstrap = { .ctx = &member, .rank = r, .ranks = world->ranks, .allgather = rank_allgather, .alltoall = rank_alltoall,
                       .progress = rank_progress },
    };

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int result = body(&rank);

    fflush(NULL);
    _exit(result == 0 ? 0 : 1);
}

static void note_end(struct world *world, const pid_t *pids, pid_t pid, int status, struct gftest_end *end)
{
    for (int r = 0; r < world->ranks; r++) {
        if (pids[r] == pid) {
            __atomic_store_n(&world->ended[r], 1, __ATOMIC_RELEASE);
        }
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !end->timed_out) {
        end->killed++;
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        end->failed++;
        if (WIFSIGNALED(status)) {
            fprintf(stderr, "a rank ended by signal %d\n", WTERMSIG(status));
        }
    }
}

/* Reaps everything; kills what is left after the limit. */
static void reap(struct world *world, const pid_t *pids, int seconds, struct gftest_end *end)
{
    const struct timespec nap = { .tv_nsec = 2000000 };
    time_t limit = time(NULL) + seconds;

    for (int left = world->ranks; left > 0; ) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);

        if (pid > 0) {
            note_end(world, pids, pid, status, end);
            left--;
            continue;
        }
        if (time(NULL) > limit && !end->timed_out) {
            end->timed_out = true;
            fprintf(stderr, "ended after %d seconds\n", seconds);
            for (int r = 0; r < world->ranks; r++) {
                if (!world->ended[r]) {
                    kill(pids[r], SIGKILL);
                }
            }
        }
        nanosleep(&nap, NULL);
    }
}

struct gftest_end gftest_run(int ranks, int (*body)(struct gftest_rank *), void *argument, int seconds)
{
    struct gftest_end end = { 0 };
    pid_t pids[GFTEST_MAX_RANKS];
    struct world *world = mmap(NULL, sizeof *world, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (world == MAP_FAILED || ranks > GFTEST_MAX_RANKS) {
        end.failed = ranks;
        return end;
    }
    world->ranks = ranks;
    fflush(NULL);
    for (int r = 0; r < ranks; r++) {
        pids[r] = fork();
        if (pids[r] == 0) {
            run_rank(world, r, body, argument);
        }
        if (pids[r] < 0) {
            perror("fork");
            exit(1);
        }
    }
    reap(world, pids, seconds, &end);
    munmap(world, sizeof *world);
    return end;
}

void gftest_expect(int ranks, int (*body)(struct gftest_rank *), void *argument, int seconds)
{
    struct gftest_end end = gftest_run(ranks, body, argument, seconds);

    assert_false(end.timed_out);
    assert_int_equal(end.killed, 0);
    assert_int_equal(end.failed, 0);
}
