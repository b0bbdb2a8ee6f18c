/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 28: a child forked between device calls can exec, another ends at once; the parent goes on.
 */
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mpi/values.h"

static void check_allreduce(struct harness *h, const char *what)
{
    enum { COUNT = 3000 };
    double numbers[COUNT];
    struct buffer data;
    long wrong = 0;

    for (int i = 0; i < COUNT; i++) {
        numbers[i] = h->rank + i;
    }
    buffer_create(h, &data, GPUFIFO_MEMORY_DEVICE, sizeof numbers, 0);
    buffer_write(&data, numbers);
    MPI_Allreduce(MPI_IN_PLACE, data.data, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    buffer_read(&data, numbers);
    for (int i = 0; i < COUNT; i++) {
        wrong += numbers[i] != h->ranks * (h->ranks - 1) / 2 + (double)h->ranks * i;
    }
    harness_check(h, wrong == 0, "%s: %ld numbers are wrong", what, wrong);
    buffer_destroy(&data, what);
}

static void check_child(struct harness *h, bool exec)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        if (exec) {
            execl("/bin/true", "true", (char *)NULL);
        }
        _exit(exec ? 127 : 0);
    }
    harness_check(h, child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
                  "the forked child that %s did not end with 0", exec ? "calls exec" : "ends at once");
}

int main(int argc, char **argv)
{
    struct harness h;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    check_child(&h, true);
    check_allreduce(&h, "after a fork before the first device call");
    for (int round = 0; round < 4; round++) {
        check_child(&h, round % 2);
        check_allreduce(&h, "after a fork");
    }
    return harness_finish(&h);
}
