/* SPDX-License-Identifier: BSD-3-Clause */
#include "mca_coll_gpufifo/gone.h"

#include "mca_coll_gpufifo/agree_board.h"
#include "mca_coll_gpufifo/ballot.h"

/* Made, and not being freed. */
static bool is_in_use(const ompi_communicator_t *comm)
{
    opal_list_t *modules = &mca_coll_gpufifo_component.modules;

    for (opal_list_item_t *item = opal_list_get_first(modules); item != opal_list_get_end(modules);
         item = opal_list_get_next(item)) {
        if (gf_module_of(item)->comm == comm) {
            return true;
        }
    }
    return false;
}

bool gf_gone_is(const struct gf_mail_message *message)
{
    ompi_communicator_t *comm;

    if (!gf_mpi_comm_of_id(message->to.id, &comm)) {
        return false;
    }
    return comm == NULL || is_in_use(comm);
}

bool gf_gone_answer(const struct gf_mail_message *message, struct gf_mail_message *answer)
{
    *answer = (struct gf_mail_message){.to = message->to, .from = ompi_comm_rank(&ompi_mpi_comm_world.comm),
                                       .board = message->board, .call = message->call};
    switch (message->kind) {
    case GF_MAIL_REQUEST:
    case GF_MAIL_ANNOUNCE:
    case GF_MAIL_NEVER:
        answer->kind = GF_MAIL_NEVER;
        answer->why = GF_AGREE_FREED;
        return message->kind != GF_MAIL_NEVER || message->why != GF_AGREE_FREED;     /* which is an answer like this one */
    case GF_MAIL_BALLOT:
        answer->kind = GF_MAIL_BALLOT;
        answer->node = message->word == GF_BALLOT_ASK;    /* the decider's, or any other: of a NO nobody asks whose it is */
        answer->word = message->word == GF_BALLOT_ASK ? GF_BALLOT_NO : GF_BALLOT_NEVER;
        answer->why = GF_AGREE_FREED;
        return message->word == GF_BALLOT_ASK || message->word == GF_BALLOT_YES;
    }
    return false;
}
