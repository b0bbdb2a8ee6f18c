/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Open MPI's copies from one buffer to another in host memory, for ThreadSanitizer. They are made in a function whose name was
 * stripped, so tsan.supp cannot tell them from the rest of the library. This one, which stands before the library's, has a name.
 */
#ifdef __SANITIZE_THREAD__
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

struct opal_datatype_t;
typedef int32_t copy_function(const struct opal_datatype_t *type, int32_t count, char *to, char *from);

copy_function opal_datatype_copy_content_same_ddt;

int32_t opal_datatype_copy_content_same_ddt(const struct opal_datatype_t *type, int32_t count, char *to, char *from)
{
    copy_function *library = (copy_function *)dlsym(RTLD_NEXT, "opal_datatype_copy_content_same_ddt");
    volatile int32_t result = library(type, count, to, from);    /* not as the last call: this frame must stand below it */

    return result;
}
#else
typedef int named_copy_is_for_thread_sanitizer;
#endif
