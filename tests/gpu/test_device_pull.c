/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that a second process fetches from the first one's device memory: are they right, and how long do they take?
 *
 * Usage: test_device_pull [cuda | emulated] [PART...]     PART: sizes filled races (the checks)
 *                                                         latency large windows moves host first (the measurements); all of
 *                                                         them if none is named
 */
#include <stdio.h>
#include <string.h>

#include "tests/gpu/pull_programs.h"

static const struct { const char *name; void (*body)(struct pair *); } parts[] = {
    { "sizes", pull_check_sizes }, { "filled", pull_check_filled }, { "races", pull_check_races },
    { "host", pull_measure_host }, { "latency", pull_measure_sizes }, { "large", pull_measure_large },
    { "windows", pull_measure_windows }, { "moves", pull_measure_moves }, { "first", pull_measure_first },
};

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return true;
        }
    }
    return argc <= 2;
}

int main(int argc, char **argv)
{
    const char *driver = argc > 1 ? argv[1] : "cuda";
    long passed = 0, failed = 0;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!is_wanted(parts[i].name, argc, argv)) {
            continue;
        }
        printf("%s\n", parts[i].name);
        long failures = pair_run(driver, parts[i].body);

        printf("%s: %s\n", parts[i].name, failures == 0 ? "ok" : "FAILED");
        failed += failures > 0;
        passed += failures == 0;
    }
    printf("%ld passed, %ld failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
