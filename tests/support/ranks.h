/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks without MPI: forked processes with a struct gf_bootstrap over one shared mapping, so that core, transports and the
 * executor are tested with several processes in a unit test.
 */
#ifndef GF_TESTS_SUPPORT_RANKS_H
#define GF_TESTS_SUPPORT_RANKS_H

#include <stdbool.h>

#include "core/bootstrap.h"

enum { GFTEST_MAX_RANKS = 16 };

/* One rank of a test. Lives in the forked process. */
struct gftest_rank {
    int rank, ranks;
    struct gf_bootstrap bootstrap;
    void *argument;                    /* what gftest_run was given, as it was when the ranks were forked */
};

/* How the ranks ended. */
struct gftest_end {
    int failed;                        /* ranks that ended with an exit status other than 0, or by a signal that the test did
                                          not send */
    int killed;                        /* ranks that ended by SIGKILL of their own (gftest_die) */
    bool timed_out;                    /* the run was ended from outside */
};

/* Forks the ranks, runs body in each, and waits for all of them. body returns 0 when all is well; what is wrong it says on
 * stderr. After `seconds` what still runs is killed: that limit only ends a hang, results never depend on it. */
struct gftest_end gftest_run(int ranks, int (*body)(struct gftest_rank *), void *argument, int seconds);

/* The same, and fails the running cmocka test unless all ranks ended well. */
void gftest_expect(int ranks, int (*body)(struct gftest_rank *), void *argument, int seconds);

/* All ranks that still live meet; a rank that has ended counts as present. */
void gftest_barrier(struct gftest_rank *rank);

/* Ends the calling rank as `kill -9` would. */
void gftest_die(void) __attribute__((noreturn));

/* In a body: leave it with a message if the condition is false. */
#define GFTEST_CHECK(rank, condition, ...)                                                  \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            gftest_complain(rank, __FILE__, __LINE__, #condition, " " __VA_ARGS__);         \
            return 1;                                                                      \
        }                                                                                  \
    } while (0)
void gftest_complain(const struct gftest_rank *rank, const char *file, int line, const char *condition, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
