/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pack kernels on one device, by one process: every form and width against a copy on the host, and the time that they take.
 *
 * Usage: test_device_pack [cuda | emulated] [BLOCKS]     BLOCKS: of 8 bytes at a stride of 64, of which the time is taken (2^20)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "core/pack_plan.h"
#include "device/device.h"
#include "tests/gpu/times.h"

enum { SPAN = 1 << 20, ORIGIN = SPAN / 2, CASES = 300, ROUNDS = 21, QUEUED = 20 };

struct test {
    gf_device *device;
    gf_stream *stream;
    uint32_t *blocks_done;         /* device */
    uint64_t *done;                /* pinned; beside it error and abort */
    uint64_t ticket;
    char *from, *to, *list;        /* device */
    unsigned char *host, *expected, *got;
    uint64_t state;
    long checks, failures;
};

static void need(gf_status status, const char *what, const struct gf_reason *why)
{
    if (status != GF_OK) {
        fprintf(stderr, "test_device_pack: %s: %s (%s)\n", what, gf_status_string(status), why ? why->text : "");
        exit(2);
    }
}

static uint64_t next_random(struct test *t, uint64_t below)
{
    return gf_random_next(&t->state) % below;
}

static void *device_alloc(struct test *t, size_t bytes)
{
    struct gf_reason why = {""};
    void *address;

    need(gf_device_alloc(t->device, bytes, &address, &why), "alloc", &why);
    need(gf_device_fill(t->device, t->stream, address, 0, bytes), "fill", NULL);
    need(gf_device_stream_sync(t->device, t->stream), "fill", NULL);
    return address;
}

static void copy(struct test *t, void *to, const void *from, size_t bytes)
{
    need(gf_device_copy(t->device, t->stream, to, from, bytes), "copy", NULL);
    need(gf_device_stream_sync(t->device, t->stream), "copy", NULL);
}

static void queue(struct test *t, const struct gf_pack_part *part)
{
    char *words = gf_device_kernel_address(t->device, t->done);
    struct gf_reason why = {""};
    struct gf_pack_work work = {
        .task = {.ranks = 1, .abort = (uint32_t *)(words + 12), 
                 .blocks_done = gf_device_kernel_address(t->device, t->blocks_done),
                 .done = (uint64_t *)words, .error = (uint32_t *)(words + 8), .ticket = ++t->ticket},
        .part = *part,
    };

    need(gf_device_launch(t->device, t->stream, GF_KERNEL_PACK,
                          gf_pack_plan_blocks(gf_pack_part_tiles(part), t->device->caps.blocks), GF_BLOCK_THREADS, &work,
                              sizeof work, &why), "launch", &why);
}

/* Strided, listed, or of different lengths. */
static struct gf_flat make_flat(struct test *t)
{
    uint64_t unit = (uint64_t)1 << next_random(t, 5), form = next_random(t, 3), blocks = 1 + next_random(t, 300);
    uint64_t same = (1 + next_random(t, 5)) * unit;
    struct gf_flat_builder builder;
    struct gf_flat flat;

    gf_flat_begin(&builder, (int64_t)(blocks * 12 * unit) * (next_random(t, 2) ? 1 : -1));
    for (uint64_t i = 0; i < blocks; i++) {
        need(gf_flat_add(&builder, (int64_t)((i * 12 + (form ? next_random(t, 6) : 0)) * unit),
                         form < 2 ? same : (1 + next_random(t, 5)) * unit, NULL), "flat", NULL);
    }
    need(gf_flat_finish(&builder, &flat, NULL), "flat", NULL);
    return flat;
}

static void copy_blocks(const struct gf_flat *flat, const struct gf_pack_copy *copy, unsigned char *to, const unsigned char *from)
{
    uint64_t done = 0;

    for (uint64_t i = 0; done < copy->bytes; i++) {
        struct gf_flat_block block = gf_flat_block(flat, i % flat->blocks);
        int64_t place = (int64_t)(i / flat->blocks) * flat->extent + block.offset;
        uint64_t rest = copy->bytes - done, bytes = block.bytes < rest ? block.bytes : rest;

        memcpy(to + (copy->to_packed ? (int64_t)done : place), from + (copy->from_packed ? (int64_t)done : place), bytes);
        done += bytes;
    }
}

