/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UCX's library as a table of functions, opened at run time, so that the component loads where it is missing, and installs
 * nothing (UCX brings signal handlers) where it is not used.
 */
#ifndef GF_TRANSPORT_UCX_LIBRARY_H
#define GF_TRANSPORT_UCX_LIBRARY_H

#include <ucp/api/ucp.h>

#include "base/status.h"

#define GF_UCX_FUNCTIONS(F)                                                                                              \
    F(ucp_get_version_string) F(ucp_config_read) F(ucp_config_release) F(ucp_init_version) F(ucp_cleanup)               \
    F(ucp_worker_create) F(ucp_worker_destroy) F(ucp_worker_query) F(ucp_worker_release_address)                        \
    F(ucp_worker_progress) F(ucp_worker_set_am_recv_handler)                                                            \
    F(ucp_ep_create) F(ucp_ep_close_nbx) F(ucp_ep_print_info) F(ucp_mem_map) F(ucp_mem_unmap)                           \
    F(ucp_am_send_nbx) F(ucp_am_recv_data_nbx) F(ucp_request_free) F(ucs_status_string)

struct gf_ucx_library {
#define GF_UCX_MEMBER(name) __typeof__(&name) name;
    GF_UCX_FUNCTIONS(GF_UCX_MEMBER)
#undef GF_UCX_MEMBER
};

/* Fills the table; the library stays open until exit. GF_ERR_UNSUPPORTED with a sentence: not there, or too old. */
gf_status gf_ucx_load(struct gf_ucx_library *ucx, struct gf_reason *why);

/* UCX's status as ours. */
gf_status gf_ucx_status(ucs_status_t status);

#endif
