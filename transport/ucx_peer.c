/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Endpoints of the UCX wire, one a process over there. One that failed is not used again: who connects later makes another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/ucx_private.h"

/* The names of transport and interface, "tcp/eth0", from the lines that UCX prints on an endpoint's lanes. */
static void path_collect(char *text, char *path, size_t room)
{
    char *line, *rest = text;

    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        char *lane = strstr(line, "lane["), *name = lane != NULL ? strchr(lane, '/') : NULL, *end;
        size_t used = strlen(path);

        if (name == NULL) {
            continue;
        }
        end = name + strcspn(name, " .");
        while (name > lane && name[-1] != ':' && name[-1] != ' ') {
            name--;
        }
        *end = '\0';
        if (strstr(path, name) == NULL) {
            snprintf(path + used, room - used, "%s%s", used > 0 ? " " : "", name);
        }
    }
}

static void path_ask(struct gf_ucx_peer *peer)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    if (stream != NULL) {
        peer->wire->ucx.ucp_ep_print_info(peer->ep, stream);
        fclose(stream);
        path_collect(text, peer->path, sizeof peer->path);
        free(text);
    }
    if (peer->path[0] == '\0') {
        strcpy(peer->path, "an unknown path");
    }
    gf_log(peer->wire->log, GF_LOG_PATH, "%s: a peer is reached by %s", peer->wire->base.name, peer->path);
}

static void ep_failed(void *argument, ucp_ep_h ep, ucs_status_t status)
{
    (void)ep;
    gf_ucx_peer_break(argument, status);
}

static gf_status peer_open(struct gf_ucx_peer *peer, const void *address, struct gf_reason *why)
{
    struct gf_ucx_library *ucx = &peer->wire->ucx;
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = ep_failed, .arg = peer},
    };
    ucs_status_t status = ucx->ucp_ep_create(peer->wire->worker, &params, &peer->ep);

    if (status != UCS_OK) {
        gf_reason_set(why, "%s does not reach the peer by a transport that notices a peer's end: %s; widen UCX_TLS and "
                      "UCX_NET_DEVICES (shared memory alone needs UCX_POSIX_ERROR_HANDLING=y)", peer->wire->base.name,
                      ucx->ucs_status_string(status));
        return gf_ucx_status(status);
    }
    path_ask(peer);
    return GF_OK;
}

struct gf_ucx_peer *gf_ucx_peer_get(struct gf_ucx_wire *wire, uint64_t id, const void *address, gf_status *status,
                                    struct gf_reason *why)
{
    struct gf_ucx_peer *peer;

    for (peer = wire->peers; peer != NULL; peer = peer->next) {
        if (peer->id == id && !peer->broken) {
            peer->lanes++;
            return peer;
        }
    }
    peer = calloc(1, sizeof *peer);
    if (peer == NULL) {
        gf_reason_set(why, "no memory for an endpoint of UCX");
        *status = GF_ERR_NO_MEMORY;
        return NULL;
    }
    peer->wire = wire;
    peer->id = id;
    *status = peer_open(peer, address, why);
    if (*status != GF_OK) {
        free(peer);
        return NULL;
    }
    peer->lanes = 1;
    peer->next = wire->peers;
    wire->peers = peer;
    return peer;
}

void gf_ucx_peer_break(struct gf_ucx_peer *peer, ucs_status_t status)
{
    struct gf_ucx_wire *wire = peer->wire;

    peer->broken = true;
    for (uint64_t i = 0; i < wire->lane_room; i++) {
        if (wire->lanes[i] != NULL && wire->lanes[i]->peer == peer) {
            gf_ucx_lane_fail(wire->lanes[i], status);
        }
    }
}

void gf_ucx_peer_give_up(struct gf_ucx_peer *peer)
{
    struct gf_ucx_library *ucx = &peer->wire->ucx;
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    ucp_ep_h ep = peer->ep;
    ucs_status_ptr_t request;

    if (ep != NULL) {
        peer->ep = NULL;
        gf_ucx_peer_break(peer, UCS_ERR_CANCELED);
        request = ucx->ucp_ep_close_nbx(ep, &param);
        if (UCS_PTR_IS_PTR(request)) {
            ucx->ucp_request_free(request);
        }
    }
}

void gf_ucx_peer_leave(struct gf_ucx_peer *peer)
{
    peer->lanes--;
    /* It remains in the list: UCX may still call back. */
    if (peer->lanes == 0 && peer->broken) {
        gf_ucx_peer_give_up(peer);
    }
}

void gf_ucx_peers_close(struct gf_ucx_wire *wire)
{
    for (struct gf_ucx_peer *peer = wire->peers; peer != NULL; peer = peer->next) {
        gf_ucx_peer_give_up(peer);
    }
}
