/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many descriptors this process has open, for tests that none is lost.
 */
#ifndef GF_TESTS_SUPPORT_DESCRIPTORS_H
#define GF_TESTS_SUPPORT_DESCRIPTORS_H

#include <dirent.h>
#include <stdbool.h>
#include <unistd.h>

/* Counts those of the look itself, too: compare two of its numbers. */
static inline int gftest_open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count;
}

/* Waits for a thread of this process that has answered and is about to close what it answered by. False: ten seconds later
 * there still were more. */
static inline bool gftest_descriptors_return_to(int count)
{
    enum { TURNS = 10000, TURN_US = 1000 };

    for (int turn = 0; turn < TURNS && gftest_open_descriptors() > count; turn++) {
        usleep(TURN_US);
    }
    return gftest_open_descriptors() <= count;
}

#endif
