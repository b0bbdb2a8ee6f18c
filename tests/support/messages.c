/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ends of device messages, for tests.
 */
#include "tests/support/messages.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TELL_BYTES = 4096 };

gf_status gftest_messages_open(struct gftest_rank *rank, const char *driver, const struct gf_pull_config *config,
                               struct gftest_messages *m, struct gf_reason *why)
{
    *m = (struct gftest_messages){ .rank = rank };
    gf_status status = gf_driver_open(driver, &m->driver, why);

    if (status == GF_OK) {
        status = gf_device_open(m->driver, 0, &m->device, why);
    }
    if (status == GF_OK) {
        status = gf_device_stream_create(m->device, &m->stream, why);
    }
    if (status == GF_OK) {
        status = gf_imports_create(m->device, &m->imports, why);
    }
    if (status == GF_OK) {
        status = gf_offer_board_create(m->imports, config, &m->board, why);
    }
    return status == GF_OK ? gf_pull_engine_create(m->imports, config, &m->engine, why) : status;
}

struct gf_pull_config gftest_pull_config(void)
{
    struct gf_pull_config config;

    gf_pull_config_default(&config);
    config.patience_us = 0;
    config.start_us = 1000000;
    config.block_bytes = 512;
    return config;
}

gf_status gftest_end_open(struct gftest_rank *rank, const struct gf_pull_config *config, struct gftest_messages *m)
{
    struct gf_reason why = { "" };
    gf_status status = gftest_messages_open(rank, "emulated", config, m, &why);

    if (status != GF_OK) {
        fprintf(stderr, "rank %d: %s\n", rank->rank, why.text);
        return status;
    }
    m->device->caps.concurrent_processes = true;
    return GF_OK;
}

void gftest_messages_close(struct gftest_messages *m)
{
    gf_pull_engine_destroy(m->engine);
    gf_imports_destroy(m->imports);
    gf_offer_board_destroy(m->board);
    gf_device_stream_destroy(m->device, m->stream);
    gf_device_close(m->device);
}

void *gftest_alloc(struct gftest_messages *m, enum gf_memory_kind kind, size_t bytes)
{
    void *address = NULL;

    switch (kind) {
    case GF_MEMORY_HOST:
        return calloc(1, bytes);
    case GF_MEMORY_PINNED:
        return gf_device_pinned_alloc(m->device, bytes, &address, NULL) == GF_OK ? address : NULL;
    case GF_MEMORY_MANAGED:
        gf_device_managed_alloc(m->device, bytes, &address, NULL);
        break;
    case GF_MEMORY_DEVICE:
        gf_device_alloc(m->device, bytes, &address, NULL);
        break;
    case GF_MEMORY_INVALID:
        break;
    }
    if (address) {
        gf_device_fill(m->device, m->stream, address, 0, bytes);
        gf_device_stream_sync(m->device, m->stream);
    }
    return address;
}

void gftest_free(struct gftest_messages *m, enum gf_memory_kind kind, void *address)
{
    switch (kind) {
    case GF_MEMORY_HOST: free(address); break;
    case GF_MEMORY_PINNED: gf_device_pinned_free(m->device, address); break;
    case GF_MEMORY_MANAGED: gf_device_managed_free(m->device, address); break;
    case GF_MEMORY_DEVICE: gf_device_free(m->device, address); break;
    case GF_MEMORY_INVALID: break;
    }
}

static unsigned char byte_at(uint64_t seed, size_t i)
{
    uint64_t z = (seed + i / 8) * 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 29) * 0xbf58476d1ce4e5b9ull;
    return (unsigned char)((z ^ z >> 32) >> i % 8 * 8);
}

static bool move(struct gftest_messages *m, void *to, const void *from, size_t bytes)
{
    return gf_device_copy(m->device, m->stream, to, from, bytes) == GF_OK && gf_device_stream_sync(m->device, m->stream) == GF_OK;
}

void gftest_write(struct gftest_messages *m, void *to, size_t bytes, uint64_t seed)
{
    unsigned char *image = malloc(bytes);

    for (size_t i = 0; image && i < bytes; i++) {
        image[i] = byte_at(seed, i);
    }
    if (!image || !move(m, to, image, bytes)) {
        fprintf(stderr, "%zu bytes cannot be written\n", bytes);
        exit(1);
    }
    free(image);
}

bool gftest_holds(struct gftest_messages *m, const void *from, size_t bytes, uint64_t seed)
{
    unsigned char *image = malloc(bytes);
    size_t right = 0;

    if (image && move(m, image, from, bytes)) {
        while (right < bytes && image[right] == byte_at(seed, right)) {
            right++;
        }
    }
    if (right < bytes) {
        fprintf(stderr, "byte %zu of %zu is wrong\n", right, bytes);
    }
    free(image);
    return right == bytes;
}

gf_status gftest_offer(struct gftest_messages *m, const void *address, size_t bytes, bool may_move, struct gf_offer_name *name,
                       struct gf_reason *why)
{
    struct gf_pointer pointer;
    gf_status status = gf_driver_pointer(m->driver, address, &pointer);

    return status == GF_OK ? gf_offer_make(m->board, &pointer, address, bytes, may_move, name, why) : status;
}

void gftest_turn(struct gftest_messages *m)
{
    struct gf_reason why = { "" };

    gf_pull_engine_progress(m->engine);
    if (gf_offer_board_progress(m->board, &why) != GF_OK) {
        fprintf(stderr, "the board's progress fails: %s\n", why.text);
        exit(1);
    }
    sched_yield();
}

gf_status gftest_wait_offer(struct gftest_messages *m, uint32_t index, struct gf_reason *why)
{
    gf_status status;

    while ((status = gf_offer_poll(m->board, index, why)) == GF_IN_PROGRESS) {
        gftest_turn(m);
    }
    return status;
}

gf_status gftest_wait_pull(struct gftest_messages *m, struct gf_pull *pull, struct gf_reason *why)
{
    gf_status status;

    while ((status = gf_pull_poll(m->engine, pull, why)) == GF_IN_PROGRESS) {
        gftest_turn(m);
    }
    return status;
}

gf_status gftest_fetch(struct gftest_messages *m, const struct gf_offer_name *name, void *to, size_t bytes,
                       struct gf_reason *why)
{
    struct gf_pull pull;
    gf_status status = gf_pull_start(m->engine, name, to, NULL, bytes, &pull, why);

    return status == GF_OK ? gftest_wait_pull(m, &pull, why) : status;
}

void gftest_tell(struct gftest_messages *m, int from, void *data, size_t bytes)
{
    struct gf_bootstrap *bootstrap = &m->rank->bootstrap;
    unsigned char all[GFTEST_MAX_RANKS * TELL_BYTES];

    if (bytes > TELL_BYTES || bootstrap->allgather(bootstrap->ctx, data, all, bytes) != GF_OK) {
        fprintf(stderr, "rank %d: the ranks cannot tell one another %zu bytes\n", m->rank->rank, bytes);
        exit(1);
    }
    memcpy(data, all + (size_t)from * bytes, bytes);
}

uint64_t gftest_random(uint64_t *state, uint64_t below)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (z ^ z >> 31) % below;
}