static void check_case(struct test *t)
{
    struct gf_flat flat = make_flat(t);
    bool packs = next_random(t, 2);
    uint64_t shift = next_random(t, 3) ? 0 : next_random(t, 16), most = (SPAN / 2 - 60000) / (uint64_t)llabs(flat.extent);
    struct gf_pack_copy c = {.to_packed = packs, .from_packed = !packs, .count = 1 + next_random(t, most > 40 ? 40 : most)};

    c.bytes = flat.bytes * c.count - (next_random(t, 2) ? 0 : next_random(t, flat.bytes));
    if (flat.list.offsets) {
        copy(t, t->list, flat.list.offsets, flat.list.bytes);
    }
    c.list = gf_device_kernel_address(t->device, t->list);
    memset(t->expected, 0, SPAN);
    copy_blocks(&flat, &c, t->expected + ORIGIN + shift, t->host + ORIGIN);
    need(gf_device_fill(t->device, t->stream, t->to, 0, SPAN), "fill", NULL);
    c.to = (char *)gf_device_kernel_address(t->device, t->to) + ORIGIN + shift;
    c.from = (char *)gf_device_kernel_address(t->device, t->from) + ORIGIN;
    struct gf_pack_part part = gf_pack_plan_part(&flat, &c);

    queue(t, &part);
    copy(t, t->got, t->to, SPAN);
    t->checks++;
    if (memcmp(t->got, t->expected, SPAN) != 0 || t->done[0] != t->ticket) {
        t->failures++;
        printf("wrong: %s, %llu bytes in words of %u, %s\n", packs ? "packed" : "unpacked", (unsigned long long)c.bytes,
               part.word,
               flat.list.offsets ? flat.list.starts ? "blocks of different lengths" : "a list" : "strided");
    }
    gf_flat_free(&flat);
}

/* Microseconds of one of so many launches that are queued together; the median. */
static double time_of(struct test *t, const struct gf_pack_part *part, int queued)
{
    double times[ROUNDS];

    for (int round = 0; round < ROUNDS; round++) {
        double start = times_now();

        for (int i = 0; i < queued; i++) {
            queue(t, part);
        }
        need(gf_device_stream_sync(t->device, t->stream), "sync", NULL);
        times[round] = (times_now() - start) / queued;
    }
    return times_median(times, ROUNDS);
}

/* Blocks of 8 bytes, 64 or so apart, in three forms. */
static void measure(struct test *t, uint64_t blocks, int form)
{
    static const char *const names[] = {"strided", "a list of blocks of 8 bytes", "a list of blocks of 8 and 16 bytes"};
    struct gf_flat_builder builder;
    struct gf_flat flat;

    gf_flat_begin(&builder, 0);
    for (uint64_t i = 0; i < blocks; i++) {
        need(gf_flat_add(&builder, (int64_t)(i * 64 + (form ? 8 * (i % 5) : 0)), form == 2 && i % 3 == 0 ? 16 : 8, NULL),
             "flat", NULL);
    }
    need(gf_flat_finish(&builder, &flat, NULL), "flat", NULL);
    char *strided = device_alloc(t, blocks * 64), *packed = device_alloc(t, flat.bytes);
    char *list = device_alloc(t, flat.list.bytes + 1);

    if (flat.list.offsets) {
        copy(t, list, flat.list.offsets, flat.list.bytes);
    }
    struct gf_pack_copy out = {.to = gf_device_kernel_address(t->device, packed), .to_packed = true, .count = 1,
                               .bytes = flat.bytes, .from = gf_device_kernel_address(t->device, strided),
                               .list = gf_device_kernel_address(t->device, list)};
    struct gf_pack_copy in = {.to = (char *)out.from, .from = out.to, .from_packed = true, .count = 1, .bytes = flat.bytes,
                              .list = out.list};
    struct gf_pack_part pack = gf_pack_plan_part(&flat, &out), unpack = gf_pack_plan_part(&flat, &in);

    printf("%llu blocks, %s: pack %.1f us each of %d, %.1f alone; unpack %.1f, %.1f\n", (unsigned long long)blocks, names[form],
           time_of(t, &pack, QUEUED), QUEUED, time_of(t, &pack, 1), time_of(t, &unpack, QUEUED), time_of(t, &unpack, 1));
    need(gf_device_free(t->device, strided), "free", NULL);
    need(gf_device_free(t->device, packed), "free", NULL);
    need(gf_device_free(t->device, list), "free", NULL);
    gf_flat_free(&flat);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "cuda";
    uint64_t blocks = argc > 2 ? strtoull(argv[2], NULL, 10) : 1 << 20;
    struct test t = {.state = 1};
    struct gf_reason why = {""};
    gf_driver *driver;

    need(gf_driver_open(name, &driver, &why), name, &why);
    need(gf_device_open(driver, 0, &t.device, &why), name, &why);
    need(gf_device_stream_create(t.device, &t.stream, &why), "stream", &why);
    need(gf_device_pinned_alloc(t.device, GF_LINE, (void **)&t.done, &why), "pinned", &why);
    t.blocks_done = device_alloc(&t, GF_LINE);
    t.from = device_alloc(&t, SPAN);
    t.to = device_alloc(&t, SPAN);
    t.list = device_alloc(&t, SPAN);
    t.host = malloc(SPAN);
    t.expected = malloc(SPAN);
    t.got = malloc(SPAN);
    if (!t.host || !t.expected || !t.got) {
        return 2;
    }
    for (int i = 0; i < SPAN; i++) {
        t.host[i] = (unsigned char)next_random(&t, 256);
    }
    copy(&t, t.from, t.host, SPAN);
    for (int i = 0; i < CASES; i++) {
        check_case(&t);
    }
    for (int form = 0; form < 3; form++) {
        measure(&t, blocks, form);
    }
    free(t.host);
    free(t.expected);
    free(t.got);
    printf("test_device_pack: %s: %ld checks, %ld failed\n", name, t.checks, t.failures);
    return t.failures == 0 ? 0 : 1;
}
