/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks' memory and connections.
 */
#include "tests/gpu/kernel_ranks.h"

#include <stdio.h>
#include <stdlib.h>

/* Where kernels cannot run at once (a tool that runs one after the other), they give up instead of waiting for ever. */
#define DEADLINE_NS 20000000000u

void kr_need(const struct kr *t, gf_status status, const char *what, const struct gf_reason *why)
{
    if (status != GF_OK) {
        fprintf(stderr, "%s: %s: %s (%s)\n", t->program, what, gf_status_string(status), why ? why->text : "");
        exit(2);
    }
}

void *kr_address(const struct kr *t, const void *user)
{
    return gf_device_kernel_address(t->device, user);
}

void *kr_device(struct kr *t, size_t bytes)
{
    struct gf_reason why = { "" };
    void *address;

    kr_need(t, gf_device_alloc(t->device, bytes, &address, &why), "alloc", &why);
    kr_need(t, gf_device_fill(t->device, t->rank[0].stream, address, 0, bytes), "fill", NULL);
    kr_need(t, gf_device_stream_sync(t->device, t->rank[0].stream), "sync", NULL);
    return address;
}

void *kr_pinned(struct kr *t, size_t bytes)
{
    struct gf_reason why = { "" };
    void *address;

    kr_need(t, gf_device_pinned_alloc(t->device, bytes, &address, &why), "pinned alloc", &why);
    return address;
}

void kr_copy(struct kr *t, void *to, const void *from, size_t bytes)
{
    kr_need(t, gf_device_copy(t->device, t->rank[0].stream, to, from, bytes), "copy", NULL);
    kr_need(t, gf_device_stream_sync(t->device, t->rank[0].stream), "sync", NULL);
}

static size_t fifos_bytes(const struct kr_shape *shape)
{
    return (size_t)shape->channels * GF_FIFO_DEPTH * shape->fifo_slot;
}

static void make_rank(struct kr *t, int r)
{
    const struct kr_shape *shape = &t->shape;
    struct kr_rank *m = &t->rank[r];

    m->send = kr_device(t, shape->bytes);
    m->recv = kr_device(t, shape->bytes);
    m->lines = kr_device(t, 2 * 2 * (size_t)shape->ranks * shape->line_slot);
    m->fifo = kr_device(t, fifos_bytes(shape) + (size_t)shape->channels * GF_LINE);
    m->heads = kr_device(t, (size_t)shape->channels * GF_LINE);
    m->flags = kr_device(t, (size_t)shape->ranks * GF_MAX_CHANNELS * GF_LINE);
    m->conns = kr_device(t, 2 * (size_t)shape->channels * sizeof *m->conns);
    m->gate = kr_device(t, sizeof(struct gf_pull_gate));
    m->blocks_done = kr_device(t, GF_LINE);
    m->parts = kr_pinned(t, 2 * sizeof *m->parts);
    m->done = kr_pinned(t, GF_LINE);
}

/* The two ends of the FIFO from `sender` into `receiver`: the same words. */
static struct gf_conn make_conn(struct kr *t, int sender, int receiver, int channel)
{
    char *fifo = kr_address(t, t->rank[receiver].fifo);
    char *tail = fifo + fifos_bytes(&t->shape) + channel * GF_LINE;

    return (struct gf_conn){
        .head = (uint64_t *)((char *)kr_address(t, t->rank[sender].heads) + channel * GF_LINE),
        .tail = (uint64_t *)tail,
        .address = (uint64_t *)((char *)kr_address(t, t->rank[sender].heads) + channel * GF_LINE) + 2,
        .size = (uint32_t *)(tail + GF_LINE / 2),
        .slots = fifo + (size_t)channel * GF_FIFO_DEPTH * t->shape.fifo_slot,
        .slot_bytes = t->shape.fifo_slot,
    };
}

static void make_conns(struct kr *t)
{
    int ranks = t->shape.ranks, channels = t->shape.channels;

    for (int r = 0; r < ranks; r++) {
        struct gf_conn conns[2 * GF_MAX_CHANNELS];

        for (int c = 0; c < channels; c++) {
            conns[c] = make_conn(t, r, (r + 1) % ranks, c);
            conns[channels + c] = make_conn(t, (r + ranks - 1) % ranks, r, c);
        }
        kr_copy(t, t->rank[r].conns, conns, 2 * (size_t)channels * sizeof *conns);
    }
}

void kr_create(struct kr *t, const char *program, const char *driver, const struct kr_shape *shape)
{
    struct gf_reason why = { "" };
    gf_driver *opened;

    *t = (struct kr){ .program = program, .shape = *shape, .ticket = 1, .epoch = 1 };
    kr_need(t, gf_driver_open(driver, &opened, &why), driver, &why);
    kr_need(t, gf_device_open(opened, 0, &t->device, &why), driver, &why);
    for (int r = 0; r < shape->ranks; r++) {
        kr_need(t, gf_device_stream_create(t->device, &t->rank[r].stream, &why), "stream", &why);
    }
    t->abort = kr_pinned(t, GF_LINE);
    for (int r = 0; r < shape->ranks; r++) {
        make_rank(t, r);
    }
    make_conns(t);
}

bool kr_check(struct kr *t, bool right, const char *kernel, const char *what, int rank)
{
    t->checks++;
    if (!right && t->failures++ < 10) {
        fprintf(stderr, "%s: %s, %s, rank %d: wrong\n", t->program, kernel, what, rank);
    }
    return right;
}

void kr_ended(struct kr *t, int r, const char *kernel, const char *what)
{
    kr_need(t, gf_device_stream_sync(t->device, t->rank[r].stream), kernel, NULL);
    kr_check(t, t->rank[r].done[0] == t->ticket, kernel, "ticket", r);
    kr_check(t, (uint32_t)t->rank[r].done[KR_ERROR] == GF_KERNEL_OK, kernel, what, r);
}

struct gf_task kr_task(struct kr *t, int r)
{
    struct kr_rank *m = &t->rank[r];
    uint64_t *done = kr_address(t, m->done);

    return (struct gf_task){
        .rank = (uint32_t)r, .ranks = (uint32_t)t->shape.ranks, .abort = kr_address(t, t->abort), .deadline_ns = DEADLINE_NS,
        .blocks_done = kr_address(t, m->blocks_done), .done = done, .error = (uint32_t *)&done[KR_ERROR], .ticket = t->ticket,
    };
}

void kr_launch(struct kr *t, int r, enum gf_kernel kernel, int blocks, const void *work, size_t bytes)
{
    struct gf_reason why = { "" };
    gf_status status = gf_device_launch(t->device, t->rank[r].stream, kernel, blocks, t->shape.threads, work, bytes, &why);

    t->launched[kernel] = true;
    kr_need(t, status, "launch", &why);
}
