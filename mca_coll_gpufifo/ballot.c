/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Saying, asking and deciding; agree.h has the meaning and the proof.
 */
#include "mca_coll_gpufifo/ballot.h"

#include <string.h>

void gf_ballot_init(struct gf_ballot *ballot, int nodes, int node, gf_ballot_send send, void *ctx)
{
    memset(ballot, 0, sizeof *ballot);
    ballot->nodes = nodes;
    ballot->node = node;
    ballot->send = send;
    ballot->ctx = ctx;
}

static bool decides(const struct gf_ballot *ballot)
{
    return ballot->node == 0;
}

static void say(const struct gf_ballot *ballot, int node, enum gf_ballot_word word, uint64_t call)
{
    ballot->send(ballot->ctx, node, word, call);
}

void gf_ballot_enter(struct gf_ballot *ballot, uint64_t call)
{
    ballot->said = call;
    ballot->verdict = ballot->never ? GF_AGREE_STAGE : GF_AGREE_UNKNOWN;
    if (ballot->never) {
        return;
    }
    if (!decides(ballot)) {
        ballot->asked = ballot->asked == call ? 0 : ballot->asked;
        say(ballot, 0, GF_BALLOT_YES, call);
        return;
    }
    for (int node = 1; node < ballot->nodes; node++) {
        if (ballot->waits[node] != call) {
            say(ballot, node, GF_BALLOT_ASK, call);
        }
    }
}

/* The decider's word to those who wait for it on the calls up to this one. */
static void tell(struct gf_ballot *ballot, enum gf_ballot_word word, uint64_t up_to)
{
    for (int node = 1; node < ballot->nodes; node++) {
        if (ballot->waits[node] != 0 && ballot->waits[node] <= up_to) {
            say(ballot, node, word, ballot->waits[node]);
            ballot->waits[node] = 0;
        }
    }
}

static bool all_wait(const struct gf_ballot *ballot, uint64_t call)
{
    for (int node = 1; node < ballot->nodes; node++) {
        if (ballot->waits[node] != call) {
            return false;
        }
    }
    return true;
}

enum gf_agree_verdict gf_ballot_verdict(struct gf_ballot *ballot)
{
    if (decides(ballot) && ballot->verdict == GF_AGREE_UNKNOWN && all_wait(ballot, ballot->said)) {
        ballot->verdict = GF_AGREE_NATIVE;
        tell(ballot, GF_BALLOT_ALL, ballot->said);
    }
    return ballot->verdict;
}

static void hear_as_decider(struct gf_ballot *ballot, int node, enum gf_ballot_word word, uint64_t call)
{
    if (word == GF_BALLOT_YES && ballot->never) {
        say(ballot, node, GF_BALLOT_NEVER, call);
    } else if (word == GF_BALLOT_YES) {
        ballot->waits[node] = call;
    } else if (word == GF_BALLOT_NO && call == ballot->said && ballot->verdict == GF_AGREE_UNKNOWN) {
        ballot->verdict = GF_AGREE_STAGE;
    }
}

static void hear_as_node(struct gf_ballot *ballot, enum gf_ballot_word word, uint64_t call)
{
    if (word == GF_BALLOT_ASK) {
        ballot->asked = call == ballot->said ? 0 : call;
        return;
    }
    if (call == ballot->said && ballot->verdict == GF_AGREE_UNKNOWN) {
        ballot->verdict = word == GF_BALLOT_ALL ? GF_AGREE_NATIVE : GF_AGREE_STAGE;
        ballot->never = word == GF_BALLOT_NEVER;
    }
}

void gf_ballot_hear(struct gf_ballot *ballot, int node, enum gf_ballot_word word, uint64_t call)
{
    if (decides(ballot)) {
        hear_as_decider(ballot, node, word, call);
    } else if (node == 0) {
        hear_as_node(ballot, word, call);
    }
}

/* Who still waits for the verdict on a call that the decider has passed was not told that all have device buffers. */
bool gf_ballot_answer(struct gf_ballot *ballot, uint64_t passed)
{
    if (!decides(ballot)) {
        if (ballot->asked != 0 && ballot->asked <= passed) {
            say(ballot, 0, GF_BALLOT_NO, ballot->asked);
            ballot->asked = 0;
        }
        return ballot->asked != 0;
    }
    tell(ballot, GF_BALLOT_STAGE, passed);
    return !all_wait(ballot, 0);
}

void gf_ballot_end(struct gf_ballot *ballot)
{
    ballot->never = true;
    if (ballot->verdict == GF_AGREE_UNKNOWN) {
        ballot->verdict = GF_AGREE_STAGE;
    }
    tell(ballot, GF_BALLOT_NEVER, UINT64_MAX);
}
