/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A communicator on the emulated device in a forked rank, and an allreduce that is checked to the bit.
 */
#ifndef GF_TESTS_SUPPORT_CORE_COMM_H
#define GF_TESTS_SUPPORT_CORE_COMM_H

#include "core/comm.h"
#include "core/imports.h"
#include "tests/support/ranks.h"

enum { GFTEST_KEPT = 128 };

/* Lives in one rank; opened and closed by all ranks of a test together. */
struct gftest_comm {
    gf_device *device;
    struct gf_proxy *proxy;
    gf_stream *stream;             /* the test's own, for its copies */
    struct gf_log log;
    int warnings, paths;           /* log lines so far */
    char warning[400], path[400];  /* the last ones */
    struct gf_imports *imports;
    const struct gf_transport *const *transports;      /* those of the component, if not told otherwise */
    struct gf_net *net;            /* null, likewise */
    int net_adapters;
    gf_agent *agent;               /* made where the settings ask for one; null: none */
    bool joined;                   /* device, stream, mappings and agent are another one's */
    bool keeps;                    /* buffers of calls until close: freeing waits for the whole device, where another thread's
                                      kernel may wait for a rank that is freeing as well */
    void *kept[GFTEST_KEPT];
    int kept_count;
    gf_comm *comm;
};

/* The defaults of the component. */
struct gf_config gftest_config(void);

/* Opens the emulated device (the environment variable GPUFIFO_EMULATED says which) and creates the communicator. After a
 * failure of gf_comm_create, whose status it returns, the device is open and c->comm is null. */
gf_status gftest_comm_open(struct gftest_rank *rank, const struct gf_config *config, struct gftest_comm *c,
                           struct gf_reason *why);
/* The same over these transports, with this net, which may be null, and has so many adapters (struct gf_comm_setup). */
gf_status gftest_comm_open_over(struct gftest_rank *rank, const struct gf_config *config,
                                const struct gf_transport *const *transports, struct gf_net *net, int net_adapters,
                                struct gftest_comm *c, struct gf_reason *why);
/* The same on the device, stream and agent of another one, which is closed later. */
gf_status gftest_comm_join(struct gftest_rank *rank, const struct gf_config *config, const struct gftest_comm *other,
                           struct gftest_comm *c, struct gf_reason *why);
void gftest_comm_close(struct gftest_comm *c);

/* One allreduce of values that any order of reduction brings to the same bits. Its buffers begin `offset` elements into an
 * allocation and are surrounded by canaries. */
struct gftest_allreduce {
    size_t count;
    enum gf_type type;
    enum gf_op op;
    size_t offset;
    bool in_place;
    uint64_t seed;                 /* the same on all ranks */
};

/* Runs it and compares with a scalar reference; 0 if all is right, else says on stderr what is not. */
int gftest_allreduce(struct gftest_rank *rank, struct gftest_comm *c, const struct gftest_allreduce *what);

/* Runs it and returns the status; results are not looked at. */
gf_status gftest_try_allreduce(struct gftest_comm *c, size_t count, struct gf_reason *why);

#endif
