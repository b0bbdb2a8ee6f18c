/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From the layouts of a call to a block for each rank and from each.
 */
#include "mca_coll_gpufifo/mapped_blocks.h"

#include <string.h>

#include "mca_coll_gpufifo/device_memory.h"
#include "mca_coll_gpufifo/mapped_buffer.h"
#include "mca_coll_gpufifo/neighbours.h"

/* Whom the parts of one side are for, or from. */
enum reach {
    EACH,                          /* a part for each peer */
    ALL,                           /* one part, for all of them */
    ROOT                           /* one part, for the root */
};

static const struct {
    enum reach give, take;
    bool neighbours;               /* the peers are these; else all ranks */
} kinds[] = {
    [GF_EXCHANGE_BCAST] = {ALL, ROOT, false}, [GF_EXCHANGE_ALLGATHER] = {ALL, EACH, false},
    [GF_EXCHANGE_ALLTOALL] = {EACH, EACH, false}, [GF_EXCHANGE_GATHER] = {ROOT, EACH, false},
    [GF_EXCHANGE_SCATTER] = {EACH, ROOT, false}, [GF_EXCHANGE_NEIGHBOR_ALLGATHER] = {ALL, EACH, true},
    [GF_EXCHANGE_NEIGHBOR_ALLTOALL] = {EACH, EACH, true},
};

/* One side of a call. */
struct side {
    const struct gf_layout *layout;
    enum reach reach;
    bool neighbours, sent;
    int root;
    ompi_communicator_t *comm;
    bool packed;                   /* it has gaps: its parts lie one after the other in memory of ours */
};

/* The part's bytes, if they have no gaps, at a distance from the buffer's address. */
static bool find_block(const struct gf_layout *layout, int index, struct gf_block *block)
{
    struct gf_layout_part part = gf_layout_part(layout, index);

    *block = (struct gf_block){0, 0};
    if (part.count == 0 || part.type->super.size == 0) {
        return true;
    }
    *block = (struct gf_block){part.offset + part.type->super.true_lb, part.count * part.type->super.size};
    return opal_datatype_is_contiguous_memory_layout(&part.type->super, (int32_t)(part.count > 1 ? 2 : 1));
}

static bool is_significant(const struct side *side, int rank, int part)
{
    return rank >= 0 && (side->reach != ROOT || rank == side->root) && part >= side->layout->begin && part < side->layout->end;
}

/* Where one side's blocks are, by rank. Null, or what is against it. gaps: some block has gaps; then they are to be looked for
 * again, packed. */
static const char *look_for_blocks(const struct side *side, struct gf_block *blocks, bool *gaps)
{
    ptrdiff_t end = 0;
    int ranks = ompi_comm_size(side->comm), peers = side->neighbours ? gf_neighbours_count(side->comm, side->sent) : ranks;

    memset(blocks, 0, (size_t)ranks * sizeof *blocks);
    for (int peer = 0; peer < peers; peer++) {
        int rank = side->neighbours ? gf_neighbours_rank(side->comm, side->sent, peer) : peer;
        int part = side->reach == EACH ? peer : side->layout->begin;
        struct gf_block block = {0, 0};

        if (is_significant(side, rank, part)) {
            *gaps |= !find_block(side->layout, part, &block);
        }
        if (side->packed) {
            block.offset = side->reach == EACH ? end : 0;
            end += (ptrdiff_t)block.bytes;
        }
        if (block.bytes > 0 && blocks[rank].bytes > 0) {
            return "one rank is several neighbours of this one";
        }
        if (block.bytes > 0) {
            blocks[rank] = block;
        }
    }
    return NULL;
}

static const char *find_blocks(struct side *side, struct gf_block *blocks)
{
    bool gaps = false;
    const char *against = look_for_blocks(side, blocks, &gaps);

    if (against || !gaps) {
        return against;
    }
    side->packed = true;
    return look_for_blocks(side, blocks, &gaps);
}

