/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators for tests.
 */
#include "tests/support/core_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/host_sequenced.h"
#include "proxy/proxy.h"
#include "tests/unit/scalar.h"
#include "transport/transport.h"

enum { MARGIN = 64, CANARY = 0x5c };   /* bytes before and after each buffer */

struct gf_config gftest_config(void)
{
    return (struct gf_config){ .one_shot_bytes = 256 << 10, .ll_slot_bytes = 64 << 10, .simple_slot_bytes = 128 << 10,
                               .agent_blocks = 1, .agent_start_us = 1000000 };
}

static void write_line(void *ctx, enum gf_log_level level, const char *line)
{
    struct gftest_comm *c = ctx;

    if (level == GF_LOG_WARN) {
        c->warnings++;
        snprintf(c->warning, sizeof c->warning, "%s", line);
    } else if (level == GF_LOG_PATH) {
        c->paths++;
        snprintf(c->path, sizeof c->path, "%s", line);
    }
}

static gf_status create_comm(struct gftest_rank *rank, const struct gf_config *config, struct gftest_comm *c,
                             struct gf_reason *why)
{
    c->log = (struct gf_log){ .write = write_line, .ctx = c, .verbose = GF_LOG_PATH };
    const struct gf_comm_setup setup = {
        .config = config, .log = &c->log, .name = "test", .bootstrap = rank->bootstrap, .device = c->device,
        .transports = c->transports, .net = c->net, .net_adapters = c->net_adapters, .host_executor = &gf_host_sequenced,
        .agent = c->agent, .imports = c->imports, .proxy = c->proxy,
    };

    return gf_comm_create(&setup, &c->comm, why);
}

gf_status gftest_comm_open_over(struct gftest_rank *rank, const struct gf_config *config,
                                const struct gf_transport *const *transports, struct gf_net *net, int net_adapters,
                                struct gftest_comm *c, struct gf_reason *why)
{
    gf_driver *driver;

    *c = (struct gftest_comm){ .transports = transports, .net = net, .net_adapters = net_adapters };
    gf_status status = gf_driver_open("emulated", &driver, why);

    if (status == GF_OK) {
        status = gf_device_open(driver, 0, &c->device, why);
    }
    if (status == GF_OK) {
        status = gf_device_stream_create(c->device, &c->stream, why);
    }
    if (status == GF_OK) {
        status = gf_proxy_create(c->device, &c->proxy, why);
    }
    if (status == GF_OK) {
        status = gf_imports_create(c->device, &c->imports, why);
    }
    if (status == GF_OK && config->agent != GF_AGENT_OFF) {
        status = gf_agent_create(c->device, config, &c->agent, why);
    }
    return status == GF_OK ? create_comm(rank, config, c, why) : status;
}

gf_status gftest_comm_open(struct gftest_rank *rank, const struct gf_config *config, struct gftest_comm *c, struct gf_reason *why)
{
    return gftest_comm_open_over(rank, config, gf_transports, NULL, 0, c, why);
}

gf_status gftest_comm_join(struct gftest_rank *rank, const struct gf_config *config, const struct gftest_comm *other,
                           struct gftest_comm *c, struct gf_reason *why)
{
    *c = (struct gftest_comm){ .device = other->device, .stream = other->stream, .proxy = other->proxy, .imports = other->imports,
                               .agent = other->agent, .joined = true,
                               .transports = other->transports, .net = other->net, .net_adapters = other->net_adapters };
    return create_comm(rank, config, c, why);
}

void gftest_comm_close(struct gftest_comm *c)
{
    gf_comm_destroy(c->comm);
    c->comm = NULL;
    while (c->kept_count > 0) {
        gf_device_free(c->device, c->kept[--c->kept_count]);
    }
    if (c->joined) {
        return;
    }
    gf_proxy_destroy(c->proxy);
    gf_imports_destroy(c->imports);
    gf_agent_destroy(c->agent);
    gf_device_stream_destroy(c->device, c->stream);
    gf_device_close(c->device);
}

/* A device buffer with margins, and its image on the host. */
struct buffer {
    unsigned char *image;
    void *memory;                  /* user address of the allocation */
    size_t offset, bytes, whole;   /* of the elements in it; of all */
};

static gf_status move(struct gftest_comm *c, void *to, const void *from, size_t bytes)
{
    gf_status status = gf_device_copy(c->device, c->stream, to, from, bytes);

    return status == GF_OK ? gf_device_stream_sync(c->device, c->stream) : status;
}

static bool buffer_open(struct gftest_comm *c, struct buffer *b, const struct gftest_allreduce *what)
{
    size_t element = gf_type_size(what->type);

    b->offset = MARGIN + what->offset * element;
    b->bytes = what->count * element;
    b->whole = b->offset + b->bytes + MARGIN;
    b->image = malloc(b->whole);
    memset(b->image, CANARY, b->whole);
    return gf_device_alloc(c->device, b->whole, &b->memory, NULL) == GF_OK;
}

