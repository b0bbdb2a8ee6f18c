/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Commands from one process to another, through two pipes.
 */
#include "tests/unit/ipc_peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

gf_status ipc_open_device(gf_device **device)
{
    gf_driver *driver;
    gf_status status = gf_driver_open("emulated", &driver, NULL);
    return status == GF_OK ? gf_device_open(driver, 0, device, NULL) : status;
}

uint64_t *ipc_kernel_word(gf_device *device, char *address, size_t offset)
{
    return gf_device_kernel_address(device, address + offset);
}

static void obey(gf_device *device, const struct command *command, char **places, struct reply *reply)
{
    void *address = places[command->place];

    switch (command->kind) {
    case ALLOC:
        reply->status = gf_device_alloc(device, command->value, &address, &reply->why);
        places[command->place] = address;
        break;
    case FREE:
        reply->status = gf_device_free(device, address);
        break;
    case EXPORT:
        reply->status = gf_device_ipc_export(device, (char *)address + command->offset, &reply->handle, &reply->why);
        break;
    case OPEN:
        reply->status = gf_device_ipc_open(device, &command->handle, &address, &reply->why);
        places[command->place] = address;
        break;
    case CLOSE:
        reply->status = gf_device_ipc_close(device, (char *)address + command->offset);
        break;
    case READ:
        reply->value = *ipc_kernel_word(device, address, command->offset);
        break;
    case WRITE:
        *ipc_kernel_word(device, address, command->offset) = command->value;
        break;
    case QUERY:
        reply->status = gf_driver_pointer(device->driver, address, &reply->info);
        break;
    }
}

int ipc_peer_run(void)
{
    struct command command;
    gf_device *device;
    char *places[IPC_PLACES] = {NULL};

    if (ipc_open_device(&device) != GF_OK) {
        return 1;
    }
    while (read(0, &command, sizeof command) == (ssize_t)sizeof command) {
        struct reply reply;
        memset(&reply, 0, sizeof reply);
        obey(device, &command, places, &reply);
        if (write(1, &reply, sizeof reply) != (ssize_t)sizeof reply) {
            return 1;
        }
    }
    gf_device_close(device);
    return 0;
}

struct reply ipc_ask(struct child *peer, const struct command *command)
{
    struct reply reply;

    assert_int_equal(write(peer->to, command, sizeof *command), sizeof *command);
    assert_int_equal(read(peer->from, &reply, sizeof reply), sizeof reply);
    return reply;
}
