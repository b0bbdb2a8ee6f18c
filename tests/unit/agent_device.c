/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of a device whose one kernel does not run.
 */
#include "tests/unit/agent_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/host_ordered.h"

static struct fake *fake_of(gf_device *device)
{
    return (struct fake *)(void *)device;
}

static gf_status fake_alloc(gf_device *device, size_t bytes, void **address, struct gf_reason *why)
{
    (void)device;
    (void)why;
    *address = aligned_alloc(GF_LINE, (bytes + GF_LINE - 1) / GF_LINE * GF_LINE);
    memset(*address, 0, bytes);
    return GF_OK;
}

static gf_status fake_free(gf_device *device, void *address)
{
    (void)device;
    free(address);
    return GF_OK;
}

static void *fake_address(gf_device *device, const void *address)
{
    (void)device;
    return (void *)(uintptr_t)address;
}

static gf_status fake_stream_create(gf_device *device, gf_stream **stream, struct gf_reason *why)
{
    (void)why;
    *stream = (gf_stream *)(void *)device;
    return GF_OK;
}

static void fake_stream_destroy(gf_device *device, gf_stream *stream)
{
    (void)device;
    (void)stream;
}

static gf_status fake_copy(gf_device *device, gf_stream *stream, void *to, const void *from, size_t bytes)
{
    (void)device;
    (void)stream;
    memcpy(to, from, bytes);
    return GF_OK;
}

static gf_status fake_query(gf_device *device, gf_stream *stream)
{
    struct fake *fake = fake_of(device);

    (void)stream;
    if (fake->done_at_query) {
        gf_host_publish(fake->work.done, fake->done_at_query);
    }
    return fake->query_status;
}

static gf_status fake_sync(gf_device *device, gf_stream *stream)
{
    struct fake *fake = fake_of(device);

    (void)stream;
    fake->syncs++;
    if (fake->left_at_sync && fake->launches > 0) {
        gf_host_publish(fake->work.left, fake->left_at_sync);
    }
    return GF_OK;
}

static gf_status fake_launch(gf_device *device, gf_stream *stream, enum gf_kernel kernel, int blocks, int threads,
                             const void *arguments, size_t bytes, struct gf_reason *why)
{
    struct fake *fake = fake_of(device);

    (void)stream;
    (void)threads;
    assert_int_equal(kernel, GF_KERNEL_AGENT);
    assert_int_equal(blocks, fake->blocks);
    assert_int_equal(bytes, sizeof fake->work);
    if (fake->launch_status != GF_OK) {
        gf_reason_set(why, "no launch today");
        return fake->launch_status;
    }
    memcpy(&fake->work, arguments, bytes);
    fake->launches++;
    return GF_OK;
}

static gf_status fake_fill(gf_device *device, gf_stream *stream, void *to, int byte, size_t bytes)
{
    (void)device;
    (void)stream;
    memset(to, byte, bytes);
    return GF_OK;
}

const struct gf_device_ops fake_ops = {
    .alloc = fake_alloc, .free = fake_free, .pinned_alloc = fake_alloc, .pinned_free = fake_free,
    .kernel_address = fake_address, .stream_create = fake_stream_create, .stream_destroy = fake_stream_destroy,
    .copy = fake_copy, .fill = fake_fill, .stream_query = fake_query, .stream_sync = fake_sync, .launch = fake_launch,
};
