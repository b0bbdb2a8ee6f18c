/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pointers, memory, copies, streams and kernels on a real GPU.
 */
#include "tests/gpu/gpu_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* No CUDA call of ours may come before it is needed: the program may choose its device later. */
void gpu_part_before_cuda(void)
{
    struct gf_reason why = { "" };
    gf_driver *driver = NULL;
    struct gf_pointer info;
    CUcontext current;
    CHECK(gf_driver_available("cuda", &why));
    if (!CHECK_OK(gf_driver_open("cuda", &driver, &why), why))
        return;
    CHECK(gf_driver_pointer(driver, &why, &info) == GF_OK && info.kind == GF_MEMORY_HOST && info.ordinal == -1);
    CHECK(gf_driver_pointer(driver, (void *)0x7f0000000000, &info) == GF_OK && info.kind == GF_MEMORY_HOST);
    CHECK(gf_driver_pointer(driver, NULL, &info) == GF_OK && info.kind == GF_MEMORY_HOST);
    CHECK(gpu_app()->cuCtxGetCurrent(&current) == CUDA_ERROR_NOT_INITIALIZED);
}

void gpu_part_capabilities(void)
{
    struct gpu_program program;
    if (!gpu_program_start(&program))
        return;
    const struct gf_device_caps *caps = &program.device->caps;
    static const unsigned char none[16];
    printf("ipc %d, concurrent_processes %d, blocks %d, numa_node %d, uuid ", caps->ipc, caps->concurrent_processes, caps->blocks,
           caps->numa_node);
    for (int i = 0; i < 16; i++)
        printf("%02x", caps->uuid[i]);
    printf("\n");
    CHECK(caps->blocks > 0);
    CHECK(caps->ipc);
    CHECK(memcmp(caps->uuid, none, 16) != 0);
    CHECK(caps->concurrent_processes == (getenv("CUDA_MPS_PIPE_DIRECTORY") != NULL));
    CHECK(program.driver->ops->device_count(program.driver) >= 1);
    gf_device *same = NULL, *none_such = NULL;
    struct gf_reason why = { "" };
    CHECK(gf_device_open(program.driver, -1, &same, &why) == GF_OK && same == program.device);
    gf_device_close(same);
    CHECK(gf_device_open(program.driver, 1000, &none_such, &why) == GF_ERR_INVALID && !none_such);
    void *memory;
    CHECK(gf_device_alloc(program.device, (size_t)1 << 50, &memory, &why) == GF_ERR_NO_MEMORY && !memory);
    printf("%s\n", why.text);
    gpu_program_end(&program);
}

static enum gf_memory_kind expected_kind(enum gpu_memory memory)
{
    switch (memory) {
    case GPU_MANAGED: return GF_MEMORY_MANAGED;
    case GPU_PINNED: case GPU_REGISTERED: return GF_MEMORY_PINNED;
    case GPU_PAGEABLE: return GF_MEMORY_HOST;
    default: return GF_MEMORY_DEVICE;
    }
}

static void check_pointer(struct gpu_program *program, struct gpu_buffer *buffer)
{
    const char *name = gpu_memory_names[buffer->memory];
    struct gf_pointer info;
    enum gf_memory_kind kind = expected_kind(buffer->memory);
    gf_status status = gf_driver_pointer(program->driver, buffer->address + 1000, &info);
    if (!gpu_check(status == GF_OK && info.kind == kind, "%s is of kind %d, not %d (%s)", name, kind, info.kind,
                   gf_status_string(status)))
        return;
    if (buffer->memory != GPU_OTHER_CONTEXT)
        gpu_check(info.ipc == (buffer->memory == GPU_ALLOCATED), "%s: ipc %d", name, info.ipc);
    if (kind == GF_MEMORY_HOST)
        return;
    gpu_check(info.ordinal == (kind == GF_MEMORY_PINNED ? -1 : 0), "%s: ordinal %d", name, info.ordinal);
    gpu_check(info.base == buffer->address && info.size == buffer->bytes, "%s: base %p and size %zu, not %p and %zu", name,
              info.base, info.size, (void *)buffer->address, buffer->bytes);
    gpu_check(info.buffer_id != 0, "%s has a buffer id", name);
    void *kernel = gf_device_kernel_address(program->device, buffer->address + 8);
    void *reached = buffer->memory == GPU_OTHER_CONTEXT ? NULL : buffer->address + 8;
    gpu_check(kernel == reached, "%s at %p has the kernel address %p", name, (void *)(buffer->address + 8), kernel);
}

