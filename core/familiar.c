/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A few watched buffers, and how much patience experience asks for.
 */
#include "core/familiar.h"

bool gf_familiar_meet(struct gf_familiar *f, uint64_t id, uint64_t call)
{
    int at = 0;

    for (int i = 1; i < GF_FAMILIAR_BUFFERS && f->buffers[at].id != id; i++) {
        if (f->buffers[i].id == id || f->buffers[i].last < f->buffers[at].last) {
            at = i;
        }
    }
    if (f->buffers[at].id != id) {
        f->buffers[at].id = id;
        f->buffers[at].last = 0;
        f->buffers[at].calls = 0;
    }
    f->buffers[at].calls += f->buffers[at].last != call;
    f->buffers[at].last = call;
    return f->buffers[at].calls >= (uint32_t)GF_FAMILIAR_CALLS << f->doublings;
}

void gf_familiar_part(struct gf_familiar *f, uint64_t calls)
{
    if (calls >= GF_FAMILIAR_LASTING) {
        f->doublings = 0;
    } else if (GF_FAMILIAR_CALLS << f->doublings < GF_FAMILIAR_CALLS_MOST) {
        f->doublings++;
    }
}
