/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A folder of this process, and its end.
 */
#include "bench/folder.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waited for with the child's end, so that none comes unnoticed between two looks; but for those that are ignored, as SIGHUP is
 * under nohup. */
static sigset_t waited_signals(void)
{
    static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        if (sigaction(ending[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            sigaddset(&set, ending[i]);
        }
    }
    return set;
}

static void signals_block(int how)
{
    sigset_t set = waited_signals();

    sigprocmask(how, &set, NULL);
}

void folder_path(const char *folder, const char *name, char path[FOLDER_PATH_BYTES])
{
    snprintf(path, FOLDER_PATH_BYTES, "%s/%s", folder, name);
}

bool folder_create(char folder[FOLDER_BYTES])
{
    const char *above = getenv("TMPDIR");

    above = above && *above ? above : "/tmp";
    int length = snprintf(folder, FOLDER_BYTES, "%s/gpufifo-bench.XXXXXX", above);

    signals_block(SIG_BLOCK);
    if (length >= FOLDER_BYTES || !mkdtemp(folder)) {
        fprintf(stderr, "gpufifo-bench: no folder can be made in %s: %s\n", above,
                length >= FOLDER_BYTES ? "its name is too long" : strerror(errno));
        signals_block(SIG_UNBLOCK);
        return false;
    }
    return true;
}

void folder_remove(const char *folder)
{
    static const char *const names[] = { FOLDER_LOG, FOLDER_JSON, FOLDER_PLOT };
    char path[FOLDER_PATH_BYTES];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        folder_path(folder, names[i], path);
        unlink(path);
    }
    rmdir(folder);
    signals_block(SIG_UNBLOCK);
}

pid_t folder_fork(void)
{
    pid_t child = fork();

    if (child == 0) {
        signals_block(SIG_UNBLOCK);
    }
    return child;
}

/* The child goes first, since it writes to the folder. This process ends as folder_remove unblocks the signal. */
static void end_by(int number, const char *folder, pid_t child)
{
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
    raise(number);
    folder_remove(folder);
}

bool folder_wait(const char *folder, pid_t child)
{
    const sigset_t set = waited_signals();
    int status = -1;

    while (child > 0 && waitpid(child, &status, WNOHANG) == 0) {
        int number = sigwaitinfo(&set, NULL);

        if (number > 0 && number != SIGCHLD) {
            end_by(number, folder, child);
        }
    }
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
