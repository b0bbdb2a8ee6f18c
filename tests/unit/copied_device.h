/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device of plain host memory for the tests of copied FIFOs: a copy engine that is a thread of this process, and shared
 * memory that both ends have at one address, so that ThreadSanitizer sees who is ordered with whom. Stands in for
 * transport/part.c, too.
 */
#ifndef GF_TESTS_UNIT_COPIED_DEVICE_H
#define GF_TESTS_UNIT_COPIED_DEVICE_H

#include "device/device.h"

/* The engine takes copies of different streams in any order that seed gives; a copy spoils its target before it fills it. One
 * at a time. */
gf_device *copied_device_open(uint64_t seed);
/* Whether its memory can be had as a dma-buf; at first not. */
void copied_device_give_dmabuf(bool give);
/* As if that allocation had been freed, and one of its size been made at its place. */
void copied_device_renew(void *address);
/* Everything that was allocated is free again, or the test fails. */
void copied_device_close(gf_device *device);

#endif
