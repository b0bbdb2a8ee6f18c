/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connecting in rounds. A round: everyone names its open links and whether it has given up; open links are set up and the
 * blobs exchanged; they are connected and the results exchanged; a link that failed at either end is open in the next round,
 * with the next transport.
 */
#include "core/connect.h"
#include "core/rests.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What one rank tells another in a round, after the offers: about my sending end to you and my receiving end from you. */
struct verdict {
    int32_t status[2];
};
enum { SENDING, RECEIVING };       /* also of an offer */

/* What each rank tells all at the start of a round. */
struct standing {
    int32_t open;                  /* links of this rank that are not ready */
    int32_t status;                /* not GF_OK: this rank has given up */
    char text[sizeof ((struct gf_reason *)0)->text];
};

/* One gf_pattern_connect under way. */
struct attempt {
    struct gf_pattern *pattern;
    const struct gf_connector_shape *shape;
    const struct gf_connect_setup *setup;
    struct standing mine;
    unsigned logged;               /* bit t: leaving transport t was logged */
    char reason[200];              /* why the last transport was left */
    struct gf_offer *offers_out, *offers_in;
    struct verdict *verdicts_out, *verdicts_in;
    bool long_blobs;               /* some pair of ranks may take a transport whose blobs have a rest; the same on all ranks */
};

bool gf_pattern_connects(enum gf_pattern_kind kind, int from, int to, const struct gf_peers *peers)
{
    return from != to && (kind == GF_PATTERN_DIRECT || to == gf_peers_next(peers, from));
}

static struct gf_link *link_of(const struct gf_pattern *pattern, int direction, int peer)
{
    return direction == SENDING ? &pattern->send[peer] : &pattern->recv[peer];
}

static bool is_open(const struct gf_link *link)
{
    return link->wanted && link->connector.state != GF_CONN_READY;
}

/* A transport that may connect these two ranks: of one node, as this communicator's setting says. */
static bool is_allowed(const struct gf_transport *transport, const struct gf_connect_setup *setup, int me, int peer)
{
    const struct gf_peer_info *infos = setup->peers->infos;
    enum gf_force_transport forced = setup->config->transport;

    if (!gf_peers_same_node(&infos[me], &infos[peer])) {
        return transport->between_nodes;
    }
    return forced == GF_TRANSPORT_AUTO ? !transport->on_request : transport->id == forced;
}

/* The first one allowed from this one on, or null. */
static const struct gf_transport *next_allowed(const struct gf_transport *const *transports, const struct gf_connect_setup *setup,
                                               const struct gf_connector *c)
{
    while (*transports && !is_allowed(*transports, setup, c->me, c->peer)) {
        transports++;
    }
    return *transports;
}

/* Goes from the link's transport to the next one; says so once a transport, as a warning when something failed. */
static void leave_transport(struct attempt *a, struct gf_link *link, enum gf_log_level level, const char *reason)
{
    const struct gf_connect_setup *setup = a->setup;
    const struct gf_transport *left = setup->transports[link->choice];
    const struct gf_transport *next = next_allowed(&setup->transports[++link->choice], setup, &link->connector);
    unsigned bit = 1u << (link->choice - 1);

    snprintf(a->reason, sizeof a->reason, "%s", reason);
    if (setup->config->strict && a->mine.status == GF_OK) {
        a->mine.status = GF_ERR_DEVICE;
        snprintf(a->mine.text, sizeof a->mine.text, "strict: rank %d and rank %d cannot use %s: %s", link->connector.me,
                 link->connector.peer, left->name, reason);
    }
    if (!(a->logged & bit)) {
        a->logged |= bit;
        gf_log(setup->log, level, "%s: rank %d and rank %d cannot use %s, next is %s: %s", setup->name, link->connector.me,
               link->connector.peer, left->name, next ? next->name : "staging or the host", reason);
    }
}

