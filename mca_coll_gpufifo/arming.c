/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making, announcing and attaching boards.
 */
#include "mca_coll_gpufifo/arming.h"

#include "mca_coll_gpufifo/agree.h"
#include "mca_coll_gpufifo/agree_nodes.h"
#include "mca_coll_gpufifo/mailbox.h"

static const char no_memory[] = "host memory is exhausted";

static bool leads(const mca_coll_gpufifo_module_t *module)
{
    return ompi_comm_rank(module->comm) == 0;
}

uint32_t gf_arming_failure(const mca_coll_gpufifo_module_t *module)
{
    return module->agree ? atomic_load_explicit(&module->agree->board->failed, memory_order_acquire)
                         : __atomic_load_n(&module->never_native, __ATOMIC_ACQUIRE);
}

static struct gf_mail_message never(const mca_coll_gpufifo_module_t *module, uint32_t why)
{
    struct gf_mail_message message = gf_mailbox_message(module, GF_MAIL_NEVER);

    message.why = (int32_t)why;
    return message;
}

static void refuse_all(const mca_coll_gpufifo_module_t *module, uint32_t why)
{
    struct gf_mail_message refusal = never(module, why);

    for (int rank = 1; rank < ompi_comm_size(module->comm); rank++) {
        gf_mailbox_post(module, &refusal, rank);
    }
}

/* At the leader of a node. */
static void refuse_members(const mca_coll_gpufifo_module_t *module, uint32_t why)
{
    struct gf_mail_message refusal = never(module, why);

    for (int member = 1; member < module->map->members; member++) {
        gf_mailbox_post(module, &refusal, module->map->ranks[member]);
    }
}

/* Who asks after all were refused, or where this rank came to that by itself, gets an answer of its own: one a question, for all
 * may ask. False: no reason to refuse. */
static bool refuse(const mca_coll_gpufifo_module_t *module, const struct gf_mail_message *question)
{
    uint32_t failure = gf_arming_failure(module);
    struct gf_mail_message refusal = never(module, failure);

    refusal.call = question->call;
    if (failure) {
        gf_mailbox_answer(question, &refusal);
    }
    return failure != 0;
}

/* At the leader of a node, whose board there is now. */
static void announce(const mca_coll_gpufifo_module_t *module)
{
    const struct gf_agree_map *map = module->agree->map;
    struct gf_mail_message message = gf_mailbox_message(module, GF_MAIL_ANNOUNCE);

    message.board = module->agree->name;
    for (int member = 1; member < map->members; member++) {
        gf_mailbox_post(module, &message, map->ranks[member]);
    }
    for (int node = 1; leads(module) && node < map->nodes; node++) {
        gf_mailbox_post(module, &message, map->leaders[node]);
    }
}

static void arm_as_leader(mca_coll_gpufifo_module_t *module)
{
    struct gf_reason why = {""};

    if (module->agree || module->never_native) {
        return;
    }
    if (gf_agree_create(module, &why) == GF_OK) {
        announce(module);
    } else {
        gf_agree_give_up(module, why.text);
        refuse_all(module, GF_AGREE_UNSEEN);
    }
}

/* The board of this message is not for this rank, or not for all of this node: nobody can be native. */
static void tell_never(const mca_coll_gpufifo_module_t *module, uint32_t why, const struct gf_segment_name *board,
                       int rank)
{
    struct gf_mail_message message = never(module, why);

    message.board = *board;
    gf_mailbox_post(module, &message, rank);
}

/* At the leader of another node than the communicator's leader, which has announced its own board. */
static void arm_as_node(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *announced)
{
    struct gf_reason why = {""};

    if (module->agree == NULL && !module->never_native) {
        if (gf_agree_create(module, &why) == GF_OK) {
            announce(module);
        } else {
            gf_agree_give_up(module, why.text);
        }
    }
    if (module->agree) {
        module->agree->first = announced->board;
    }
    if (gf_arming_failure(module)) {
        tell_never(module, gf_arming_failure(module), &announced->board, 0);
    }
}

static void attach_as_member(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *announced)
{
    struct gf_reason why = {""};

    if (gf_agree_attach(module, &announced->board, &why) != GF_OK) {
        gf_log(&mca_coll_gpufifo_component.log, GF_LOG_DEBUG, "%s: the board was not attached: %s",
               gf_mpi_comm_name(module->comm), why.text);
        tell_never(module, GF_AGREE_UNSEEN, &announced->board, gf_agree_map_of(module)->ranks[0]);
    }
}

