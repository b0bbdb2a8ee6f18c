/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels on the emulated device: every thread of every block is a host thread, and all of them run at once, since blocks
 * may wait for one another and for kernels of other streams and processes.
 */
#ifndef GF_DEVICE_EMULATED_LAUNCH_H
#define GF_DEVICE_EMULATED_LAUNCH_H

#include <stddef.h>

#include "device/emulated_stream.h"
#include "kernels/emulated_table.h"

/* Queues `blocks` blocks of the team size of the options. The threads are there when this returns GF_OK. work is copied.
 * GF_ERR_INVALID: more blocks than can run at once, or no work. */
gf_status gf_emulated_launch(gf_stream *stream, gf_emulated_kernel kernel, int blocks, const void *work, size_t bytes,
                             struct gf_reason *why);

/* Queues a function of the program, to be run as a kernel that has all blocks of the device. argument must stay until it has run.
 * GF_ERR_NO_MEMORY: host memory is exhausted, nothing was queued. */
gf_status gf_emulated_call(gf_stream *stream, void (*function)(void *argument), void *argument);

#endif