static void check_id_of_next(struct gpu_program *program)
{
    struct gf_pointer before, freed, after;
    void *memory, *again;
    bool same = false;
    for (int round = 0; round < 100; round++) {
        size_t bytes = round % 2 ? 100 : 8 << 20;
        if (gf_device_alloc(program->device, bytes, &memory, NULL) != GF_OK)
            break;
        gf_driver_pointer(program->driver, memory, &before);
        CHECK(gf_device_free(program->device, memory) == GF_OK);
        if (round == 0)
            CHECK(gf_driver_pointer(program->driver, memory, &freed) == GF_OK && freed.kind == GF_MEMORY_HOST);
        CHECK(gf_device_alloc(program->device, bytes, &again, NULL) == GF_OK);
        gf_driver_pointer(program->driver, again, &after);
        CHECK(after.buffer_id != before.buffer_id);
        same = same || again == memory;
        CHECK(gf_device_free(program->device, again) == GF_OK);
    }
    CHECK(same);      /* or the check above proved nothing */
}

void gpu_part_pointers(void)
{
    struct gpu_program program;
    if (!gpu_program_start(&program))
        return;
    for (int memory = 0; memory < GPU_MEMORIES; memory++) {
        struct gpu_buffer buffer = gpu_buffer_make(&program, memory, 4 << 20);
        if (buffer.address)
            check_pointer(&program, &buffer);
        gpu_buffer_free(&program, &buffer);
    }
    int on_stack;
    CHECK(!gf_device_kernel_address(program.device, &on_stack));
    check_id_of_next(&program);
    struct gf_reason why = { "" };
    static _Alignas(4096) char segment[3 * 4096];
    if (CHECK_OK(gf_device_host_register(program.device, segment, sizeof segment, &why), why)) {
        CHECK(gf_device_kernel_address(program.device, segment + 4096) != NULL);
        CHECK(gf_device_host_register(program.device, segment, sizeof segment, &why) == GF_ERR_INVALID);
        CHECK(gf_device_host_unregister(program.device, segment) == GF_OK);
    }
    CHECK(gf_device_host_unregister(program.device, segment) == GF_ERR_INVALID);
    gpu_program_end(&program);
}

/* From every memory into every other, at odd addresses. */
void gpu_part_copies(void)
{
    enum { BYTES = (1 << 20) + 13, ROOM = 2 << 20 };
    struct gpu_program program;
    struct gpu_buffer from[GPU_MEMORIES], to[GPU_MEMORIES];
    if (!gpu_program_start(&program))
        return;
    for (int i = 0; i < GPU_MEMORIES; i++) {
        from[i] = gpu_buffer_make(&program, i, ROOM);
        to[i] = gpu_buffer_make(&program, i, ROOM);
    }
    for (int i = 0; i < GPU_MEMORIES * GPU_MEMORIES; i++) {
        struct gpu_buffer *a = &from[i / GPU_MEMORIES], *b = &to[i % GPU_MEMORIES];
        if (!a->address || !b->address)
            continue;
        gf_status status = gpu_pattern_write(&program, a->address + 3, BYTES, (unsigned)i);
        if (status == GF_OK)
            status = gf_device_copy(program.device, program.stream, b->address + 5, a->address + 3, BYTES);
        if (status == GF_OK)
            status = gf_device_stream_sync(program.device, program.stream);
        gpu_check(status == GF_OK && gpu_pattern_is(&program, b->address + 5, BYTES, (unsigned)i), "copy from %s to %s: %s",
                  gpu_memory_names[a->memory], gpu_memory_names[b->memory], gf_status_string(status));
    }
    for (int i = 0; i < GPU_MEMORIES; i++) {
        gf_status status = to[i].address ? gf_device_fill(program.device, program.stream, to[i].address + 1, 0x5a, BYTES) : GF_OK;
        char last = 0;
        if (to[i].address && status == GF_OK)
            status = gf_device_copy(program.device, program.stream, &last, to[i].address + BYTES, 1);
        gf_device_stream_sync(program.device, program.stream);
        gpu_check(status == GF_OK && last == 0x5a, "fill of %s: %s", gpu_memory_names[i], gf_status_string(status));
        gpu_buffer_free(&program, &from[i]);
        gpu_buffer_free(&program, &to[i]);
    }
    gpu_program_end(&program);
}

