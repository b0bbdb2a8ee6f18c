/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Greetings and answers, by which a link's two ends meet.
 */
#include <string.h>

#include "mca_coll_gpufifo/pt2pt/links_private.h"
#include "mca_coll_gpufifo/pt2pt/pml_request.h"

#include "opal/runtime/opal_progress.h"

enum { SETTLE_ROUNDS = 1000 };         /* MPI_Finalize must not hang on a greeting that does not come any more */

static ompi_communicator_t *world(void) { return &ompi_mpi_comm_world.comm; }

void gf_links_begin(struct gf_links *links, struct gf_link_way *way, int ordinal)
{
    way->ordinal = ordinal;
    links->pending++;
    atomic_store_explicit(&way->state, GF_LINK_WANTED, memory_order_release);
}

/* Lanes go by the adapters that both ends have: any other might be on a network of its own. */
static int adapters_of(const struct gf_links *links, const struct gf_link_way *way)
{
    int mine = gf_carrier_adapters(links->carrier);

    return way->adapters > 0 && way->adapters < mine ? way->adapters : mine;
}

/* Makes this end of the lane, and says so, or why not. */
static void introduce(struct gf_links *links, struct gf_link *link, struct gf_link_way *way)
{
    struct gf_link_greeting *said = &way->said;
    gf_status status = gf_links_carrier(links, way->ordinal, &way->why);

    *said = (struct gf_link_greeting){.failure = GF_OK};
    if (status == GF_OK) {
        said->adapters = adapters_of(links, way);
        status = gf_carrier_lane_create(links->carrier, link->peer, way == &link->out, said->adapters, &way->lane, &said->address,
                                        &way->why);
    }
    if (status == GF_OK) {
        snprintf(said->wire, sizeof said->wire, "%s", gf_carrier_wire(links->carrier));
    } else {
        said->failure = status;
        snprintf(said->why, sizeof said->why, "%.127s", way->why.text);
    }
}

/* What the other end said becomes the end of this lane. */
static gf_status meet(const struct gf_link *link, struct gf_link_way *way)
{
    struct gf_link_greeting *heard = &way->heard;

    heard->wire[sizeof heard->wire - 1] = heard->why[sizeof heard->why - 1] = '\0';
    if (heard->failure != GF_OK) {
        gf_reason_set(&way->why, "rank %d of MPI_COMM_WORLD: %s", link->peer, heard->why);
        return GF_ERR_UNSUPPORTED;
    }
    if (strcmp(heard->wire, way->said.wire) != 0) {
        gf_reason_set(&way->why, "rank %d of MPI_COMM_WORLD uses %s, this one uses %s: give coll_gpufifo_net a name instead of "
                      "auto", link->peer, heard->wire, way->said.wire);
        return GF_ERR_UNSUPPORTED;
    }
    return gf_carrier_lane_connect(way->lane, &heard->address, &way->why);
}

static void say(struct gf_link *link, struct gf_link_way *way, int tag)
{
    if (gf_pt2pt_saved()->pml_isend(&way->said, sizeof way->said, MPI_BYTE, link->peer, tag, MCA_PML_BASE_SEND_STANDARD, world(),
                                    &way->requests[0]) != OMPI_SUCCESS) {
        way->requests[0] = MPI_REQUEST_NULL;
    }
}

/* What cannot be heard has failed. */
static void hear(struct gf_link *link, struct gf_link_way *way, int tag)
{
    way->heard = (struct gf_link_greeting){.failure = GF_ERR_PEER, .why = "it could not be reached"};
    if (gf_pt2pt_saved()->pml_irecv(&way->heard, sizeof way->heard, MPI_BYTE, link->peer, tag, world(),
                                    &way->requests[1]) != OMPI_SUCCESS) {
        way->requests[1] = MPI_REQUEST_NULL;
    }
}

static bool are_complete(struct gf_link_way *way)
{
    gf_status status = GF_OK;
    size_t bytes;
    bool said = gf_pml_complete(&way->requests[0], &bytes, &status), heard = gf_pml_complete(&way->requests[1], &bytes, &status);

    if (status != GF_OK) {
        way->heard = (struct gf_link_greeting){.failure = status, .why = "it could not be reached"};
    }
    return said && heard;
}

static void finish(struct gf_links *links, const struct gf_link *link, struct gf_link_way *way, gf_status status)
{
    if (status == GF_OK) {
        gf_carrier_lane_describe(way->lane, &way->why);
    }
    gf_log(&mca_coll_gpufifo_component.log, GF_LOG_PATH, "rank %d of MPI_COMM_WORLD: messages %s rank %d go %s: %s",
           ompi_comm_rank(world()), way == &link->out ? "to" : "from", link->peer,
           status == GF_OK ? "by the network" : "in chunks over MPI", way->why.text);
    atomic_store_explicit(&way->state, status == GF_OK ? GF_LINK_OPEN : GF_LINK_REFUSED, memory_order_release);
    links->pending--;
}

