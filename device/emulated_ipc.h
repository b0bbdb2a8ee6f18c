/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device memory of one process, mapped by another of the same host: through /proc/<pid>/fd/<memfd>, so that both must see the
 * same /proc and belong to the same user; or through the memfd that its process hands out, for memory that its owner lets
 * others have by a file descriptor only.
 */
#ifndef GF_DEVICE_EMULATED_IPC_H
#define GF_DEVICE_EMULATED_IPC_H

#include "device/emulated_memory.h"

/* Before the first export. */
void gf_emulated_ipc_init(struct gf_emulated_memory *memory);

/* As gf_device_ipc_export, open and close (device/device.h).
 *   export: GF_ERR_INVALID for what is not device memory, GF_ERR_UNSUPPORTED for memory that was imported, or that its
 *           allocator does not let others have.
 *   open:   GF_ERR_INVALID for bytes that are no handle and for memory that was freed since;
 *           GF_ERR_UNSUPPORTED for a handle of this process, where the other process cannot be reached, and, with the
 *           option "lingering", where memory is still mapped here that lay there before and was freed, unless it goes by
 *           descriptor. */
gf_status gf_emulated_ipc_export(struct gf_emulated_memory *memory, const void *address, struct gf_ipc_handle *handle,
                                 struct gf_reason *why);
gf_status gf_emulated_ipc_open(struct gf_emulated_memory *memory, const struct gf_ipc_handle *handle, void **address,
                               struct gf_reason *why);
/* Nobody may be using the memory any more if this is the last close. */
gf_status gf_emulated_ipc_close(struct gf_emulated_memory *memory, void *address);

/* The number of the device that has this device memory, own or imported. */
int gf_emulated_ipc_gpu(struct gf_emulated_memory *memory, const void *address);

#endif
