/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a proxy's thread runs: on the cores of its device's NUMA node, since it reads words that the device writes and starts
 * its copies. MPI binds a process to a core or two, on which the program already spins; so the thread is not kept there.
 */
#ifndef GF_PROXY_PLACE_H
#define GF_PROXY_PLACE_H

#include <stddef.h>

enum { GF_PLACE_TEXT = 240 };

/* Binds the calling thread to the cores of that NUMA node (the system's number) that this job may use; node -1, or one that
 * does not exist or has no such cores: to all cores that the job may use. Where binding fails the thread stays where it is.
 * text, of GF_PLACE_TEXT bytes: what was done and why, one phrase. */
void gf_place_self(int node, char *text);

#endif
