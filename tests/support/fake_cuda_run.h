/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tests on the fake CUDA driver share: running with it, and a few checks.
 */
#ifndef GF_TESTS_FAKE_CUDA_RUN_H
#define GF_TESTS_FAKE_CUDA_RUN_H

#include "device/device.h"
#include "tests/support/fake_cuda.h"

/* Runs this program again with `argument`, in a process that finds `module` (a check library of tests/support, without suffix)
 * as its libcuda.so.1; null: a file that is no library, whatever else is installed. Returns the exit status. */
int fake_cuda_rerun(const char *module, const char *argument);

/* In such a process: the fake's controls. */
struct fake_cuda *fake_cuda_loaded(void);

/* cmocka fixtures. setup: a program that has just begun, with fake and driver set. teardown fails if an object was used after a
 * reset, or if this thread did not get its contexts and its capture mode back. */
extern struct fake_cuda *fake;
extern gf_driver *driver;
int fake_cuda_setup(void **state);
int fake_cuda_teardown(void **state);

/* Device 0, or the test fails. */
gf_device *fake_cuda_open_device(void);

/* The test fails unless the sentence has this part. */
void assert_says(const struct gf_reason *why, const char *part);

/* The handle as another process would have sent it: the last eight bytes are the process's identity. */
struct gf_ipc_handle fake_cuda_from_another_process(struct gf_ipc_handle handle);

#endif
