/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between a module's ballot and the mailbox.
 */
#include "mca_coll_gpufifo/agree_nodes.h"

#include "mca_coll_gpufifo/agree.h"
#include "mca_coll_gpufifo/arming.h"
#include "mca_coll_gpufifo/ballot.h"
#include "mca_coll_gpufifo/mailbox.h"

/* Of the ballot's NEVER: this rank has a board and says so, or came to it by itself. */
static uint32_t why_never(const mca_coll_gpufifo_module_t *module)
{
    uint32_t failure = gf_arming_failure(module);

    return failure ? failure : module->never_native;
}

/* A question names the board of who asks, and so does the answer NO: one to a communicator that is gone is no answer to the next
 * one of its name. */
static void send_word(void *ctx, int node, enum gf_ballot_word word, uint64_t call)
{
    mca_coll_gpufifo_module_t *module = ctx;
    struct gf_mail_message message = gf_mailbox_message(module, GF_MAIL_BALLOT);

    message.word = (int32_t)word;
    message.call = call;
    message.node = module->agree->map->node;
    message.why = word == GF_BALLOT_NEVER ? (int32_t)why_never(module) : 0;
    if (word == GF_BALLOT_ASK) {
        message.board = module->agree->name;
    } else if (word == GF_BALLOT_NO) {
        message.board = module->agree->asker;
    }
    gf_mailbox_post(module, &message, module->agree->map->leaders[node]);
}

struct gf_ballot *gf_agree_nodes_ballot(mca_coll_gpufifo_module_t *module)
{
    const struct gf_agree_map *map = gf_agree_map_of(module);
    struct gf_ballot *ballot = calloc(1, sizeof *ballot);

    if (ballot) {
        gf_ballot_init(ballot, map->nodes, map->node, send_word, module);
    }
    return ballot;
}

void gf_agree_nodes_enter(mca_coll_gpufifo_module_t *module, uint64_t call)
{
    opal_mutex_lock(&mca_coll_gpufifo_component.lock);
    gf_ballot_enter(module->agree->ballot, call);
    opal_mutex_unlock(&mca_coll_gpufifo_component.lock);
}

enum gf_agree_verdict gf_agree_nodes_verdict(mca_coll_gpufifo_module_t *module)
{
    enum gf_agree_verdict verdict;

    opal_mutex_lock(&mca_coll_gpufifo_component.lock);
    verdict = gf_ballot_verdict(module->agree->ballot);
    opal_mutex_unlock(&mca_coll_gpufifo_component.lock);
    return verdict;
}

/* The call that this rank has passed, or has entered with host buffers. */
static uint64_t passed(const mca_coll_gpufifo_module_t *module)
{
    return __atomic_load_n(&module->calls, __ATOMIC_ACQUIRE);
}

/* To a node that waits for a verdict of a leader that has no board. */
static void answer_never(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *yes)
{
    const struct gf_agree_map *map = gf_agree_map_of(module);
    struct gf_mail_message message = gf_mailbox_message(module, GF_MAIL_BALLOT);

    message.word = GF_BALLOT_NEVER;
    message.why = (int32_t)why_never(module);
    message.call = yes->call;
    if (map && yes->node > 0 && yes->node < map->nodes) {
        gf_mailbox_post(module, &message, map->leaders[yes->node]);
    }
}

bool gf_agree_nodes_hear(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message)
{
    if (message->word == GF_BALLOT_YES && module->agree == NULL && ompi_comm_rank(module->comm) == 0) {
        gf_arming_begin(module);
        if (module->agree == NULL) {
            answer_never(module, message);
        }
    }
    struct gf_agree *agree = module->agree;

    if (agree == NULL || agree->ballot == NULL || message->node < 0 || message->node >= agree->map->nodes) {
        return false;
    }
    if (message->word == GF_BALLOT_ASK) {
        agree->asker = message->board;
    } else if (message->word == GF_BALLOT_NO && !gf_agree_same_board(&agree->name, &message->board)) {
        return false;
    } else if (message->word == GF_BALLOT_YES && module->never_native) {
        gf_ballot_end(agree->ballot);
    }
    gf_ballot_hear(agree->ballot, message->node, message->word, message->call);
    if (agree->ballot->never) {
        uint32_t none = 0;                 /* what it failed of first is the reason */

        (void)atomic_compare_exchange_strong(&agree->board->failed, &none,
                                             message->word == GF_BALLOT_NEVER ? (uint32_t)message->why : module->never_native);
    }
    return gf_ballot_answer(agree->ballot, passed(module));
}

bool gf_agree_nodes_answer(mca_coll_gpufifo_module_t *module)
{
    struct gf_agree *agree = module->agree;

    return agree && agree->ballot && gf_ballot_answer(agree->ballot, passed(module));
}

void gf_agree_nodes_end(mca_coll_gpufifo_module_t *module)
{
    if (module->agree->ballot) {
        gf_ballot_end(module->agree->ballot);
    }
}
