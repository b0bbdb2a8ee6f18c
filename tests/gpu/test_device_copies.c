/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which copies get on while a kernel of the process waits? What the proxies of p2p_copy and shm_copy rely on: copies to and from
 * the host must; copies within the device need not, and where they do not, p2p_copy is refused between ranks of one device
 * (gf_device_caps.copies_beside_kernels). The kernel is a one-shot allreduce whose peer never comes; it leaves by the abort word.
 *
 * Usage: test_device_copies [cuda | emulated]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/host_ordered.h"
#include "device/device.h"
#include "kernels/work.h"

enum { BYTES = 256 * 1024, SLOT_BYTES = 4096, PATIENCE_S = 3 };

struct test {
    gf_device *device;
    gf_stream *kernel_stream, *copy_stream;
    char *words;                   /* pinned: abort, error, done, a line each */
    char *memory[2];               /* device */
    char *host;                    /* pinned */
    char *slots;                   /* device */
    void *blocks_done;
};

static void need(gf_status status, const char *what)
{
    if (status != GF_OK) {
        fprintf(stderr, "test_device_copies: %s: %s\n", what, gf_status_string(status));
        exit(2);
    }
}

static void *device_zeroed(struct test *t, size_t bytes)
{
    void *address = NULL;

    need(gf_device_alloc(t->device, bytes, &address, NULL), "device memory");
    need(gf_device_fill(t->device, t->copy_stream, address, 0, bytes), "fill");
    need(gf_device_stream_sync(t->device, t->copy_stream), "synchronise");
    return address;
}

static void open_test(struct test *t, const char *name)
{
    struct gf_reason why = { "" };
    gf_driver *driver;
    void *pinned[2];

    if (gf_driver_open(name, &driver, &why) != GF_OK || gf_device_open(driver, 0, &t->device, &why) != GF_OK) {
        fprintf(stderr, "test_device_copies: %s\n", why.text);
        exit(2);
    }
    need(gf_device_stream_create(t->device, &t->kernel_stream, NULL), "stream");
    need(gf_device_stream_create(t->device, &t->copy_stream, NULL), "stream");
    need(gf_device_pinned_alloc(t->device, 3 * GF_LINE, &pinned[0], NULL), "pinned memory");
    need(gf_device_pinned_alloc(t->device, BYTES, &pinned[1], NULL), "pinned memory");
    t->words = pinned[0];
    t->host = pinned[1];
    t->memory[0] = device_zeroed(t, BYTES);
    t->memory[1] = device_zeroed(t, BYTES);
    t->slots = device_zeroed(t, 4 * SLOT_BYTES);
    t->blocks_done = device_zeroed(t, GF_LINE);
}

static uint64_t *word(struct test *t, int line, bool kernel)
{
    char *words = kernel ? gf_device_kernel_address(t->device, t->words) : t->words;

    return (uint64_t *)(void *)(words + line * GF_LINE);
}
enum { ABORT, ERROR, DONE };

/* Rank 0 of 2, whose peer sends nothing. */
static void launch_waiting_kernel(struct test *t)
{
    char *slots = gf_device_kernel_address(t->device, t->slots), *data = gf_device_kernel_address(t->device, t->blocks_done);
    struct gf_one_shot_work work = {
        .task = { .rank = 0, .ranks = 2, .abort = (uint32_t *)word(t, ABORT, true), .error = (uint32_t *)word(t, ERROR, true),
                  .done = word(t, DONE, true), .blocks_done = (uint32_t *)(void *)data, .ticket = 1 },
        .data = { .send = data + GF_LINE / 2, .recv = data + GF_LINE / 2, .count = 1, .type = 0, .op = 0 },
        .slot_bytes = SLOT_BYTES, .epoch = 1, .pieces = 1,
    };

    work.peers[1] = (struct gf_peer_slots){ .to = slots, .from = slots + 2 * SLOT_BYTES };
    need(gf_device_launch(t->device, t->kernel_stream, GF_KERNEL_ALLREDUCE_ONE_SHOT, 1, 32, &work, sizeof work, NULL), "launch");
}

/* Does it end while the kernel waits? If not it ends later. */
static bool gets_on(struct test *t, const char *what, void *to, const void *from)
{
    time_t began = time(NULL);
    gf_status status;

    need(gf_device_copy(t->device, t->copy_stream, to, from, BYTES), what);
    do {
        status = gf_device_stream_query(t->device, t->copy_stream);
    } while (status == GF_IN_PROGRESS && time(NULL) - began <= PATIENCE_S);
    if (status != GF_IN_PROGRESS) {
        need(status, what);
    }
    printf("%-40s %s\n", what, status == GF_OK ? "gets on beside a kernel that waits" : "waits for the kernel");
    return status == GF_OK && gf_host_observe(word(t, DONE, false)) == 0;
}

int main(int argc, char **argv)
{
    struct test t;

    open_test(&t, argc > 1 ? argv[1] : "cuda");
    launch_waiting_kernel(&t);
    bool out = gets_on(&t, "device to pinned host memory", t.host, t.memory[0]);
    bool in = gets_on(&t, "pinned host memory to device", t.memory[1], t.host);
    bool within = gets_on(&t, "device to device", t.memory[1], t.memory[0]);

    gf_host_publish_flag((uint32_t *)word(&t, ABORT, false), 1);
    need(gf_device_stream_sync(t.device, t.kernel_stream), "the kernel's end");
    need(gf_device_stream_sync(t.device, t.copy_stream), "the copies' end");
    bool right = out && in && (within || !t.device->caps.copies_beside_kernels);

    printf("%s says that copies within it %s\n", right ? "ok: the device" : "FAILED: the device",
           t.device->caps.copies_beside_kernels ? "get on" : "may wait");
    return right ? 0 : 1;
}