void gpu_part_streams(void)
{
    enum { BYTES = 256 << 20 };
    struct gpu_program program;
    if (!gpu_program_start(&program))
        return;
    struct gpu_buffer buffer = gpu_buffer_make(&program, GPU_ALLOCATED, BYTES);
    gf_status status = GF_OK;
    for (int i = 1; i <= 100 && status == GF_OK; i++)
        status = gf_device_fill(program.device, program.stream, buffer.address, i, BYTES);
    CHECK(status == GF_OK);
    /* 25 GB take milliseconds: it cannot be done yet, and the order must hold. */
    CHECK(gf_device_stream_query(program.device, program.stream) == GF_IN_PROGRESS);
    CHECK(gf_device_stream_sync(program.device, program.stream) == GF_OK);
    CHECK(gf_device_stream_query(program.device, program.stream) == GF_OK);
    char last = 0;
    CHECK(gf_device_copy(program.device, program.stream, &last, buffer.address + BYTES - 1, 1) == GF_OK);
    CHECK(gf_device_sync(program.device) == GF_OK && last == 100);
    gf_stream *streams[8];
    for (int i = 0; i < 8; i++)
        CHECK(gf_device_stream_create(program.device, &streams[i], NULL) == GF_OK);
    for (int i = 0; i < 8; i++)
        gf_device_stream_destroy(program.device, streams[i]);
    gpu_buffer_free(&program, &buffer);
    gpu_program_end(&program);
}

void gpu_part_kernels(void)
{
    static const size_t sizes[] = { 0, 1, 15, 16, 4097, (1 << 20) + 3 };
    static const enum gpu_memory memories[] = { GPU_ALLOCATED, GPU_POOL, GPU_VMM, GPU_MANAGED, GPU_PINNED, GPU_REGISTERED };
    enum { COUNT = sizeof memories / sizeof memories[0] };
    struct gpu_program program;
    struct gpu_buffer from, to[COUNT];
    struct gf_reason why = { "" };
    if (!gpu_program_start(&program))
        return;
    from = gpu_buffer_make(&program, GPU_ALLOCATED, 2 << 20);
    for (int i = 0; i < COUNT; i++)
        to[i] = gpu_buffer_make(&program, memories[i], 2 << 20);
    for (unsigned i = 0; i < COUNT * 6; i++) {
        struct gpu_buffer *target = &to[i / 6];
        size_t bytes = sizes[i % 6];
        if (!target->address || !from.address)
            continue;
        CHECK(gpu_pattern_write(&program, from.address + 1, bytes, i) == GF_OK);
        gf_status status = gpu_copy_by_kernel(&program, gf_device_kernel_address(program.device, target->address + 3),
                                              from.address + 1, bytes, &why);
        gpu_check(status == GF_OK && gpu_pattern_is(&program, target->address + 3, bytes, i),
                  "kernel copies %zu bytes to %s: %s, %s", bytes, gpu_memory_names[target->memory], gf_status_string(status),
                  why.text);
    }
    struct gf_copy_work work = { .count = 0 };
    gf_device *device = program.device;
    gf_stream *stream = program.stream;
    CHECK(gf_device_launch(device, stream, GF_KERNEL_COPY_LIST, 1, 32, &work, sizeof work - 8, &why) == GF_ERR_INVALID);
    CHECK(gf_device_launch(device, stream, GF_KERNEL_COPY_LIST, 1, 1024, &work, sizeof work, &why) == GF_ERR_INVALID);
    for (int i = 0; i < COUNT; i++)
        gpu_buffer_free(&program, &to[i]);
    gpu_buffer_free(&program, &from);
    gpu_program_end(&program);
}

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* For the eye only: nothing here passes or fails by time. */
void gpu_part_timing(void)
{
    enum { ROUNDS = 10000 };
    struct gpu_program program;
    struct gf_pointer info;
    char host[64];
    if (!gpu_program_start(&program))
        return;
    struct gpu_buffer buffer = gpu_buffer_make(&program, GPU_ALLOCATED, 1 << 20);
    struct gpu_buffer pinned = gpu_buffer_make(&program, GPU_REGISTERED, 4096);
    double t[6] = { microseconds() };
    for (int i = 0; i < ROUNDS; i++)
        gf_driver_pointer(program.driver, buffer.address, &info);
    t[1] = microseconds();
    for (int i = 0; i < ROUNDS; i++)
        gf_driver_pointer(program.driver, host, &info);
    t[2] = microseconds();
    for (int i = 0; i < ROUNDS; i++)
        gf_device_kernel_address(program.device, buffer.address);
    t[3] = microseconds();
    for (int i = 0; i < ROUNDS; i++)
        gf_device_kernel_address(program.device, pinned.address);
    t[4] = microseconds();
    for (int i = 0; i < ROUNDS; i++)
        gf_device_stream_query(program.device, program.stream);
    t[5] = microseconds();
    static const char *const names[5] = {
        "pointer query, device memory", "pointer query, host memory", "kernel address, device memory",
        "kernel address, pinned memory", "stream query",
    };
    for (int i = 0; i < 5; i++)
        printf("%-32s %.3f us\n", names[i], (t[i + 1] - t[i]) / ROUNDS);
    gpu_buffer_free(&program, &buffer);
    gpu_buffer_free(&program, &pinned);
    gpu_program_end(&program);
}
