/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Child processes of the device tests: a fork for what should crash, this program again (exec) for what needs a device of its
 * own.
 */
#ifndef GF_TESTS_UNIT_CHILD_H
#define GF_TESTS_UNIT_CHILD_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child there is no cmocka: say what is wrong and end. */
#define CHILD_CHECK(condition)                                                              \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);       \
            _exit(1);                                                                       \
        }                                                                                   \
    } while (0)

/* Runs function in a forked child, which ends with 0 when it returns; gives what waitpid says. Faults kill, also
 * under a sanitizer. */
static inline int child_fork(void (*function)(void *argument), void *argument)
{
    int status = -1;

    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        function(argument);
        _exit(0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static inline int child_died_by(int status, int signal_number)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == signal_number;
}

/* This program again in a process of its own, joined by two pipes. */
struct child {
    pid_t pid;
    int to, from;
};

/* options: GPUFIFO_EMULATED of the child. */
static inline struct child child_exec(const char *argument, const char *options)
{
    struct child child = {-1, -1, -1};
    int to[2], from[2];

    fflush(NULL);
    if (pipe(to) != 0 || pipe(from) != 0) {
        return child;
    }
    child.pid = fork();
    if (child.pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        setenv("GPUFIFO_EMULATED", options, 1);
        execl("/proc/self/exe", "child", argument, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    child.to = to[1];
    child.from = from[0];
    return child;
}

/* Closes the pipes and waits: the exit code, or -1 if the child died otherwise. */
static inline int child_wait(struct child *child)
{
    int status = -1;

    close(child->to);
    close(child->from);
    return waitpid(child->pid, &status, 0) == child->pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
