/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which steps of the first message wait for a kernel that fills the device? Each step is timed while such a kernel runs in the
 * receiver's process; a step that waits takes as long as the kernel, about a second.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/segment.h"
#include "tests/gpu/pull_programs.h"

enum { BYTES = 1 << 20, EXPORTS = 8 };

/* What the steps work on. */
struct first {
    struct pair *pair;
    gf_device *device;
    gf_stream *stream, *new_stream;
    struct gf_segment segment;
    struct gf_ipc_handle handles[EXPORTS];
    int opened;
    char *imported, *other, *memory, *pinned, *more_pinned, *more_memory;
    struct gf_pull_gate *gate;
    uint64_t *end;
};

typedef gf_status step_function(struct first *f);

static gf_status copy(struct first *f, void *to, const void *from, size_t bytes)
{
    gf_status status = gf_device_copy(f->device, f->stream, to, from, bytes);
    return status == GF_OK ? gf_device_stream_sync(f->device, f->stream) : status;
}

static gf_status query(struct first *f)
{
    struct gf_pointer info;
    return gf_driver_pointer(f->pair->m.driver, f->memory, &info);
}
static gf_status reach(struct first *f) { return gf_device_kernel_address(f->device, f->pinned) ? GF_OK : GF_ERR_INVALID; }
static gf_status to_device(struct first *f) { return copy(f, f->memory, f->pinned, 4); }
static gf_status to_host(struct first *f) { return copy(f, f->pinned, f->memory, 8); }
static gf_status peer_to_host(struct first *f) { return copy(f, f->pinned, f->imported, 4096); }
static gf_status within(struct first *f) { return copy(f, f->memory, f->memory + BYTES / 2, 8); }
static gf_status within_large(struct first *f) { return copy(f, f->memory, f->memory + BYTES / 2, BYTES / 2); }
static gf_status from_peer(struct first *f) { return copy(f, f->memory, f->imported, 8); }
static gf_status from_peer_large(struct first *f) { return copy(f, f->memory, f->imported, BYTES); }
static gf_status pageable(struct first *f)
{
    static char data[100];
    return copy(f, f->memory, data, sizeof data);
}
static gf_status add_stream(struct first *f) { return gf_device_stream_create(f->device, &f->new_stream, NULL); }
static gf_status first_on_stream(struct first *f)
{
    gf_status status = gf_device_copy(f->device, f->new_stream, f->pinned, f->memory, 8);
    return status == GF_OK ? gf_device_stream_sync(f->device, f->new_stream) : status;
}
static gf_status drop_stream(struct first *f) { gf_device_stream_destroy(f->device, f->new_stream); return GF_OK; }
static gf_status register_host(struct first *f)
{
    return gf_device_host_register(f->device, f->segment.address, f->segment.bytes, NULL);
}
static gf_status unregister_host(struct first *f) { return gf_device_host_unregister(f->device, f->segment.address); }
static gf_status add_pinned(struct first *f) { return gf_device_pinned_alloc(f->device, 4096, (void **)&f->more_pinned, NULL); }
static gf_status add_memory(struct first *f) { return gf_device_alloc(f->device, 4096, (void **)&f->more_memory, NULL); }
static gf_status export(struct first *f)
{
    struct gf_ipc_handle handle;
    return gf_device_ipc_export(f->device, f->memory, &handle, NULL);
}
static gf_status import(struct first *f)
{
    return gf_device_ipc_open(f->device, &f->handles[f->opened++], (void **)&f->other, NULL);
}
static gf_status unimport(struct first *f) { return gf_device_ipc_close(f->device, f->other); }
static gf_status fill(struct first *f)
{
    gf_status status = gf_device_fill(f->device, f->stream, f->memory, 0, 1024);
    return status == GF_OK ? gf_device_stream_sync(f->device, f->stream) : status;
}

static gf_status launch(struct first *f)
{
    char *memory = gf_device_kernel_address(f->device, f->memory);
    struct gf_pull_work work = {
        .launch = { .gate = f->gate, .ticket = 1, .share = GF_LINE, .count = 1 },
        .item = { .to = memory, .from = memory + 64, .bytes = 8, .end = f->end, .blocks = 1 },
    };
    return gf_device_launch(f->device, f->stream, GF_KERNEL_PULL, 1, 64, &work, sizeof work, NULL);
}

/* A copy in one thread while another opens a mapping: does it wait, too? */
static void *import_in_thread(void *argument)
{
    struct first *f = argument;
    import(f);
    return NULL;
}

static gf_status copy_beside_import(struct first *f)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, import_in_thread, f) != 0)
        return GF_ERR_SYSTEM;
    usleep(2000);
    uint64_t start = pair_now_ns();
    gf_status status = to_device(f);
    printf("  (the copy itself: %.1f us)\n", (double)(pair_now_ns() - start) / 1e3);
    pthread_join(thread, NULL);
    return status;
}

static void *unimport_in_thread(void *argument)
{
    struct first *f = argument;
    unimport(f);
    return NULL;
}

static gf_status work_beside_unimport(struct first *f)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, unimport_in_thread, f) != 0)
        return GF_ERR_SYSTEM;
    usleep(2000);
    uint64_t start = pair_now_ns();
    gf_status status = to_device(f);
    double copied = (double)(pair_now_ns() - start) / 1e3;
    launch(f);
    printf("  (the copy itself: %.1f us, then a launch: %.1f us)\n", copied, (double)(pair_now_ns() - start) / 1e3 - copied);
    pthread_join(thread, NULL);
    return status;
}