/* Moves an open link on to the first transport that is allowed and likely, or gives up. */
static void choose_transport(struct attempt *a, struct gf_link *link)
{
    const struct gf_connect_setup *setup = a->setup;
    const struct gf_peer_info *infos = setup->peers->infos;
    enum gf_force_transport forced = setup->config->transport;
    struct gf_reason why = { "" };

    for (; setup->transports[link->choice]; ) {
        const struct gf_transport *transport = setup->transports[link->choice];

        if (!is_allowed(transport, setup, link->connector.me, link->connector.peer)) {
            link->choice++;
        } else if (link->connector.shape.whole_lines && !transport->whole_lines) {
            leave_transport(a, link, GF_LOG_PATH, "lines of 128 bytes may arrive in parts there");
        } else if (transport->probe && !transport->probe(&infos[link->connector.me], &infos[link->connector.peer], &why)) {
            leave_transport(a, link, GF_LOG_PATH, why.text);
        } else {
            return;
        }
    }
    if (a->mine.status == GF_OK) {
        a->mine.status = GF_ERR_UNSUPPORTED;
        snprintf(a->mine.text, sizeof a->mine.text, "no %stransport connects rank %d and rank %d%s%s",
                 forced == GF_TRANSPORT_AUTO ? "" : "forced ", link->connector.me, link->connector.peer, a->reason[0] ? ": " : "",
                 a->reason);
    }
}

/* Chooses for all open links and tells all ranks. *open: the links of all ranks together. */
static gf_status agree_on_round(struct attempt *a, int *open, struct gf_reason *why)
{
    struct gf_pattern *pattern = a->pattern;
    struct standing *all = calloc((unsigned)pattern->ranks, sizeof *all);

    if (!all) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    a->mine.open = 0;
    for (int i = 0; i < 2 * pattern->ranks; i++) {
        struct gf_link *link = link_of(pattern, i % 2, i / 2);

        if (is_open(link)) {
            choose_transport(a, link);
            a->mine.open++;
        }
    }
    gf_status status = a->setup->bootstrap->allgather(a->setup->bootstrap->ctx, &a->mine, all, sizeof a->mine);

    if (status != GF_OK) {
        gf_reason_set(why, "the ranks could not exchange messages while connecting");
    }
    *open = 0;
    for (int r = 0; status == GF_OK && r < pattern->ranks; r++) {
        *open += all[r].open;
        if (all[r].status != GF_OK) {
            status = (gf_status)all[r].status;
            gf_reason_set(why, "%s", all[r].text);
        }
    }
    free(all);
    return status;
}

static void init_link(struct gf_link *link, bool is_sender, int me, int peer, const struct gf_connector_shape *shape,
                      const struct gf_connect_setup *setup)
{
    gf_connector_init(&link->connector, is_sender, me, peer, shape, setup->device, setup->stream, setup->fault);
    link->connector.imports = setup->imports;
    link->connector.bootstrap = setup->bootstrap;
    link->connector.proxy = setup->proxy;
    link->connector.net = setup->net;
    link->connector.net_adapters = gf_peers_net_adapters(setup->peers, peer);
    link->connector.abort = setup->abort;
}

/* Sets up this end of an open link; its blob or failure goes to the peer. */
static void set_up(struct attempt *a, struct gf_link *link, int direction, int peer)
{
    const struct gf_connect_setup *setup = a->setup;
    struct gf_pattern *pattern = a->pattern;
    struct gf_offer *offer = &a->offers_out[peer];
    struct gf_reason why = { "" };

    init_link(link, direction == SENDING, pattern->rank, peer, a->shape, setup);
    offer->status[direction] = gf_connector_setup(&link->connector, setup->transports[link->choice], &offer->blob[direction],
                                                  &why);
    if (offer->status[direction] != GF_OK) {
        leave_transport(a, link, GF_LOG_WARN, why.text);
    }
}

