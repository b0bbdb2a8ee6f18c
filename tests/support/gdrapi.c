/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loading the stand-in for gdrcopy's library.
 */
#include "tests/support/gdrapi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <dlfcn.h>

#include <cmocka.h>

struct fake_gdrapi *gftest_gdrapi_load(void)
{
    char path[1000];

    snprintf(path, sizeof path, "%s/tests/support/.libs/libgdrapi.so.2", getenv("GF_BUILDDIR"));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        fail_msg("%s", dlerror());
    }
    struct fake_gdrapi *(*function)(void);

    *(void **)&function = dlsym(library, "fake_gdrapi");
    return function();
}

void gftest_gdrapi_expect_closed(const struct fake_gdrapi *gdr)
{
    assert_true(gdr->opened == 0 && gdr->pinned == 0 && gdr->mapped == 0 && gdr->misuses == 0);
}
