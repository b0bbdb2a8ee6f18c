/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A second process with the emulated device, which allocates, exports, opens and touches memory as it is told.
 */
#ifndef GF_TESTS_UNIT_IPC_PEER_H
#define GF_TESTS_UNIT_IPC_PEER_H

#include <stdint.h>

#include "device/device.h"
#include "tests/unit/child.h"

enum command_kind { ALLOC, FREE, EXPORT, OPEN, CLOSE, READ, WRITE, QUERY };

/* place: one of the peer's variables, offset: into the memory it points to. */
struct command {
    enum command_kind kind;
    int place;
    size_t offset;
    uint64_t value;                    /* to write; bytes to allocate */
    struct gf_ipc_handle handle;       /* to open */
};

struct reply {
    gf_status status;
    uint64_t value;                    /* that was read */
    struct gf_pointer info;
    struct gf_ipc_handle handle;
    struct gf_reason why;
};

enum { IPC_PLACES = 8 };

/* Opens the emulated device of this process. */
gf_status ipc_open_device(gf_device **device);

/* Where kernels find the word at this offset; null if they cannot reach it. */
uint64_t *ipc_kernel_word(gf_device *device, char *address, size_t offset);

/* The peer's main function: obeys until its standard input ends. Returns the exit status. */
int ipc_peer_run(void);

/* One command and its reply. */
struct reply ipc_ask(struct child *peer, const struct command *command);

/* The command's further fields by name. */
#define ASK(peer, what, where, ...) ipc_ask(peer, &(struct command){.kind = (what), .place = (where), __VA_ARGS__})

#endif