/* The buffer that has these blocks, and the blocks as distances from where the first one begins. False: it is not in device
 * memory, or not in one allocation. */
static bool place_blocks(void *user, const struct gf_block *found, int ranks, struct gf_mapped_buffer *buffer,
                         struct gf_registry_block *blocks)
{
    ptrdiff_t low = PTRDIFF_MAX, high = PTRDIFF_MIN;

    for (int rank = 0; rank < ranks; rank++) {
        ptrdiff_t end = found[rank].offset + (ptrdiff_t)found[rank].bytes;

        if (found[rank].bytes > 0) {
            low = found[rank].offset < low ? found[rank].offset : low;
            high = end > high ? end : high;
        }
    }
    for (int rank = 0; rank < ranks; rank++) {
        blocks[rank].offset = found[rank].bytes ? (uint64_t)(found[rank].offset - low) : 0;
        blocks[rank].bytes = found[rank].bytes;
    }
    if (low > high) {
        *buffer = (struct gf_mapped_buffer){0};
        return true;
    }
    buffer->address = gf_layout_address(user, low);
    buffer->bytes = (size_t)(high - low);
    return gf_mapped_buffer_locate(buffer);
}

static const char *plan_packing(const struct side *give, const struct side *take, const struct gf_stage_buffer *from,
                                const struct gf_stage_buffer *to, bool swaps, struct gf_mapped_packing *packing)
{
    const char *against = give->packed && !swaps ? gf_mapped_pack_plan_send(packing, from) : NULL;

    return against || !take->packed ? against : gf_mapped_pack_plan_recv(packing, to, swaps);
}

/* What lies where it belongs already is not moved; but of packed data all is unpacked, so all comes. */
static void keep_own(int rank, bool in_place, bool unpacked, struct gf_block *given, struct gf_block *taken)
{
    if (in_place && !unpacked) {
        given[rank].bytes = taken[rank].bytes = 0;
    }
}

const char *gf_mapped_blocks(const struct gf_stage_call *stage, enum gf_exchange_kind kind, int root, ompi_communicator_t *comm,
                             struct gf_exchange *x, struct gf_mapped_packing *packing)
{
    bool send_in_place = stage->send.user == MPI_IN_PLACE, recv_in_place = stage->recv.user == MPI_IN_PLACE;
    const struct gf_stage_buffer *from = kind == GF_EXCHANGE_BCAST || send_in_place ? &stage->recv : &stage->send;
    int ranks = ompi_comm_size(comm);
    struct side give = {&from->in, kinds[kind].give, kinds[kind].neighbours, true, root, comm, false};
    struct side take = {&stage->recv.out, kinds[kind].take, kinds[kind].neighbours, false, root, comm, false};
    struct gf_block given[GF_MAX_RANKS], taken[GF_MAX_RANKS];
    const char *against = find_blocks(&give, given);

    against = against ? against : find_blocks(&take, taken);
    x->in_place = send_in_place && kind == GF_EXCHANGE_ALLTOALL;
    against = against ? against : plan_packing(&give, &take, from, &stage->recv, x->in_place, packing);
    if (against) {
        return against;
    }
    keep_own(ompi_comm_rank(comm), from == &stage->recv || recv_in_place, take.packed, given, taken);
    x->what[0] = (uint64_t)kind << 32 | x->in_place;
    x->what[1] = (uint64_t)root;

    struct gf_device_piece *sent = x->in_place ? packing->recv : packing->send;

    if (!place_blocks(sent ? sent->address : from->user, given, ranks, &x->send, x->give) ||
        !place_blocks(packing->recv ? packing->recv->address : stage->recv.user, taken, ranks, &x->recv, x->take)) {
        return "this rank's buffers are not in one allocation of device memory each";
    }
    if (x->send.address && x->recv.address && x->send.where.ordinal != x->recv.where.ordinal) {
        return "this rank's buffers are on two devices";
    }
    return NULL;
}
