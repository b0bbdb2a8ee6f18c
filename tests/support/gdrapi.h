/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The stand-in for gdrcopy's library, in a cmocka test.
 */
#ifndef GF_TESTS_SUPPORT_GDRAPI_H
#define GF_TESTS_SUPPORT_GDRAPI_H

#include "tests/support/fake_gdrapi.h"

/* From here on it is what dlopen finds by the library's name. */
struct fake_gdrapi *gftest_gdrapi_load(void);

/* Nothing is open, pinned or mapped, and the library was used as it allows. */
void gftest_gdrapi_expect_closed(const struct fake_gdrapi *gdr);

#endif
