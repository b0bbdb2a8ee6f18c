/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of one process mapped in another, on a real GPU.
 */
#include "tests/gpu/gpu_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 3 << 20, AT = 4096 + 16, SMALL = 100, ROUNDS = 100 };

/* From the exporter to the importer, one a round; the answer is one byte. */
struct message {
    struct gf_ipc_handle start, middle, small[2];
    unsigned seed;
};

/* One end of a pair of pipes. */
struct line {
    int in, out;
};

static bool receive(const struct line *line, void *to, size_t bytes)
{
    return read(line->in, to, bytes) == (ssize_t)bytes;
}

static bool tell(const struct line *line, const void *from, size_t bytes)
{
    return write(line->out, from, bytes) == (ssize_t)bytes;
}

static bool export(struct gpu_program *program, const void *address, struct gf_ipc_handle *handle)
{
    struct gf_reason why = { "" };
    return CHECK_OK(gf_device_ipc_export(program->device, address, handle, &why), why);
}

/* New memory in each round, at the old addresses as a rule: the importer must never see old data. The importer's kernel writes
 * into it, too. */
static void export_round(struct gpu_program *program, const struct line *line, unsigned seed)
{
    struct gpu_buffer large = gpu_buffer_make(program, GPU_ALLOCATED, BYTES);
    struct gpu_buffer small[2] = {
        gpu_buffer_make(program, GPU_ALLOCATED, SMALL), gpu_buffer_make(program, GPU_ALLOCATED, SMALL),
    };
    struct message message = { .seed = seed };
    char answer = 0;
    bool ready = large.address && small[0].address && small[1].address &&
                 gpu_pattern_write(program, large.address + AT, 1 << 20, seed) == GF_OK &&
                 gpu_pattern_write(program, small[0].address, SMALL, seed + 1) == GF_OK &&
                 gpu_pattern_write(program, small[1].address, SMALL, seed + 2) == GF_OK &&
                 export(program, large.address, &message.start) && export(program, large.address + AT, &message.middle) &&
                 export(program, small[0].address, &message.small[0]) && export(program, small[1].address, &message.small[1]);
    if (CHECK(ready) && CHECK(tell(line, &message, sizeof message)) && CHECK(receive(line, &answer, 1)))
        CHECK(gpu_pattern_is(program, large.address + (2 << 20), 5000, seed + 3));
    gpu_buffer_free(program, &large);
    gpu_buffer_free(program, &small[0]);
    gpu_buffer_free(program, &small[1]);
}

static void exporter(const struct line *line)
{
    struct gpu_program program;
    struct gf_reason why = { "" };
    struct gf_ipc_handle handle;
    void *mapped;
    if (!gpu_program_start(&program))
        return;
    for (unsigned round = 0; round < ROUNDS; round++)
        export_round(&program, line, round * 10);
    struct gpu_buffer own = gpu_buffer_make(&program, GPU_ALLOCATED, 4096);
    if (own.address && export(&program, own.address, &handle))
        CHECK(gf_device_ipc_open(program.device, &handle, &mapped, &why) == GF_ERR_UNSUPPORTED && !mapped);
    gpu_buffer_free(&program, &own);
    gpu_program_end(&program);
}

static char *open_handle(struct gpu_program *program, const struct gf_ipc_handle *handle)
{
    struct gf_reason why = { "" };
    void *address = NULL;
    CHECK_OK(gf_device_ipc_open(program->device, handle, &address, &why), why);
    return address;
}

static void close_handle(struct gpu_program *program, char *address)
{
    if (address)
        CHECK(gf_device_ipc_close(program->device, address) == GF_OK);
}

static void import_round(struct gpu_program *program, const struct message *message)
{
    struct gf_pointer info;
    struct gf_reason why = { "" };
    char *start = open_handle(program, &message->start), *middle = open_handle(program, &message->middle);
    char *small[2] = { open_handle(program, &message->small[0]), open_handle(program, &message->small[1]) };
    if (start && middle) {
        CHECK(middle == start + AT);
        CHECK(gf_driver_pointer(program->driver, middle, &info) == GF_OK && info.kind == GF_MEMORY_DEVICE);
        CHECK(gf_device_kernel_address(program->device, middle) == middle);
        CHECK(gpu_pattern_is(program, middle, 1 << 20, message->seed));
        struct gpu_buffer own = gpu_buffer_make(program, GPU_ALLOCATED, 5000);
        CHECK(gpu_pattern_write(program, own.address, 5000, message->seed + 3) == GF_OK);
        CHECK_OK(gpu_copy_by_kernel(program, start + (2 << 20), own.address, 5000, &why), why);
        gpu_buffer_free(program, &own);
    }
    for (unsigned i = 0; i < 2; i++) {
        gpu_check(small[i] && gpu_pattern_is(program, small[i], SMALL, message->seed + 1 + i),
                  "small allocation %u is imported", i);
        close_handle(program, small[i]);
    }
    close_handle(program, start);
    close_handle(program, middle);
    if (middle)
        CHECK(gf_device_ipc_close(program->device, middle) == GF_ERR_INVALID);
}

static void importer(const struct line *line)
{
    struct gpu_program program;
    struct message message;
    if (!gpu_program_start(&program))
        return;
    while (receive(line, &message, sizeof message)) {
        import_round(&program, &message);
        if (!CHECK(tell(line, "", 1)))
            break;
    }
    gpu_program_end(&program);
}

void gpu_part_ipc(void)
{
    int there[2], back[2];
    if (!CHECK(pipe(there) == 0 && pipe(back) == 0))
        return;
    pid_t child = fork();
    if (child == 0) {
        close(there[1]);
        close(back[0]);
        importer(&(struct line){ there[0], back[1] });
        exit(0);
    }
    close(there[0]);
    close(back[1]);
    exporter(&(struct line){ back[0], there[1] });
    close(there[1]);
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void gpu_part_ipc_refused(void)
{
    static const enum gpu_memory memories[] = { GPU_POOL, GPU_VMM, GPU_MANAGED, GPU_PINNED, GPU_REGISTERED, GPU_PAGEABLE };
    struct gpu_program program;
    struct gf_ipc_handle handle;
    if (!gpu_program_start(&program))
        return;
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++) {
        struct gf_reason why = { "" };
        struct gpu_buffer buffer = gpu_buffer_make(&program, memories[i], 2 << 20);
        if (buffer.address)
            gpu_check(gf_device_ipc_export(program.device, buffer.address, &handle, &why) == GF_ERR_UNSUPPORTED && why.text[0],
                      "%s is not exported", gpu_memory_names[memories[i]]);
        gpu_buffer_free(&program, &buffer);
    }
    gpu_program_end(&program);
}
