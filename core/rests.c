/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rests of long blobs.
 */
#include "core/rests.h"

#include <stdlib.h>
#include <string.h>

/* The most that any rank has, of either direction. */
static gf_status agree_on_most(const struct gf_bootstrap *bootstrap, const struct gf_offer *out, uint32_t *most)
{
    uint32_t mine = 0, *all = calloc((size_t)bootstrap->ranks, sizeof *all);

    *most = 0;
    if (!all) {
        return GF_ERR_NO_MEMORY;
    }
    for (int i = 0; i < 2 * bootstrap->ranks; i++) {
        uint32_t bytes = out[i / 2].blob[i % 2].rest_bytes;

        mine = bytes > mine ? bytes : mine;
    }
    gf_status status = bootstrap->allgather(bootstrap->ctx, &mine, all, sizeof mine);

    for (int r = 0; r < bootstrap->ranks; r++) {
        *most = all[r] > *most ? all[r] : *most;
    }
    free(all);
    return status;
}

/* Each direction has room for the longest. */
static gf_status exchange(const struct gf_bootstrap *bootstrap, const struct gf_offer *out, unsigned char *rests, size_t most)
{
    size_t blobs = 2 * (size_t)bootstrap->ranks;
    unsigned char *mine = calloc(blobs, most);

    if (!mine) {
        return GF_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < blobs; i++) {
        const struct gf_blob *blob = &out[i / 2].blob[i % 2];

        if (blob->rest_bytes > 0) {
            memcpy(mine + i * most, blob->rest, blob->rest_bytes);
        }
    }
    gf_status status = bootstrap->alltoall(bootstrap->ctx, mine, rests, 2 * most);

    free(mine);
    return status;
}

gf_status gf_rests_exchange(const struct gf_bootstrap *bootstrap, bool may_be, const struct gf_offer *out, struct gf_offer *in,
                            unsigned char **rests)
{
    uint32_t most = 0;
    gf_status status = may_be ? agree_on_most(bootstrap, out, &most) : GF_OK;

    *rests = NULL;
    if (status == GF_OK && most > 0) {
        *rests = calloc(2 * (size_t)bootstrap->ranks, most);
        status = *rests ? exchange(bootstrap, out, *rests, most) : GF_ERR_NO_MEMORY;
    }
    /* The pointers that came are those of other processes. */
    for (int i = 0; i < 2 * bootstrap->ranks; i++) {
        struct gf_blob *blob = &in[i / 2].blob[i % 2];
        bool is_there = *rests && blob->rest_bytes > 0 && blob->rest_bytes <= most;

        blob->rest_bytes = is_there ? blob->rest_bytes : 0;
        blob->rest = is_there ? *rests + (size_t)i * most : NULL;
    }
    return status;
}

void gf_rests_free(int ranks, struct gf_offer *out, unsigned char *rests)
{
    for (int i = 0; i < 2 * ranks; i++) {
        struct gf_blob *blob = &out[i / 2].blob[i % 2];

        free(blob->rest);
        blob->rest = NULL;
        blob->rest_bytes = 0;
    }
    free(rests);
}
