/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A libgdrapi.so.2 for tests: it counts, fails where the test wants, and tells the test which device memory is read. Once a test
 * has loaded it, it is found by that name. With GF_GDRAPI_TELLS in the environment it says on closing how many words it has read.
 */
#ifndef GF_TESTS_SUPPORT_FAKE_GDRAPI_H
#define GF_TESTS_SUPPORT_FAKE_GDRAPI_H

#include <stdint.h>

struct fake_gdrapi {
    const char *fail_function;                     /* this function fails; null: none */
    void (*read)(void *ctx, uintptr_t address);    /* called for each word that is read, of whichever thread; may be null */
    void *ctx;
    int opened, pinned, mapped;                    /* that are so now */
    uint32_t reads;                                /* atomic */
    int misuses;                                   /* what the library does not allow */
};

/* By dlsym. Fixed in number: one. */
struct fake_gdrapi *fake_gdrapi(void);

#endif