static void buffer_close(struct gftest_comm *c, struct buffer *b)
{
    if (c->keeps && c->kept_count < GFTEST_KEPT) {
        c->kept[c->kept_count++] = b->memory;
    } else {
        gf_device_free(c->device, b->memory);
    }
    free(b->image);
}

static bool margins_are_whole(const struct buffer *b)
{
    for (size_t i = 0; i < b->whole; i++) {
        if ((i < b->offset || i >= b->offset + b->bytes) && b->image[i] != CANARY) {
            return false;
        }
    }
    return true;
}

static void fill(void *elements, const struct gftest_allreduce *what, int rank)
{
    uint64_t random = what->seed * 64 + (uint64_t)rank + 1;

    memset(elements, 0, what->count * gf_type_size(what->type));
    scalar_fill(what->type, what->op, SCALAR_EXACT, elements, what->count, &random);
}

/* The result, in rank order. */
static unsigned char *reference(const struct gftest_allreduce *what, int ranks)
{
    size_t element = gf_type_size(what->type), bytes = what->count * element + 1;
    unsigned char *result = malloc(bytes), *next = malloc(bytes);

    fill(result, what, 0);
    for (int r = 1; r < ranks; r++) {
        fill(next, what, r);
        for (size_t i = 0; i < what->count; i++) {
            scalar_reduce(what->type, what->op, result + i * element, result + i * element, next + i * element);
        }
    }
    free(next);
    return result;
}

static int compare(struct gftest_rank *rank, const struct gftest_allreduce *what, const struct buffer *out)
{
    size_t element = gf_type_size(what->type), wrong = 0, first = 0;
    unsigned char *expected = reference(what, rank->ranks);

    for (size_t i = what->count; i-- > 0; ) {
        if (!scalar_equal(what->type, out->image + out->offset + i * element, expected + i * element, false)) {
            wrong++;
            first = i;
        }
    }
    free(expected);
    GFTEST_CHECK(rank, wrong == 0, "%s of %zu %s, seed %llu: %zu elements are wrong, the first is %zu", gf_op_name(what->op),
                 what->count, gf_type_name(what->type), (unsigned long long)what->seed, wrong, first);
    GFTEST_CHECK(rank, margins_are_whole(out), "%s of %zu %s", gf_op_name(what->op), what->count, gf_type_name(what->type));
    return 0;
}

static int run_and_compare(struct gftest_rank *rank, struct gftest_comm *c, const struct gftest_allreduce *what,
                           struct buffer *in, struct buffer *out)
{
    struct gf_reason why = { "" };
    char *send = (char *)in->memory + in->offset, *recv = (char *)out->memory + out->offset;

    fill(in->image + in->offset, what, rank->rank);
    GFTEST_CHECK(rank, move(c, in->memory, in->image, in->whole) == GF_OK);
    if (out != in) {
        GFTEST_CHECK(rank, move(c, out->memory, out->image, out->whole) == GF_OK);
    }
    gf_status status = gf_comm_allreduce(c->comm, &(struct gf_comm_buffers){.send = send, .recv = recv}, what->count, what->type,
                                         what->op, &why);

    GFTEST_CHECK(rank, status == GF_OK, "%s of %zu %s: %s: %s", gf_op_name(what->op), what->count, gf_type_name(what->type),
                 gf_status_string(status), why.text);
    GFTEST_CHECK(rank, move(c, out->image, out->memory, out->whole) == GF_OK);
    return compare(rank, what, out);
}

int gftest_allreduce(struct gftest_rank *rank, struct gftest_comm *c, const struct gftest_allreduce *what)
{
    struct buffer in, out;

    GFTEST_CHECK(rank, buffer_open(c, &in, what));
    if (what->in_place) {
        int result = run_and_compare(rank, c, what, &in, &in);

        buffer_close(c, &in);
        return result;
    }
    GFTEST_CHECK(rank, buffer_open(c, &out, what));
    int result = run_and_compare(rank, c, what, &in, &out);

    buffer_close(c, &in);
    buffer_close(c, &out);
    return result;
}

gf_status gftest_try_allreduce(struct gftest_comm *c, size_t count, struct gf_reason *why)
{
    void *buffer;
    gf_status status = gf_device_alloc(c->device, count * sizeof(float) + 1, &buffer, why);

    if (status != GF_OK) {
        return status;
    }
    status = gf_device_fill(c->device, c->stream, buffer, 0, count * sizeof(float));
    if (status == GF_OK) {
        status = gf_device_stream_sync(c->device, c->stream);
    }
    if (status == GF_OK) {
        status = gf_comm_allreduce(c->comm, &(struct gf_comm_buffers){.send = buffer, .recv = buffer}, count, GF_FLOAT, GF_SUM,
                                   why);
    }
    gf_device_free(c->device, buffer);
    return status;
}
