/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The way out of every wait of a communicator. Each rank owns one shared page that its peers of the same node have mapped. Who
 * aborts writes the cause into every page, and its own kernels' abort word; a host that sees its page written sets its kernels'
 * word in turn.
 */
#ifndef GF_CORE_ABORT_H
#define GF_CORE_ABORT_H

#include <stdint.h>

#include "base/status.h"
#include "core/segment.h"

/* The shared page. Whoever claims `state` first writes the rest; it never changes again. */
struct gf_abort_page {
    uint32_t state;                /* enum gf_abort_state */
    int32_t status;                /* gf_status that the waits return */
    char text[256];
};

enum gf_abort_state { GF_ABORT_NONE, GF_ABORT_CLAIMED, GF_ABORT_PUBLISHED };

/* Owned by the communicator. gf_abort_raise and gf_abort_check may be called from any thread between open and close. */
struct gf_abort {
    int rank, ranks;
    struct gf_segment *pages;      /* [ranks]; [rank] is ours */
    uint32_t *kernel_word;         /* pinned, host address: our kernels poll it; null: there are none */
    void (*alarm)(void *ctx);      /* atomic; see gf_abort_set_alarm; null: none */
    void *alarm_ctx;
};

/* Creates our own page (segments and array are `abort`'s). *name is for the peers. */
gf_status gf_abort_open(struct gf_abort *abort, int rank, int ranks, struct gf_segment_name *name, struct gf_reason *why);
/* Maps the page of one peer. */
gf_status gf_abort_attach(struct gf_abort *abort, int peer, const struct gf_segment_name *name, struct gf_reason *why);
void gf_abort_close(struct gf_abort *abort);

/* Ends all waits, here and at the peers whose pages are attached, with this status and sentence. The first cause that a page
 * gets stays. */
void gf_abort_raise(struct gf_abort *abort, gf_status status, const char *text);

/* alarm(ctx) is called whenever an abort is raised or seen here, by whatever thread does so; it must not wait. For those who
 * sleep, and have others to tell. The first one stays. One thread at a time. */
void gf_abort_set_alarm(struct gf_abort *abort, void (*alarm)(void *ctx), void *ctx);

/* GF_OK, or the status and cause of an abort; then our kernels were told. A single load when there is none. */
gf_status gf_abort_check(struct gf_abort *abort, struct gf_reason *why);

#endif
