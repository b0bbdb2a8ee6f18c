/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The abort pages and the kernels' abort word.
 */
#include "core/abort.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/host_ordered.h"

enum { CLAIM_PATIENCE_MS = 1000 };    /* storing a sentence takes a microsecond; its rank may wait for a core that long */

static struct gf_abort_page *page_of(const struct gf_abort *abort, int rank)
{
    return abort->pages ? abort->pages[rank].address : NULL;
}

gf_status gf_abort_open(struct gf_abort *abort, int rank, int ranks, struct gf_segment_name *name, struct gf_reason *why)
{
    *abort = (struct gf_abort){ .rank = rank, .ranks = ranks };
    abort->pages = calloc((size_t)ranks, sizeof *abort->pages);
    if (!abort->pages) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    return gf_segment_create(sizeof(struct gf_abort_page), &abort->pages[rank], name, why);
}

gf_status gf_abort_attach(struct gf_abort *abort, int peer, const struct gf_segment_name *name, struct gf_reason *why)
{
    if (name->bytes < sizeof(struct gf_abort_page)) {
        gf_reason_set(why, "rank %d described an abort page of %llu bytes: use one version of gpufifo on all ranks", peer,
                      (unsigned long long)name->bytes);
        return GF_ERR_UNSUPPORTED;
    }
    return gf_segment_attach(name, &abort->pages[peer], why);
}

void gf_abort_close(struct gf_abort *abort)
{
    for (int r = 0; abort->pages && r < abort->ranks; r++) {
        gf_segment_close(&abort->pages[r]);
    }
    free(abort->pages);
    abort->pages = NULL;
}

void gf_abort_set_alarm(struct gf_abort *abort, void (*alarm)(void *ctx), void *ctx)
{
    if (!abort->alarm) {
        abort->alarm_ctx = ctx;
        __atomic_store_n(&abort->alarm, alarm, __ATOMIC_RELEASE);
    }
}

/* Our kernels, and whoever asked to be told. */
static void tell_ours(const struct gf_abort *abort)
{
    void (*alarm)(void *) = __atomic_load_n(&abort->alarm, __ATOMIC_ACQUIRE);

    if (abort->kernel_word) {
        gf_host_publish_flag(abort->kernel_word, 1);
    }
    if (alarm) {
        alarm(abort->alarm_ctx);
    }
}

void gf_abort_raise(struct gf_abort *abort, gf_status status, const char *text)
{
    for (int r = 0; r < abort->ranks; r++) {
        struct gf_abort_page *page = page_of(abort, r);

        if (page && gf_host_claim(&page->state, GF_ABORT_CLAIMED)) {
            page->status = status;
            snprintf(page->text, sizeof page->text, "%s", text);
            gf_host_publish_flag(&page->state, GF_ABORT_PUBLISHED);
        }
    }
    tell_ours(abort);
}

gf_status gf_abort_check(struct gf_abort *abort, struct gf_reason *why)
{
    const struct gf_abort_page *page = page_of(abort, abort->rank);
    uint32_t state = gf_host_observe_flag(&page->state);

    if (state == GF_ABORT_NONE) {
        return GF_OK;
    }
    tell_ours(abort);
    /* The one who claimed it says why in a moment, unless it was killed in between. */
    for (int i = 0; state == GF_ABORT_CLAIMED && i < CLAIM_PATIENCE_MS; i++) {
        usleep(1000);
        state = gf_host_observe_flag(&page->state);
    }
    if (state == GF_ABORT_CLAIMED) {
        gf_reason_set(why, "the communicator is being aborted by another rank");
        return GF_ERR_ABORTED;
    }
    gf_reason_set(why, "%s", page->text);
    return page->status < 0 ? (gf_status)page->status : GF_ERR_ABORTED;
}