/* The receiver has fewer adapters than this end's lane goes by. Its lane is left; the carrier ends it. */
static bool shall_greet_again(struct gf_link_way *way)
{
    if (way->said.failure != GF_OK || way->heard.failure != GF_IN_PROGRESS || way->heard.adapters < 1 ||
        way->heard.adapters >= way->said.adapters) {
        return false;
    }
    way->adapters = way->heard.adapters;
    return true;
}

static void turn_out(struct gf_links *links, struct gf_link *link)
{
    struct gf_link_way *way = &link->out;

    switch (atomic_load_explicit(&way->state, memory_order_acquire)) {
    case GF_LINK_WANTED:
        introduce(links, link, way);
        say(link, way, GF_LINKS_TAG_GREETING);
        if (way->said.failure == GF_OK) {
            hear(link, way, GF_LINKS_TAG_ANSWER);
        }
        way->state = GF_LINK_GREETING;
        break;
    case GF_LINK_GREETING:
        if (!are_complete(way)) {
            break;
        }
        if (shall_greet_again(way)) {
            way->state = GF_LINK_WANTED;
        } else {
            finish(links, link, way, way->said.failure == GF_OK ? meet(link, way) : (gf_status)way->said.failure);
        }
        break;
    }
}

/* The sender's lane goes by one of more adapters than this end has. */
static bool wants_another(struct gf_links *links, struct gf_link_way *way)
{
    way->adapters = way->heard.adapters;
    return way->heard.failure == GF_OK && gf_links_carrier(links, way->ordinal, &way->why) == GF_OK &&
           adapters_of(links, way) < way->adapters;
}

/* Who greets with a failure waits for no answer. */
static void answer(struct gf_links *links, struct gf_link *link)
{
    struct gf_link_way *way = &link->in;

    if (wants_another(links, way)) {
        way->said = (struct gf_link_greeting){.failure = GF_IN_PROGRESS, .adapters = adapters_of(links, way)};
        say(link, way, GF_LINKS_TAG_ANSWER);
        way->state = GF_LINK_AGAIN;
        return;
    }
    if (way->heard.failure == GF_OK) {
        introduce(links, link, way);
    }
    if (way->heard.failure != GF_OK || way->said.failure == GF_OK) {
        gf_status status = meet(link, way);

        way->said.failure = status;
        snprintf(way->said.why, sizeof way->said.why, "%.127s", status == GF_OK ? "" : way->why.text);
    }
    if (way->heard.failure != GF_OK) {
        finish(links, link, way, GF_ERR_UNSUPPORTED);
        return;
    }
    say(link, way, GF_LINKS_TAG_ANSWER);
    atomic_store_explicit(&way->state, GF_LINK_ANSWERED, memory_order_release);
}

static void turn_in(struct gf_links *links, struct gf_link *link)
{
    struct gf_link_way *way = &link->in;

    switch (atomic_load_explicit(&way->state, memory_order_acquire)) {
    case GF_LINK_WANTED:
        hear(link, way, GF_LINKS_TAG_GREETING);
        way->state = GF_LINK_GREETING;
        break;
    case GF_LINK_GREETING:
        if (are_complete(way)) {
            answer(links, link);
        }
        break;
    case GF_LINK_AGAIN:
        if (are_complete(way)) {
            way->state = GF_LINK_WANTED;
        }
        break;
    case GF_LINK_ANSWERED:
        if (are_complete(way)) {
            finish(links, link, way, (gf_status)way->said.failure);
        }
        break;
    }
}

void gf_links_exchange(struct gf_links *links)
{
    if (links->pending == 0 || atomic_flag_test_and_set(&links->busy)) {
        return;
    }
    for (struct gf_link *link = atomic_load_explicit(&links->first, memory_order_acquire); link; link = link->next) {
        turn_out(links, link);
        turn_in(links, link);
    }
    atomic_flag_clear(&links->busy);
}

static void cancel(struct gf_link_way *way)
{
    for (int i = 0; i < 2; i++) {
        if (way->requests[i] != MPI_REQUEST_NULL) {
            ompi_request_cancel(way->requests[i]);
        }
    }
}

void gf_links_settle(struct gf_links *links)
{
    for (int round = 0; round < 2 * SETTLE_ROUNDS && links->pending > 0; round++) {
        opal_progress();
        gf_links_exchange(links);
        for (struct gf_link *link = links->first; link && round == SETTLE_ROUNDS; link = link->next) {
            cancel(&link->out);
            cancel(&link->in);
        }
    }
}