/* Connects this end if both ends were set up; the result goes to the peer. */
static void connect_end(struct attempt *a, struct gf_link *link, int direction, int peer)
{
    const struct gf_offer *theirs = &a->offers_in[peer];
    int32_t *result = &a->verdicts_out[peer].status[direction];
    struct gf_reason why = { "" };

    *result = GF_ERR_PEER;
    if (a->offers_out[peer].status[direction] != GF_OK) {
        return;
    }
    /* The peer's end of my sending link is its receiving one. */
    if (theirs->status[!direction] != GF_OK) {
        gf_connector_destroy(&link->connector);
        leave_transport(a, link, GF_LOG_PATH, "the other end could not be set up");
        return;
    }
    *result = gf_connector_connect(&link->connector, &theirs->blob[!direction], &why);
    if (*result != GF_OK) {
        leave_transport(a, link, GF_LOG_WARN, why.text);
    }
}

/* Takes a link back that is ready here but failed at the other end. */
static void settle(struct attempt *a, struct gf_link *link, int direction, int peer)
{
    if (link->connector.state == GF_CONN_READY && a->verdicts_in[peer].status[!direction] != GF_OK) {
        gf_connector_destroy(&link->connector);
        leave_transport(a, link, GF_LOG_PATH, "the other end could not connect");
    }
}

/* May some pair of ranks of this pattern take a transport with long blobs? */
static bool may_have_rests(const struct gf_connect_setup *setup, enum gf_pattern_kind kind)
{
    int ranks = setup->peers->ranks;
    bool may = false;

    for (const struct gf_transport *const *t = setup->transports; *t; t++) {
        for (int i = 0; (*t)->long_blobs && i < ranks * ranks; i++) {
            may = may || (gf_pattern_connects(kind, i / ranks, i % ranks, setup->peers)
                          && is_allowed(*t, setup, i / ranks, i % ranks));
        }
    }
    return may;
}

/* Applies one step to the links that are in this round: those in `round`, [2 * ranks]. */
static void for_links(struct attempt *a, const bool *round, void (*step)(struct attempt *, struct gf_link *, int, int))
{
    for (int i = 0; i < 2 * a->pattern->ranks; i++) {
        if (round[i]) {
            step(a, link_of(a->pattern, i % 2, i / 2), i % 2, i / 2);
        }
    }
}

static gf_status run_round(struct attempt *a, bool *round, struct gf_reason *why)
{
    const struct gf_bootstrap *bootstrap = a->setup->bootstrap;
    struct gf_pattern *pattern = a->pattern;
    unsigned char *rests = NULL;

    for (int i = 0; i < 2 * pattern->ranks; i++) {
        round[i] = is_open(link_of(pattern, i % 2, i / 2));
    }
    for_links(a, round, set_up);
    gf_status status = bootstrap->alltoall(bootstrap->ctx, a->offers_out, a->offers_in, sizeof *a->offers_out);

    if (status == GF_OK) {
        status = gf_rests_exchange(bootstrap, a->long_blobs, a->offers_out, a->offers_in, &rests);
    }
    if (status == GF_OK) {
        for_links(a, round, connect_end);
        status = bootstrap->alltoall(bootstrap->ctx, a->verdicts_out, a->verdicts_in, sizeof *a->verdicts_out);
    }
    gf_rests_free(pattern->ranks, a->offers_out, rests);
    if (status != GF_OK) {
        gf_reason_set(why, "the ranks could not exchange messages while connecting");
        return status;
    }
    for_links(a, round, settle);
    return GF_OK;
}

static gf_status connect_all(struct attempt *a, struct gf_reason *why)
{
    bool *round = calloc(2 * (size_t)a->pattern->ranks, sizeof *round);
    gf_status status = round ? GF_OK : GF_ERR_NO_MEMORY;

    while (status == GF_OK) {
        int open = 0;

        status = agree_on_round(a, &open, why);
        if (status != GF_OK || open == 0) {
            break;
        }
        status = run_round(a, round, why);
    }
    free(round);
    return status;
}

static bool attempt_open(struct attempt *a)
{
    struct gf_pattern *pattern = a->pattern;
    size_t ranks = (size_t)pattern->ranks;

    pattern->send = calloc(ranks, sizeof *pattern->send);
    pattern->recv = calloc(ranks, sizeof *pattern->recv);
    a->offers_out = calloc(ranks, sizeof *a->offers_out);
    a->offers_in = calloc(ranks, sizeof *a->offers_in);
    a->verdicts_out = calloc(ranks, sizeof *a->verdicts_out);
    a->verdicts_in = calloc(ranks, sizeof *a->verdicts_in);
    return pattern->send && pattern->recv && a->offers_out && a->offers_in && a->verdicts_out && a->verdicts_in;
}

