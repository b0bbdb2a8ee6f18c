/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which adapters a wire uses, with their ports and GIDs.
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
    enum ibv_mtu mtu;                      /* that this end wants: the port's, or less where config says so */
    struct ibv_gid_entry gid;              /* of InfiniBand the first one of the port, of RoCE the one to send from */
};

/* Those that config names and that are nearest to the device (transport/adapters.h), each with the port that it names, else its
 * first active one: adapters[GF_WIRE_ADAPTERS], of which *count are in use. Otherwise with a sentence, GF_ERR_INVALID: of
 * those named one is not here; GF_ERR_UNSUPPORTED: none can be used. */
gf_status gf_verbs_adapters_open(const struct gf_wire_config *config, struct gf_verbs_adapter *adapters, int *count,
                                 struct gf_reason *why);
void gf_verbs_adapter_close(struct gf_verbs_adapter *adapter);

int gf_verbs_mtu_bytes(enum ibv_mtu mtu);

/* "mlx5_0 port 1 gid 3 (RoCE v2)" */
void gf_verbs_adapter_describe(const struct gf_verbs_adapter *adapter, char *text, size_t bytes);

#endif
