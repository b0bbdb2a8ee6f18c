/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA adaptor on a real GPU. Needs no MPI; run it without MPS and, by mps.sh, with it. Each part has a process of its own,
 * since CUDA does not survive a fork and some parts destroy it. Prints "N passed, N failed".
 *   test_cuda_device [PART...]
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gpu/gpu_test.h"

enum { PART_SECONDS = 120 };    /* a part that takes longer hangs */

/* Shared by all processes of this test. */
static struct counts {
    int passed, failed;
} *counts;

bool gpu_check(bool ok, const char *format, ...)
{
    __atomic_fetch_add(ok ? &counts->passed : &counts->failed, 1, __ATOMIC_RELAXED);
    if (ok)
        return true;
    va_list arguments;
    va_start(arguments, format);
    printf("FAIL: ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    fflush(stdout);
    return false;
}

static const struct part {
    const char *name;
    void (*run)(void);
} parts[] = {
    { "before_cuda", gpu_part_before_cuda },
    { "capabilities", gpu_part_capabilities },
    { "pointers", gpu_part_pointers },
    { "copies", gpu_part_copies },
    { "streams", gpu_part_streams },
    { "kernels", gpu_part_kernels },
    { "timing", gpu_part_timing },
    { "contexts", gpu_part_contexts },
    { "capture", gpu_part_capture },
    { "ipc", gpu_part_ipc },
    { "ipc_refused", gpu_part_ipc_refused },
    { "reset", gpu_part_reset },
    { "reset_and_go_on", gpu_part_reset_and_go_on },
    { "exit", gpu_part_exit },
    { "crash", gpu_part_crash },     /* last: under MPS it may take the server down */
};

/* The process ends by exit, so that what is registered with atexit runs, and is seen to crash. */
static void run(const struct part *part)
{
    int failed_before = counts->failed;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(PART_SECONDS);
        part->run();
        exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    bool killed = WIFSIGNALED(status);
    gpu_check(status == 0, "%s: %s %d", part->name, killed ? "ended by signal" : "exit status",
              killed ? WTERMSIG(status) : WEXITSTATUS(status));
    printf("%-16s %s\n", part->name, counts->failed == failed_before ? "ok" : "FAILED");
}

static bool is_asked_for(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0)
            return true;
    }
    return argc < 2;
}

int main(int argc, char **argv)
{
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (is_asked_for(parts[i].name, argc, argv))
            run(&parts[i]);
    }
    printf("%d passed, %d failed\n", counts->passed, counts->failed);
    return counts->failed != 0;
}
