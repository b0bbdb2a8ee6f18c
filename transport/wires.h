/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wires that this build has.
 */
#ifndef GF_TRANSPORT_WIRES_H
#define GF_TRANSPORT_WIRES_H

#include "transport/wire.h"

/* Null-terminated, best first, valid for ever: all wires ("auto"), or the one of this name. Null: the build has not got it; of
 * "auto", that it has none. */
const struct gf_wire_ops *const *gf_wires_named(const char *name);

#endif
