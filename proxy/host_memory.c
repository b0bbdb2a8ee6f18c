/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sharing the host memory of the host-sequenced executor.
 */
#include "proxy/host_memory.h"

#include <stdlib.h>

#include "core/fault.h"

/* A piece is large enough that a copy engine is busy (a few hundred µs at 4 MiB), small enough that 64 ranks do not eat a node:
 * 32 FIFO slots, at most 4 MiB, and at most 32 MiB over all ranks. */
enum { PIECE_SLOTS = 32, PIECE_MOST = 4 << 20, ALL_PIECES_MOST = 32 << 20 };

static size_t choose_piece_bytes(const struct gf_config *config, int ranks)
{
    size_t bytes = config->simple_slot_bytes * PIECE_SLOTS;

    if (bytes > PIECE_MOST) {
        bytes = PIECE_MOST;
    }
    if (bytes > (size_t)(ALL_PIECES_MOST / ranks)) {
        bytes = (size_t)(ALL_PIECES_MOST / ranks);
    }
    return bytes / GF_LINE * GF_LINE;
}

static size_t segment_bytes(const struct gf_host_slots *m)
{
    return GF_LINE + 4 * m->piece_bytes;
}

struct gf_host_counters *gf_host_slots_counters(const struct gf_host_slots *m, int rank)
{
    return m->segments[rank].address;
}

char *gf_host_slots_input(const struct gf_host_slots *m, int rank, uint64_t piece)
{
    return (char *)m->segments[rank].address + GF_LINE + piece % 2 * m->piece_bytes;
}

char *gf_host_slots_result(const struct gf_host_slots *m, int rank, uint64_t piece)
{
    return (char *)m->segments[rank].address + GF_LINE + (2 + piece % 2) * m->piece_bytes;
}

static gf_status create_own(struct gf_host_slots *m, const struct gf_config *config, struct gf_segment_name *name,
                            struct gf_reason *why)
{
    struct gf_fault fault;
    gf_status status = gf_fault_parse(config->fault, m->rank, &fault, why);

    if (status != GF_OK) {
        return status;
    }
    m->segments = calloc((size_t)m->ranks, sizeof *m->segments);
    if (!m->segments) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    if (gf_fault_hits(&fault, GF_FAULT_HOST_SEGMENT, why)) {
        return GF_ERR_NO_MEMORY;
    }
    struct gf_segment *own = &m->segments[m->rank];

    status = gf_segment_create(segment_bytes(m), own, name, why);
    if (status == GF_OK) {
        status = gf_device_host_register(m->device, own->address, own->bytes, why);
        m->own_registered = status == GF_OK;
    }
    return status;
}

static gf_status attach_peers(struct gf_host_slots *m, const struct gf_segment_name *names, struct gf_reason *why)
{
    for (int r = 0; r < m->ranks; r++) {
        if (r == m->rank) {
            continue;
        }
        if (names[r].bytes < segment_bytes(m)) {
            gf_reason_set(why, "rank %d shares less host memory than expected: use one version of gpufifo on all ranks", r);
            return GF_ERR_UNSUPPORTED;
        }
        gf_status status = gf_segment_attach(&names[r], &m->segments[r], why);

        if (status != GF_OK) {
            return status;
        }
    }
    if (m->rank == 0) {
        return GF_OK;
    }
    gf_status status = gf_device_host_register(m->device, m->segments[0].address, m->segments[0].bytes, why);

    m->board_registered = status == GF_OK;
    return status;
}

/* Collective. Whatever failed where, all ranks take another path. */
static gf_status agree(const struct gf_bootstrap *bootstrap, gf_status status, struct gf_reason *why)
{
    return gf_bootstrap_agree(bootstrap, status == GF_OK ? GF_OK : GF_ERR_UNSUPPORTED, why);
}

gf_status gf_host_slots_open(struct gf_host_slots *m, const struct gf_config *config, const struct gf_bootstrap *bootstrap,
                              gf_device *device, struct gf_reason *why)
{
    struct gf_segment_name own = { .fd = -1 };
    struct gf_segment_name *names = calloc((size_t)bootstrap->ranks, sizeof *names);

    *m = (struct gf_host_slots){
        .device = device, .rank = bootstrap->rank, .ranks = bootstrap->ranks,
        .piece_bytes = choose_piece_bytes(config, bootstrap->ranks),
    };
    gf_status status = names ? create_own(m, config, &own, why) : GF_ERR_NO_MEMORY;

    status = agree(bootstrap, status, why);
    if (status == GF_OK) {
        status = bootstrap->allgather(bootstrap->ctx, &own, names, sizeof own);
        if (status != GF_OK) {
            gf_reason_set(why, "the ranks could not exchange messages: %s", gf_status_string(status));
        }
    }
    if (status == GF_OK) {
        status = agree(bootstrap, attach_peers(m, names, why), why);
    }
    free(names);
    if (status != GF_OK) {
        gf_host_slots_close(m);
    }
    return status;
}

void gf_host_slots_close(struct gf_host_slots *m)
{
    if (m->own_registered) {
        gf_device_host_unregister(m->device, m->segments[m->rank].address);
    }
    if (m->board_registered) {
        gf_device_host_unregister(m->device, m->segments[0].address);
    }
    for (int r = 0; m->segments && r < m->ranks; r++) {
        gf_segment_close(&m->segments[r]);
    }
    free(m->segments);
    *m = (struct gf_host_slots){ .device = m->device };
}
