/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which adapter, port and GID a wire uses.
 */
#ifndef GF_TRANSPORT_VERBS_ADAPTER_H
#define GF_TRANSPORT_VERBS_ADAPTER_H

#include <infiniband/verbs.h>

#include "base/status.h"
#include "transport/wire.h"

/* Owned by its wire. */
struct gf_verbs_adapter {
    struct ibv_context *context;
    int port;
    struct ibv_port_attr attributes;       /* of the port, when it was opened */
    bool roce;
    struct ibv_gid_entry gid;              /* of InfiniBand the first one of the port, of RoCE the one to send from */
};

/* Takes the adapter and port that config names, else those that are active and nearest to the device, the faster of two as
 * near. GF_ERR_UNSUPPORTED with a sentence: there is none. */
gf_status gf_verbs_adapter_open(const struct gf_wire_config *config, struct gf_verbs_adapter *adapter, struct gf_reason *why);
void gf_verbs_adapter_close(struct gf_verbs_adapter *adapter);

/* "mlx5_0 port 1 gid 3 (RoCE v2)" */
void gf_verbs_adapter_describe(const struct gf_verbs_adapter *adapter, char *text, size_t bytes);

#endif
