/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of wires, as configure found libraries for them.
 */
#include "transport/wires.h"

#include <string.h>

#include "config.h"
#if HAVE_VERBS
#include "transport/verbs.h"
#endif
#if HAVE_UCX
#include "transport/ucx.h"
#endif

static const struct gf_wire_ops *const all[] = {
#if HAVE_VERBS
    &gf_wire_verbs,
#endif
#if HAVE_UCX
    &gf_wire_ucx,
#endif
    NULL
};

/* Each alone. */
static const struct gf_wire_ops *const single[][2] = {
#if HAVE_VERBS
    {&gf_wire_verbs, NULL},
#endif
#if HAVE_UCX
    {&gf_wire_ucx, NULL},
#endif
    {NULL, NULL}
};

const struct gf_wire_ops *const *gf_wires_named(const char *name)
{
    if (strcmp(name, "auto") == 0) {
        return all[0] != NULL ? all : NULL;
    }
    for (size_t i = 0; single[i][0] != NULL; i++) {
        if (strcmp(single[i][0]->name, name) == 0) {
            return single[i];
        }
    }
    return NULL;
}
