/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Posting and awaiting the messages of a collective.
 */
#include "mca_coll_gpufifo/between/messages.h"

#include "mca_coll_gpufifo/pt2pt/request.h"

struct gf_between_message {
    ompi_request_t *request;           /* MPI_REQUEST_NULL: it has ended */
    size_t bytes;
    int from;                          /* of a receive; -1: it is a send */
};

static int report(const struct gf_messages *messages, gf_status status, const struct gf_reason *why)
{
    return gf_error_to_mpi(status, why, messages->comm, messages->function);
}

static bool make_room(struct gf_messages *messages)
{
    int room = messages->room ? 2 * messages->room : 32;
    void *all = messages->posted < messages->room ? messages->all : realloc(messages->all, (size_t)room * sizeof *messages->all);

    if (!all) {
        return false;
    }
    messages->room = messages->posted < messages->room ? messages->room : room;
    messages->all = all;
    return true;
}

static int post(struct gf_messages *messages, const struct gf_mapped_buffer *buffer, size_t offset, size_t bytes, int peer,
                bool send)
{
    ompi_request_t *request;

    if (bytes == 0) {
        return MPI_SUCCESS;
    }
    if (!make_room(messages)) {
        struct gf_reason why;

        gf_reason_set(&why, "host memory is exhausted");
        return report(messages, GF_ERR_NO_MEMORY, &why);
    }
    int result = gf_pt2pt_request_new(&(struct gf_pt2pt_arguments){
        .buffer = buffer->address + offset, .count = bytes, .type = MPI_BYTE, .peer = peer, .tag = GF_BETWEEN_TAG,
        .comm = messages->comm, .mode = MCA_PML_BASE_SEND_STANDARD, .send = send, .where = &buffer->where,
        .function = messages->function}, &request);

    if (result == MPI_SUCCESS) {
        messages->all[messages->posted++] = (struct gf_between_message){request, bytes, send ? -1 : peer};
    }
    return result;
}

int gf_messages_send(struct gf_messages *messages, const struct gf_mapped_buffer *buffer, size_t offset, size_t bytes, int to)
{
    return post(messages, buffer, offset, bytes, to, true);
}

int gf_messages_receive(struct gf_messages *messages, const struct gf_mapped_buffer *buffer, size_t offset, size_t bytes,
                        int from)
{
    return post(messages, buffer, offset, bytes, from, false);
}

static int wait_for(const struct gf_messages *messages, struct gf_between_message *message)
{
    ompi_status_public_t status = {.MPI_ERROR = MPI_SUCCESS};
    int result = gf_pt2pt_request_wait(message->request, &status);
    struct gf_reason why;

    message->request = MPI_REQUEST_NULL;
    if (result != MPI_SUCCESS || message->from < 0 || status._ucount == message->bytes) {
        return result;
    }
    gf_reason_set(&why, "rank %d sends %zu bytes to rank %d, which expects %zu: pass counts and datatypes that agree",
                  message->from, status._ucount, ompi_comm_rank(messages->comm), message->bytes);
    return report(messages, GF_ERR_INVALID, &why);
}

int gf_messages_wait(struct gf_messages *messages, int count)
{
    int result = MPI_SUCCESS;

    while (messages->ended < count && result == MPI_SUCCESS) {
        result = wait_for(messages, &messages->all[messages->ended++]);
    }
    return result;
}

int gf_messages_finish(struct gf_messages *messages, int result)
{
    result = result == MPI_SUCCESS ? gf_messages_wait(messages, messages->posted) : result;
    for (; messages->ended < messages->posted; messages->ended++) {
        (void)ompi_request_free(&messages->all[messages->ended].request);
    }
    free(messages->all);
    messages->all = NULL;
    return result;
}