static const struct { const char *name; step_function *run; } steps[] = {
    { "pointer query", query }, { "kernel address of pinned memory", reach },
    { "copy of 4 B from pinned memory", to_device }, { "copy of 8 B to pinned memory", to_host },
    { "copy of 100 B from pageable memory", pageable },
    { "copy of 8 B within the device", within }, { "copy of 512 KiB within the device", within_large },
    { "copy of 4 KiB from a peer to pinned memory", peer_to_host }, { "copy of 8 B from a peer", from_peer },
    { "copy of 1 MiB from a peer", from_peer_large },
    { "new stream", add_stream }, { "first copy on it", first_on_stream }, { "end of the stream", drop_stream },
    { "host_register of 1 MiB", register_host }, { "host_unregister", unregister_host },
    { "pinned_alloc", add_pinned }, { "alloc", add_memory }, { "ipc_export", export },
    { "ipc_open", import }, { "ipc_close", unimport },
    { "first launch of the pull kernel", launch }, { "ipc_open behind a launch", import },
    { "ipc_open in a thread, and a copy beside it", copy_beside_import }, { "fill of 1 KiB", fill },
    { "ipc_close in a thread, and a copy and a launch beside it", work_beside_unimport },
};

static void share_handles(struct pair *pair, struct first *f)
{
    struct gf_reason why = { "" };
    _Static_assert(sizeof f->handles <= sizeof pair->shared->names, "handles travel where names do");

    for (int i = 0; i < EXPORTS && pair->sends; i++) {
        char *memory = gftest_alloc(&pair->m, GF_MEMORY_DEVICE, BYTES);

        pair_need(pair, gf_device_ipc_export(pair->m.device, memory, &f->handles[i], &why), "an export", &why);
    }
    if (pair->sends) {
        memcpy(pair->shared->names, f->handles, sizeof f->handles);
    }
    pair_meet(pair);
    memcpy(f->handles, pair->shared->names, sizeof f->handles);
}

static void prepare(struct pair *pair, struct first *f)
{
    struct gf_reason why = { "" };
    struct gf_segment_name name;

    f->pair = pair;
    f->device = pair->m.device;
    f->memory = gftest_alloc(&pair->m, GF_MEMORY_DEVICE, BYTES);
    f->pinned = gftest_alloc(&pair->m, GF_MEMORY_PINNED, 4096);
    f->end = (uint64_t *)((char *)gf_device_kernel_address(f->device, f->pinned) + 2048);
    f->gate = gf_device_kernel_address(f->device, gftest_alloc(&pair->m, GF_MEMORY_DEVICE, sizeof *f->gate));
    pair_need(pair, gf_device_stream_create(f->device, &f->stream, &why), "a stream", &why);
    pair_need(pair, gf_segment_create(1 << 20, &f->segment, &name, &why), "a segment", &why);
    pair_need(pair, gf_device_ipc_open(f->device, &f->handles[f->opened++], (void **)&f->imported, &why), "a mapping", &why);
}

/* The sender frees a buffer that is mapped, and makes another one, usually at the same address: can that be mapped beside? */
static void try_stale(struct pair *pair)
{
    struct gf_ipc_handle *handle = (struct gf_ipc_handle *)(void *)pair->shared->names;
    char *memory = NULL, *before = NULL;
    void *mapped[2] = { NULL };
    struct gf_reason why = { "" };

    for (int i = 0; i < 2; i++) {
        if (pair->sends) {
            memory = gftest_alloc(&pair->m, GF_MEMORY_DEVICE, 4 * BYTES);
            gftest_write(&pair->m, memory, BYTES, (uint64_t)(500 + i));
            pair_need(pair, gf_device_ipc_export(pair->m.device, memory, handle, &why), "an export", &why);
            printf(i ? "  a later buffer is at %s address\n" : "", memory == before ? "the same" : "another");
            before = memory;
        }
        pair_meet(pair);
        if (!pair->sends) {
            gf_status status = gf_device_ipc_open(pair->m.device, handle, &mapped[i], &why);

            printf("  mapping %d: %s, %s\n", i, gf_status_string(status), status != GF_OK ? why.text :
                   gftest_holds(&pair->m, mapped[i], BYTES, (uint64_t)(500 + i)) ? "right" : "WRONG");
        }
        pair_meet(pair);
        if (pair->sends) {
            gftest_free(&pair->m, GF_MEMORY_DEVICE, memory);
        }
        pair_meet(pair);
    }
    for (int i = 0; i < 2; i++) {
        if (mapped[i]) {
            gf_device_ipc_close(pair->m.device, mapped[i]);
        }
    }
}

void pull_measure_first(struct pair *pair)
{
    struct first f = { 0 };

    try_stale(pair);
    share_handles(pair, &f);
    if (!pair->sends) {
        prepare(pair, &f);
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
            struct pair_filling *filling = pair_fill_device(pair, 700000000u);
            uint64_t start = pair_now_ns();
            gf_status status = steps[i].run(&f);

            printf("  %-45s %12.1f us  %s\n", steps[i].name, (double)(pair_now_ns() - start) / 1e3, gf_status_string(status));
            fflush(stdout);
            pair_let_go(pair, filling);
            gf_device_stream_sync(f.device, f.stream);
        }
    }
    pair_meet(pair);
}