/* At the leader of a node: somebody cannot see its board, or, if it is the communicator's leader, another node cannot have one;
 * or a rank has freed the communicator. The board is marked first, for those who see it. */
static void fail_board(mca_coll_gpufifo_module_t *module, const struct gf_segment_name *board, uint32_t failure)
{
    struct gf_agree *agree = module->agree;
    uint32_t none = 0;                     /* what it failed of first is the reason */

    if (agree == NULL || !gf_agree_same_board(&agree->name, board) ||
        !atomic_compare_exchange_strong(&agree->board->failed, &none, failure)) {
        return;
    }
    if (leads(module)) {
        gf_agree_nodes_end(module);
        refuse_all(module, failure);
    } else {
        refuse_members(module, failure);      /* the leader may be gone, and then tells nobody */
        tell_never(module, failure, &agree->first, 0);
    }
}

/* Who sees a board learns of its failure there, or as the verdict; who does not, and has asked, has been waiting for an answer.
 * One to a request for an earlier communicator of the same name is none, and who has not asked yet will be told when it asks. */
static bool is_answer(const mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message)
{
    return module->agree == NULL && module->request != 0 && (message->call == 0 || message->call == module->request);
}

static void accept_never(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message)
{
    if (!is_answer(module, message)) {
        return;
    }
    module->request = 0;
    if (message->why == GF_AGREE_FREED) {
        gf_agree_freed(module);
    } else {
        gf_agree_give_up(module, "its ranks cannot share memory (separate containers, or no memory left?)");
    }
}

/* At the leader of a node. Who tells only those that ask it has been asked by this rank, which members have asked. What a member
 * says of a board that this rank has not got is late, and about an earlier communicator. */
static void accept_never_as_node(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message)
{
    if (module->agree) {
        fail_board(module, &message->board, (uint32_t)message->why);
    } else if (message->from == message->to.leader && is_answer(module, message)) {
        refuse_members(module, (uint32_t)message->why);
        accept_never(module, message);
    }
}

/* A member of another node asks its node's leader, who passes it on. */
static void request(mca_coll_gpufifo_module_t *module, int rank)
{
    struct gf_mail_message message = gf_mailbox_message(module, GF_MAIL_REQUEST);

    message.call = module->request = ++mca_coll_gpufifo_component.requests;
    gf_mailbox_post(module, &message, rank);
}

static void handle_as_node(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message)
{
    switch (message->kind) {
    case GF_MAIL_REQUEST:
        if (!refuse(module, message) && module->agree == NULL) {
            request(module, 0);
        }
        break;
    case GF_MAIL_ANNOUNCE:
        arm_as_node(module, message);
        break;
    case GF_MAIL_NEVER:
        accept_never_as_node(module, message);
        break;
    }
}

static void handle_as_member(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message)
{
    if (message->kind == GF_MAIL_ANNOUNCE) {
        attach_as_member(module, message);
    } else if (message->kind == GF_MAIL_NEVER) {
        accept_never(module, message);
    }
}

void gf_arming_handle(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message)
{
    if (leads(module)) {
        if (message->kind == GF_MAIL_REQUEST && !refuse(module, message)) {
            arm_as_leader(module);
        } else if (message->kind == GF_MAIL_NEVER) {
            fail_board(module, &message->board, (uint32_t)message->why);
        }
        return;
    }
    const struct gf_agree_map *map = gf_agree_map_of(module);

    if (map == NULL || map->nodes == 0) {
        gf_agree_give_up(module, no_memory);
    } else if (gf_agree_map_leads(map)) {
        handle_as_node(module, message);
    } else {
        handle_as_member(module, message);
    }
}

void gf_arming_begin(mca_coll_gpufifo_module_t *module)
{
    if (leads(module)) {
        arm_as_leader(module);
        return;
    }
    const struct gf_agree_map *map = gf_agree_map_of(module);

    if (map == NULL || map->nodes == 0) {
        gf_agree_give_up(module, no_memory);
        return;
    }
    request(module, gf_agree_map_leads(map) ? 0 : map->ranks[0]);
}

void gf_arming_leave(mca_coll_gpufifo_module_t *module)
{
    (void)gf_agree_nodes_answer(module);
    if (module->request != 0 && module->agree == NULL && gf_agree_map_leads(module->map)) {
        refuse_members(module, GF_AGREE_FREED);
    }
}