gf_status gf_pattern_connect(struct gf_pattern *pattern, enum gf_pattern_kind kind, const struct gf_connector_shape *shape,
                             const struct gf_connect_setup *setup, struct gf_reason *why)
{
    struct attempt a = { .pattern = pattern, .shape = shape, .setup = setup };

    *pattern = (struct gf_pattern){ .kind = kind, .rank = setup->bootstrap->rank, .ranks = setup->bootstrap->ranks };
    gf_status status = attempt_open(&a) ? GF_OK : GF_ERR_NO_MEMORY;

    if (status == GF_OK) {
        a.long_blobs = may_have_rests(setup, kind);
        for (int i = 0; i < 2 * pattern->ranks; i++) {
            struct gf_link *link = link_of(pattern, i % 2, i / 2);
            int peer = i / 2, from = i % 2 == SENDING ? pattern->rank : peer, to = i % 2 == SENDING ? peer : pattern->rank;

            link->wanted = gf_pattern_connects(kind, from, to, setup->peers);
            init_link(link, i % 2 == SENDING, pattern->rank, peer, shape, setup);
        }
        status = connect_all(&a, why);
    } else {
        gf_reason_set(why, "out of host memory");
    }
    free(a.offers_out);
    free(a.offers_in);
    free(a.verdicts_out);
    free(a.verdicts_in);
    if (status != GF_OK) {
        gf_pattern_destroy(pattern);
    }
    return status;
}

/* Appends where there is room; returns the new length. */
static size_t append(char *text, size_t bytes, size_t length, const char *format, ...) __attribute__((format(printf, 4, 5)));

static size_t append(char *text, size_t bytes, size_t length, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int more = length < bytes ? vsnprintf(text + length, bytes - length, format, arguments) : 0;
    va_end(arguments);
    return length + (size_t)(more > 0 ? more : 0);
}

static bool sends_by(const struct gf_pattern *pattern, int peer, const struct gf_transport *transport)
{
    return pattern->send[peer].wanted && pattern->send[peer].connector.transport == transport;
}

void gf_pattern_describe(const struct gf_pattern *pattern, char *text, size_t bytes)
{
    const struct gf_transport *seen = NULL;
    size_t length = append(text, bytes, 0, "%s", "");
    int peers = 0, alike = 0;
    bool fetched = false;

    for (int q = 0; q < pattern->ranks; q++) {
        seen = seen || !pattern->send[q].wanted ? seen : pattern->send[q].connector.transport;
        peers += pattern->send[q].wanted;
        alike += sends_by(pattern, q, seen);
        fetched |= pattern->send[q].wanted && pattern->send[q].connector.shape.sender_buffer;
    }
    if (peers > 0 && alike == peers) {
        length = append(text, bytes, length, "by %s", seen->name);
    }
    for (int q = 0; q < pattern->ranks && alike != peers; q++) {
        if (pattern->send[q].wanted) {
            bool same = q > 0 && sends_by(pattern, q - 1, pattern->send[q].connector.transport);

            length = same ? append(text, bytes, length, " %d", q)
                : append(text, bytes, length, "%sby %s to %d", length ? ", " : "", pattern->send[q].connector.transport->name, q);
        }
    }
    if (fetched) {
        append(text, bytes, length, ", fetched from the sender's slots");
    }
}

void gf_pattern_destroy(struct gf_pattern *pattern)
{
    for (int i = 0; pattern->send && pattern->recv && i < 2 * pattern->ranks; i++) {
        gf_connector_destroy(&link_of(pattern, i % 2, i / 2)->connector);
    }
    free(pattern->send);
    free(pattern->recv);
    *pattern = (struct gf_pattern){ .kind = pattern->kind };
}
