/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Posting and awaiting the messages of a collective.
 */
#include "mca_coll_gpufifo/between/messages.h"

#include "core/fault.h"
#include "mca_coll_gpufifo/pt2pt/functions.h"
#include "mca_coll_gpufifo/pt2pt/request.h"

struct gf_between_message {
    ompi_request_t *request;
    size_t bytes;
    int from;                          /* of a receive; -1: it is a send */
    void *sink;                        /* host memory for data that cannot go to the device; null: they can */
};

static void report(struct gf_messages *messages, gf_status status, const struct gf_reason *why)
{
    gf_messages_fail(messages, gf_error_to_mpi(status, why, messages->comm, messages->function));
}

static bool make_room(struct gf_messages *messages)
{
    int room = messages->room ? 2 * messages->room : 32;
    struct gf_reason why;
    void *all = messages->posted < messages->room ? messages->all : realloc(messages->all, (size_t)room * sizeof *messages->all);

    if (!all) {
        gf_reason_set(&why, "host memory is exhausted");
        report(messages, GF_ERR_NO_MEMORY, &why);
        return false;
    }
    messages->room = messages->posted < messages->room ? messages->room : room;
    messages->all = all;
    return true;
}

/* False: it cannot be, which was reported. */
static bool post(struct gf_messages *messages, const struct gf_mapped_buffer *buffer, size_t offset, int peer,
                 struct gf_between_message *message)
{
    struct gf_reason why;
    int result;

    if (gf_fault_hits(mca_coll_gpufifo_component.config.stages, GF_FAULT_BETWEEN_MESSAGE, &why)) {
        report(messages, GF_ERR_SYSTEM, &why);
        return false;
    }
    result = gf_pt2pt_request_new(&(struct gf_pt2pt_arguments){
        .buffer = buffer->address + offset, .count = message->bytes, .type = MPI_BYTE, .peer = peer, .tag = GF_BETWEEN_TAG,
        .comm = messages->comm, .mode = MCA_PML_BASE_SEND_STANDARD, .send = message->from < 0, .where = &buffer->where,
        .function = messages->function}, &message->request);
    gf_messages_fail(messages, result);
    return result == MPI_SUCCESS;
}

/* In place of data, from a rank that has failed. */
static bool post_nothing(struct gf_messages *messages, int to, struct gf_between_message *message)
{
    int result = gf_pt2pt_saved()->pml_isend(NULL, 0, MPI_PACKED, to, GF_BETWEEN_TAG, MCA_PML_BASE_SEND_STANDARD,
                                             messages->comm, &message->request);

    gf_messages_fail(messages, result);
    return result == MPI_SUCCESS;
}

/* Of what cannot be received where it belongs, so that its sender does not wait. */
static bool post_sink(struct gf_messages *messages, struct gf_between_message *message)
{
    int result = MPI_ERR_NO_MEM;

    message->sink = malloc(message->bytes);
    if (message->sink) {
        result = gf_pt2pt_request_new(&(struct gf_pt2pt_arguments){
            .buffer = message->sink, .count = message->bytes, .type = MPI_BYTE, .peer = message->from, .tag = GF_BETWEEN_TAG,
            .comm = messages->comm, .function = messages->function}, &message->request);
    }
    if (result != MPI_SUCCESS) {
        free(message->sink);
    }
    return result == MPI_SUCCESS;
}

void gf_messages_send(struct gf_messages *messages, const struct gf_mapped_buffer *buffer, size_t offset, size_t bytes, int to)
{
    struct gf_between_message message = {.bytes = bytes, .from = -1};

    if (bytes == 0 || !make_room(messages)) {
        return;
    }
    if ((messages->result == MPI_SUCCESS && post(messages, buffer, offset, to, &message)) ||
        post_nothing(messages, to, &message)) {
        messages->all[messages->posted++] = message;
    }
}

void gf_messages_receive(struct gf_messages *messages, const struct gf_mapped_buffer *buffer, size_t offset, size_t bytes,
                         int from)
{
    struct gf_between_message message = {.bytes = bytes, .from = from};

    if (bytes == 0 || !make_room(messages)) {
        return;
    }
    if (post(messages, buffer, offset, from, &message) || post_sink(messages, &message)) {
        messages->all[messages->posted++] = message;
    }
}

static void check_length(struct gf_messages *messages, const struct gf_between_message *message, size_t came)
{
    struct gf_reason why;

    if (came == 0) {
        gf_reason_set(&why, "rank %d has failed, and has no data for rank %d", message->from, ompi_comm_rank(messages->comm));
        report(messages, GF_ERR_PEER, &why);
    } else if (came != message->bytes) {
        gf_reason_set(&why, "rank %d sends %zu bytes to rank %d, which expects %zu: pass counts and datatypes that agree",
                      message->from, came, ompi_comm_rank(messages->comm), message->bytes);
        report(messages, GF_ERR_INVALID, &why);
    }
}

static void wait_for(struct gf_messages *messages, struct gf_between_message *message)
{
    ompi_status_public_t status = {.MPI_ERROR = MPI_SUCCESS};
    int result = gf_pt2pt_request_wait(message->request, &status);

    free(message->sink);
    gf_messages_fail(messages, result);
    if (result == MPI_SUCCESS && message->from >= 0) {
        check_length(messages, message, status._ucount);
    }
}

void gf_messages_wait(struct gf_messages *messages, int count)
{
    while (messages->ended < count && messages->ended < messages->posted) {
        wait_for(messages, &messages->all[messages->ended++]);
    }
}

int gf_messages_finish(struct gf_messages *messages)
{
    gf_messages_wait(messages, messages->posted);
    free(messages->all);
    messages->all = NULL;
    return messages->result;
}
