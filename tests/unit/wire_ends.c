/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ends of lanes, opened, connected and closed.
 */
#include "wire_ends.h"

#include <stdio.h>
#include <stdlib.h>

static void write_log(void *ctx, enum gf_log_level level, const char *line)
{
    (void)ctx, (void)level;
    fprintf(stderr, "%s\n", line);
}

static const struct gf_log test_log = {.write = write_log, .verbose = GF_LOG_WARN};

struct gf_wire_config wire_config = {.gid_index = -1, .log = &test_log};

struct gf_wire *wire_open(void)
{
    struct gf_reason why = {""};
    struct gf_wire *wire = NULL;

    if (wire_tested->open(&wire_config, &wire, &why) != GF_OK) {
        fail_msg("%s", why.text);
    }
    return wire;
}

void wire_end_open(struct wire_end *end)
{
    struct gf_wire_range range = {.bytes = WIRE_MEMORY, .dmabuf = -1};
    struct gf_reason why = {""};

    end->wire = wire_open();
    range.address = aligned_alloc(4096, WIRE_MEMORY);
    assert_non_null(range.address);
    for (size_t i = 0; i < WIRE_MEMORY; i++) {
        ((char *)range.address)[i] = 0;
    }
    assert_int_equal(wire_tested->register_memory(end->wire, &range, &end->memory, &why), GF_OK);
    assert_int_equal(wire_tested->create(end->wire, 0, WIRE_LINES, &end->lane, &end->address, &why), GF_OK);
}

void wire_end_connect(struct wire_end *end, const struct gf_wire_address *theirs, struct gf_wire *progress)
{
    struct gf_reason why = {""};
    gf_status status;

    if (wire_tested->connect(end->lane, theirs, &why) != GF_OK) {
        fail_msg("%s", why.text);
    }
    while ((status = wire_tested->announce(end->lane, &end->memory)) == GF_NO_RESOURCE) {
        wire_tested->progress(end->wire);
        if (progress != NULL) {
            wire_tested->progress(progress);
        }
    }
    assert_int_equal(status, GF_OK);
}

void wire_end_close(struct wire_end *end)
{
    void *address = end->memory.address;

    if (end->lane != NULL) {
        wire_tested->destroy(end->lane, false);
    }
    wire_tested->forget(end->wire, &end->memory);
    wire_tested->close(end->wire);
    free(address);
}

static void place_of(const struct wire_end *end, struct gf_wire_place *place)
{
    *place = (struct gf_wire_place){(uintptr_t)end->memory.address, end->memory.key[0]};
}

/* From here on the ends know each other's keys. */
static void handshake(struct wire_pair *pair, struct wire_end *from, struct wire_end *to)
{
    uint32_t immediate;

    WIRE_BEGIN(pair, wire_tested->expect(to->lane));
    WIRE_BEGIN(pair, wire_tested->put_notify(from->lane, &from->memory, from->memory.address, &from->place, 1, 0, NULL));
    WIRE_UNTIL(pair, wire_tested->take(to->lane, &immediate));
    wire_pair_progress(pair);
}

int wire_pair_open(void **state)
{
    struct wire_pair *pair = calloc(1, sizeof *pair);

    assert_non_null(pair);
    wire_end_open(&pair->a);
    wire_end_open(&pair->b);
    wire_end_connect(&pair->a, &pair->b.address, pair->b.wire);
    wire_end_connect(&pair->b, &pair->a.address, pair->a.wire);
    place_of(&pair->a, &pair->b.place);
    place_of(&pair->b, &pair->a.place);
    handshake(pair, &pair->a, &pair->b);
    handshake(pair, &pair->b, &pair->a);
    *state = pair;
    return 0;
}

int wire_pair_close(void **state)
{
    struct wire_pair *pair = *state;

    wire_end_close(&pair->a);
    wire_end_close(&pair->b);
    free(pair);
    return 0;
}

void wire_pair_progress(struct wire_pair *pair)
{
    wire_tested->progress(pair->a.wire);
    wire_tested->progress(pair->b.wire);
}

void wire_send(struct wire_pair *pair, size_t from_offset, size_t to_offset, size_t bytes, uint32_t immediate,
               const struct gf_wire_ticket *ticket)
{
    struct gf_wire_place place = {pair->a.place.address + to_offset, pair->a.place.key};

    WIRE_BEGIN(pair, wire_tested->expect(pair->b.lane));
    WIRE_BEGIN(pair, wire_tested->put_notify(pair->a.lane, &pair->a.memory, pair->a.memory.address + from_offset, &place, bytes,
                                             immediate, ticket));
}

uint32_t wire_take(struct wire_pair *pair)
{
    uint32_t immediate = 0;

    WIRE_UNTIL(pair, wire_tested->take(pair->b.lane, &immediate));
    /* A turn for what the receiver may have to answer. */
    wire_pair_progress(pair);
    return immediate;
}
