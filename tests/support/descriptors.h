/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many descriptors this process has open, for tests that none is lost.
 */
#ifndef GF_TESTS_SUPPORT_DESCRIPTORS_H
#define GF_TESTS_SUPPORT_DESCRIPTORS_H

#include <dirent.h>

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

#endif
