/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The segments of a scan, and where each of them is.
 */
#include "mca_coll_gpufifo/between/scan.h"

/* A segment has up to so many bytes, whole vectors of the kernel's; so many segments are under way from rank to rank. */
enum { SEGMENT_BYTES = 1 << 20, VECTOR_ELEMENTS = 32, AT_ONCE = 4 };

/* A call under way. */
struct run {
    struct gf_between_scan *s;
    int rank, segments;
    int behind[AT_ONCE];               /* messages up to the receive of a segment, by its slot */
    struct gf_messages messages;
};

/* Where a segment is. */
struct place {
    const struct gf_mapped_buffer *buffer;
    size_t offset;
};

static size_t offset_of(const struct run *run, int segment)
{
    return (size_t)segment * run->s->segment;
}

static size_t bytes_of(const struct run *run, int segment)
{
    size_t rest = run->s->send.bytes - offset_of(run, segment);

    return rest < run->s->segment ? rest : run->s->segment;
}

static struct place slot_of(const struct run *run, size_t first, int segment)
{
    return (struct place){&run->s->reducer.scratch, first + (size_t)(segment % AT_ONCE) * gf_reducer_line(run->s->segment)};
}

/* What the ranks before this one have. */
static struct place comes_to(const struct run *run, int segment)
{
    return run->s->keeps ? slot_of(run, 0, segment) : (struct place){&run->s->recv, offset_of(run, segment)};
}

/* With what this one has. */
static struct place goes_from(const struct run *run, int segment)
{
    return run->s->exclusive ? slot_of(run, run->s->goes, segment) : (struct place){&run->s->recv, offset_of(run, segment)};
}

static char *address_of(struct place place)
{
    return place.buffer->address + place.offset;
}

static void find_part(struct gf_between_scan *s, ompi_communicator_t *comm)
{
    size_t vector = gf_type_size(s->reducer.type) * VECTOR_ELEMENTS;

    s->receives = ompi_comm_rank(comm) > 0;
    s->sends = ompi_comm_rank(comm) < ompi_comm_size(comm) - 1;
    s->segment = SEGMENT_BYTES / vector * vector;
    s->segment = s->segment < s->send.bytes ? s->segment : s->send.bytes;
    s->keeps = s->receives && (!s->exclusive || (s->sends && s->send.address == s->recv.address));
}

const char *gf_between_scan_prepare(struct gf_between_scan *s, mca_coll_gpufifo_module_t *module)
{
    const char *reason = gf_reducer_obstacle(&s->reducer, &s->send, &s->recv);

    find_part(s, module->comm);
    size_t slots = AT_ONCE * gf_reducer_line(s->segment), bytes = s->keeps ? slots : 0;

    if (s->exclusive && s->receives && s->sends) {
        s->goes = bytes;
        bytes += slots;
    }
    return reason ? reason : gf_reducer_prepare(&s->reducer, s->send.where.ordinal, bytes);
}

void gf_between_scan_release(struct gf_between_scan *s)
{
    if (s) {
        gf_reducer_release(&s->reducer);
    }
}

static void post_receive(struct run *run, int segment)
{
    struct place to = comes_to(run, segment);

    gf_messages_receive(&run->messages, to.buffer, to.offset, bytes_of(run, segment), run->rank - 1);
    run->behind[segment % AT_ONCE] = run->messages.posted;
}

static void copy(struct run *run, char *from, char *to, size_t bytes)
{
    void *input = from;

    if (from != to) {
        gf_reducer_reduce(&run->s->reducer, &run->messages, &input, 1, 0, to, bytes);
    }
}

/* The first rank's: its result, if it has one, is what it contributes. */
static void begin_segment(struct run *run, int segment)
{
    struct gf_between_scan *s = run->s;
    size_t offset = offset_of(run, segment), bytes = bytes_of(run, segment);

    gf_messages_wait(&run->messages, segment - AT_ONCE + 1);
    gf_messages_send(&run->messages, &s->send, offset, bytes, run->rank + 1);
    if (!s->exclusive) {
        copy(run, s->send.address + offset, s->recv.address + offset, bytes);
    }
}

/* Its receive was begun after what was sent from its slot before: so that has ended, too. */
static void pass_segment(struct run *run, int segment)
{
    struct gf_between_scan *s = run->s;
    size_t offset = offset_of(run, segment), bytes = bytes_of(run, segment);
    struct place comes = comes_to(run, segment);

    gf_messages_wait(&run->messages, run->behind[segment % AT_ONCE]);
    if (!s->exclusive || s->sends) {
        void *inputs[] = {address_of(comes), s->send.address + offset};
        struct place goes = goes_from(run, segment);

        gf_reducer_reduce(&s->reducer, &run->messages, inputs, 2, 1, address_of(goes), bytes);
        if (s->sends) {
            gf_messages_send(&run->messages, goes.buffer, goes.offset, bytes, run->rank + 1);
        }
    }
    if (s->exclusive) {
        copy(run, address_of(comes), s->recv.address + offset, bytes);
    }
    if (segment + AT_ONCE < run->segments) {
        post_receive(run, segment + AT_ONCE);
    }
}

int gf_between_scan_run(struct gf_between_scan *s, mca_coll_gpufifo_module_t *module, const char *function)
{
    struct run run = {.s = s, .rank = ompi_comm_rank(module->comm),
                      .segments = (int)((s->send.bytes + s->segment - 1) / s->segment),
                      .messages = {.comm = module->comm, .function = function}};

    for (int segment = 0; segment < AT_ONCE && segment < run.segments && s->receives; segment++) {
        post_receive(&run, segment);
    }
    for (int segment = 0; segment < run.segments; segment++) {
        if (s->receives) {
            pass_segment(&run, segment);
        } else {
            begin_segment(&run, segment);
        }
    }
    return gf_messages_finish(&run.messages);
}
