/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How near adapters are to a device, by hwloc's tree of this machine: the fewer steps up to what holds both and down again, the
 * nearer. Below one PCI switch is nearer than below one socket, and that nearer than across.
 */
#ifndef GF_TRANSPORT_NEAR_H
#define GF_TRANSPORT_NEAR_H

#include <limits.h>

enum { GF_NEAR_UNKNOWN = INT_MAX };

struct gf_near;

/* Looks at the machine; `device` is a PCI address ("0000:1b:00.0"). Null: there is no such device, or hwloc does not know the
 * machine. Takes some milliseconds. */
struct gf_near *gf_near_open(const char *device);

/* Steps from the device to what has this PCI address; GF_NEAR_UNKNOWN: there is none. near and address may be null. */
int gf_near_steps(const struct gf_near *near, const char *address);

void gf_near_close(struct gf_near *near);

#endif
