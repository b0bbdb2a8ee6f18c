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

static bool has_failed(const struct gf_agree *agree)
{
    return atomic_load_explicit(&agree->board->failed, memory_order_acquire) != 0;
}

/* kind: REFUSED or GONE. */
static void refuse_all(const mca_coll_gpufifo_module_t *module, enum gf_mail_kind kind)
{
    struct gf_mail_message refusal = gf_mailbox_message(module, kind);

    for (int rank = 1; rank < ompi_comm_size(module->comm); rank++) {
        gf_mailbox_post(module, &refusal, rank);
    }
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
        refuse_all(module, GF_MAIL_REFUSED);
    }
}

/* The board of this message is not for this rank, or not for all of this node: nobody can be native. kind: UNREACHABLE or
 * GONE. */
static void tell_unreachable(const mca_coll_gpufifo_module_t *module, enum gf_mail_kind kind, const struct gf_segment_name *board,
                             int rank)
{
    struct gf_mail_message message = gf_mailbox_message(module, kind);

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
    if (module->agree == NULL || has_failed(module->agree)) {
        tell_unreachable(module, GF_MAIL_UNREACHABLE, &announced->board, 0);
    }
}

static void attach_as_member(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *announced)
{
    struct gf_reason why = {""};

    if (gf_agree_attach(module, &announced->board, &why) != GF_OK) {
        gf_log(&mca_coll_gpufifo_component.log, GF_LOG_DEBUG, "%s: the board was not attached: %s",
               gf_mpi_comm_name(module->comm), why.text);
        tell_unreachable(module, GF_MAIL_UNREACHABLE, &announced->board, gf_agree_map_of(module)->ranks[0]);
    }
}

/* At the leader of a node: somebody cannot see its board, or, if it is the communicator's leader, another node cannot have one;
 * or a rank has freed the communicator. The board is marked first, for those who see it. */
static void fail_board(mca_coll_gpufifo_module_t *module, const struct gf_segment_name *board, enum gf_agree_failure failure)
{
    struct gf_agree *agree = module->agree;

    if (agree == NULL || !gf_agree_same_board(&agree->name, board) || atomic_exchange(&agree->board->failed, failure) != 0) {
        return;
    }
    if (leads(module)) {
        gf_agree_nodes_end(module);
        refuse_all(module, failure == GF_AGREE_FREED ? GF_MAIL_GONE : GF_MAIL_REFUSED);
    } else {
        tell_unreachable(module, failure == GF_AGREE_FREED ? GF_MAIL_GONE : GF_MAIL_UNREACHABLE, &agree->first, 0);
    }
}

/* Who sees a board learns of its failure there, or as the verdict; who does not has been waiting for an answer. */
static void accept_refusal(mca_coll_gpufifo_module_t *module)
{
    if (module->agree == NULL) {
        gf_agree_give_up(module, "its ranks cannot share memory (separate containers, or no memory left?)");
    }
}

/* An answer to a request for an earlier communicator of the same name is none. */
static bool is_about_this(const mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message)
{
    return message->call == 0 || message->call == module->request;
}

static void accept_freed(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message)
{
    if (module->agree == NULL && is_about_this(module, message)) {
        gf_agree_freed(module);
    }
}

/* At the leader of a node: one that it has asked has freed the communicator, or a member has. A leader that has done so tells
 * only who asks, and members have asked here. */
static void accept_freed_as_node(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message)
{
    const struct gf_agree_map *map = gf_agree_map_of(module);
    struct gf_mail_message same = gf_mailbox_message(module, GF_MAIL_GONE);

    if (module->agree) {
        fail_board(module, &message->board, GF_AGREE_FREED);
        return;
    }
    for (int member = 1; member < map->members && is_about_this(module, message); member++) {
        gf_mailbox_post(module, &same, map->ranks[member]);
    }
    accept_freed(module, message);
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
        if (module->agree == NULL) {
            request(module, 0);
        }
        break;
    case GF_MAIL_ANNOUNCE:
        arm_as_node(module, message);
        break;
    case GF_MAIL_UNREACHABLE:
        fail_board(module, &message->board, GF_AGREE_UNSEEN);
        break;
    case GF_MAIL_REFUSED:
        accept_refusal(module);
        break;
    case GF_MAIL_GONE:
        accept_freed_as_node(module, message);
        break;
    }
}

static void handle_as_member(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message)
{
    if (message->kind == GF_MAIL_ANNOUNCE) {
        attach_as_member(module, message);
    } else if (message->kind == GF_MAIL_REFUSED) {
        accept_refusal(module);
    } else if (message->kind == GF_MAIL_GONE) {
        accept_freed(module, message);
    }
}

void gf_arming_handle(mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message)
{
    if (leads(module)) {
        if (message->kind == GF_MAIL_REQUEST) {
            arm_as_leader(module);
        } else if (message->kind == GF_MAIL_UNREACHABLE) {
            fail_board(module, &message->board, GF_AGREE_UNSEEN);
        } else if (message->kind == GF_MAIL_GONE) {
            fail_board(module, &message->board, GF_AGREE_FREED);
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

    request(module, gf_agree_map_leads(map) ? 0 : map->ranks[0]);
}
